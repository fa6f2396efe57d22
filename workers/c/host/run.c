#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "session.h"

/* Holds all threads back until the start has been written down. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    enum { GATE_SHUT, GATE_OPEN, GATE_CANCELLED } state;
    int ended; /* eventfd: counts threads that are done */
};

static bool pass(struct gate *gate) {
    pthread_mutex_lock(&gate->lock);
    while (gate->state == GATE_SHUT)
        pthread_cond_wait(&gate->opened, &gate->lock);
    bool open = gate->state == GATE_OPEN;
    pthread_mutex_unlock(&gate->lock);
    return open;
}

static void set_gate(struct gate *gate, int state) {
    pthread_mutex_lock(&gate->lock);
    gate->state = state;
    pthread_mutex_unlock(&gate->lock);
    pthread_cond_broadcast(&gate->opened);
}

static void *run_thread(void *argument) {
    struct thread *t = argument;
    struct gate *gate = (struct gate *)(uintptr_t)t->gate;
    prctl(PR_SET_TIMERSLACK, 1UL); /* ns: sleeps of open load end as soon as the kernel can */
    if (pass(gate)) {
        if (t->part->count > 0 && thread_waits_for_its_turn(t)) {
            word_store(&t->head->state, PHASE_RUNNING);
            thread_walk(t);
        }
        word_store(&t->head->state, PHASE_ENDED);
    }
    uint64_t one = 1;
    while (write(gate->ended, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return NULL;
}

/* CLOCK_MONOTONIC is looked at so often. */
enum { CLOCK_CHECK_MS = 100 };

static void check_clock(struct phase *phase, int64_t difference0, int64_t *worst) {
    int64_t difference = clock_difference_ns(&phase->clock) - difference0;
    if (difference < 0)
        difference = -difference;
    if (difference > *worst)
        *worst = difference;
    word_store(&phase->counters.header->clock_difference_ns, (uint64_t)*worst);
}

/* Waits for all threads, checks the clock meanwhile, and stops the phase if the conductor goes
 * away. */
static void await(struct session *session, struct gate *gate, int64_t difference0) {
    struct phase *phase = session->prepared;
    uint64_t ended = 0;
    int64_t worst = 0;
    while (ended < phase->trace.threads) {
        bool watch = !session->input->ended && session->input->length < LINE_BYTES_MAX;
        struct pollfd watched[] = {{.fd = gate->ended, .events = POLLIN},
                                   {.fd = watch ? session->input->descriptor : -1, .events = POLLIN}};
        int ready = poll(watched, 2, CLOCK_CHECK_MS);
        if (ready == 0)
            check_clock(phase, difference0, &worst);
        stats_tell(&session->stats, session->driver, session->store, phase->counters.header);
        uint64_t more;
        if (ready > 0 && watched[0].revents != 0 && read(gate->ended, &more, sizeof more) == sizeof more)
            ended += more;
        if (ready > 0 && watched[1].revents != 0 && !input_fill(session->input))
            session->input->ended = true;
        if (session->input->ended) /* the conductor's word, but there is no conductor any more */
            word_store(&phase->counters.header->stop, 1);
    }
    check_clock(phase, difference0, &worst);
}

static double ns_of(struct timeval t) { return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3; }

static struct json_object *tell_runtime(const struct rusage *before, const struct rusage *after, const struct stats *stats) {
    struct assay_sink sink = {.object = json_object_new_object()};
    if (stats->names != NULL) {
        assay_stat(&sink, "inspects", (double)stats->rounds);
        assay_stat(&sink, "inspect_ns", (double)stats->cost_ns);
    }
    assay_stat(&sink, "cpu_user_ns", ns_of(after->ru_utime) - ns_of(before->ru_utime));
    assay_stat(&sink, "cpu_system_ns", ns_of(after->ru_stime) - ns_of(before->ru_stime));
    assay_stat(&sink, "minor_faults", (double)(after->ru_minflt - before->ru_minflt));
    assay_stat(&sink, "major_faults", (double)(after->ru_majflt - before->ru_majflt));
    assay_stat(&sink, "context_switches_voluntary", (double)(after->ru_nvcsw - before->ru_nvcsw));
    assay_stat(&sink, "context_switches_involuntary", (double)(after->ru_nivcsw - before->ru_nivcsw));
    struct json_object *result = json_object_new_object();
    json_object_object_add(result, "runtime", sink.object);
    return result;
}

/* A driver's frames are small; many threads are not to reserve 8 MiB each. */
enum { STACK_BYTES = 2 << 20 };

static bool start_threads(struct session *session, struct gate *gate, struct refusal *refusal) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failed = 0;
    uint32_t started = 0, threads = session->prepared->trace.threads;
    for (; started < threads && failed == 0; started++) {
        struct thread *t = &session->threads[started];
        t->gate = gate;
        failed = pthread_create(&t->pthread, &attributes, run_thread, t);
    }
    pthread_attr_destroy(&attributes);
    if (failed == 0)
        return true;
    set_gate(gate, GATE_CANCELLED);
    for (uint32_t i = 0; i + 1 < started; i++) /* the last one of them was not started */
        pthread_join(session->threads[i].pthread, NULL);
    return refuse(refusal, CLASS_FAILED, "starting a thread: %s", strerror(failed));
}

struct json_object *session_run(struct session *session, struct refusal *refusal) {
    struct phase *phase = session->prepared;
    if (phase == NULL)
        return refuse(refusal, CLASS_BAD_REQUEST, "run without prepare"), NULL;
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};
    gate.ended = eventfd(0, EFD_CLOEXEC);
    if (gate.ended < 0)
        return refuse(refusal, CLASS_FAILED, "an eventfd: %s", strerror(errno)), NULL;
    struct json_object *result = NULL;
    if (start_threads(session, &gate, refusal)) {
        struct counters_header *header = phase->counters.header;
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        int64_t difference0 = clock_difference_ns(&phase->clock), start = clock_now_ns(&phase->clock), end = start;
        word_store(&header->clock, phase->clock.tsc ? COUNTERS_CLOCK_TSC : COUNTERS_CLOCK_MONOTONIC);
        word_store(&header->start_ns, (uint64_t)(phase->clock.origin_ns + start));
        for (uint32_t i = 0; i < phase->trace.threads; i++)
            session->threads[i].start_ns = start;
        word_store(&header->state, PHASE_RUNNING);
        stats_begin(&session->stats);
        set_gate(&gate, GATE_OPEN);
        await(session, &gate, difference0);
        for (uint32_t i = 0; i < phase->trace.threads; i++) {
            pthread_join(session->threads[i].pthread, NULL);
            int64_t thread_end = start + (int64_t)session->threads[i].head->now_ns;
            end = thread_end > end ? thread_end : end;
        }
        word_store(&header->end_ns, (uint64_t)(phase->clock.origin_ns + end));
        word_store(&header->state, PHASE_ENDED);
        getrusage(RUSAGE_SELF, &after);
        result = tell_runtime(&before, &after, &session->stats);
    }
    close(gate.ended);
    session_forget_prepared(session);
    return result;
}
