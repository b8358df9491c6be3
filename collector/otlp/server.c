/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "collector/otlp/http.h"
#include "collector/otlp/server.h"
#include "collector/privilege.h"

enum {
	BACKLOG = 64,
	FILES_MAX = 256,
	NOBODY = 65534,
};

static const rlim_t memory_max = 1 << 30;

/* HOST:PORT, taken apart in place. Returns false where it is none. */
static bool split_address(char *text, char **host, char **port)
{
	char *colon = strrchr(text, ':');
	size_t size;

	if (!colon || colon == text || !colon[1])
		return false;
	*colon = '\0';
	*port = colon + 1;
	if (strlen(*port) > 5 || strtoul(*port, NULL, 10) > UINT16_MAX)
		return false; /* it would be taken for another */
	*host = text;
	size = strlen(text);
	if (text[0] == '[' && text[size - 1] == ']') {
		text[size - 1] = '\0';
		*host = text + 1;
	}
	return true;
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)address;

		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(
		       &((const struct sockaddr_in6 *)(const void *)address)
				->sin6_addr);
}

/* For freeaddrinfo(). NULL: it is not ADDRESS:PORT in numbers. */
static struct addrinfo *parse_address(const char *address)
{
	const struct addrinfo wanted = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found = NULL;
	char text[128], *host, *port;

	if ((size_t)snprintf(text, sizeof(text), "%s", address) >=
		    sizeof(text) ||
	    !split_address(text, &host, &port) ||
	    getaddrinfo(host, port, &wanted, &found))
		return NULL;
	return found;
}

bool otlp_server_is_address(const char *address)
{
	struct addrinfo *found = parse_address(address);

	if (!found)
		return false;
	freeaddrinfo(found);
	return true;
}

static int listen_at(const char *address, struct weft_err *err)
{
	struct addrinfo *found = parse_address(address);
	const int on = 1;
	int fd, rc;

	if (!found)
		return weft_fail(err, -EINVAL,
				 "cannot receive spans at '%s': it is not "
				 "ADDRESS:PORT in numbers, as 127.0.0.1:4318",
				 address);
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -errno : 0;
	if (!rc && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		    bind(fd, found->ai_addr, found->ai_addrlen) ||
		    listen(fd, BACKLOG)))
		rc = -errno;
	if (!rc && !is_loopback(found->ai_addr))
		weft_log(WEFT_WARN,
			 "spans are received at %s from whoever reaches it: "
			 "there is no authentication",
			 address);
	freeaddrinfo(found);
	if (!rc)
		return fd;
	if (fd >= 0)
		close(fd);
	return weft_fail(err, rc, "cannot receive spans at '%s': %s", address,
			 strerror(-rc));
}

/* Keep no right. A user without rights cannot change who it is: then there is
 * nothing to give up. */
static int give_up_rights(void)
{
	int rc;

	if (!geteuid() &&
	    (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	     setresuid(NOBODY, NOBODY, NOBODY)))
		return -errno;
	rc = privilege_keep(NULL, 0);
	if (!rc && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = -errno;
	return rc;
}

/* Only the two descriptors stay open, as 3 and 4. */
static int keep_only(int *out, int *listener)
{
	enum {
		OUT = 3,
		LISTENER = 4,
		SPARE = 10
	};
	int a = fcntl(*out, F_DUPFD, SPARE),
	    b = fcntl(*listener, F_DUPFD, SPARE);

	if (a < 0 || b < 0 || dup2(a, OUT) < 0 || dup2(b, LISTENER) < 0 ||
	    close_range(LISTENER + 1, ~0U, 0))
		return -errno;
	*out = OUT;
	*listener = LISTENER;
	return 0;
}

static void ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
}

static _Noreturn void run_server(int out, int listener)
{
	struct MHD_Daemon *daemon;
	struct pollfd gone;

	ignore_signals();
	(void)prctl(PR_SET_NAME, "weft-spans");
	if (keep_only(&out, &listener) || give_up_rights())
		_exit(1);
	/* Forgotten when the user changes, so set after that. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	privilege_limit_memory(memory_max);
	privilege_limit(RLIMIT_NOFILE, FILES_MAX);
	privilege_limit(RLIMIT_CORE, 0);
	privilege_limit(RLIMIT_FSIZE, 0);
	daemon = otlp_http_start(listener, out);
	if (!daemon)
		_exit(1);
	/* Nothing is ever sent to us: what wakes us is the end. Requests that
	 * have come whole are answered first. */
	gone = (struct pollfd){ .fd = out, .events = POLLIN };
	while (poll(&gone, 1, -1) < 0 && errno == EINTR)
		;
	MHD_stop_daemon(daemon);
	_exit(0);
}

int otlp_server_fork(struct otlp_server *server, const char *address,
		     struct weft_err *err)
{
	int listener = listen_at(address, err), pair[2], rc;
	pid_t pid;

	*server = (struct otlp_server){ .fd = -1 };
	if (listener < 0)
		return listener;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		rc = -errno;
		close(listener);
		return weft_fail(err, rc, "cannot make a socket for spans: %s",
				 strerror(-rc));
	}
	pid = _Fork();
	rc = -errno;
	if (!pid) {
		close(pair[0]);
		run_server(pair[1], listener);
	}
	close(listener);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return weft_fail(err, rc,
				 "cannot start the receiver of spans: %s",
				 strerror(-rc));
	}
	*server = (struct otlp_server){ .fd = pair[0], .pid = pid };
	return 0;
}
