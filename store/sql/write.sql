-- SPDX-License-Identifier: MIT
--
-- The statements of the writer. Parameters are bound in the order of the
-- columns in the text.

-- name: recording_add
INSERT INTO recording (started_ns, host, kernel, arch, cpus, weft_version,
                       command, boot_id, detail_n, interval_ns)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: recording_end
UPDATE recording SET ended_ns = ?2 WHERE id = ?1;

-- name: event_add
INSERT INTO event (recording_id, name, unit, requested_hz, tau_ns)
VALUES (?1, ?2, ?3, ?4, ?5);

-- name: ledger_entry_add
INSERT INTO ledger_entry (name) VALUES (?1) ON CONFLICT (name) DO NOTHING;

-- name: ledger_entry_find
SELECT id FROM ledger_entry WHERE name = ?1;

-- name: context_source_put
INSERT INTO context_source_word (id, word) VALUES (?1, ?2)
ON CONFLICT (id) DO UPDATE SET word = excluded.word;

-- name: context_status_put
INSERT INTO context_status_word (id, word) VALUES (?1, ?2)
ON CONFLICT (id) DO UPDATE SET word = excluded.word;

-- name: interval_add
INSERT INTO interval (recording_id, start_ns, end_ns, clock_offset_ns,
                      clock_error_ns, self_cpu_ns, self_rss_bytes, bpf_run_ns,
                      bpf_run_count)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: cpu_interval_add
INSERT INTO cpu_interval (interval_id, event_id, cpu, period, due, fired,
                          throttled)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: event_cpu_sum
-- Of recording ?1: interval ?2 took ?3 ns.
UPDATE event SET cpu_ns = cpu_ns + ?3 * (
  SELECT count(*) FROM cpu_interval c
   WHERE c.interval_id = ?2 AND c.event_id = event.id)
WHERE recording_id = ?1;

-- name: process_put
-- What is learnt later about a process replaces what was not known; the row
-- is written only where something changes.
INSERT INTO process (recording_id, pid, start_ns, exec_seq, parent_pid,
                     inner_pid, comm, exe, cgroup, service)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (recording_id, pid, start_ns, exec_seq) DO UPDATE SET
  parent_pid = ifnull(excluded.parent_pid, parent_pid),
  inner_pid = ifnull(excluded.inner_pid, inner_pid),
  comm = ifnull(excluded.comm, comm),
  exe = ifnull(excluded.exe, exe),
  cgroup = ifnull(excluded.cgroup, cgroup),
  service = ifnull(excluded.service, service)
WHERE parent_pid IS NOT ifnull(excluded.parent_pid, parent_pid)
   OR inner_pid IS NOT ifnull(excluded.inner_pid, inner_pid)
   OR comm IS NOT ifnull(excluded.comm, comm)
   OR exe IS NOT ifnull(excluded.exe, exe)
   OR cgroup IS NOT ifnull(excluded.cgroup, cgroup)
   OR service IS NOT ifnull(excluded.service, service);

-- name: process_find
SELECT id FROM process
 WHERE recording_id = ?1 AND pid = ?2 AND start_ns = ?3 AND exec_seq = ?4;

-- name: thread_put
INSERT INTO thread (process_id, tid, start_ns, comm) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (process_id, tid, start_ns) DO UPDATE SET
  comm = ifnull(excluded.comm, comm)
WHERE comm IS NOT ifnull(excluded.comm, comm);

-- name: thread_find
SELECT id FROM thread WHERE process_id = ?1 AND tid = ?2 AND start_ns = ?3;

-- name: binary_add
INSERT INTO binary (kind, path, build_id, identity) VALUES (?1, ?2, ?3, ?4);

-- name: binary_find
SELECT id FROM binary
 WHERE kind = ?1 AND path = ?2 AND ifnull(build_id, '') = ifnull(?3, '')
   AND identity = ?4;

-- name: frame_add
INSERT INTO frame (id, binary_id, address, in_kernel, version)
VALUES (?1, ?2, ?3, ?4, ?5);

-- name: frame_find
SELECT id FROM frame
 WHERE binary_id = ?1 AND address = ?2 AND in_kernel = ?3 AND version = ?4;

-- name: frame_list
SELECT id, binary_id, address, in_kernel, version FROM frame;

-- name: stack_node_add
INSERT INTO stack_node (id, parent_id, frame_id) VALUES (?1, ?2, ?3);

-- name: stack_node_find
-- Only used once index stack_node_identity is there.
SELECT id FROM stack_node WHERE parent_id = ?1 AND frame_id = ?2;

-- name: stack_node_list
SELECT id, parent_id, frame_id FROM stack_node;

-- name: stack_put
INSERT INTO stack (id, status, depth, ended, leaf_frame_id)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (id) DO NOTHING;

-- name: stack_count_add
INSERT INTO stack_count (interval_id, event_id, process_id, stack_id, count,
                         value)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: stack_total_put
INSERT INTO stack_total (event_id, process_id, stack_id, count, value)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (event_id, stack_id, process_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: stack_attribute_count_add
INSERT INTO stack_attribute_count (interval_id, event_id, process_id, stack_id,
                                   count, value, attribute_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: stack_attribute_total_put
INSERT INTO stack_attribute_total (event_id, process_id, stack_id, count,
                                   value, attribute_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (event_id, attribute_id, stack_id, process_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: shape_attribute_find
SELECT id FROM shape_attribute
 WHERE key = ?1 AND ifnull('=' || value, '') = ifnull('=' || ?2, '');

-- name: shape_attribute_add
INSERT INTO shape_attribute (key, value) VALUES (?1, ?2);

-- name: sample_attribute_add
INSERT INTO sample_attribute (sample_id, key, value) VALUES (?1, ?2, ?3)
ON CONFLICT (sample_id, key) DO NOTHING;

-- name: process_attribute_put
INSERT INTO process_attribute (process_id, key, value) VALUES (?1, ?2, ?3)
ON CONFLICT (process_id, key) DO UPDATE SET value = excluded.value
WHERE value IS NOT excluded.value;

-- name: trace_add
INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum, first_ns,
                   last_ns)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: trace_find
SELECT id FROM trace WHERE hex = lower(hex(?1));

-- name: trace_sum
UPDATE trace SET
  samples = samples + ?2,
  weight_sum = weight_sum + ?3,
  value_sum = value_sum + ?4,
  first_ns = min(first_ns, ?5),
  last_ns = max(last_ns, ?6)
WHERE id = ?1;

-- name: sample_add
INSERT INTO sample_tail (id, interval_id, event_id, time_ns, cpu, thread_id,
                         stack_id, value, weight, trace, span_id, trace_flags,
                         context_source, context_status)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);

-- name: tail_seal
-- Without a condition SQLite copies rows as they are.
INSERT INTO sample_sealed SELECT * FROM sample_tail;

-- name: tail_seal_below
INSERT INTO sample_sealed SELECT * FROM sample_tail WHERE id < ?1;

-- name: tail_clear
DELETE FROM sample_tail;

-- name: tail_clear_below
DELETE FROM sample_tail WHERE id < ?1;

-- name: ledger_add
INSERT INTO ledger_row (interval_id, event_id, entry_id, count, value)
VALUES (?1, ?2, ?3, ?4, ?5);

-- name: ledger_sum_add
INSERT INTO ledger_sum (event_id, entry_id, count, value, unmeasured)
VALUES (?1, ?2, ifnull(?3, 0), ifnull(?4, 0), ?3 IS NULL)
ON CONFLICT (event_id, entry_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value,
  unmeasured = unmeasured + excluded.unmeasured;

-- name: function_add
INSERT INTO function (name, linkage_name, file, line, source)
VALUES (?1, ?2, ?3, ?4, ?5);

-- name: function_find
SELECT id FROM function
 WHERE name = ?1 AND ifnull(linkage_name, '') = ifnull(?2, '')
   AND ifnull(file, '') = ifnull(?3, '') AND source = ?4;

-- name: frame_known
SELECT f.id, f.address, b.id, b.path, b.build_id, b.identity,
       (SELECT count(*) FROM frame_function ff WHERE ff.frame_id = f.id),
       n.name, n.source,
       EXISTS (SELECT 1 FROM frame_function ff
                WHERE ff.frame_id = f.id AND ff.line IS NOT NULL)
  FROM frame f
  JOIN binary b ON b.id = f.binary_id
  LEFT JOIN function n ON n.id = (
    SELECT function_id FROM frame_function ff WHERE ff.frame_id = f.id
     ORDER BY inline_depth DESC LIMIT 1)
 WHERE b.kind = 'elf' AND f.in_kernel = 0
 ORDER BY f.binary_id, f.address;

-- name: segment_add
INSERT OR IGNORE INTO binary_segment
SELECT binary_id, ?2, ?3, ?4 FROM frame WHERE id = ?1;

-- name: segments_of
SELECT file_offset, size_bytes, address FROM binary_segment
 WHERE binary_id = ?1 ORDER BY file_offset;

-- name: frame_function_drop
DELETE FROM frame_function WHERE frame_id = ?1;

-- name: function_drop_unused
DELETE FROM function
 WHERE NOT EXISTS (SELECT 1 FROM frame_function ff
                    WHERE ff.function_id = function.id);

-- name: frame_function_add
-- A frame that has gone while it was being named gets none.
INSERT INTO frame_function (frame_id, inline_depth, function_id, line)
SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM frame WHERE id = ?1)
ON CONFLICT (frame_id, inline_depth) DO NOTHING;

-- name: span_add
-- Senders repeat what they are not sure of: the first stays.
INSERT INTO span (trace, span_id, parent_span_id, service, name, kind,
                  start_ns, end_ns, status, attributes)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (trace, span_id) DO NOTHING;

-- name: metric_add
INSERT INTO metric (recording_id, name, text, aggregate, value, unit, probe,
                    keys, key_1, key_2, key_3, key_4, linear_min, linear_max,
                    linear_step, max_keys)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16);

-- name: metric_key_add
INSERT INTO metric_key (metric_id, key_1, key_2, key_3, key_4)
VALUES (?1, ?2, ?3, ?4, ?5);

-- name: metric_key_find
SELECT id FROM metric_key
 WHERE metric_id = ?1 AND key_1 = ?2 AND key_2 = ?3 AND key_3 = ?4
   AND key_4 = ?5;

-- name: metric_value_put
-- Intervals that merge while the file cannot be written add up here.
INSERT INTO metric_value (interval_id, key_id, count, sum, min, max)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (interval_id, key_id) DO UPDATE SET
  count = count + excluded.count,
  sum = sum + excluded.sum,
  min = min(min, excluded.min),
  max = max(max, excluded.max);

-- name: metric_bucket_put
INSERT INTO metric_bucket (interval_id, key_id, bucket, count)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (interval_id, key_id, bucket) DO UPDATE SET
  count = count + excluded.count;

-- name: metric_interval_add
INSERT INTO metric_interval (interval_id, metric_id, fired, counted, filtered,
                             not_met, keys_full, lost_busy, unreadable,
                             entered, no_entry, no_return, calls_full, missed,
                             lost_discarded, selected, lost_exemplars)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
        ?17);

-- name: metric_exemplar_add
INSERT INTO metric_exemplar (interval_id, key_id, bucket, value, time_ns, cpu,
                             thread_id, stack_id, trace_id, span_id,
                             context_source, context_status)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);
