-- Put over small.sql: 40 intervals of a second, in which shares vary a little;
-- from the 21st on compress takes 20 % more. And 600 requests of 4 samples
-- each, of which those that last longest, 1 in 6, read more than the others.

DELETE FROM interval;
DELETE FROM cpu_interval;
DELETE FROM stack_count;
DELETE FROM stack_total;
DELETE FROM ledger_row;
DELETE FROM sample_sealed;
DELETE FROM sample_attribute;
DELETE FROM trace;
UPDATE recording SET ended_ns = started_ns + 40000000000;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO interval
SELECT i, 1, 4000000000 + i * 1000000000, 5000000000 + i * 1000000000,
       1699999995000000000, 1000, 0, 0, NULL, NULL FROM n;
-- main, compress and so on; what varies from one interval to the next does so
-- without a pattern that 20 blocks could share
WITH s(stack, base, swing, more) AS (VALUES
  (4, 90, 11, 18), (6, 40, 7, 0), (7, 30, 5, 0), (8, 20, 5, 0), (13, 5, 3, 0))
INSERT INTO stack_count
SELECT id, 1, 1, stack, count, count * 10000000
FROM (SELECT i.id, stack, base + iif(i.id > 20, more, 0)
             + (i.id * i.id * 31 + stack * i.id * 17) % swing AS count
        FROM interval i, s);
INSERT INTO stack_count SELECT 3, 1, 2, 14, 1, 10000000;
INSERT INTO stack_total
SELECT event_id, process_id, stack_id, sum(count), sum(value)
FROM stack_count GROUP BY 1, 2, 3;

-- request r lasts 50 to 100 ms, or if slow 400 ms
WITH RECURSIVE n(r) AS (SELECT 1 UNION ALL SELECT r + 1 FROM n WHERE r < 600)
INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum, first_ns,
                   last_ns)
SELECT r, CAST(printf('request %08d', r) AS BLOB), 4, 40, 400000000,
       5000000000 + r * 50000000,
       5000000000 + r * 50000000
         + iif(r % 6 = 0, 400000000, 50000000 + r * 7 % 50 * 1000000)
FROM n;
WITH k(j) AS (VALUES (0), (1), (2), (3))
INSERT INTO sample_sealed
SELECT 4 * t.id + j, 1 + (t.id * 50 + j * 10) / 1000, 1,
       t.first_ns + j * (t.last_ns - t.first_ns) / 3, 0, 1,
       CASE
         WHEN t.id % 6 = 0 AND j < 2 THEN 6
         WHEN (t.id * 31 + j * 17) % 7 = 0 THEN 6
         WHEN (t.id * 13 + j * 5) % 3 = 0 THEN 7
         ELSE 4
       END, 10000000, 10.0, t.id, NULL, 1, 1, 0
FROM trace t, k;
INSERT INTO sample_attribute
SELECT id, 'http.route', iif(trace % 6 = 0, '/read', '/write')
FROM sample_sealed WHERE id % 4 = 0;
