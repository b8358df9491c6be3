/* SPDX-License-Identifier: MIT */
/*
 * The variable of OTEP 4947 and its accessor, in a file of its own: compiled
 * into an executable or a library in each way in which code can find it.
 *
 *	-DTLS_NO_CODE	no code refers to it: only dlsym finds it
 *	-DTLS_LARGE	with more thread-local data than fits glibc's surplus
 */
#define VISIBLE __attribute__((visibility("default")))

VISIBLE __thread void *otel_thread_ctx_v1;

#ifdef TLS_LARGE
VISIBLE __thread char tls_ballast[65536];
#endif

#ifndef TLS_NO_CODE
void **ctx_slot(void);
VISIBLE void **ctx_slot(void)
{
	return &otel_thread_ctx_v1;
}
#endif
