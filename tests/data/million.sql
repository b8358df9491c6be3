-- In place of small.sql's stacks: 1,000,000 different ones, 20 frames deep, of
-- two processes. Below a chain of 17 frames each of 100 nodes calls 100, and
-- each of these 100. The text of all is a few hundred megabytes.

DELETE FROM stack_count;
DELETE FROM stack_total;
DELETE FROM sample_sealed;

WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 316)
INSERT INTO function
SELECT 1000 + i, printf('a_function_of_the_module_number_%d(int, char const*)',
                        i), '_Z' || i, '/src/file_' || i % 40 || '.cc', i,
       'dwarf'
FROM n;
INSERT INTO frame (id, binary_id, address, in_kernel)
SELECT id, 1, 16 * id, 0 FROM function WHERE id >= 1000;
INSERT INTO frame_function
SELECT id, 0, id, id % 500 FROM function WHERE id >= 1000;

WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 16)
INSERT INTO stack_node SELECT 100 + i, iif(i, 99 + i, -32), 1300 + i FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
INSERT INTO stack_node SELECT 1000 + i, 116, 1000 + i FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
INSERT INTO stack_node SELECT 10000 + i, 1000 + i / 100, 1100 + i % 100 FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
INSERT INTO stack_node
SELECT 1000000 + i, 10000 + i / 100, 1200 + i % 100 FROM n;
INSERT INTO stack (id, status, depth, ended, leaf_frame_id)
SELECT id, 'complete', 20, 'marked', frame_id
FROM stack_node WHERE id >= 1000000;

INSERT INTO stack_count
SELECT 1, 1, 1 + id % 2, id, 1 + id % 7, (1 + id % 7) * 10000000 + id % 3
FROM stack WHERE id >= 1000000;
INSERT INTO stack_total
SELECT event_id, process_id, stack_id, count, value FROM stack_count;

-- A sample of every tenth stack, of requests.
INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum, first_ns,
                   last_ns)
SELECT 1000 + i.id, CAST(printf('request %08d', i.id) AS BLOB), 0, 0, 0, 0, 0
FROM frame i WHERE i.id >= 1000;
INSERT INTO sample_sealed
SELECT id, 1, 1, 5000000000 + id * 100, 0, 1 + id % 2 * 2, id, 10000000, 10.0,
       2000 + id / 10 % 317, CAST(printf('%08d', id % 10000 + 1) AS BLOB), 1,
       1, 0
FROM stack WHERE id >= 1000000 AND id % 10 = 3;
