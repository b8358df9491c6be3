#!/bin/bash
# SPDX-License-Identifier: MIT
# The publisher as it is installed: a program that is built by what pkg-config
# says of it, in C and in C++, is one that profilers can see.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

build=$(dirname "$weft")

# stage: install into the directory "staged", as a package is made
stage() {
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" B="$build" \
		DESTDIR="$PWD/staged" PREFIX=/opt/otc install-publisher
}

# flags WHAT: of the staged package
flags() {
	PKG_CONFIG_LIBDIR=$PWD/staged/opt/otc/lib/pkgconfig \
		PKG_CONFIG_SYSROOT_DIR=$PWD/staged \
		pkg-config "$@" otel-thread-ctx
}

exported() {
	readelf --dyn-syms -W "$1" >symbols
	has symbols ' TLS +(WEAK|GLOBAL) +DEFAULT .* otel_thread_ctx_v1$'
}

in_c() {
	stage
	cat >app.c <<-END
		#include <otel-thread-ctx.h>
		int main(void)
		{
			if (otc_init("app"))
				return 1;
			return otc_set_traceparent("00-4bf92f3577b34da6a3ce929d"
				"0e0e4736-00f067aa0ba902b7-01") ? 2 : 0;
		}
	END
	# shellcheck disable=SC2046
	cc app.c -o app $(flags --cflags --libs) -s
	./app
	exported app
}

in_cplusplus() {
	command -v c++ >/dev/null || { echo "no c++ here"; return 1; }
	stage
	cat >app.cc <<-END
		#include <otel-thread-ctx.h>

		static const char outer[] =
			"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
		extern "C" {
		extern __thread const uint8_t *otel_thread_ctx_v1;
		}

		static int span(void)
		{
			return otel_thread_ctx_v1 ? otel_thread_ctx_v1[23] : -1;
		}

		static int nested(void)
		{
			const uint8_t trace[16] = { 1 };
			const uint8_t id[8] = { 0, 0, 0, 0, 0, 0, 0, 9 };
			otc::scope inner(trace, id, 1);

			return inner.error() ? -2 : span();
		}

		int main()
		{
			if (otc_init("app"))
				return 1;
			{
				otc::scope request(outer);
				if (request.error() || span() != 0xb7)
					return 2;
				if (nested() != 9 || span() != 0xb7)
					return 3;
				{
					otc::scope bad("not a traceparent");
					if (!bad.error() || span() != -1)
						return 4;
				}
				try {
					otc::scope thrown(outer);
					throw 1;
				} catch (int) {
				}
				if (span() != 0xb7)
					return 5;
			}
			return span() == -1 ? 0 : 6;
		}
	END
	# shellcheck disable=SC2046
	c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror app.cc -o app \
		$(flags --cflags --libs) -s
	./app
	exported app
}

in_a_library() {
	stage
	cat >plugin.c <<-END
		#include <otel-thread-ctx.h>
		int plugin_start(void)
		{
			return otc_init("plugin");
		}
	END
	# shellcheck disable=SC2046
	cc -fPIC -shared plugin.c -o plugin.so $(flags --cflags --libs) -s
	exported plugin.so
}

other_machines() {
	# what it is where nobody reads contexts: compiled as for one
	cat >other.c <<-END
		#undef __linux__
		#include "$root/tools/publisher/otel-thread-ctx.c"
		int main(void)
		{
			struct otc_record record = { 0 };

			return otc_init("x") != -ENOTSUP ||
			       otc_key("x") != -ENOTSUP ||
			       otc_attr(0, "x", 1) != -ENOTSUP ||
			       otc_swap(&record) ||
			       otc_set_traceparent("bad") != -EINVAL ||
			       otc_set_hex("4bf92f3577b34da6a3ce929d0e0e4736",
					   "00f067aa0ba902b7", 1);
		}
	END
	cc -std=c11 -Wall -Wextra -Wpedantic -Werror other.c -o other
	./other
}

it "a C program by pkg-config exports the variable, also stripped" in_c
it "a C++ program by pkg-config has scopes that nest" in_cplusplus
it "a library by pkg-config exports it, too" in_a_library
it "elsewhere its functions do nothing and say so" other_machines
finish
