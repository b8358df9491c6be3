-- Every text of a recording as hostile as one can be: escape sequences, C1
-- controls as bytes and as UTF-8, bidirectional overrides, line ends, bytes that
-- are no UTF-8, in front of what was there. After small.sql, spans.sql and
-- measures.sql.
CREATE TEMP TABLE bad AS SELECT
  char(27) || '[2J' || char(27) || ']0;owned' || char(7) || char(13) || '_' || char(10)
  || char(155) || '31m' || char(8238) || char(8294) || char(8232) || char(127)
  || CAST(x'9b41ff' AS TEXT) || ';<b>"\' AS text;

UPDATE recording SET host = (SELECT text FROM bad) || host,
  kernel = (SELECT text FROM bad), arch = (SELECT text FROM bad),
  weft_version = (SELECT text FROM bad), command = (SELECT text FROM bad),
  boot_id = (SELECT text FROM bad);
UPDATE event SET name = (SELECT text FROM bad) || name;
UPDATE process SET comm = (SELECT text FROM bad) || ifnull(comm, ''),
  exe = '/' || (SELECT text FROM bad) || ifnull(exe, ''),
  cgroup = (SELECT text FROM bad) || ifnull(cgroup, ''),
  service = (SELECT text FROM bad) || ifnull(service, '');
UPDATE thread SET comm = (SELECT text FROM bad) || ifnull(comm, '');
UPDATE binary SET path = path || (SELECT text FROM bad),
  build_id = (SELECT text FROM bad) || ifnull(build_id, '');
UPDATE function SET name = (SELECT text FROM bad) || name,
  file = (SELECT text FROM bad), source = (SELECT text FROM bad) || source;
UPDATE stack SET ended = (SELECT text FROM bad) WHERE ended IS NOT NULL;
UPDATE sample_attribute SET key = (SELECT text FROM bad) || key,
  value = (SELECT text FROM bad) || value;
INSERT INTO sample_attribute SELECT 2, 'http.route', text FROM bad;
UPDATE span SET name = (SELECT text FROM bad) || ifnull(name, ''),
  service = (SELECT text FROM bad) || ifnull(service, ''),
  kind = (SELECT text FROM bad) || ifnull(kind, ''),
  status = (SELECT text FROM bad) || ifnull(status, '');
UPDATE context_source_word SET word = (SELECT text FROM bad) || word;
UPDATE context_status_word SET word = (SELECT text FROM bad) || word;
INSERT INTO ledger_entry SELECT 99, text FROM bad;
INSERT INTO ledger_row VALUES (1, 1, 99, 1, 1), (2, 1, 99, 1, 1);
UPDATE metric SET name = (SELECT text FROM bad) || name,
  text = (SELECT text FROM bad) || text, probe = (SELECT text FROM bad),
  value = (SELECT text FROM bad), key_1 = (SELECT text FROM bad);
UPDATE metric_key SET key_1 = (SELECT text FROM bad) || key_1
  WHERE typeof(key_1) = 'text';
INSERT INTO shape_attribute SELECT 1, text, text FROM bad;
INSERT INTO stack_attribute_total VALUES (1, 1, 4, 1, 60, 600000000);
INSERT INTO stack_attribute_count VALUES (1, 1, 1, 4, 1, 60, 600000000);
INSERT INTO process_attribute SELECT 1, text, text FROM bad;
