/* SPDX-License-Identifier: MIT */
/*
 * The load generator: clients that each keep one connection to the demo
 * service and send the next planned request as soon as the last is answered,
 * for a number of seconds or until SIGTERM or SIGINT. Loopback only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <http_parser.h>

#include "plan.h"

enum {
	MAX_CLIENTS = 64,
	MAX_SECONDS = 3600,
	TIMEOUT_S = 10
};

struct options {
	unsigned long port;
	unsigned long clients;
	unsigned long seconds;
	const char *list_path;
	struct plan plan;
};

struct load {
	const struct options *options;
	uint64_t deadline_ns;
	_Atomic uint64_t next; /* number of the next request */
	FILE *list;            /* stdio locks it for the clients */
};

struct client {
	struct load *load;
	pthread_t thread;
	int fd;
	bool is_answered;
	uint64_t answered;
	uint64_t total_ns;
	uint64_t longest_ns;
	int error; /* errno that ended it early, 0 if none */
};

static const char usage[] =
	"usage: load --port PORT [--seconds N] [--clients N] [--seed N]\n"
	"            [--mix ROUTE=SHARE,...] [--slow PERCENT] [--list FILE]\n"
	"\n"
	"Sends requests with known trace IDs to the demo service.\n"
	"\n"
	"  --seconds N     how long (10)\n"
	"  --clients N     connections, one request at a time each (8)\n"
	"  --seed N        which requests (1)\n"
	"  --mix ...       search=30,report=20,checkout=20,compress=15,sign=15\n"
	"  --slow PERCENT  of requests that cost 10 times and more (3)\n"
	"  --list FILE     write what was sent: trace ID, route, cost, status,\n"
	"                  latency\n";

static volatile sig_atomic_t is_stopping;

static void on_stop(int number)
{
	(void)number;
	is_stopping = 1;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- a client ---- */

static int connect_client(struct client *client)
{
	struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)client->load->options->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int on = 1;

	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0 ||
	    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout)) != 0 ||
	    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) !=
		    0 ||
	    connect(client->fd, (struct sockaddr *)&address, sizeof(address)) !=
		    0)
		return -errno;
	return 0;
}

static int send_request(struct client *client, const struct planned_request *r)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "GET /%s?cost=%u HTTP/1.1\r\n"
			 "Host: 127.0.0.1\r\n"
			 "traceparent: 00-%s-%s-01\r\n\r\n",
			 r->route, r->cost, r->trace_id, r->span_id);

	/* so short that it fits into an empty socket buffer at once */
	if (send(client->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		return -EPIPE;
	return 0;
}

static int on_answered(http_parser *parser)
{
	struct client *client = parser->data;

	client->is_answered = true;
	return 0;
}

/* Returns the HTTP status, or a negative errno. */
static int read_answer(struct client *client, http_parser *parser)
{
	const http_parser_settings settings = {
		.on_message_complete = on_answered,
	};
	char bytes[2048];

	client->is_answered = false;
	while (!client->is_answered) {
		ssize_t n = recv(client->fd, bytes, sizeof(bytes), 0);

		if (n < 0)
			return -errno;
		if (n == 0)
			return -ECONNRESET;
		if (http_parser_execute(parser, &settings, bytes, (size_t)n) !=
		    (size_t)n)
			return -EPROTO;
	}
	return (int)parser->status_code;
}

static int exchange(struct client *client, http_parser *parser)
{
	struct load *load = client->load;
	uint64_t n = atomic_fetch_add(&load->next, 1);
	struct planned_request r = plan_request(&load->options->plan, n);
	uint64_t start_ns = now_ns(), taken_ns;
	int status = send_request(client, &r);

	if (status == 0)
		status = read_answer(client, parser);
	if (status < 0)
		return status;
	taken_ns = now_ns() - start_ns;
	if (load->list)
		fprintf(load->list,
			"%s\t%s\t%u\t%d\t%" PRIu64 "\t%" PRIu64 "\n",
			r.trace_id, r.route, r.cost, status, start_ns,
			taken_ns);
	if (status != 200)
		return -EPROTO;
	client->answered++;
	client->total_ns += taken_ns;
	if (taken_ns > client->longest_ns)
		client->longest_ns = taken_ns;
	return 0;
}

static void *run_client(void *arg)
{
	struct client *client = arg;
	http_parser parser;
	int rc;

	http_parser_init(&parser, HTTP_RESPONSE);
	parser.data = client;
	rc = connect_client(client);
	while (rc == 0 && !is_stopping && now_ns() < client->load->deadline_ns)
		rc = exchange(client, &parser);
	if (client->fd >= 0)
		close(client->fd);
	client->error = -rc;
	return NULL;
}

/* ---- all of them ---- */

/* Returns 0, or -1 if any client ended early. */
static int report(const struct client *clients, unsigned long n, double seconds)
{
	uint64_t answered = 0, total_ns = 0, longest_ns = 0;
	int error = 0;

	for (unsigned long i = 0; i < n; i++) {
		answered += clients[i].answered;
		total_ns += clients[i].total_ns;
		if (clients[i].longest_ns > longest_ns)
			longest_ns = clients[i].longest_ns;
		if (clients[i].error)
			error = clients[i].error;
	}
	printf("%" PRIu64 " requests in %.1f s, %.0f/s; latency mean %.1f ms, "
	       "longest %.1f ms\n",
	       answered, seconds, (double)answered / seconds,
	       answered ? (double)total_ns / 1e6 / (double)answered : 0.0,
	       (double)longest_ns / 1e6);
	if (!error)
		return 0;
	fprintf(stderr, "load: a client ended early: %s\n", strerror(error));
	return -1;
}

static int run(struct load *load)
{
	static struct client clients[MAX_CLIENTS];
	unsigned long n = load->options->clients, started = 0;
	uint64_t start_ns = now_ns();
	int rc = 0;

	load->deadline_ns = start_ns + load->options->seconds * 1000000000;
	for (; started < n && rc == 0; started += rc == 0) {
		struct client *client = &clients[started];

		client->load = load;
		client->fd = -1;
		rc = pthread_create(&client->thread, NULL, run_client, client);
	}
	for (unsigned long i = 0; i < started; i++)
		pthread_join(clients[i].thread, NULL);
	if (rc != 0) {
		fprintf(stderr, "load: cannot start a client: %s\n",
			strerror(rc));
		return -1;
	}
	return report(clients, started, (double)(now_ns() - start_ns) / 1e9);
}

static bool parse_number(const char *text, unsigned long min, unsigned long max,
			 unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *out >= min &&
	       *out <= max;
}

static bool parse_option(int c, struct options *o)
{
	unsigned long number = 0;
	bool is_good = true;

	switch (c) {
	case 'p':
		return parse_number(optarg, 1, 65535, &o->port);
	case 'd':
		return parse_number(optarg, 1, MAX_SECONDS, &o->seconds);
	case 'c':
		return parse_number(optarg, 1, MAX_CLIENTS, &o->clients);
	case 's':
		is_good = parse_number(optarg, 0, UINT64_MAX, &number);
		o->plan.seed = number;
		return is_good;
	case 'w':
		is_good = parse_number(optarg, 0, 100, &number);
		o->plan.slow_pct = (unsigned int)number;
		return is_good;
	case 'm':
		return plan_parse_mix(&o->plan, optarg) == 0;
	case 'l':
		o->list_path = optarg;
		return true;
	default:
		return false;
	}
}

/* 0, 1 to end well, -1 for a usage error. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 'd' },
		{ "clients", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "mix", required_argument, NULL, 'm' },
		{ "slow", required_argument, NULL, 'w' },
		{ "list", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){
		.clients = 8,
		.seconds = 10,
		.plan = { .seed = 1,
			  .share = { 30, 20, 20, 15, 15 },
			  .slow_pct = 3 },
	};
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 1;
		}
		if (c == '?')
			return -1;
		if (!parse_option(c, o)) {
			fprintf(stderr, "load: bad value '%s'\n", optarg);
			return -1;
		}
	}
	if (optind == argc && o->port)
		return 0;
	fputs(usage, stderr);
	return -1;
}

int main(int argc, char **argv)
{
	struct options o;
	struct load load = { .options = &o };
	const struct sigaction stop = { .sa_handler = on_stop,
					.sa_flags = SA_RESTART };
	int rc = parse_options(argc, argv, &o);

	if (rc != 0)
		return rc < 0 ? 2 : 0;
	if (o.list_path) {
		load.list = fopen(o.list_path, "we");
		if (!load.list) {
			fprintf(stderr, "load: cannot write '%s': %s\n",
				o.list_path, strerror(errno));
			return 1;
		}
		fputs("trace_id\troute\tcost\tstatus\tstart_ns\ttaken_ns\n",
		      load.list);
	}
	/* restart calls: a request under way is answered and counted */
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	rc = run(&load);
	if (load.list && fclose(load.list) != 0)
		rc = -1;
	return rc < 0 ? 1 : 0;
}
