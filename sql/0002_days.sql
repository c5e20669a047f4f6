-- Making the tables that ids are claimed in.  The functions run as their owner, so that the host's role needs no CREATE;
-- search_path is the schema they were created in.  Times are milliseconds since 1970 and given by the caller.

-- The smallest uuid whose time is that millisecond.
CREATE FUNCTION dedup_uuid_floor(p_ms bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT
AS $$
	SELECT rpad(lpad(to_hex(p_ms), 12, '0'), 32, '0')::uuid
$$;

-- Whoever may claim in processed_event_other may claim in this table too.
CREATE FUNCTION dedup_grant(p_table text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
	v_role oid;
BEGIN
	FOR v_role IN
		SELECT DISTINCT a.grantee
		FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
		WHERE c.oid = 'processed_event_other'::regclass AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
	LOOP
		EXECUTE format('GRANT SELECT, INSERT, DELETE ON %I TO %s', p_table, v_role::regrole);
	END LOOP;
END
$$;

-- One at a time: what makes and drops tables of a group (0: of the list of groups).
CREATE FUNCTION dedup_lock(p_number integer) RETURNS void
LANGUAGE sql
AS $$
	SELECT pg_advisory_xact_lock(hashtext('idem dedup'), p_number)
$$;

-- The row of the group, made when it is new.  Another retention is taken over, another day_ms is not.
CREATE FUNCTION dedup_register(p_group text, p_retention_ms bigint, p_day_ms bigint, p_now_ms bigint) RETURNS dedup_group
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '5s'
AS $$
DECLARE
	v_group dedup_group;
	v_base bigint := floor((p_now_ms - p_retention_ms)::numeric / p_day_ms);
	v_table text;
BEGIN
	UPDATE dedup_group SET retention_ms = p_retention_ms
	WHERE consumer_group = p_group AND retention_ms <> p_retention_ms;
	SELECT * INTO v_group FROM dedup_group WHERE consumer_group = p_group;
	IF FOUND THEN
		RETURN v_group;
	END IF;
	PERFORM dedup_lock(0);
	SELECT * INTO v_group FROM dedup_group WHERE consumer_group = p_group;
	IF FOUND THEN
		RETURN v_group;
	END IF;
	INSERT INTO dedup_group (consumer_group, day_ms, base_day, floor_day, retention_ms, tended_ms, alive_since_ms)
	VALUES (p_group, p_day_ms, v_base, v_base, p_retention_ms, p_now_ms, p_now_ms)
	RETURNING * INTO v_group;
	v_table := 'processed_event_g' || v_group.number;
	EXECUTE format('CREATE TABLE %I (LIKE processed_event INCLUDING ALL) PARTITION BY RANGE (event_id)', v_table);
	EXECUTE format('ALTER TABLE processed_event ATTACH PARTITION %I FOR VALUES IN (%L)', v_table, p_group);
	RETURN v_group;
END
$$;

-- Makes the table of a day that is in no list yet.  LIKE and ATTACH, because CREATE TABLE … PARTITION OF would wait behind
-- every open batch of the group.  A CHECK of the bounds before ATTACH would only save the scan of a table that is empty.
CREATE FUNCTION dedup_create_day(p_group dedup_group, p_day bigint) RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
	v_parent text := 'processed_event_g' || p_group.number;
	v_format text := CASE WHEN p_group.day_ms % 86400000 = 0 THEN '_YYYYMMDD' ELSE '_YYYYMMDD_HH24MISS' END;
	v_table text := v_parent || to_char(to_timestamp(p_day * p_group.day_ms / 1000.0) AT TIME ZONE 'UTC', v_format);
BEGIN
	EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (autovacuum_analyze_threshold = 2147483647)',
		v_table, v_parent);
	PERFORM dedup_grant(v_table);
	EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', v_parent, v_table,
		dedup_uuid_floor(p_day * p_group.day_ms), dedup_uuid_floor((p_day + 1) * p_group.day_ms));
	INSERT INTO dedup_day (number, day, table_name) VALUES (p_group.number, p_day, v_table);
	RETURN v_table;
END
$$;

-- The table of a day, made when it is missing; table_name is NULL for a day that was forgotten.  A table that somebody
-- dropped by hand is made again when its day has not begun; else ids that were processed would be taken for new.
CREATE FUNCTION dedup_make_day(p_group text, p_day bigint, p_now_ms bigint, OUT table_name text, OUT is_new boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '5s'
AS $$
DECLARE
	v_group dedup_group;
BEGIN
	is_new := false;
	SELECT * INTO STRICT v_group FROM dedup_group g WHERE g.consumer_group = p_group;
	PERFORM dedup_lock(v_group.number);
	SELECT * INTO STRICT v_group FROM dedup_group g WHERE g.consumer_group = p_group;
	SELECT d.table_name INTO table_name FROM dedup_day d WHERE d.number = v_group.number AND d.day = p_day;
	IF to_regclass(quote_ident(table_name)) IS NOT NULL OR p_day < v_group.floor_day THEN
		RETURN;
	END IF;
	IF table_name IS NOT NULL THEN
		IF p_day * v_group.day_ms <= p_now_ms THEN
			RAISE EXCEPTION 'table % was dropped by hand, and with it what was processed: restore it, or delete '
				'its row of dedup_day to begin it anew', table_name USING ERRCODE = 'data_corrupted';
		END IF;
		DELETE FROM dedup_day d WHERE d.number = v_group.number AND d.day = p_day;
	END IF;
	table_name := dedup_create_day(v_group, p_day);
	is_new := true;
END
$$;

REVOKE ALL ON FUNCTION dedup_uuid_floor(bigint), dedup_grant(text), dedup_lock(integer),
	dedup_register(text, bigint, bigint, bigint), dedup_create_day(dedup_group, bigint),
	dedup_make_day(text, bigint, bigint) FROM PUBLIC;
