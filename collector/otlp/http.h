/* SPDX-License-Identifier: MIT */
/* OTLP/HTTP's requests and answers, within the process that receives spans. */
#ifndef WEFT_OTLP_HTTP_H
#define WEFT_OTLP_HTTP_H

struct MHD_Daemon;

/* Answer requests at a listening socket, on a thread of its own, and write
 * messages (server.h) to out. NULL: it could not start. */
struct MHD_Daemon *otlp_http_start(int listener, int out);

#endif
