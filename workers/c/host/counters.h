/* The counters file: section 3 of docs/worker-contract.md. The structs are laid over mapped memory;
 * their sizes are the file format, which counters.c asserts. */
#ifndef ASSAY_HOST_COUNTERS_H
#define ASSAY_HOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"

enum {
    HISTOGRAM_SUB_BUCKET_BITS = 7,
    HISTOGRAM_VALUE_BITS = 42,
    HISTOGRAM_BUCKETS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BUCKET_BITS + 1) << HISTOGRAM_SUB_BUCKET_BITS,
    COUNTERS_HEADER_BYTES = 4096,
    COUNTERS_FORMAT_VERSION = 4,
    COUNTERS_ERROR_PLACES = 8,
    COUNTERS_ERROR_BYTES = 256,
    COUNTERS_ERROR_TEXT_AT = 20,
    COUNTERS_ERROR_TEXT_BYTES = COUNTERS_ERROR_BYTES - COUNTERS_ERROR_TEXT_AT,
    COUNTERS_FLAG_RESPONSE = 1,
    COUNTERS_FLAG_HANDLE_TIMES = 2,
    COUNTERS_STATS_MAX = 128,
    COUNTERS_LATE_WORDS = 25
};

enum outcome {
    OUTCOME_OK,
    OUTCOME_MISS,
    OUTCOME_LOST,
    OUTCOME_CONFLICT,
    OUTCOME_WRONG,
    OUTCOME_ERROR,
    OUTCOME_TIMEOUT,
    OUTCOMES
};

enum { PHASE_NOT_BEGUN, PHASE_RUNNING, PHASE_ENDED, THREAD_STUCK };
enum { COUNTERS_CLOCK_TSC = 1, COUNTERS_CLOCK_MONOTONIC = 2 };

#define OBSERVED_MISS (~UINT64_C(0))
#define OBSERVED_WRONG (~UINT64_C(0) - 1)
#define OBSERVED_ERROR (~UINT64_C(0) - 2)
#define OBSERVED_NOT_READ (~UINT64_C(0) - 3)
#define OBSERVED_SHORT (~UINT64_C(0) - 4)
#define OBSERVED_FOREIGN (~UINT64_C(0) - 5)
#define OBSERVED_LOWEST OBSERVED_FOREIGN /* what is below it is a version */

struct counters_header {
    char magic[8];
    uint32_t format_version, header_bytes, threads, slots;
    uint64_t thread_bytes;
    uint32_t histogram_bits, histogram_buckets, error_places, flags;
    uint64_t observed_offset;
    uint8_t unused[8];
    uint8_t operation[TRACE_SLOTS_MAX], query[TRACE_SLOTS_MAX];
    uint8_t unused2[1024 - 64 - 2 * TRACE_SLOTS_MAX];
    uint64_t state, start_ns, end_ns, clock, clock_difference_ns; /* the worker's words, from 1,024 */
    uint8_t unused3[2048 - 1064];
    uint64_t stop; /* the conductor's, at 2,048 */
    uint8_t unused4[3064 - 2056];
    uint64_t rounds; /* the store's own counters: how often they were written, and their values as f64 */
    uint64_t stats[COUNTERS_STATS_MAX];
};

struct counters_thread {
    uint64_t attempted, acknowledged, now_ns, state, handle_wait_ns, handles_opened, lateness_max_ns;
    uint64_t late[COUNTERS_LATE_WORDS]; /* operations by dispatch lateness: lateness_word */
};

struct counters_slot {
    uint64_t outcomes[OUTCOMES];
    uint64_t bytes_sent, bytes_read, items, service_max_ns;
    uint64_t foreign; /* of wrong: values of another trial */
    uint64_t sort_sum; /* of queries with an order: the numbers in the sort column of what they found */
    uint64_t reserved[3];
    uint64_t service[HISTOGRAM_BUCKETS]; /* the response-time histogram follows, if flagged */
};

struct counters {
    unsigned char *data;
    size_t length;
    struct counters_header *header;
    uint32_t threads, slots;
    bool response, handle_times;
    size_t slot_bytes, thread_bytes, observed_at;
};

/* The bucket of a value in ns. */
/* The word that counts an operation which began so late; -1: none, it was on time. Word k begins at
 * 2^(7 + k) ns. */
static inline int lateness_word(uint64_t ns) {
    if (ns < 128)
        return -1;
    int word = 63 - __builtin_clzll(ns) - 7;
    return word < COUNTERS_LATE_WORDS ? word : COUNTERS_LATE_WORDS - 1;
}

static inline unsigned histogram_bucket(uint64_t value) {
    const unsigned s = HISTOGRAM_SUB_BUCKET_BITS;
    if (value < UINT64_C(1) << s)
        return (unsigned)value;
    if (value >> HISTOGRAM_VALUE_BITS != 0)
        value = (UINT64_C(1) << HISTOGRAM_VALUE_BITS) - 1;
    unsigned e = 63 - (unsigned)__builtin_clzll(value);
    return ((e - s + 1) << s) + (unsigned)((value >> (e - s)) - (UINT64_C(1) << s));
}

/* Fills in where everything lies in a file of this shape, with the flags COUNTERS_FLAG_…; returns the
 * length of the file. */
size_t counters_measure(struct counters *c, uint32_t threads, uint32_t slots, uint32_t flags, uint64_t observed_entries);

/* Maps a file that fits the trace. False: error says what is wrong, and nothing is mapped. */
bool counters_map(struct counters *c, const char *path, const struct trace *trace, struct assay_error *error);
void counters_unmap(struct counters *c);

static inline size_t counters_thread_at(const struct counters *c, uint32_t thread) {
    return COUNTERS_HEADER_BYTES + thread * c->thread_bytes;
}
static inline size_t counters_slot_at(const struct counters *c, uint32_t thread, uint32_t slot) {
    return counters_thread_at(c, thread) + sizeof(struct counters_thread) + slot * c->slot_bytes;
}
static inline size_t counters_error_place_at(const struct counters *c, uint32_t thread, uint32_t place) {
    return counters_slot_at(c, thread, c->slots) + (size_t)place * COUNTERS_ERROR_BYTES;
}
/* Of the times from a thread's asking for a handle until it had one; NULL: they are not counted. */
static inline uint64_t *counters_handle_times(const struct counters *c, uint32_t thread) {
    return c->handle_times ? (uint64_t *)(void *)(c->data + counters_error_place_at(c, thread, COUNTERS_ERROR_PLACES)) : NULL;
}
static inline struct counters_thread *counters_thread(const struct counters *c, uint32_t thread) {
    return (struct counters_thread *)(void *)(c->data + counters_thread_at(c, thread));
}
static inline struct counters_slot *counters_slot(const struct counters *c, uint32_t thread, uint32_t slot) {
    return (struct counters_slot *)(void *)(c->data + counters_slot_at(c, thread, slot));
}
static inline uint64_t *counters_response(struct counters_slot *slot) { return (uint64_t *)(slot + 1); }

/* Counts a message in the thread's places. Only that thread calls it. */
void counters_message(const struct counters *c, uint32_t thread, unsigned operation, enum outcome outcome, const char *text);

/* Words that another process reads or writes at the same time are moved whole. */
static inline uint64_t word_load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline void word_store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

#endif
