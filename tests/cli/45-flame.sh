#!/bin/bash
# SPDX-License-Identifier: MIT
# weft flame: the page's data and its text. What a browser makes of it:
# tests/interop/62-flame.sh.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c
B=0af76519ffffffffffffffffffffffff

# page FILE: its data, with the tree's nodes as paths, as Python sees it: what
# follows on stdin are statements on `data`, `paths`, `layer()`.
page() {
	cat >claims.py
	python3 - "$1" <<-'END'
	import html.parser, hashlib, base64, json, re, sys
	text = open(sys.argv[1], "rb").read().decode("utf-8", "strict")

	class Page(html.parser.HTMLParser):
	    """Elements open and close in order; nothing is loaded, nothing runs
	    but the one script."""
	    void = {"meta", "input", "link", "br"}
	    def __init__(self):
	        super().__init__(convert_charrefs=True)
	        self.open, self.texts, self.elements = [], [], []
	    def handle_starttag(self, tag, attrs):
	        self.elements.append((tag, dict(attrs)))
	        for key, value in attrs:
	            assert not key.startswith("on") and key != "style", (tag, key)
	            assert key not in ("src", "href", "srcset", "action"), (tag, key)
	        if tag not in self.void:
	            self.open.append(tag)
	            self.texts.append([tag, dict(attrs), ""])
	    def handle_endtag(self, tag):
	        assert self.open and self.open.pop() == tag, (tag, self.open)
	    def handle_data(self, data):
	        if self.open and self.open[-1] in ("script", "style"):
	            self.texts[-1][2] += data

	parsed = Page()
	parsed.feed(text)
	parsed.close()
	assert parsed.open == [], parsed.open
	scripts = [t for t in parsed.texts if t[0] == "script"]
	assert [s[1] for s in scripts] == \
	    [{"type": "application/json", "id": "data"}, {}]
	policy = [a["content"] for t, a in parsed.elements
	          if a.get("http-equiv") == "Content-Security-Policy"]
	def word(of):
	    digest = hashlib.sha256(of.encode()).digest()
	    return "'sha256-" + base64.b64encode(digest).decode() + "'"
	style = [t[2] for t in parsed.texts if t[0] == "style"]
	assert len(policy) == len(style) == 1
	assert "default-src 'none'" in policy[0] and "unsafe" not in policy[0]
	assert "script-src " + word(scripts[1][2]) + ";" in policy[0]
	assert "style-src " + word(style[0]) + ";" in policy[0]
	data = json.loads(scripts[0][2])

	def numbers(key, of=data):
	    return [float(x) for x in of[key].split()]
	depths = [int(x) for x in numbers("depths")]
	frames = [int(x) for x in numbers("frames")]
	kinds = [int(x) for x in numbers("frame_kinds")]
	binaries = [data["binaries"][int(x)] for x in numbers("frame_binaries")]
	paths, path = [], []
	for depth, frame in zip(depths, frames):
	    assert depth <= len(path)
	    path[depth:] = [data["names"][frame]]
	    paths.append(tuple(path[1:]))
	assert len(set(paths)) == len(paths) == len(frames)
	def layer(of, of_values=False):
	    at, out = 0, {}
	    for step, value in zip(numbers("at", of), numbers(
	            "values" if of_values else "weights", of)):
	        at += int(step)
	        assert paths[at] not in out
	        out[paths[at]] = value
	    return out
	exec(open("claims.py").read())
	END
}

adds_up() {
	recording weft.db
	run "$weft" flame -o page.html
	expect 0
	[ ! -s out ]
	[ ! -s err ]
	"$weft" export >folded
	page page.html <<-'END'
	all = layer(data["everyone"])
	assert sum(all.values()) == data["everyone"]["samples"] == 300
	assert sum(layer(data["everyone"], True).values()) == \
	    data["everyone"]["value"] == 3000000000
	assert all[("worker", "_start", "main", "handle", "compress")] == 120
	assert all[("worker", "[broken]", "handle")] == 10
	assert all[("worker", "[truncated]", "main", "handle")] == 10
	assert all[("worker", "[stack lost]")] == 6
	assert data["everyone"]["effective"] == 300
	# the same stacks as export has
	lines = [l.rsplit(" ", 1) for l in open("folded").read().splitlines()]
	assert sorted(int(c) for _, c in lines) == sorted(all.values())
	assert len(lines) == len(all)
	assert len([l for l, c in lines if tuple(l.split(";")) in all]) == 8
	# kinds: 0 user, 1 kernel, 2 inlined, 4 mark, 5 process
	kind = dict(zip(data["names"], kinds))
	assert [kind[n] for n in ("main", "ksys_read_[k]", "memcpy", "fast_copy",
	    "[broken]", "[stack lost]", "worker")] == [0, 1, 2, 0, 4, 4, 5]
	assert dict(zip(data["names"], binaries))["main"] == "/usr/bin/worker"
	END
}

requests() {
	recording weft.db
	sqlite3 weft.db <"$root/tests/data/spans.sql"
	"$weft" flame >page.html
	page page.html <<-'END'
	t = data["traces"]
	assert [(x["samples"], x["name"], x["status"]) for x in t] == \
	    [(16, "GET /cart", "ok"), (6, "GET /cart", "error"), (1, None, None)]
	assert data["chosen"] is None and data["traces_in_all"] == 3
	for x in t:
	    # 15 selected, 14 stored: of weight 10 each, and 15/14 for the lost
	    assert abs(sum(layer(x).values()) - x["samples"] * 150 / 14) < 1e-6
	    assert abs(x["effective"] - x["samples"]) < 1e-6
	    assert set(layer(x)) <= set(layer(data["everyone"]))
	    assert x["estimate_lo"] < x["estimate"] < x["estimate_hi"]
	END
	"$weft" flame --trace "$B" --traces 1 >page.html
	page page.html <<-END
	assert [t["id"] for t in data["traces"]] == ["$B"]
	assert data["chosen"] == 0 and data["traces_in_all"] == 3
	END
	"$weft" flame --traces 0 >page.html
	page page.html <<-'END'
	assert data["traces"] == [] and data["traces_in_all"] == 3
	END
	run "$weft" flame --trace ffffffffffff
	expect 4
	[ ! -s out ]
	has err 'no sample of .* carries trace ffffffffffff'
}

# Many requests as one: their samples are those of each, added up.
pooled() {
	recording weft.db
	sqlite3 weft.db <"$root/tests/data/spans.sql"
	"$weft" flame --where 'name = GET /cart' >page.html
	"$weft" top --where 'name = GET /cart' --json >pooled
	page page.html <<-'END'
	pool, *each = data["traces"]
	top = json.load(open("pooled"))
	assert pool["id"] == "name = GET /cart" and data["chosen"] == 0
	assert [x["samples"] for x in each] == [16, 6]
	assert pool["requests"] == top["requests"] == 2
	assert pool["samples"] == 22 and data["traces_in_all"] == 2
	assert data["everyone"]["samples"] == 300
	sums = {}
	for x in each:
	    for stack, weight in layer(x).items():
	        sums[stack] = sums.get(stack, 0) + weight
	assert sums.keys() == layer(pool).keys()
	assert all(abs(sums[s] - w) < 1e-6 for s, w in layer(pool).items())
	assert abs(pool["estimate"] - top["request_ns"]) < 1e-3 * top["request_ns"]
	assert pool["estimate_hi"] == top["request_ns_hi"]
	END
	# one without a sample counts as one
	"$weft" flame --where 'http.route ~ /c*' --traces 0 >page.html
	page page.html <<-'END'
	assert [x["requests"] for x in data["traces"]] == [3]
	assert data["traces"][0]["requests_sampled"] == 2
	END
	run "$weft" flame --where 'name = nonesuch'
	expect 4
	[ ! -s out ]
	has err 'no request of .* is so'
	run "$weft" flame --where 'name = GET /cart' --pid 200
	expect 4
	has err 'no request of .* with name = GET /cart has a sample of that'
	run "$weft" flame --where "name = x" --trace "$A"
	expect 2
	run "$weft" flame --where name
	expect 2
}

untraced() {
	recording weft.db "UPDATE sample_sealed SET trace = NULL;
		DELETE FROM trace;"
	run "$weft" flame
	expect 0
	[ ! -s err ]
	page out <<-'END'
	assert data["traces"] == [] and data["traces_in_all"] == 0
	assert data["everyone"]["samples"] == 300
	END
	run "$weft" flame --trace "$A"
	expect 4
}

choices() {
	recording weft.db
	"$weft" flame --pid 200 >page.html
	page page.html <<-'END'
	assert data["everyone"]["samples"] == 18 and data["pid"] == 200
	assert len([p for p in paths if len(p) == 1]) == 1
	assert data["traces"] == []
	END
	"$weft" flame --since +1 >page.html
	page page.html <<-'END'
	assert data["everyone"]["samples"] == 150 and not data["whole_recording"]
	END
	run "$weft" flame --pid 300
	expect 4
	[ ! -s out ]
	has err 'no sample of process 300, of cpu-clock in recording'
	for wrong in "--pid x" "--frames 5" "--traces 99999999" \
		"--pid 200 --against weft.db"; do
		# shellcheck disable=SC2086
		run "$weft" flame $wrong
		expect 2
	done
	run "$weft" flame -o /nonesuch/x
	expect 1
	has err "cannot create '/nonesuch/x'"
	"$weft" flame -o /dev/full 2>err && return 1
	has err "cannot write '/dev/full'"
}

two_files() {
	recording weft.db
	recording other.db "UPDATE stack_count SET count = 10 * count,
		value = 10 * value WHERE stack_id = 5;
		UPDATE stack_total SET count = 10 * count, value = 10 * value
		 WHERE stack_id = 5;
		UPDATE binary SET path = '/opt/worker' WHERE id = 1;"
	"$weft" flame --against other.db >page.html
	page page.html <<-'END'
	a, b = layer(data["everyone"]), layer(data["against"])
	assert set(a) == set(b) and sum(a.values()) == 300
	changed = [p for p in a if a[p] != b[p]]
	assert changed == [("worker", "_start", "main", "handle", "compress",
	                    "compress")]
	assert b[changed[0]] == 400 and sum(b.values()) == 660
	END
	run "$weft" flame --against nonesuch.db
	expect 1
	has err "nonesuch.db"
}

folded_small() {
	recording weft.db "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL
		 SELECT i + 1 FROM n WHERE i < 1999)
		INSERT INTO function SELECT i, 'f' || i, NULL, NULL, NULL,
		 'symtab' FROM n;
		INSERT INTO frame (id, binary_id, address, in_kernel)
		 SELECT id, 1, id, 0 FROM function WHERE id >= 1000;
		INSERT INTO frame_function SELECT id, 0, id, NULL
		 FROM function WHERE id >= 1000;
		INSERT INTO stack_node SELECT id, 3, id
		 FROM function WHERE id >= 1000;
		INSERT INTO stack (id, status, depth, ended) SELECT id, 'complete', 4, 'marked'
		 FROM function WHERE id >= 1000;
		INSERT INTO stack_total SELECT 1, 1, id, 1, 10000000
		 FROM function WHERE id >= 1000;"
	"$weft" flame --frames 100 >page.html
	page page.html <<-'END'
	all = layer(data["everyone"])
	small = ("worker", "_start", "main", "handle", "[smaller frames]")
	assert len(paths) <= 200 and data["nodes_folded"] >= 1000
	assert all[small] == 1000, all
	assert sum(all.values()) == 1300
	assert all[small[:-1] + ("compress",)] == 120
	END
}

# Names that would end the script, run, or be no text at all.
hostile() {
	recording weft.db
	python3 - <<-'END'
	import sqlite3
	db = sqlite3.connect("weft.db")
	names = [b"</script><script>alert(1)</script>", b"<!--<script>",
	         b"\"'`${1}\\", b"a\xe2\x80\xa8b\xe2\x80\xa9c", b"\xff\xfe\x80<b>",
	         b"\x1b[31m\x07", b"]]>&lt;&amp;", b"\xe2\x80\xaegnp.exe"]
	for i, name in enumerate(names):
	    db.execute("UPDATE function SET name = CAST(? AS TEXT) WHERE id = ?",
	               (name, 1 + i))
	db.execute("UPDATE process SET comm = '<img src=x onerror=alert(1)>'"
	           " WHERE id = 1")
	db.execute("UPDATE binary SET path = '/</script>/<svg onload=x>'"
	           " WHERE id = 1")
	db.commit()
	END
	mv weft.db '<!--<script>.db'
	"$weft" flame '<!--<script>.db' >page.html
	page page.html <<-'END'
	assert "</script><script>alert(1)</script>" in data["names"]
	assert "\"'`${1}\\" in data["names"]
	assert "a\u2028b\u2029c" in data["names"]
	assert "\\xff\\xfe\\x80<b>_[k]" in data["names"]
	assert "<img src=x onerror=alert(1)>" in data["names"]
	assert sum(layer(data["everyone"]).values()) == 300
	between = text.split('id="data">')[1].split("</script>")[0]
	assert not re.search("[<\u2028\u2029\x1b\x07]", between)
	END
	run "$weft" flame '<!--<script>.db' --json
	expect 0
	is_json out
}

it "the page is whole, and its data adds up to the file" adds_up
it "requests stand in it with their samples, one may be chosen" requests
it "many requests as one, by what their spans say" pooled
it "a file without trace IDs has a graph" untraced
it "a process, a time and wrong options are understood" choices
it "two files meet frame by frame, wherever their binaries lay" two_files
it "frames beyond the limit are folded, and sums stay" folded_small
it "no name gets out of the data, whatever it is" hostile
finish
