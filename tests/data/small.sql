-- A recording made by hand: two intervals of one second, 100 Hz on two CPUs,
-- one detail sample in ten, of which one per interval found no room. Its
-- ledger adds up. Names in it are as hostile as names can be.

INSERT INTO recording VALUES (1, 1700000000000000000, 1700000002000000000,
  'host', '6.1.0', 'x86_64', 2, '0.1.0', NULL, 'boot', 10, 1000000000);
INSERT INTO event (id, recording_id, name, unit, requested_hz)
  VALUES (1, 1, 'cpu-clock', 'ns', 100);
INSERT INTO interval VALUES
  (1, 1, 5000000000, 6000000000, 1699999995000000000, 1000, 2000000, 9000000,
   NULL, NULL),
  (2, 1, 6000000000, 7000000000, 1699999995000000000, 1000, 3000000, 9000000,
   NULL, NULL);
INSERT INTO cpu_interval VALUES
  (1, 1, 0, 10000000, 100, 99, 0), (1, 1, 1, 10000000, 100, 99, 0),
  (2, 1, 0, 10000000, 100, 99, 0), (2, 1, 1, 10000000, 100, 99, 0);

INSERT INTO process VALUES
  (1, 1, 100, 1000, 1, 1, NULL, 'worker', '/usr/bin/worker', '/a', 'shop'),
  (2, 1, 200, 2000, 1, 1, NULL, 'e;vil' || char(10) || ' 7', '/tmp/evil',
   NULL, NULL);
INSERT INTO thread VALUES
  (1, 1, 101, 1000, 'worker/1'), (2, 1, 102, 1000, 'worker/2'),
  (3, 2, 200, 2000, char(27) || '[31mred');

INSERT INTO binary VALUES
  (1, 'elf', '/usr/bin/worker', 'aa', ''),
  (2, 'kernel', '[kernel]', NULL, ''),
  (3, 'elf', '/usr/lib/lib;c.so', 'bb', '');
INSERT INTO function VALUES
  (1, '_start', NULL, NULL, NULL, 'symtab'),
  (2, 'main', NULL, NULL, NULL, 'symtab'),
  (3, 'handle', NULL, NULL, NULL, 'symtab'),
  (4, 'compress', NULL, NULL, NULL, 'symtab'),
  (5, 'ksys_read', NULL, NULL, NULL, 'kallsyms'),
  (6, 'op;' || char(10) || char(27) || '[2J' || CAST(x'ff41' AS TEXT)
      || '\x5c 12', NULL, NULL, NULL, 'symtab'),
  (7, 'memcpy', NULL, NULL, NULL, 'dwarf'),
  (8, 'fast_copy', NULL, NULL, NULL, 'dwarf');
INSERT INTO frame (id, binary_id, address, in_kernel) VALUES
  (1, 1, 16, 0), (2, 1, 32, 0), (3, 1, 48, 0), (4, 1, 64, 0), (5, 1, 65, 0),
  (6, 2, 80, 1), (7, 3, 4660, 0), (8, 1, 96, 0), (9, 1, 112, 0),
  (10, 2, 255, 1);
INSERT INTO frame_function VALUES
  (1, 0, 1, NULL), (2, 0, 2, NULL), (3, 0, 3, 7), (4, 0, 4, NULL),
  (5, 0, 4, NULL), (6, 0, 5, NULL), (8, 0, 6, NULL),
  (9, 0, 7, NULL), (9, 1, 8, NULL);

INSERT INTO stack_node VALUES
  (1, -32, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, 4, 5), (6, 3, 6),
  (7, 2, 7), (8, 3, 8), (9, -114, 3), (10, -65, 2), (11, 10, 3), (13, 3, 9),
  (14, 3, 10);
INSERT INTO stack (id, status, depth, ended) VALUES
  (4, 'complete', 4, 'marked'), (5, 'complete', 5, 'marked'),
  (6, 'complete', 4, 'marked'), (7, 'complete', 3, 'marked'),
  (8, 'complete', 4, 'marked'), (9, 'broken', 1, 'no_frame'),
  (11, 'truncated', 2, 'depth'), (-4, 'lost', 0, NULL),
  (13, 'complete', 4, 'marked'), (14, 'complete', 4, 'marked');

WITH i(id) AS (VALUES (1), (2)), c(process, stack, count) AS (VALUES
  (1, 4, 60), (1, 5, 20), (1, 6, 15), (2, 6, 9), (1, 7, 10), (1, 8, 10),
  (1, 9, 5), (1, 11, 5), (1, -4, 3), (1, 13, 12), (1, 14, 1))
INSERT INTO stack_count
SELECT i.id, 1, c.process, c.stack, c.count, c.count * 10000000 FROM i, c;
INSERT INTO stack_total
SELECT event_id, process_id, stack_id, sum(count), sum(value)
FROM stack_count GROUP BY 1, 2, 3;

INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum, first_ns,
                   last_ns) VALUES
  (1, x'0af7651916cd43dd8448eb211c80319c', 0, 0, 0, 0, 0),
  (2, x'0af76519ffffffffffffffffffffffff', 0, 0, 0, 0, 0),
  (3, x'4bf92f3577b34da6a3ce929d0e0e4736', 0, 0, 0, 0, 0);
INSERT INTO sample_attribute VALUES (1, 'http.route', '/orders');
-- 14 samples an interval, 40 ms apart; one pause of 300 ms
WITH RECURSIVE n(i) AS (
  SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 27)
INSERT INTO sample_sealed
SELECT
  i + 1, 1 + i / 14, 1,
  5000000000 + (i / 14) * 1000000000 + (i % 14) * 40000000
    + iif(i % 14 > 9, 300000000, 0),
  i % 2,
  iif(i % 14 < 8, 1, iif(i % 14 < 12, 2, 3)),
  CASE i % 14 WHEN 5 THEN 5 WHEN 6 THEN 8 WHEN 7 THEN 13 WHEN 9 THEN 7
    WHEN 10 THEN 11 WHEN 12 THEN 6 WHEN 13 THEN -4 ELSE 4 END,
  10000000, 10.0,
  iif(i % 14 < 8, 1, iif(i % 14 < 11, 2, iif(i = 11, 3, NULL))),
  iif(i % 14 < 11 OR i = 11, x'00f067aa0ba902b7', NULL),
  iif(i % 14 < 11 OR i = 11, 1, NULL),
  iif(i % 14 < 11 OR i = 11, 1, 0),
  iif(i % 14 < 11 OR i = 11, 0, 2)
FROM n;
UPDATE trace SET (samples, weight_sum, value_sum, first_ns, last_ns) = (
  SELECT count(*), sum(weight), sum(weight * value), min(time_ns), max(time_ns)
  FROM sample_sealed s WHERE s.trace = trace.id);

INSERT INTO ledger_entry VALUES
  (1, 'due'), (2, 'fired'), (3, 'not_run'), (4, 'counted'), (5, 'filtered'),
  (6, 'idle'), (7, 'lost_counts_full'), (8, 'lost_busy'), (9, 'selected'),
  (10, 'passed_over'), (11, 'lost_ring_full'), (12, 'lost_ring_busy'),
  (13, 'stored'), (14, 'lost_discarded'), (15, 'lost_counts_discarded'),
  (16, 'stack_lost'), (17, 'truncated'), (18, 'broken'), (19, 'context_ok'),
  (20, 'context_zero'), (21, 'throttled');
WITH i(id) AS (VALUES (1), (2)), e(id, count) AS (VALUES
  (1, 200), (2, 198), (3, 2), (4, 150), (5, 0), (6, 46), (7, 2), (8, 0),
  (9, 15), (10, 135), (11, 1), (12, 0), (13, 14), (14, 0), (15, 0), (16, 3),
  (17, 5), (18, 5), (19, 11), (20, 3), (21, NULL))
INSERT INTO ledger_row
SELECT i.id, 1, e.id, e.count, e.count * 10000000 FROM i, e;

INSERT INTO context_source_word VALUES (0, 'none'), (1, 'otel');
INSERT INTO context_status_word VALUES (0, 'ok'), (1, 'null'), (2, 'zero');
