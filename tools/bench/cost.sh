# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What the kernel's statistics say of BPF programs, while they are on. Source it.

# cost PID: ns that a process's programs of perf events (type 7) ran so far, and
# how often: a run is a sample. What follows forks, execs and exits is not of
# samples, and is left out.
cost() {
	awk '/^prog_type:/ { type = $2 }
		/^prog_id:/ { id = $2 }
		/^run_time_ns:/ && type == 7 { time[id] = $2 }
		/^run_cnt:/ && type == 7 { runs[id] = $2 }
		END { for (id in time) ns += time[id]
			for (id in runs) n += runs[id]
			printf "%.0f %.0f\n", ns, n }' \
		"/proc/$1/fdinfo"/* 2>/dev/null || true
}
