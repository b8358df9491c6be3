-- Trace context of detail samples. ?1 event, ?2 to ?3 intervals.

-- name: context_samples
SELECT thread_id, context_source, context_status, interval_id FROM sample
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3;

-- name: context_process
-- Of thread ?1.
SELECT p.id, p.pid, p.comm
FROM thread t JOIN process p ON p.id = t.process_id
WHERE t.id = ?1;

-- name: context_words
SELECT 0, id, word FROM context_source_word
UNION ALL
SELECT 1, id, word FROM context_status_word;
