# SPDX-License-Identifier: MIT
#
# Compare two lists of stacks of the same stopped threads: ours, then theirs.
# Both are lines, by tabs, leaf first:
#
#   thread TID
#   frame ADDRESS [FUNCTION [FILE]]     the pc; then return addresses
#   end WORD                            why the walk ended (ours only)
#
# Frames are equal from the leaf on and, beyond what differs, from the root on.
# Prints, by tabs:
#
#   total STACKS EQUAL_STACKS FRAMES EQUAL_FRAMES
#   KIND WHERE      for each stack that differs: how, and after which frame,
#                   the last from the leaf on that is equal
#
#   ours_ends       theirs has callers where ours has none
#   theirs_ends     the other way round
#   ours_lacks      theirs has frames between, the rest is equal
#   theirs_lacks    the other way round
#   differ          all else
#   absent          one of them does not have the thread
BEGIN {
	FS = OFS = "\t"
	side = 0
}
FNR == 1 { side++ }
$1 == "thread" {
	tid = $2
	n[side, tid] = 0
	threads[tid] = 1
}
$1 == "frame" {
	i = ++n[side, tid]
	address[side, tid, i] = $2
	place[side, tid, i] = $3 " in " $4
}
$1 == "end" { ended[tid] = $2 }

function kind(p, s, ours, theirs)
{
	if (p == ours)
		return "ours_ends"
	if (p == theirs)
		return "theirs_ends"
	if (p + s == ours)
		return "ours_lacks"
	if (p + s == theirs)
		return "theirs_lacks"
	return "differ"
}

function compare(tid, ours, theirs, p, s)
{
	ours = n[1, tid]
	theirs = n[2, tid]
	stacks++
	frames += ours > theirs ? ours : theirs
	for (p = 0; p < ours && p < theirs &&
		address[1, tid, p + 1] == address[2, tid, p + 1]; p++)
		;
	for (s = 0; s < ours - p && s < theirs - p &&
		address[1, tid, ours - s] == address[2, tid, theirs - s]; s++)
		;
	equal_frames += p + s
	if (p == ours && p == theirs) {
		equal_stacks++
		return
	}
	line[++lines] = kind(p, s, ours, theirs) OFS (p ? place[2, tid, p] : \
		"the leaf") " (" p " equal; ours " ours ", " ended[tid] \
		"; theirs " theirs ")"
}

END {
	for (tid in threads)
		if ((1, tid) in n && (2, tid) in n)
			compare(tid)
		else
			line[++lines] = "absent" OFS tid
	print "total", stacks + 0, equal_stacks + 0, frames + 0, equal_frames + 0
	for (i = 1; i <= lines; i++)
		print line[i]
}
