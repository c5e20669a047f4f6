-- The plain-SQL limit: what a transaction of 500 events costs PostgreSQL when nobody stands in front of it.  The ids are in order of time, as those of the events are.  bench.py repeats the
-- update 500 times, each with an id of its own, and puts all into one pipeline.
-- update
UPDATE orders SET paid_amount = paid_amount + 7, status = 'PAID' WHERE id = :id;
-- update
BEGIN;
INSERT INTO processed_event_peer(event_id, consumer_group) SELECT u.id, 'limit' FROM unnest((SELECT array_agg(id ORDER BY id) FROM (SELECT encode(substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) || substring(uuid_send(gen_random_uuid()) FROM 7), 'hex')::uuid AS id FROM generate_series(1, 500)) AS made)) AS u(id) ON CONFLICT DO NOTHING RETURNING event_id;
-- commit
COMMIT;
