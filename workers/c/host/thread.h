/* The measured loop and what it works on. */
#ifndef ASSAY_HOST_THREAD_H
#define ASSAY_HOST_THREAD_H

#include <pthread.h>

#include "clock.h"
#include "counters.h"
#include "handles.h"
#include "history.h"
#include "query.h"
#include "trace.h"

/* A prepared phase. Its trace stays mapped until close: it proves the versions of later reads. What
 * each operation looks at stands first and together: between two operations a store may push every
 * line of it out of the nearest cache. */
struct phase {
    struct clock clock;
    struct value_pool pool;
    bool zero_versions, verify;
    uint64_t must_hit_below;
    struct key_shape keys;
    const struct record_shape *record; /* NULL: values without columns */
    const struct definition *definition;
    uint64_t value_bytes_max;
    uint64_t loaded_records;
    int64_t deadline_ns; /* 0: none */
    uint64_t number;
    char name[64];
    struct trace trace;
    struct counters counters;
    struct history history; /* data NULL: nothing is recorded */
};

/* The phases of a store, by number; NULL: not prepared. */
struct phases {
    struct phase *phase[KEYVAL_PHASE_MAX + 1];
};

struct thread;

/* What a scan has seen so far. */
struct scan {
    struct thread *thread;
    uint64_t limit, seen, bytes;
    unsigned char *previous; /* the last key */
    size_t previous_length;
    unsigned char *expected; /* room for the key that a value claims to have */
    const char *problem;
};

/* What a query has found so far. */
struct query {
    struct thread *thread;
    const struct query_shape *shape;
    struct assay_bytes values[QUERY_VALUES_MAX];
    unsigned char *room; /* of values */
    uint64_t limit, seen, bytes, sort_sum, last; /* last: the number in the sort column of the record before */
    uint64_t *found; /* a hash table of indexes, each under the round in which it was found: so it need not be emptied */
    uint64_t mask;
    uint64_t round;
    const char *problem;
};

/* The recorded scan, query or count that is under way: section 3.5. What an operation finds beside
 * others that write can only be judged by what they had done by then: so it is recorded with how far
 * each thread was before it and after it. */
struct find {
    bool active;      /* there is one */
    uint64_t *words;  /* as they are recorded: how many were found, how far threads were before and after, indexes */
    uint64_t *found;  /* in words: indexes of what it gave */
    uint64_t count;   /* of found */
    uint64_t items;   /* that it gave or counted, where it was ok */
};
#define FOUND_UNKNOWN UINT64_MAX /* a record that does not tell its index */

/* How a thread lets time pass until an operation is due. It sleeps for most of a wait, and spins the rest away,
 * since a sleep ends late: as long as nine in ten sleeps are late by, but not beyond its share of the
 * processors, which an engine's own threads need too. */
struct waiter {
    double share;       /* of its time that the thread may spin */
    int64_t late_ns;    /* what nine in ten sleeps end late by, or less */
    int64_t credit_ns;  /* that may be spun away */
    int64_t counted_ns; /* when the credit was counted */
};

/* A thread walks its part of the trace. Nothing in it is shared with another thread but read-only
 * memory, and nothing is allocated once it runs, but for a value that is longer than any of the
 * trial. */
struct thread {
    /* Of each operation: two lines. */
    const struct assay_driver *driver;
    const struct phase *phase;
    const struct clock *clock;   /* the phase's, or one that stands still */
    struct assay_handle *handle; /* NULL: one is taken for each operation */
    unsigned char *key;
    unsigned char *value;              /* what is put */
    struct assay_buffer buffer;        /* what is got */
    const struct record_shape *record; /* the phase's */
    uint64_t *observed;                /* one word an entry, in a verify phase; else NULL */
    bool watching;                     /* what is read is to be known: in a verify phase, and at recorded entries */
    uint64_t saw;                      /* what was read while watching: a version or an OBSERVED_ word */
    uint64_t versions;                 /* phase and thread of the versions that this thread writes */
    const struct trace_thread *part;
    struct counters_thread *head;

    struct counters_slot *slots[OPERATION_CODES]; /* NULL: the operation asks, and each question has its own */
    uint64_t *handle_times; /* of the takes of handles; NULL: they are not counted */
    struct history_thread *history;
    struct handles *handles;
    const struct phases *phases;
    uint32_t number;
    struct assay_buffer old; /* what compare-and-swap takes to be there */
    struct assay_write *writes;
    unsigned char *arena; /* keys and values of a batch */
    struct scan scan;
    struct query query;
    struct find find;
    unsigned char *scratch; /* of checks: room for the longest column */
    unsigned char *sample; /* of the null driver: stands for what a store would return; else NULL */
    size_t sample_bytes;
    struct assay_error error;

    struct waiter waiter;
    int64_t start_ns;   /* of the phase, on its clock */
    struct clock still; /* of operations that are not timed */
    pthread_t pthread;
    const struct gate *gate;
} __attribute__((aligned(128)));

/* How an operation ended. looked: the thread did more after `now` than counting, so that the next
 * operation must not begin there. */
struct result {
    enum outcome outcome;
    bool looked;
    int64_t now;
};

/* What an operation is done to. */
struct step {
    uint64_t entry, index, sequence, position, lap;
    struct counters_slot *slot;
};

/* Makes the buffers of a thread. False: there is no memory. */
bool thread_make(struct thread *t, const struct phase *phase, const struct phases *phases, struct handles *handles,
                 uint32_t number);
void thread_free(struct thread *t);

/* Waits until the thread may begin. False: the phase ends before. */
bool thread_waits_for_its_turn(struct thread *t);

/* Does the thread's entries until they are done, the deadline has passed or the conductor asks to
 * stop. */
void thread_walk(struct thread *t);

/* operate.c: each does one operation with t->handle, and reads the clock as soon as the store has
 * answered. A table and no switch: a function saves what it uses itself, and not what the longest
 * of them would use. */
typedef struct result operation_function(struct thread *t, const struct step *step);
extern operation_function *const operations[OPERATION_CODES];
static inline struct result operate(struct thread *t, const struct step *step) {
    return operations[entry_operation(step->entry)](t, step);
}
void note(struct thread *t, unsigned operation, enum outcome outcome, const char *text);

/* check.c: what why_wrong says of a value that is right but for its trial's tag. */
extern const char other_trial[];
/* check.c: why a value that came back for an index is none that was written there, or NULL: section
 * 1.4. */
const char *check_value(struct thread *t, struct assay_bytes value, uint64_t index);
/* The same, and for the null driver, which has no value that could be wrong, only the work. */
const char *check_answer(struct thread *t, struct assay_bytes value, uint64_t index);
static inline const char *check_if_asked(struct thread *t, struct assay_bytes value, uint64_t index) {
    return t->phase->verify ? check_answer(t, value, index) : NULL;
}
/* Keeps what a read gave, a version or a word of section 5, in t->saw. */
void observe(struct thread *t, enum assay_status status, struct assay_bytes value, uint64_t index);
/* assay_visit: takes one record of a scan, of a query. */
bool check_scanned(void *scan, struct assay_bytes key, struct assay_bytes value);
bool check_found(void *query, struct assay_bytes key, struct assay_bytes value);

#endif
