-- What db.c does to a file that an older weft wrote; it stays as it is.

-- name: db_schema_1
-- Schema 2 added the last column.
CREATE TEMP VIEW stack AS
SELECT id, status, depth, NULL AS ended FROM main.stack;
