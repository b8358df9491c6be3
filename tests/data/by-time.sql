-- For small.sql: processes that tell no trace IDs, and spans that say whose
-- they are. Boot time 5 s is 1700000000 Unix; times here are ms from there.
-- A sample each 10 ms of 1000 ms, on thread 11 of process 11 (pid 1100), on
-- thread 21 and 22 of process 12 (pid 1200, 7 in its container), on thread 31
-- of process 13 (7 in another), and on 41 of process 14 (8 in both).

INSERT INTO process (id, recording_id, pid, start_ns, exec_seq, inner_pid, comm,
                     cgroup)
VALUES
  (11, 1, 1100, 1, 1, 1100, 'node', '/'),
  (12, 1, 1200, 1, 1, 7, 'threads', '/docker/c12aa'),
  (13, 1, 1300, 1, 1, 7, 'other', '/docker/c13bb'),
  (14, 1, 1400, 1, 1, 8, 'twin', '/'),
  (15, 1, 1500, 1, 1, 8, 'twin', '/');
INSERT INTO thread VALUES
  (11, 11, 1100, 1, 'node'), (21, 12, 1201, 1, 'a'), (22, 12, 1202, 1, 'b'),
  (31, 13, 1300, 1, 'other'), (41, 14, 1400, 1, 'twin'),
  (51, 15, 1500, 1, 'twin');
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99),
  t(thread) AS (VALUES (11), (21), (22), (31), (41), (51))
INSERT INTO sample_sealed
SELECT 1000 + 1000 * thread + i, 1, 1, 5000000000 + i * 10000000 + 5000000, 0,
       thread, 4, 10000000, 10.0, NULL, NULL, NULL, 0, 1
FROM t, n;

INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum, first_ns,
                   last_ns)
WITH RECURSIVE n(i) AS (SELECT 201 UNION ALL SELECT i + 1 FROM n WHERE i < 216)
SELECT i, CAST(printf('%016d', i) AS BLOB), 0, 0, 0, 9223372036854775807, 0
FROM n;

WITH s(trace, id, parent, name, start_ms, end_ms, attributes) AS (VALUES
  -- one after the other, with a pause; inside the first, another span
  (201, 1, NULL, 'first', 0, 100, '{"process.pid":1100,"host.name":"host"}'),
  (201, 2, 1, 'inner', 20, 50, '{"process.pid":1100,"host.name":"host"}'),
  (202, 1, NULL, 'second', 150, 250, '{"process.pid":1100}'),
  -- two at once
  (203, 1, NULL, 'left', 300, 400, '{"process.pid":1100}'),
  (204, 1, NULL, 'right', 350, 450, '{"process.pid":"1100"}'),
  -- two of one request at once, with a gap between its spans
  (205, 1, NULL, 'call', 500, 600, '{"process.pid":1100}'),
  (205, 2, 1, 'call back', 550, 560, '{"process.pid":1100}'),
  (205, 3, 1, 'late', 650, 700, '{"process.pid":1100}'),
  -- of another machine; of nobody
  (206, 1, NULL, 'elsewhere', 0, 1000,
   '{"process.pid":1100,"host.name":"other"}'),
  (207, 1, NULL, 'nobody', 0, 1000, '{"service.name":"x"}'),
  -- by thread: each has its own; what names none is on both
  (208, 1, NULL, 'on a', 0, 300,
   '{"process.pid":7,"container.id":"c12aa","thread.id":1201}'),
  (209, 1, NULL, 'on b', 0, 300,
   '{"process.pid":7,"container.id":"c12aa","thread.id":1202}'),
  (210, 1, NULL, 'anywhere', 250, 400,
   '{"process.pid":7,"container.id":"c12aa","thread.id":1}'),
  -- a number that two processes have
  (211, 1, NULL, 'one of two', 0, 1000, '{"process.pid":8}'),
  -- of a process that tells IDs
  (212, 1, NULL, 'has its own', 0, 1000, '{"process.pid":100}'))
INSERT INTO span
SELECT trace, CAST(printf('%08d', id) AS BLOB),
       CAST(printf('%08d', parent) AS BLOB), 'shop', name, 'server',
       1700000000000000000 + start_ms * 1000000,
       1700000000000000000 + end_ms * 1000000, 'ok', attributes
FROM s;
UPDATE span SET parent_span_id = NULL
 WHERE parent_span_id = CAST('00000000' AS BLOB);
