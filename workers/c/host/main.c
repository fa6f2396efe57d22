/* The native worker: docs/worker-contract.md, for the drivers that this program was linked with.
 *
 *   main.c      the process: requests in, replies out
 *   message.c   JSON lines
 *   session.c   what is open; open.c, define.c, prepare.c, run.c: the larger commands
 *   definition.c  what define may say
 *   thread.c    the measured loop
 *   operate.c   one operation of each kind
 *   check.c     is a value that was read one that was written there?
 *   stats.c     the store's own counters, while a phase runs
 *   handles.c   one handle for all, one each, a pool, a new one each time
 *   trace.c, counters.c, keyval.c, record.c, clock.c   the contract's files, bytes and time
 *   driver.c, options.c   what drivers may call */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "session.h"

/* Standard output belongs to the control channel: it moves to another descriptor, and descriptor 1
 * is pointed at standard error, for whatever a library prints. */
static int take_stdout(void) {
    int channel = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (channel >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -1;
    return channel;
}

int main(void) {
    clock_begin();
    int channel = take_stdout();
    if (channel < 0) {
        fprintf(stderr, "worker: keeping standard output for the control channel: %s\n", strerror(errno));
        return 1;
    }
    signal(SIGPIPE, SIG_IGN); /* a conductor that went away is seen at the end of input */
    struct input input = {.descriptor = STDIN_FILENO};
    struct session session = {.input = &input};
    bool sound = true;
    while (sound) {
        size_t length;
        const char *line = input_line(&input, &length);
        if (line == NULL) {
            if (input.ended)
                break;
            sound = input_fill(&input);
            continue;
        }
        char *request = malloc(length); /* input moves its bytes while a phase runs */
        if (request == NULL)
            break;
        memcpy(request, line, length);
        struct json_object *reply = session_answer(&session, request, length);
        free(request);
        sound = write_line(channel, reply) || input.ended;
        json_object_put(reply);
    }
    session_abandon(&session);
    free(input.data);
    return sound ? 0 : 1;
}
