-- What the role of the hosts may do; run by `idemctl schema apply` after the migrations, with idem.role and idem.schema
-- set.  Reading and writing rows, and the functions that make and drop tables by their own rules: no CREATE, no DROP.
DO $$
DECLARE
	v_role name := current_setting('idem.role');
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_setting('idem.schema'), v_role);
	EXECUTE format('GRANT SELECT ON idem_schema, dedup_group, dedup_day, dedup_group_status, dedup_day_status TO %I', v_role);
	EXECUTE format('GRANT SELECT, INSERT, UPDATE ON partition_state TO %I', v_role);
	EXECUTE format('GRANT SELECT, INSERT, DELETE ON processed_event_other, processed_message TO %I', v_role);
	EXECUTE format('GRANT SELECT, INSERT ON dedup_allowed_old TO %I', v_role);
	EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON event_attempt, parked_event, parked_key, dead_letter TO %I', v_role);
	EXECUTE format('GRANT SELECT, INSERT ON dead_letter_action TO %I', v_role);
	EXECUTE format('GRANT EXECUTE ON FUNCTION dedup_register(text, bigint, bigint, bigint), dedup_make_day(text, bigint, bigint), '
		'dedup_alive(text, bigint), dedup_horizon_ms(text, bigint), dedup_drop_oldest(text, bigint), '
		'dedup_delete_old(text, bigint, integer) TO %I', v_role);
	PERFORM dedup_grant(table_name) FROM dedup_day;
END
$$;
