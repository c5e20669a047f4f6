-- Forgetting what was processed.

-- Some host looks after the group.  A break of a quarter of the retention, at most 15 minutes, starts its life anew.
CREATE FUNCTION dedup_alive(p_group text, p_now_ms bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '5s'
AS $$
	UPDATE dedup_group
	SET alive_since_ms = CASE
			WHEN p_now_ms - tended_ms > least(retention_ms / 4, 900000) THEN p_now_ms
			ELSE alive_since_ms END,
		tended_ms = p_now_ms
	WHERE consumer_group = p_group
$$;

-- What was processed before this time is forgotten: older than the retention, and older than every record that can still
-- come (again).  A record is claimed after it was produced, so what was claimed before the oldest unfinished record of
-- every partition was produced belongs to offsets that are finished; one day_ms more allows for ids older than their
-- records.  NULL: a partition did not say yet how far it is, or none is known.  A partition that nobody reported for a
-- whole retention, during all of which the group was alive, is not read any more.
CREATE FUNCTION dedup_horizon_ms(p_group text, p_now_ms bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$
	SELECT CASE WHEN bool_and(s.low_ms IS NOT NULL) THEN least(p_now_ms - max(g.retention_ms), min(s.low_ms - g.day_ms)) END
	FROM dedup_group g JOIN partition_state s USING (consumer_group)
	WHERE g.consumer_group = p_group
	AND (s.at >= to_timestamp((p_now_ms - g.retention_ms) / 1000.0) OR g.alive_since_ms >= p_now_ms - g.retention_ms)
$$;

-- Drops the oldest day of the group when it may be forgotten, and answers its table; NULL: none may be, yet.  Fails with
-- 55P03 when somebody works on it: whoever waits for a DROP holds up everybody who comes after.
CREATE FUNCTION dedup_drop_oldest(p_group text, p_now_ms bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '100ms'
AS $$
DECLARE
	v_group dedup_group;
	v_day dedup_day;
	v_horizon_ms bigint;
	v_horizon timestamptz;
BEGIN
	SELECT * INTO STRICT v_group FROM dedup_group WHERE consumer_group = p_group;
	PERFORM dedup_lock(v_group.number);
	SELECT * INTO v_day FROM dedup_day WHERE number = v_group.number ORDER BY day LIMIT 1;
	v_horizon_ms := dedup_horizon_ms(p_group, p_now_ms);
	v_horizon := to_timestamp(v_horizon_ms / 1000.0);
	IF v_day.day IS NULL OR v_horizon_ms IS NULL OR (v_day.day + 1) * v_group.day_ms > v_horizon_ms
		OR v_day.last_insert >= v_horizon THEN
		RETURN NULL;
	END IF;
	IF to_regclass(quote_ident(v_day.table_name)) IS NOT NULL THEN -- else dropped by hand
		-- No claim between looking and dropping.
		EXECUTE format('LOCK TABLE %I IN SHARE MODE', v_day.table_name);
		EXECUTE format('SELECT max(processed_at) FROM %I', v_day.table_name) INTO v_day.last_insert;
		IF v_day.last_insert >= v_horizon THEN
			UPDATE dedup_day SET last_insert = v_day.last_insert WHERE number = v_day.number AND day = v_day.day;
			RETURN NULL;
		END IF;
		EXECUTE format('DROP TABLE %I', v_day.table_name);
	END IF;
	DELETE FROM dedup_day WHERE number = v_day.number AND day = v_day.day;
	UPDATE dedup_group SET floor_day = v_day.day + 1 WHERE number = v_day.number;
	RETURN v_day.table_name;
END
$$;

-- At most p_limit rows of either table that is not dropped by the day; answers how many it deleted.  A release by an
-- operator ends long before the claim it led to is forgotten, so that it can't be used twice.
CREATE FUNCTION dedup_delete_old(p_group text, p_now_ms bigint, p_limit integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '5s'
AS $$
DECLARE
	v_horizon timestamptz := to_timestamp(dedup_horizon_ms(p_group, p_now_ms) / 1000.0);
	v_deleted bigint;
	v_sum bigint;
BEGIN
	DELETE FROM dedup_allowed_old a USING dedup_group g
	WHERE a.consumer_group = p_group AND g.consumer_group = p_group
	AND a.allowed_at < to_timestamp((p_now_ms - g.retention_ms / 2) / 1000.0);
	DELETE FROM processed_event_other WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM processed_event_other
		WHERE consumer_group = p_group AND processed_at < v_horizon LIMIT p_limit));
	GET DIAGNOSTICS v_sum = ROW_COUNT;
	DELETE FROM processed_message WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM processed_message
		WHERE consumer_name = p_group AND processed_at < v_horizon LIMIT p_limit));
	GET DIAGNOSTICS v_deleted = ROW_COUNT;
	RETURN v_sum + v_deleted;
END
$$;

-- For people: `idemctl dedup status` prints these.
CREATE VIEW dedup_group_status AS
SELECT g.consumer_group, g.number,
	justify_hours(g.retention_ms * interval '1 ms') AS retention,
	to_timestamp(g.base_day * g.day_ms / 1000.0) AS base,
	to_timestamp(g.floor_day * g.day_ms / 1000.0) AS floor,
	to_timestamp(dedup_horizon_ms(g.consumer_group, (extract(epoch FROM now()) * 1000)::bigint) / 1000.0) AS forgets_before,
	s.furthest_behind
FROM dedup_group g LEFT JOIN LATERAL (
	SELECT format('%s [%s]', s.topic, s.partition) AS furthest_behind
	FROM partition_state s WHERE s.consumer_group = g.consumer_group ORDER BY s.low_ms NULLS FIRST LIMIT 1) s ON true;

CREATE VIEW dedup_day_status AS
SELECT g.consumer_group, d.table_name, to_timestamp(d.day * g.day_ms / 1000.0) AS starts,
	pg_total_relation_size(c.oid) AS bytes, d.last_insert
FROM dedup_day d JOIN dedup_group g USING (number)
LEFT JOIN pg_class c ON c.relname = d.table_name
	AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'processed_event'::regclass);

REVOKE ALL ON FUNCTION dedup_alive(text, bigint), dedup_horizon_ms(text, bigint), dedup_drop_oldest(text, bigint),
	dedup_delete_old(text, bigint, integer) FROM PUBLIC;
