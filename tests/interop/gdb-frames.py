# SPDX-License-Identifier: MIT
#
# For gdb, attached to a process: print the frames of each thread as
# compare-frames.awk reads them. Only frames that are on the stack: not those
# that gdb adds for functions that were inlined or left their place to another.
# A place that a signal interrupted is kept like a return address behind it.
import gdb

FRAMES_MAX = 127

for setting in ("backtrace past-main on", "backtrace past-entry on"):
    gdb.execute("set " + setting)
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread\t%d" % thread.ptid[1])
    frame = gdb.newest_frame()
    n = 0
    interrupted = 0
    while frame is not None and frame.pc() != 0 and n < FRAMES_MAX:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print(
                "frame\t0x%x\t%s\t%s"
                % (
                    frame.pc() + interrupted,
                    frame.name() or "?",
                    gdb.solib_name(frame.pc()) or "program",
                )
            )
            n += 1
            interrupted = int(frame.type() == gdb.SIGTRAMP_FRAME)
        frame = frame.older()
