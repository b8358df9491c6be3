# SPDX-License-Identifier: MIT
#
# Does every stack equal the known chain? Reads, by tabs:
#
#   T pid variant/mode chain          of the programs that ran: the truth
#   P path from to                    file offsets at which it has PLT stubs
#   F stack kind path address name    user frames, root first
#   S pid stack count status ended    how often a process was on a stack
#
# How a chain reads stands in tests/load/unwind/main.c. A stack is right if it
# is complete and, from the root on, has just the frames of the chain, in its
# order, up to any one of them: the sample was then taken in that one, before
# or after it called the next. Where the chain says so (+N), that one may have
# called into the C library: then frames of the library follow, at most N, and
# nothing else. A stack of the most frames that are kept (127) may be truncated
# instead: then it must be the inner part of such a stack. Of a chain !a the
# stack must be broken and be the one frame a: nothing may be made up.
#
# So a frame that is missing, made up, unknown, or of another function makes a
# stack wrong. Counted apart are:
#
#   start      what ran before main or after it: complete, and only frames of
#              the C library and _start
#   lost       the same, but broken: the first instructions of a thread, a
#              switch of stacks under way, start-up code without unwind entries;
#              few, and nothing is made up of ours
#   pending    from before the file's table was built or its names were known,
#              in mode `memory` only, whose file is a new one each time
#
# Prints a line for each variant/mode, by tabs: samples, of them whole (the
# chain to its end), right, start, lost, pending, wrong; and before it the
# wrong stacks, each with the reason that the walk gave for its end.
BEGIN {
	FS = OFS = "\t"
	FRAMES_MAX = 127
	added["_init"]
	added["_fini"]
	added["frame_dummy"]
	added["register_tm_clones"]
	added["deregister_tm_clones"]
	added["__do_global_dtors_aux"]
}

function is_library(path)
{
	sub(/.*\//, "", path)
	return path ~ /^(ld-linux|libc|libm|libgcc_s|libstdc\+\+)[-.]/
}

function is_stub(path, address, i)
{
	for (i = 1; i <= stubs[path]; i++)
		if (address >= stub_from[path, i] && address < stub_to[path, i])
			return 1
	return 0
}

# What a chain calls a frame.
function word(kind, path, address, name)
{
	if (kind == "vdso" || is_library(path))
		return "~"
	if (kind == "jit" || kind == "unknown" || name ~ /^chain_plugin_/)
		return "%"
	if (kind != "elf")
		return "[" kind "]"
	sub(/\.cold$/, "", name)
	if (name ~ /^chain_/ || name == "main" || name == "_start")
		return name
	# A static program has the C library in it: all that is not ours. The end
	# of a coroutine has no name there, being the byte before a function.
	# What compilers add to each program is the library's, too.
	if (path ~ /static/ || name in added ||
	    name == "" && is_stub(path, address))
		return "~"
	return sprintf("[%s+0x%x]", name, address)
}

# Split a chain into token[1..n], more[1..n] (how many frames of the library
# may follow), so that repeated ones stand as often as they are there.
function parse(chain, i, k, n, part, parts, times)
{
	parts = split(chain, part, ";")
	n = 0
	for (i = 1; i <= parts; i++) {
		times = 1
		more_here = 0
		if (part[i] ~ /\*/) {
			times = substr(part[i], index(part[i], "*") + 1) + 0
			sub(/\*.*/, "", part[i])
		} else if (part[i] ~ /\+/) {
			more_here = substr(part[i], index(part[i], "+") + 1) + 0
			sub(/\+.*/, "", part[i])
		}
		for (k = 0; k < times; k++) {
			token[++n] = part[i]
			more[n] = more_here
		}
	}
	tokens = n
}

# Whether the library's frames that follow token k may do so.
function may_follow(k, n, i)
{
	if (n <= more[k])
		return 1
	for (i = 0; i < n; i++)
		if (token[k + 1 + i] != "~")
			return 0
	return 1
}

# Whether frame[1..n] are the tokens that end at k.
function ends_at(k, n, i)
{
	for (i = 0; i < n; i++)
		if (frame[n - i] != token[k - i])
			return 0
	return 1
}

# frame[1..body], then `after` frames of the library, against one chain; 1:
# right, 2: whole.
function match_one(status, k, last)
{
	for (last = tokens; last > 1 && token[last] == "~"; last--)
		;
	for (k = body; k <= tokens; k++) {
		if (k > body && status != "truncated")
			break
		if (ends_at(k, body) && may_follow(k, after))
			return k == last ? 2 : 1
	}
	return 0
}

function judge(chain, status, ended, text, i, n, best, one, way, ways)
{
	n = split(text, frame, ";")
	body = n
	while (body > 0 && frame[body] == "~")
		body--
	after = n - body
	if (body == 0 || body == 1 && frame[1] == "_start") {
		if (status == "complete")
			return "start"
		if (status == "broken" && ended != "table_pending")
			return "lost"
	}
	best = 0
	ways = split(chain, way, "|")
	for (i = 1; i <= ways; i++) {
		one = 0
		if (way[i] ~ /^!/) {
			if (status == "broken" && text == substr(way[i], 2))
				one = 2
		} else if (status == "complete" ||
			   status == "truncated" && n == FRAMES_MAX) {
			parse(way[i])
			one = match_one(status)
		}
		if (one > best)
			best = one
	}
	return best == 2 ? "whole" : best == 1 ? "right" : "wrong"
}

$1 == "T" {
	label[$2] = $3
	chain_of[$2] = $4
	if (!($3 in samples)) {
		order[++labels] = $3
		samples[$3] = 0
	}
}
$1 == "P" {
	stubs[$2]++
	stub_from[$2, stubs[$2]] = $3
	stub_to[$2, stubs[$2]] = $4
}
$1 == "F" {
	if ($2 in folded)
		folded[$2] = folded[$2] ";"
	folded[$2] = folded[$2] word($3, $4, $5, $6)
}
$1 == "S" && ($2 in label) && $5 != "no_user" {
	name = label[$2]
	verdict = judge(chain_of[$2], $5, $6, folded[$3])
	if (verdict == "wrong" && name ~ /\/memory$/ &&
	    ($6 == "table_pending" || folded[$3] ~ /\[\+0x/))
		verdict = "pending"
	samples[name] += $4
	n_of[name, verdict] += $4
	if (verdict == "wrong")
		print "WRONG", name, $4, $5 " (" $6 ")", folded[$3]
}
END {
	for (i = 1; i <= labels; i++) {
		name = order[i]
		print "MODE", name, samples[name], n_of[name, "whole"] + 0,
			n_of[name, "whole"] + n_of[name, "right"] + 0,
			n_of[name, "start"] + 0, n_of[name, "lost"] + 0,
			n_of[name, "pending"] + 0, n_of[name, "wrong"] + 0
	}
}
