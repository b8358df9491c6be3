/* SPDX-License-Identifier: MIT */
/* A C++ service with the publisher: a thread per connection, a scope per
 * request. Arguments: the port. */
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <otel-thread-ctx.h>

static volatile unsigned long sink;

#define ROUTE(name)                                        \
	extern "C" __attribute__((noinline)) void name()   \
	{                                                  \
		for (unsigned long i = 0; i < 3000000; i++) \
			sink = sink * 31 + i;              \
	}
ROUTE(work_alpha)
ROUTE(work_beta)
ROUTE(work_gamma)

static std::string header(const std::string &request, const char *name)
{
	size_t at = request.find(std::string(name) + ": "), end;

	if (at == std::string::npos)
		return "";
	at += strlen(name) + 2;
	end = request.find("\r\n", at);
	return request.substr(at, end - at);
}

static bool answer(const std::string &request)
{
	otc::scope scope(header(request, "traceparent").c_str());

	if (scope.error())
		return false;
	if (request.compare(0, 11, "GET /alpha ") == 0)
		work_alpha();
	else if (request.compare(0, 10, "GET /beta ") == 0)
		work_beta();
	else
		work_gamma();
	return true;
}

static void serve(int fd)
{
	std::string request;
	char buffer[4096];

	while (request.find("\r\n\r\n") == std::string::npos) {
		ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n <= 0)
			break;
		request.append(buffer, static_cast<size_t>(n));
	}
	const char *reply =
		answer(request) ?
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" :
			"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n";
	if (write(fd, reply, strlen(reply)) < 0)
		perror("write");
	close(fd);
}

int main(int argc, char **argv)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	struct sockaddr_in to = {};

	if (argc < 2 || otc_init("cxx-service") != 0)
		return 1;
	to.sin_family = AF_INET;
	to.sin_port = htons(static_cast<uint16_t>(atoi(argv[1])));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, reinterpret_cast<struct sockaddr *>(&to), sizeof(to)) ||
	    listen(fd, 64))
		return 1;
	for (;;) {
		int connection = accept(fd, nullptr, nullptr);

		if (connection >= 0)
			std::thread(serve, connection).detach();
	}
}
