#!/bin/bash
# SPDX-License-Identifier: MIT
# weft doctor without rights: what it can still say, and its exit statuses.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

load=$(dirname "$weft")/load

# doctor [ARGUMENT...]: as nobody in particular, also where we are root
doctor() {
	if [ "$(id -u)" -eq 0 ]; then
		run setpriv --reuid=65534 --regid=65534 --clear-groups \
			--inh-caps=-all "$weft" doctor "$@"
	else
		run "$weft" doctor "$@"
	fi
}

machine() {
	doctor
	expect 3
	has out '^FAIL  rights  .* CAP_BPF'
	has out '^ +do: sudo weft record'
	has out '^-     kernel program  not tried'
	doctor --json
	expect 3
	[ "$(json out '[c["state"] for c in j["checks"]][:2]')" = \
		"['fail', 'skipped']" ]
}

# What recording can do without: each that is missing has its line.
few_rights() {
	run capsh --drop=cap_syslog,cap_sys_ptrace -- -c "'$weft' doctor"
	[ "$(grep -c '^warn  rights ' out)" = 2 ]
	for right in CAP_SYSLOG CAP_SYS_PTRACE; do
		grep -A 2 "^warn  rights  *$right is missing$" out >lines
		has lines '^ +costs: .* no names'
		has lines '^ +do: '
	done
	run capsh --drop=cap_syslog -- -c "'$weft' doctor --json"
	[ "$(json out '[(c["found"], c["costs"]) for c in j["checks"]
		if c["check"] == "rights"]')" = \
		"[('CAP_SYSLOG is missing', 'kernel functions may have no names')]" ]
}

# Called by sudo it becomes the user who did, and needs to be able to.
no_way_to_the_user() {
	SUDO_UID=65534 SUDO_GID=65534 run capsh --drop=cap_setuid -- \
		-c "'$weft' doctor"
	expect 3
	has out '^FAIL  rights  .* needs CAP_SETUID and CAP_SETGID'
	has out '^ +do: .*'
	run capsh --drop=cap_setuid -- -c "'$weft' doctor"
	lacks out 'CAP_SETUID'
}

# Events that a recording without options needs none of: as `weft list` has them.
other_events() {
	doctor
	has out '^-     tracepoints  *not tried'
	run "$weft" list events
	if grep -q 'kprobe:.*not in this kernel' out; then
		kprobes='warn  probes  .* no kprobes'
	else
		kprobes='ok    probes  .* of the kernel'
	fi
	if grep -q 'this machine has none of them' out; then
		counters='warn  CPU counters  '
	else
		counters='ok    CPU counters  '
	fi
	doctor
	has out "^$kprobes"
	has out "^$counters"
}

no_such_process() {
	doctor --pid 2147483646
	expect 4
	has out 'there is no process 2147483646'
	doctor --pid 2147483646 --json
	expect 4
	[ "$(json out '[c["state"] for c in j["checks"]]')" = \
		"['fail', 'skipped', 'skipped', 'skipped', 'skipped', 'skipped']" ]
}

# A thread of the kernel, by its flags (PF_KTHREAD); 2097152 = 0x200000
kernel_pid=$(cat /proc/[0-9]*/stat 2>/dev/null | awk '{
	pid = $1
	sub(/.*\) /, "")
	if (int($7 / 2097152) % 2) { print pid; exit } }')

kernel_thread() {
	doctor --pid "$kernel_pid"
	expect 1
	has out "process  .*$kernel_pid is a thread of the kernel"
	lacks out 'ended while it was looked at'
	doctor --pid "$kernel_pid" --json
	expect 1
	[ "$(json out '[c["state"] for c in j["checks"]]')" = \
		"['fail', 'skipped', 'skipped', 'skipped', 'skipped', 'skipped']" ]
}

not_ours() {
	# pid 1 is somebody else's, if not root's
	doctor --pid 1
	expect 3
	has out '^FAIL  mapping  .*no permission'
	has out '^ +do: run weft doctor as root'
}

wrong_words() {
	run "$weft" doctor --pid
	expect 2
	run "$weft" doctor --pid 0
	expect 2
	has err "--pid takes the number of a process, not '0'"
	run "$weft" doctor --pid 12x
	expect 2
	run "$weft" doctor 12
	expect 2
	has err "a process is named by --pid"
	run "$weft" doctor --pdi 12
	expect 2
	has err "pid"
	run "$weft" doctor --help
	expect 0
	has out '^exit status: 0 nothing fails'
}

own_process() {
	local pid
	mkfifo hold
	exec 9<>hold
	if [ "$(id -u)" -eq 0 ]; then
		chmod 755 . && chmod 644 hold
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			--inh-caps=-all "$load/ctx_broken" good <&9 >ready &
	else
		"$load/ctx_broken" good <&9 >ready &
	fi
	pid=$!
	for _ in $(seq 200); do
		[ ! -s ready ] || break
		sleep 0.05
	done
	doctor --pid "$pid" --json
	kill "$pid"
	expect 3
	[ "$(json out '[c["state"] for c in j["checks"]]')" = \
		"['ok', 'ok', 'ok', 'skipped', 'skipped', 'skipped']" ]
	[ "$(json out '[c["do"] for c in j["checks"]][3]')" = \
		"run weft doctor as root, or with sudo" ]
}

it "without rights it says so first, and what to do" machine
if [ "$(id -u)" -eq 0 ] && command -v capsh >/dev/null; then
	it "each right that is missing is named" few_rights
	it "so is that to become the user of sudo" no_way_to_the_user
else
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - # SKIP not root, or no capsh"
fi
it "events besides the timer: which this machine lacks" other_events
it "a process that is not there is no match" no_such_process
if [ -n "$kernel_pid" ]; then
	it "a thread of the kernel is told to be one" kernel_thread
else
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - # SKIP no thread of the kernel is seen from here"
fi
it "a process that we may not look at is a matter of rights" not_ours
it "words that make no sense are refused" wrong_words
it "a process of one's own is seen as far as its memory goes" \
	own_process
finish
