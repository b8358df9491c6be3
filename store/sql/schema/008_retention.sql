-- SPDX-License-Identifier: MIT
--
-- Files that are recorded into for weeks: what is old goes (store/retention.h),
-- and what has gone is counted.

CREATE TABLE pin (
  -- requests whose samples and spans stay, however old
  trace INTEGER PRIMARY KEY REFERENCES trace,
  pinned_ns INTEGER NOT NULL        -- Unix; when that was asked for
);

ALTER TABLE metric_interval ADD COLUMN
  expired INTEGER NOT NULL DEFAULT 0 /* counted, but no more in metric_value:
                it was old */;
ALTER TABLE metric_interval ADD COLUMN
  expired_exemplars INTEGER NOT NULL DEFAULT 0 /* the same of metric_exemplar */;

CREATE INDEX metric_exemplar_interval ON metric_exemplar (interval_id);
