/* SPDX-License-Identifier: MIT */
/*
 * Telling whoever started us how far we are, as systemd's services of
 * Type=notify do: one datagram of lines to the socket in $NOTIFY_SOCKET
 * (sd_notify(3)). Without that variable, or where nobody listens, nothing
 * happens; it never blocks.
 */
#ifndef WEFT_NOTIFY_H
#define WEFT_NOTIFY_H

/* Send state, as "READY=1". */
void notify_state(const char *state);

#endif
