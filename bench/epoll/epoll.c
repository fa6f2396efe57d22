/* A bare client: one thread, epoll, gets of random keys, nothing checked but that the value is
 * there. What is left of its rate is what a client's own work costs.
 *
 *   epoll PROTOCOL PORT CONNECTIONS PIPELINE OPERATIONS RECORDS     PROTOCOL: memcached or redis
 *
 * prints the operations done and the CPU time that they took in ns. Keys are key:%012d. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, REQUEST_MAX = 64 };

struct connection {
	int socket, filled;
	char buffer[BUFFER];
};

static int redis;
static long left, records;
static uint64_t state = 1;

static void fail(const char *doing) {
	perror(doing);
	exit(1);
}

static long draw(void) {
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (long)(state % (uint64_t)records);
}

/* request sends so many gets in one write. */
static void request(struct connection *c, int gets) {
	static char out[1024 * REQUEST_MAX];
	int n = 0;
	for (; gets > 0 && left > 0; gets--, left--)
		n += sprintf(out + n, redis ? "*2\r\n$3\r\nGET\r\n$16\r\nkey:%012ld\r\n" : "get key:%012ld\r\n", draw());
	for (int sent = 0; sent < n;) {
		ssize_t k = write(c->socket, out + sent, (size_t)(n - sent));
		if (k < 0 && errno != EAGAIN)
			fail("write");
		sent += k > 0 ? (int)k : 0;
	}
}

/* answer returns how long the answer at text is, 0 if it is not all there. */
static int answer(const char *text, int n) {
	const char *end = memchr(text, '\n', (size_t)n);
	if (!end)
		return 0;
	int head = (int)(end - text) + 1, length = 0;
	const char *digit = end - 2; /* the head ends in the length */
	for (int unit = 1; digit > text && *digit >= '0' && *digit <= '9'; digit--, unit *= 10)
		length += unit * (*digit - '0');
	if (redis ? digit != text || *text != '$' : *text != 'V' || *digit != ' ') {
		fprintf(stderr, "no value: %.*s", head, text);
		exit(1);
	}
	int all = head + length + 2 + (redis ? 0 : 5); /* END\r\n */
	return all <= n ? all : 0;
}

static struct connection *dial(int port) {
	struct connection *c = calloc(1, sizeof *c);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int one = 1;
	if (!c || (c->socket = socket(AF_INET, SOCK_STREAM, 0)) < 0 || connect(c->socket, (struct sockaddr *)&to, sizeof to))
		fail("connect");
	setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	fcntl(c->socket, F_SETFL, O_NONBLOCK);
	return c;
}

static int64_t cpu_ns(void) {
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

int main(int argc, char **argv) {
	if (argc != 7)
		return 2;
	redis = !strcmp(argv[1], "redis");
	int port = atoi(argv[2]), connections = atoi(argv[3]), pipeline = atoi(argv[4]), poll = epoll_create1(0);
	long operations = left = atol(argv[5]);
	records = atol(argv[6]);
	for (int i = 0; i < connections; i++) {
		struct connection *c = dial(port);
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
		if (epoll_ctl(poll, EPOLL_CTL_ADD, c->socket, &e))
			fail("epoll_ctl");
		request(c, pipeline);
	}
	int64_t began = cpu_ns();
	for (long done = 0; done < operations;) {
		struct epoll_event events[256];
		int n = epoll_wait(poll, events, 256, -1);
		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;
			ssize_t k = read(c->socket, c->buffer + c->filled, (size_t)(BUFFER - c->filled));
			if (k <= 0)
				fail("read");
			c->filled += (int)k;
			int at = 0, ended = 0;
			for (int length; (length = answer(c->buffer + at, c->filled - at)) > 0; at += length)
				ended++;
			memmove(c->buffer, c->buffer + at, (size_t)(c->filled - at));
			c->filled -= at;
			done += ended;
			request(c, ended);
		}
	}
	printf("%ld %lld\n", operations, (long long)(cpu_ns() - began));
	return 0;
}
