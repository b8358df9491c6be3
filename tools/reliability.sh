#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Print docs/reliability.md: what is promised, how that is tried, and what came
# of it, from the lines `# figure: NAME VALUE` in what tests have printed.
# Figures of a name are added up; of those that say most the highest counts.
#
#   tools/reliability.sh LOG...      (make check-long does it)
set -eu

[ $# -gt 0 ] || {
	echo "usage: reliability.sh LOG..." >&2
	exit 2
}

cat <<HEAD
# What weft promises, and how that is tried

Written by tools/reliability.sh from what tests printed, on $(date -u +%Y-%m-%d),
$(uname -sr), $(nproc) CPUs. \`make check-long\` runs all of it but \`make fuzz\`,
and writes this anew; one line is repeated by its command, as root, after
\`make tests\`. "Not run yet": it was not in the logs.

What is tried in each run of the tests has no figure here: what inspectors may
not do (build/tests/t_collector_inspect_confined), rights that are missing
(tests/live/52-privileges.sh), files made to mislead (tests/cli/37-hostile-file.sh).

| promise | how it is tried | what came of it | command |
| --- | --- | --- | --- |
HEAD

figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
awk '$1 == "#" && $2 == "figure:" && NF == 4 {
	if ($3 !~ /_most$/)
		figure[$3] += $4
	else if (!($3 in figure) || $4 > figure[$3])
		figure[$3] = $4
}
END { for (name in figure) print name, figure[name] }' "$@" >"$figures"

# promise; method; figures (* stands for anything: their sum); command
awk -F ' *; *' -v figures="$figures" '
BEGIN {
	while ((getline line <figures) > 0)
		figure[substr(line, 1, index(line, " ") - 1)] = \
			substr(line, index(line, " ") + 1)
}
function value_of(pattern, name, sum, n) {
	gsub(/\*/, ".*", pattern)
	for (name in figure)
		if (name ~ "^" pattern "$") {
			sum += figure[name]
			n++
		}
	return n ? sum : "not run yet"
}
{
	n = split($3, name, " ")
	text = ""
	for (i = 1; i <= n; i++) {
		label = name[i]
		gsub(/[_*]+/, " ", label)
		text = text (i > 1 ? "; " : "") label ": " value_of(name[i])
	}
	print "| " $1 " | " $2 " | " text " | `" $4 "` |"
}' <<'ROWS'
Every firing and every choice ends in one entry of the ledger ; its identities, in every interval of each recording that a live test leaves ; ledgers_checked ledgers_wrong ; make check
After SIGKILL the file is whole, what was committed is in it, and recording goes on in it ; SIGKILL at random instants and at named points of writing, the same file throughout ; kills kills_damaged kills_committed_intervals_lost kills_ledgers_wrong kills_intervals_missing_at_most ; SURVIVES_KILLS=500 prove tests/live/40-survives.sh
What happens right before a recording ends is in it ; 10,000 calls, then at once SIGINT, SIGTERM, SIGHUP, the end of -d or of the command ; last_interval_whole last_interval_lacking ; LAST_ROUNDS=100 prove tests/live/85-last-interval.sh
A full disk, or one that does not answer, costs what could not be written, and no more ; a small tmpfs, a write that never comes back ; disk_intervals_missing ; DISK_STUCK=1 prove tests/live/42-disk.sh
A call or an allocation that fails ends with a message or goes unnoticed ; each in turn, until a recording passes untouched ; faults_perf_event_open faults_bpf faults_openat faults_mmap faults_memory faults_wrong ; FAULTS=all prove tests/live/41-faults.sh
An operation on the file or an allocation of the store that fails damages nothing, and what was committed stays ; each in turn: open, read, write, half a write, truncate, sync, lock, shared memory, delete, malloc, once or from then on ; faults_store ; FAULTS=all prove build/tests/t_store_faults
Who reads while it records, with weft or with a shell, costs no row ; six readers each of a recording in memory and one on disk, whose logs are begun anew all the time, rows counted against what the recorder says it has stored ; shells_seconds shells_reads shells_missing ; SHELLS_SECONDS=1800 prove tests/live/45-shells.sh
The recorder keeps to its bounds ; 500 new processes a second asked for, alone and beside 10,000 threads ; bounds_resident_kb_most bounds_descriptors_most bounds_exit_ms_most bounds_alone_processes_a_second bounds_threads_processes_a_second bounds_threads ; BOUNDS_SECONDS=60 prove tests/live/43-bounds.sh
One program cannot blind others ; a process makes ever new stacks, names and trace IDs beside one that does not ; flood_honest_whole_stacks_percent flood_honest_trace_ids_percent flood_stacks_refused ; prove tests/live/64-flood.sh
It can run for weeks ; 4,999 Hz, 100 new processes a second, a reader every 10 s ; soak_seconds soak_counted soak_recorder_kb soak_recorder_kb_a_minute soak_descriptors_most soak_log_bytes_most soak_file_bytes ; SOAK_SECONDS=1800 prove tests/live/90-soak.sh
What a day takes on disk can be foreseen ; 997 Hz, 100 new processes a second, requests, very many stacks, all kept, in proportion ; soak_day_seconds soak_day_file_bytes soak_day_bytes_an_hour soak_day_bytes_a_day ; SOAK_DAY=1 SOAK_SECONDS=1800 prove tests/live/90-soak.sh
Its memory has a size, whatever is new ; 9,999 Hz, nearly each stack a new one ; soak_new_seconds soak_new_nodes soak_new_recorder_kb_most soak_new_recorder_kb_a_minute ; SOAK_NEW=1 SOAK_SECONDS=900 prove tests/live/90-soak.sh
Parsers of foreign bytes take anything ; libFuzzer, under AddressSanitizer and UBSan, each target for so long ; fuzz_*_seconds fuzz_*_executions fuzz_*_crashes ; make fuzz
ROWS
