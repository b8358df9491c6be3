#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The pages of weft flame in Chromium: what they show when one searches,
# zooms, picks a request, has names that would run; whether their intervals
# are those of weft top; and that a graph of 100,000 frames opens and zooms.
# flame-page.py holds the claims, browser.py drives the browser.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
weft=$(cd "${WEFT_BUILD:-$root/build}" && pwd)/weft
command -v chromium >/dev/null || {
	echo "1..0 # SKIP needs chromium: tools/setup.sh interop"
	exit 0
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# file NAME: a recording made by hand of tests/data/small.sql, then what
# standard input says.
file() {
	{
		cat "$root"/store/sql/schema/*.sql
		echo "PRAGMA user_version = $(find "$root/store/sql/schema" \
			-name '*.sql' | wc -l);"
		echo "CREATE VIEW sample AS SELECT * FROM sample_sealed;"
		cat "$root/store/sql/views.sql" "$root/tests/data/small.sql" - \
			"$root/tests/data/sums.sql"
	} | sqlite3 -bail "$dir/$1.db"
}

file small <"$root/tests/data/spans.sql"

file other <<'SQL'
UPDATE stack_total SET count = 10 * count, value = 10 * value
 WHERE stack_id = 5;
SQL

file hostile <<'SQL'
UPDATE function SET name = '</script><script>document.title = 1</script>'
 WHERE id = 4;
UPDATE function SET name = '<img src=x onerror="document.title = 2">'
 WHERE id = 3;
UPDATE function SET name = char(8238) || 'txt.exe' || char(27) || char(8232)
 WHERE id = 2;
UPDATE process SET comm = '<b>bold</b>' WHERE id = 1;
INSERT INTO span (trace, span_id, service, name, kind, start_ns, end_ns,
                  status)
SELECT id, x'0102030405060708', '<i>s</i>', '<svg onload="document.title=3">',
       'server', 1700000000000000000, 1700000001000000000, 'error'
  FROM trace WHERE id = 1;
SQL

# Counts of all sizes, for the intervals.
file counts <<'SQL'
DELETE FROM stack_total; DELETE FROM stack_count;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO function SELECT 1000 + i, 'f' || i, NULL, NULL, NULL, 'symtab'
  FROM n;
INSERT INTO frame (id, binary_id, address, in_kernel)
SELECT id, 1, id, 0 FROM function WHERE id >= 1000;
INSERT INTO frame_function SELECT id, 0, id, NULL FROM function
 WHERE id >= 1000;
INSERT INTO stack_node SELECT id, 3, id FROM function WHERE id >= 1000;
INSERT INTO stack (id, status, depth, ended) SELECT id, 'complete', 4, 'marked' FROM function
 WHERE id >= 1000;
INSERT INTO stack_total
SELECT 1, 1, id, iif(id < 1020, id - 999, (id - 1019) * (id - 1019) *
       (id - 1019) * 7), 10000000 FROM function WHERE id >= 1000;
SQL

# More than 100,000 frames: 100 below main, 30 below each, 33 below these.
file large <<'SQL'
DELETE FROM stack_total; DELETE FROM stack_count;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
INSERT INTO function SELECT 10000 + i, 'some::name::function_' || i || '<T>',
       NULL, NULL, NULL, 'symtab' FROM n;
INSERT INTO frame (id, binary_id, address, in_kernel)
SELECT id, 1, id, id % 7 = 0 FROM function WHERE id >= 10000;
INSERT INTO frame_function SELECT id, 0, id, NULL FROM function
 WHERE id >= 10000;
WITH RECURSIVE n(i) AS (
  SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 102099)
INSERT INTO stack_node
SELECT 1000000 + i,
       CASE WHEN i < 100 THEN 2 WHEN i < 3100 THEN 1000000 + (i - 100) / 30
            ELSE 1000100 + (i - 3100) / 33 END,
       10000 + i % 5000 FROM n;
INSERT INTO stack (id, status, depth, ended)
SELECT id, 'complete', 2 + iif(id < 1000100, 1, iif(id < 1003100, 2, 3)),
       'marked' FROM stack_node WHERE id >= 1000000;
INSERT INTO stack_total
SELECT 1, 1, id, 1 + id * 31 % 97, 10000000 FROM stack
 WHERE id >= 1000000;
SQL

cd "$dir"
for name in small hostile counts large; do
	"$weft" flame -i $name.db -o $name.html
done
"$weft" flame -i small.db --against other.db -o against.html
"$weft" top -i counts.db --by stack -n 0 --json >counts.json
"$weft" flame -i small.db --where 'name = GET /cart' -o pool.html
sqlite3 small.db "UPDATE sample_sealed SET trace = NULL; DELETE FROM span;
	DELETE FROM trace"
"$weft" flame -i small.db -o untraced.html
python3 "$here/flame-page.py" "$dir"
