#!/bin/sh
# SPDX-License-Identifier: MIT
#
# nginx, which knows nothing of traces, from Debian and stripped: one of its
# functions is given the trace ID as an argument, for here it is the password
# of a request. What it spends on checking that is the request's.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
# shellcheck source=tests/interop/service/service.sh
. "$(dirname "$0")/service/service.sh"
nginx=$(command -v nginx || echo /usr/sbin/nginx)
[ -x "$nginx" ] || live_skip "needs nginx"

# shellcheck disable=SC2016 # no variables, but the form of a hash
printf 'user:%s\n' '$6$rounds=20000$weftweft$none' >"$dir/passwords"
cat >"$dir/nginx.conf" <<-CONF
	daemon off;
	user root;
	worker_processes 2;
	pid $dir/nginx.pid;
	error_log $dir/nginx.errors;
	events {}
	http {
		access_log off;
		client_body_temp_path $dir/body;
		proxy_temp_path $dir/proxy;
		fastcgi_temp_path $dir/fastcgi;
		uwsgi_temp_path $dir/uwsgi;
		scgi_temp_path $dir/scgi;
		server {
			listen 127.0.0.1:$port reuseport;
			auth_basic "trace";
			auth_basic_user_file $dir/passwords;
		}
	}
CONF
serve nginx "$nginx" -c "$dir/nginx.conf" -e "$dir/nginx.errors"
send_options=--password
workers=$(pgrep -P "$service" | tr '\n' ',')
service=${workers%,} observe nginx 300 3 client \
	--trace-probe "$nginx:ngx_crypt:trace=hex@1"
kill "$service"
check_ledger "$dir/nginx.db"
say <"$dir/nginx.log"
# ngx_crypt() jumps into libcrypt. What the worker does after the answer still
# has the ID: nothing tells it that the request is over.
judge nginx "$by_id AND folded LIKE '%;crypt_r%'" \
	"CASE WHEN s.folded LIKE '%;crypt_r%' THEN ifnull(t.route, 'none') END"
check "all requests are stored as spans" "$(is "$(figure nginx spans)" = 300)"
check "all samples that check a password have the ID that it is" \
	"$(is "$(figure nginx joined)" = "$(figure nginx samples)")"
check "by the probe" "$(is "$(sql "$dir/nginx.db" "SELECT
	group_concat(DISTINCT context_source) FROM samples
	WHERE folded LIKE '%;crypt_r%'")" = probe)"
no_wrong nginx
live_done
