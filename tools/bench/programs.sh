# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2154,SC2034 # variables are measure.sh's, or for users
# shellcheck disable=SC2016 # inner shells have variables of their own
#
# Programs as Debian ships them, each at work until stop_load. Source it after
# measure.sh. start_NAME starts one, on all CPUs; exe_NAME are the names of the
# files that its samples are of, for GLOB.

all_cpus=0-$(($(nproc) - 1))

start_python3() {
	cat >"$dir/work.py" <<-'PYTHON'
		import json
		import re

		def walk(n, text):
		    if n:
		        return sorted(walk(n - 1, text), key=lambda x: (len(x), x))
		    return re.findall(r"[a-z]+", json.dumps(json.loads(text)))

		def fibonacci(n):
		    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

		while True:
		    walk(12, '{"a": ["some", "words", {"of": "text"}, 1.5, null]}')
		    fibonacci(15)
	PYTHON
	for cpu in $(cpus); do
		start_on "$cpu" /usr/bin/python3 "$dir/work.py"
	done
}
exe_python3='*/python3*'

start_perl() {
	cat >"$dir/work.pl" <<-'PERL'
		sub walk {
			my ($n, @words) = @_;
			return $n ? sort { length $a <=> length $b or $a cmp $b }
				walk($n - 1, @words) : map { s/(.)(.)/$2$1/gr } @words;
		}
		my %seen;
		while (1) {
			$seen{$_}++ for walk(12, split / /, "words of a text to sort");
		}
	PERL
	for cpu in $(cpus); do
		start_on "$cpu" /usr/bin/perl "$dir/work.pl"
	done
}
exe_perl='*/perl*'

start_sqlite3() {
	cat >"$dir/work.sql" <<-'SQL'
		CREATE TABLE t AS WITH RECURSIVE n(i) AS
		  (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
		SELECT i, i * 7919 % 1000 AS g, hex(i * i) AS x FROM n;
	SQL
	rows='SELECT g, count(*), avg(i), max(x), group_concat(i % 7)
		FROM t GROUP BY g ORDER BY 3;'
	i=0
	while [ $i -lt 100 ]; do
		echo "$rows"
		i=$((i + 1))
	done >>"$dir/work.sql"
	for cpu in $(cpus); do
		start_on "$cpu" sqlite3 :memory: ".read $dir/work.sql"
	done
}
exe_sqlite3='*/sqlite3'

start_openssl() {
	for cpu in $(cpus); do
		start_on "$cpu" sh -c 'while :; do
			openssl speed -seconds 1 rsa2048 ecdsap256 sha256 \
				aes-256-gcm chacha20-poly1305
		done'
	done
}
exe_openssl='*/openssl'

# Text that is neither random nor all the same.
make_text() {
	[ -f "$dir/text" ] || find /usr/include /usr/share/doc -type f -size -64k \
		-print0 2>/dev/null | sort -z | xargs -0 cat 2>/dev/null |
		head -c 30000000 >"$dir/text" || true
}
start_xz() {
	make_text
	start_on "$all_cpus" sh -c 'while :; do xz -T0 -c "$1"; done' sh \
		"$dir/text"
}
exe_xz='*/xz'

start_gzip() {
	make_text
	for cpu in $(cpus); do
		start_on "$cpu" sh -c 'while :; do gzip -c "$1"; done' sh \
			"$dir/text"
	done
}
exe_gzip='*/gzip'

# This project's own code, so that each run is of some 0.1 to 1 s.
start_cc1() {
	for cpu in $(cpus); do
		start_on "$cpu" sh -c 'while :; do
			for file in "$1"/tools/demo/*.c "$1"/store/we*.c; do
				gcc -std=c11 -D_GNU_SOURCE -O3 -I"$1" \
					-I"$1"/tools/publisher -S -o /dev/null "$file"
			done
		done' sh "$bench/../.."
	done
}
exe_cc1='*/cc1'

serve_redis() {
	start_on "$all_cpus" redis-server --port 16379 --save '' --dir "$dir"
}
start_redis() {
	serve_redis
	start_on "$all_cpus" sh -c 'sleep 0.5; while :; do
		redis-benchmark -p 16379 -c 20 -n 200000 -P 4 -r 100000 \
			-t set,get,lpush,lpop,sadd,zadd,lrange_100,mset
	done'
}
exe_redis='*/redis-*'

serve_nginx() {
	mkdir -p "$dir/www" "$dir/logs"
	head -c 20000 /usr/share/common-licenses/GPL-3 >"$dir/www/index.html"
	chmod -R a+rX "$dir"
	cat >"$dir/nginx.conf" <<-NGINX
		daemon off;
		error_log $dir/logs/error.log;
		pid $dir/nginx.pid;
		events { worker_connections 256; }
		http {
			access_log $dir/logs/access.log;
			gzip on; gzip_types *; gzip_min_length 100;
			server { listen 127.0.0.1:18080; root $dir/www; }
		}
	NGINX
	start_on "$all_cpus" nginx -p "$dir" -e "$dir/logs/error.log" \
		-c "$dir/nginx.conf"
}
start_nginx() {
	serve_nginx
	start_on "$all_cpus" sh -c 'sleep 0.5; while :; do
		ab -q -k -c 8 -n 100000 -H "Accept-Encoding: gzip" \
			http://127.0.0.1:18080/index.html
	done'
}
exe_nginx='*/nginx'

# A cluster of its own: its processes are the server's, who may not be root.
postgres_bin=$(find /usr/lib/postgresql -name initdb 2>/dev/null | sort -V |
	sed -n 's,/initdb$,,; $p')
as_postgres() {
	(cd "$dir/postgres" && runuser -u postgres -- "$@")
}
make_cluster() {
	[ ! -d "$dir/postgres" ] || return 0
	chmod a+rx "$dir"
	mkdir "$dir/postgres"
	chown postgres "$dir/postgres"
	quietly as_postgres "$postgres_bin/initdb" -D "$dir/postgres/data"
	cat >>"$dir/postgres/data/postgresql.conf" <<-CONFIG
		listen_addresses = ''
		unix_socket_directories = '$dir/postgres'
		fsync = off
		jit = off
		max_parallel_workers_per_gather = 2
		parallel_setup_cost = 0
		parallel_tuple_cost = 0
		min_parallel_table_scan_size = 0
	CONFIG
}
start_cluster() {
	make_cluster
	start_on "$all_cpus" runuser -u postgres -- "$postgres_bin/postgres" \
		-D "$dir/postgres/data"
	tries=100
	until as_postgres psql -h "$dir/postgres" -c 'SELECT 1' >"$dir/said" 2>&1
	do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || {
			cat "$dir/said" >&2
			return 1
		}
		sleep 0.1
	done
	as_postgres psql -h "$dir/postgres" -c 'TABLE pgbench_tellers' \
		>/dev/null 2>&1 ||
		quietly as_postgres "$postgres_bin/pgbench" -h "$dir/postgres" \
			-i -q -s 5
}
start_postgres() {
	start_cluster
	start_on "$all_cpus" runuser -u postgres -- "$postgres_bin/pgbench" \
		-h "$dir/postgres" -n -c 4 -j 2 -T 600
}
exe_postgres='*/postgres'

start_postgres_parallel() {
	start_cluster
	echo "SELECT a.bid, count(*), sum(a.abalance), max(md5(a.filler || a.aid))
		FROM pgbench_accounts a JOIN pgbench_tellers t ON t.bid = a.bid
		GROUP BY 1 ORDER BY 4;" | tr '\n' ' ' >"$dir/parallel.sql"
	start_on "$all_cpus" runuser -u postgres -- "$postgres_bin/pgbench" \
		-h "$dir/postgres" -n -c 1 -T 600 -f "$dir/parallel.sql"
}
exe_postgres_parallel='*/postgres'

start_rust() {
	cat >"$dir/work.rs" <<-'RUST'
		use std::collections::{BTreeMap, HashMap};
		use std::thread;

		fn walk(n: u32, words: &[String]) -> Vec<String> {
		    if n == 0 {
		        return words.iter().map(|w| w.chars().rev().collect()).collect();
		    }
		    let mut sorted = walk(n - 1, words);
		    sorted.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
		    sorted
		}

		fn work() {
		    let words: Vec<String> = "some words of a text that is sorted"
		        .split(' ').map(str::to_string).collect();
		    let mut seen: HashMap<String, u64> = HashMap::new();
		    loop {
		        let mut tree = BTreeMap::new();
		        for i in 0..1000u32 {
		            tree.insert(format!("{:x}", i.wrapping_mul(2654435761)), i);
		        }
		        for w in walk(20, &words) {
		            *seen.entry(w).or_insert(0) += tree.len() as u64;
		        }
		    }
		}

		fn main() {
		    let other = thread::spawn(work);
		    work();
		    other.join().unwrap();
		}
	RUST
	quietly /usr/bin/rustc -O -o "$dir/rust_work" "$dir/work.rs"
	start_on "$all_cpus" "$dir/rust_work"
}
exe_rust='*/rust_work'

start_go() {
	cat >"$dir/work.go" <<-'GO'
		package main

		import (
			"encoding/json"
			"regexp"
			"sort"
			"strings"
		)

		func walk(n int, words []string) []string {
			if n == 0 {
				return strings.Fields(strings.Join(words, " "))
			}
			sorted := walk(n-1, words)
			sort.Slice(sorted, func(i, j int) bool {
				return sorted[i] < sorted[j]
			})
			return sorted
		}

		func work() {
			r := regexp.MustCompile("[a-z]+(t|d)")
			for {
				words := walk(20, []string{"some", "words", "of", "text"})
				text, _ := json.Marshal(words)
				r.FindAll(text, -1)
			}
		}

		func main() {
			go work()
			work()
		}
	GO
	(cd "$dir" && HOME=$dir GOCACHE=$dir/go-cache GO111MODULE=off \
		quietly go build -o go_work work.go)
	start_on "$all_cpus" "$dir/go_work"
}
exe_go='*/go_work'

start_node() {
	cat >"$dir/work.js" <<-'JS'
		function walk(n, text) {
			if (n === 0)
				return JSON.stringify(JSON.parse(text)).match(/[a-z]+/g);
			return walk(n - 1, text).sort((a, b) => a.length - b.length);
		}
		for (;;)
			walk(12, '{"a": ["some", "words", {"of": "text"}, 1.5, null]}');
	JS
	for cpu in $(cpus); do
		start_on "$cpu" node "$dir/work.js"
	done
}
exe_node='*/node*'

# start_java [OPTION]
start_java() {
	mkdir -p "$dir/java"
	cat >"$dir/java/Work.java" <<-'JAVA'
		import java.util.*;
		import java.util.stream.*;

		public class Work {
			static List<String> walk(int n, String text) {
				if (n == 0)
					return Arrays.asList(text.split(" "));
				return walk(n - 1, text).stream()
					.sorted(Comparator.comparing(String::length)
						.thenComparing(Comparator.naturalOrder()))
					.collect(Collectors.toList());
			}

			public static void main(String[] a) throws Exception {
				Runnable work = () -> {
					Map<String, Integer> seen = new HashMap<>();
					for (;;)
						for (String w : walk(12, "some words of text"))
							seen.merge(w, 1, Integer::sum);
				};
				new Thread(work).start();
				work.run();
			}
		}
	JAVA
	start_on "$all_cpus" java "$@" "$dir/java/Work.java"
}
exe_java='*/java'

start_java_pointers() {
	start_java -XX:+PreserveFramePointer
}
exe_java_pointers='*/java'
