-- SPDX-License-Identifier: MIT
--
-- The tables of a recording: the evidence. Comments stand inside the
-- parentheses so that `.schema` shows them. Times are integer nanoseconds;
-- boot = CLOCK_BOOTTIME, Unix = since 1970. Other units stand in the column
-- name or in event.unit. What can be computed from these is in views.sql.

PRAGMA application_id = 0x77656674; -- "weft"

CREATE TABLE recording (
  -- one run of weft-record; --append adds another to the same file
  id INTEGER PRIMARY KEY,
  started_ns INTEGER NOT NULL,      -- Unix
  ended_ns INTEGER,                 -- Unix; NULL: did not end cleanly (yet)
  host TEXT NOT NULL,
  kernel TEXT NOT NULL,
  arch TEXT NOT NULL,
  cpus INTEGER NOT NULL,            -- sampled
  weft_version TEXT NOT NULL,
  command TEXT,                     -- the program after `--`, name only
  boot_id TEXT NOT NULL,
  detail_n INTEGER NOT NULL,        -- one detail sample in N; 0: detail off
  interval_ns INTEGER NOT NULL      -- asked for
);

CREATE TABLE event (
  -- what triggered samples, and the unit of every `value` that it has
  id INTEGER PRIMARY KEY,
  recording_id INTEGER NOT NULL REFERENCES recording,
  name TEXT NOT NULL,
  unit TEXT NOT NULL CHECK (unit IN ('ns', 'calls', 'events')),
  requested_hz INTEGER              -- NULL: not a timer
);

CREATE TABLE interval (
  -- the unit of truth: everything of an interval is stored, or nothing
  id INTEGER PRIMARY KEY,
  recording_id INTEGER NOT NULL REFERENCES recording,
  start_ns INTEGER NOT NULL,        -- boot
  end_ns INTEGER NOT NULL,          -- boot
  clock_offset_ns INTEGER NOT NULL, -- add to boot time for Unix time
  clock_error_ns INTEGER NOT NULL,  -- how far off clock_offset_ns may be
  self_cpu_ns INTEGER NOT NULL,     -- CPU time of the collector and inspectors
  self_rss_bytes INTEGER NOT NULL,  -- resident memory of the collector
  bpf_run_ns INTEGER,               -- NULL without --self-cost
  bpf_run_count INTEGER             -- NULL without --self-cost
);
CREATE INDEX interval_time ON interval (start_ns);

CREATE TABLE cpu_interval (
  -- what the timer of one CPU was due to do, and did
  interval_id INTEGER NOT NULL REFERENCES interval,
  event_id INTEGER NOT NULL REFERENCES event,
  cpu INTEGER NOT NULL,
  period INTEGER NOT NULL,          -- in the event's unit
  due INTEGER NOT NULL,
  fired INTEGER NOT NULL,
  throttled INTEGER,                -- NULL: not measured
  PRIMARY KEY (interval_id, event_id, cpu)
) WITHOUT ROWID;

CREATE TABLE process (
  -- one program run: exec and pid reuse make new rows
  id INTEGER PRIMARY KEY,
  recording_id INTEGER NOT NULL REFERENCES recording,
  pid INTEGER NOT NULL,             -- in the initial pid namespace
  start_ns INTEGER NOT NULL,        -- boot; start of the process, not of exec
  exec_seq INTEGER NOT NULL,        -- rises with each exec
  parent_pid INTEGER,
  inner_pid INTEGER,                -- in its own pid namespace
  comm TEXT,
  exe TEXT,                         -- as it names itself: in its own root
  cgroup TEXT,
  service TEXT                      -- service.name of its process context
);
CREATE UNIQUE INDEX process_identity
  ON process (recording_id, pid, start_ns, exec_seq);

CREATE TABLE thread (
  id INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process,
  tid INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,        -- boot
  comm TEXT
);
CREATE UNIQUE INDEX thread_identity ON thread (process_id, tid, start_ns);

CREATE TABLE binary (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL
    CHECK (kind IN ('elf', 'kernel', 'module', 'vdso', 'jit', 'unknown')),
  path TEXT NOT NULL,               -- as mapped; no " (deleted)"
  build_id TEXT,                    -- lower-case hex; NULL: has none
  identity TEXT NOT NULL            -- tells equal paths apart where there is
                                    -- no build ID: device:inode, or process
);
CREATE UNIQUE INDEX binary_identity
  ON binary (path, kind, ifnull(build_id, ''), identity);

CREATE TABLE function (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,               -- demangled
  linkage_name TEXT,                -- NULL: same as name
  file TEXT,                        -- source file
  line INTEGER,                     -- where the function starts
  source TEXT NOT NULL              -- what named it: symtab, dynsym, ...
);
CREATE UNIQUE INDEX function_identity
  ON function (name, ifnull(linkage_name, ''), ifnull(file, ''), source);

CREATE TABLE frame (
  -- one place in code, whoever ran it
  id INTEGER PRIMARY KEY,
  binary_id INTEGER NOT NULL REFERENCES binary,
  address INTEGER NOT NULL,         -- elf, vdso: offset in the file; kernel,
                                    -- module: from its base; else absolute.
                                    -- Of callers, the byte before the return
                                    -- address: a byte of the call itself
  in_kernel INTEGER NOT NULL CHECK (in_kernel IN (0, 1))
);
CREATE UNIQUE INDEX frame_identity ON frame (binary_id, address, in_kernel);

CREATE TABLE frame_function (
  -- the names of a frame: one, or several where code was inlined
  frame_id INTEGER NOT NULL REFERENCES frame,
  inline_depth INTEGER NOT NULL,    -- 0 = innermost
  function_id INTEGER NOT NULL REFERENCES function,
  line INTEGER,
  PRIMARY KEY (frame_id, inline_depth)
) WITHOUT ROWID;
CREATE INDEX frame_function_function ON frame_function (function_id);

CREATE TABLE stack_node (
  -- all stacks as one tree, grown from the root, so that stacks share their
  -- callers. View stack_frame unfolds it.
  id INTEGER PRIMARY KEY,
  parent_id INTEGER NOT NULL,       -- the caller; 0 or less: a root, one for
                                    -- each status
  frame_id INTEGER NOT NULL         -- no REFERENCES: checking it per row is
                                    -- dear, the writer makes both
);

CREATE TABLE stack (
  -- the nodes at which samples were taken; id = id of the leaf's node
  id INTEGER PRIMARY KEY,
  status TEXT NOT NULL,             -- complete, truncated, broken, no_user,
                                    -- lost
  depth INTEGER NOT NULL            -- frames
);

CREATE TABLE stack_count (
  -- shape: exact counts
  interval_id INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  process_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,
  count INTEGER NOT NULL,
  value INTEGER NOT NULL,           -- event.unit
  PRIMARY KEY (interval_id, event_id, process_id, stack_id)
) WITHOUT ROWID;

CREATE TABLE stack_total (
  -- sums of stack_count, kept in the same transaction
  event_id INTEGER NOT NULL,
  process_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,
  count INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (event_id, stack_id, process_id)
) WITHOUT ROWID;

CREATE TABLE trace (
  -- sums over the samples of a trace, kept in the same transaction
  id INTEGER PRIMARY KEY,
  trace_id BLOB NOT NULL CHECK (length(trace_id) = 16),
  hex TEXT GENERATED ALWAYS AS (lower(hex(trace_id))) VIRTUAL,
  samples INTEGER NOT NULL,
  weight_sum REAL NOT NULL,         -- estimates how often shape counted it
  value_sum REAL NOT NULL,          -- sum of weight * value
  first_ns INTEGER NOT NULL,        -- boot
  last_ns INTEGER NOT NULL          -- boot
);
CREATE UNIQUE INDEX trace_hex ON trace (hex);

CREATE TABLE sample_sealed (
  -- detail: one row per chosen sample; indexed. Read it through view
  -- `sample`, which adds the newest rows (sample_tail)
  id INTEGER PRIMARY KEY,
  interval_id INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,         -- boot
  cpu INTEGER NOT NULL,
  thread_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,
  value INTEGER NOT NULL,           -- event.unit
  weight REAL NOT NULL,             -- 1 / probability of having been chosen
  trace INTEGER,                    -- trace.id; NULL: none active, or unknown
  span_id BLOB,                     -- 8 bytes
  trace_flags INTEGER,              -- W3C
  context_source INTEGER NOT NULL,  -- context_source_word has the words
  context_status INTEGER NOT NULL   -- context_status_word has the words
);
CREATE INDEX sample_trace ON sample_sealed (trace, time_ns)
  WHERE trace IS NOT NULL;
CREATE INDEX sample_stack ON sample_sealed (stack_id);
CREATE INDEX sample_time ON sample_sealed (time_ns);

CREATE TABLE sample_tail (
  -- the newest samples: columns of sample_sealed, no index, so that writing
  -- is cheap; moved there about every million rows and at close
  id INTEGER PRIMARY KEY,
  interval_id INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  cpu INTEGER NOT NULL,
  thread_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,
  value INTEGER NOT NULL,
  weight REAL NOT NULL,
  trace INTEGER,
  span_id BLOB,
  trace_flags INTEGER,
  context_source INTEGER NOT NULL,
  context_status INTEGER NOT NULL
);

CREATE TABLE sample_attribute (
  sample_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (sample_id, key)
) WITHOUT ROWID;

CREATE TABLE span (
  trace INTEGER NOT NULL REFERENCES trace,
  span_id BLOB NOT NULL CHECK (length(span_id) = 8),
  parent_span_id BLOB,
  service TEXT,
  name TEXT,
  kind TEXT,
  start_ns INTEGER,                 -- Unix
  end_ns INTEGER,                   -- Unix
  status TEXT,
  attributes TEXT,                  -- JSON
  PRIMARY KEY (trace, span_id)
) WITHOUT ROWID;

CREATE TABLE ledger_entry (
  -- the names of ledger.entry
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE ledger_row (
  -- where every firing and every choice ended; view ledger has the names
  interval_id INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  entry_id INTEGER NOT NULL REFERENCES ledger_entry,
  count INTEGER,                    -- NULL: not measured
  value INTEGER,                    -- event.unit; NULL: not measured
  PRIMARY KEY (interval_id, event_id, entry_id)
) WITHOUT ROWID;

CREATE TABLE context_source_word (
  id INTEGER PRIMARY KEY,
  word TEXT NOT NULL
);

CREATE TABLE context_status_word (
  id INTEGER PRIMARY KEY,
  word TEXT NOT NULL
);
