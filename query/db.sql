-- What db.c does to a file that an older weft wrote; it stays as it is.

-- name: db_schema_1
-- Schema 2 added a column, and schema 9 the last.
CREATE TEMP VIEW stack AS
SELECT id, status, depth, NULL AS ended, NULL AS leaf_frame_id
FROM main.stack;

-- name: db_schema_3_process
-- Schema 4 added this table, and the next three.
CREATE TEMP VIEW process_attribute AS
SELECT 0 AS process_id, '' AS key, '' AS value WHERE 0;

-- name: db_schema_3_shape
CREATE TEMP VIEW shape_attribute AS
SELECT 0 AS id, '' AS key, '' AS value WHERE 0;

-- name: db_schema_3_count
CREATE TEMP VIEW stack_attribute_count AS
SELECT 0 AS interval_id, 0 AS event_id, 0 AS process_id, 0 AS stack_id,
       0 AS attribute_id, 0 AS count, 0 AS value WHERE 0;

-- name: db_schema_3_total
CREATE TEMP VIEW stack_attribute_total AS
SELECT 0 AS event_id, 0 AS attribute_id, 0 AS stack_id, 0 AS process_id,
       0 AS count, 0 AS value WHERE 0;

-- name: db_schema_4
-- Schema 5 added a column, and schema 10 the last.
CREATE TEMP VIEW event AS
SELECT id, recording_id, name, unit, requested_hz, NULL AS tau_ns,
       (SELECT c.ns FROM event_cpu c WHERE c.event_id = e.id) AS cpu_ns
FROM main.event e;

-- name: db_schema_8
CREATE TEMP VIEW stack AS
SELECT id, status, depth, ended, NULL AS leaf_frame_id FROM main.stack;

-- name: db_schema_9
CREATE TEMP VIEW event AS
SELECT id, recording_id, name, unit, requested_hz, tau_ns,
       (SELECT c.ns FROM event_cpu c WHERE c.event_id = e.id) AS cpu_ns
FROM main.event e;

-- name: db_schema_9_cpu
-- What these say of CPUs.
CREATE TEMP VIEW event_cpu AS
SELECT n.event_id,
       CAST(total((i.end_ns - i.start_ns) * n.cpus) AS INTEGER) AS ns
FROM (SELECT interval_id, event_id, count(*) AS cpus
        FROM cpu_interval GROUP BY interval_id, event_id) n
JOIN interval i ON i.id = n.interval_id
GROUP BY n.event_id;

-- name: db_schema_9_sum
-- Schema 10 added this table.
CREATE TEMP VIEW ledger_sum AS
SELECT event_id, entry_id, CAST(total(count) AS INTEGER) AS count,
       CAST(total(value) AS INTEGER) AS value,
       count(*) - count(count) AS unmeasured
FROM ledger_row GROUP BY event_id, entry_id;
