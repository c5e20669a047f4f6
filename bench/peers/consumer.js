'use strict'
// consumer.js VARIANT BOOTSTRAP TOPIC GROUP TOTAL   one measured run of a kafkajs consumer; PG… variables name the database.
//   guide   eachMessage, autoCommit: false, commitOffsets after every message, as guides show it
//   node    eachMessage with kafkajs's own auto commit (every 100 messages or second), which commits processed offsets only
//   batch   eachBatch, hand-written: one transaction per fetched batch, one insert, one aggregated update
// The last line of output is JSON: the seconds from the assignment to the last offset commit, and the messages.
const [, , variant, bootstrap, topic, group, totalText] = process.argv
const total = +totalText
const { Pool } = require('pg')
const { Kafka, logLevel } = require('kafkajs')
const pool = new Pool({ max: 10 })
const kafka = new Kafka({ clientId: 'bench', brokers: [bootstrap], logLevel: logLevel.ERROR })
const consumer = kafka.consumer({ groupId: group })
let done = 0
let assigned = 0
let last = 0
let finish
const finished = new Promise(resolve => { finish = resolve })

function tick (count) {
  done += count
  last = performance.now()
  if (done >= total) finish()
}

async function transaction (work) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await work(client)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

const applyOne = event => transaction(async client => {
  const claim = await client.query('INSERT INTO processed_event_peer(event_id, consumer_group) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING event_id', [event.eventId, group])
  if (claim.rowCount === 1) await client.query("UPDATE orders SET paid_amount = paid_amount + $2, status = 'PAID' WHERE id = $1", [event.orderId, event.totalAmount])
})

const applyMany = events => transaction(async client => {
  const byId = new Map(events.map(event => [event.eventId, event]))
  const claim = await client.query({ name: 'claim', text: 'INSERT INTO processed_event_peer(event_id, consumer_group) SELECT x, $2 FROM unnest($1::uuid[]) x ON CONFLICT DO NOTHING RETURNING event_id', values: [[...byId.keys()].sort(), group], rowMode: 'array' })
  const sums = new Map()
  for (const [id] of claim.rows) {
    const event = byId.get(id)
    sums.set(event.orderId, (sums.get(event.orderId) || 0) + event.totalAmount)
  }
  const orders = [...sums.keys()].sort((a, b) => a - b)
  if (orders.length) await client.query({ name: 'pay', text: "UPDATE orders SET paid_amount = paid_amount + v.amount, status = 'PAID' FROM unnest($1::bigint[], $2::bigint[]) AS v(id, amount) WHERE orders.id = v.id", values: [orders, orders.map(order => sums.get(order))] })
})

const next = offset => (BigInt(offset) + 1n).toString()
const parse = message => JSON.parse(message.value.toString())
const runs = {
  guide: { autoCommit: false, partitionsConsumedConcurrently: 6, eachMessage: async ({ topic, partition, message }) => {
    await applyOne(parse(message))
    await consumer.commitOffsets([{ topic, partition, offset: next(message.offset) }])
    tick(1)
  } },
  node: { autoCommit: true, autoCommitThreshold: 100, autoCommitInterval: 1000, partitionsConsumedConcurrently: 6, eachMessage: async ({ message }) => {
    await applyOne(parse(message))
    tick(1)
  } },
  batch: { autoCommit: false, eachBatchAutoResolve: false, partitionsConsumedConcurrently: 6, eachBatch: async ({ batch, resolveOffset, heartbeat, commitOffsetsIfNecessary }) => {
    await applyMany(batch.messages.map(parse))
    resolveOffset(batch.lastOffset())
    await commitOffsetsIfNecessary({ topics: [{ topic: batch.topic, partitions: [{ partition: batch.partition, offset: next(batch.lastOffset()) }] }] })
    tick(batch.messages.length)
    await heartbeat()
  } }
}

async function main () {
  consumer.on(consumer.events.GROUP_JOIN, () => { assigned = assigned || performance.now() })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run(runs[variant])
  await finished
  await consumer.disconnect()
  if (variant === 'node') last = performance.now() // its last offsets are committed in disconnect
  await pool.end()
  console.log(JSON.stringify({ seconds: (last - assigned) / 1000, messages: done }))
}

main().then(() => process.exit(0), error => { console.error(error); process.exit(1) })
