-- Measures in the recording of small.sql: two intervals, the third measure
-- with a key whose name is hostile.
INSERT INTO metric (id, recording_id, name, text, aggregate, value, unit, probe,
                    keys, key_1, key_2, linear_min, linear_max, linear_step,
                    max_keys) VALUES
  (1, 1, 'calls', 'calls = count() by comm @ tracepoint:raw_syscalls:sys_enter',
   'count', NULL, '', 'tracepoint:raw_syscalls:sys_enter', 1, 'comm', NULL,
   NULL, NULL, NULL, 4096),
  (2, 1, 'sizes', 'sizes = hist(args.count) @ tracepoint:syscalls:sys_enter_read',
   'hist', 'args.count', 'bytes', 'tracepoint:syscalls:sys_enter_read', 0, NULL,
   NULL, NULL, NULL, NULL, 4096),
  (3, 1, 'took', 'took = lhist(elapsed, 0, 250, 100) by comm, pid @ uretprobe:/x:f',
   'lhist', 'elapsed', 'ns', 'uretprobe:/x:f', 2, 'comm', 'pid', 0, 250, 100, 2),
  (4, 1, 'spread', 'spread = stats(retval) by arg0 @ uretprobe:/x:g',
   'stats', 'retval', '', 'uretprobe:/x:g', 1, 'arg0', NULL, NULL, NULL, NULL,
   4096);
INSERT INTO metric_key VALUES
  (1, 1, 'bash', '', '', ''), (2, 1, 'make', '', '', ''),
  (3, 2, '', '', '', ''),
  (4, 3, 'a' || char(27) || '[2J', 7, '', ''),
  (5, 4, -3, '', '', '');
INSERT INTO metric_value VALUES
  (1, 1, 10, NULL, NULL, NULL), (2, 1, 5, NULL, NULL, NULL),
  (1, 2, 40, NULL, NULL, NULL),
  (1, 3, 4, 1030, 0, 1024), (2, 3, 2, 5000, 2000, 3000),
  (1, 4, 5, 800, -1, 400),
  (1, 5, 3, -9, -10, 1), (2, 5, 1, 9007199254740993, 9007199254740993,
                          9007199254740993);
INSERT INTO metric_bucket VALUES
  (1, 3, 1, 1), (1, 3, 3, 2), (1, 3, 12, 1), (2, 3, 12, 1), (2, 3, 13, 1),
  (1, 4, 0, 1), (1, 4, 2, 2), (1, 4, 3, 1), (1, 4, 4, 1);
INSERT INTO metric_interval
SELECT i.id, m.id, 60, 50, 4, 3, iif(m.id = 3, 2, 0), 0, 0, 5, 1, 2, 0, 0, 0, 0,
       0, 0, 0
FROM interval i, metric m WHERE i.recording_id = 1;
-- Examples: of sizes two of one bucket, one with a request; of spread one whose
-- thread's name is hostile, without.
INSERT INTO metric_exemplar VALUES
  (1, 1, 3, 12, 1030, 5300000000, 0, 1, 4, NULL, NULL, 0, 1),
  (2, 1, 3, 12, 1024, 5200000000, 1, 1, 4,
   x'4bf92f3577b34da6a3ce929d0e0e4736', x'00f067aa0ba902b7', 1, 0),
  (3, 2, 3, 13, 3000, 6100000000, 0, 3, -4, NULL, NULL, 0, 1),
  (4, 2, 5, 0, 9007199254740993, 6100000000, 0, 3, 9, NULL, NULL, 0, 1);
