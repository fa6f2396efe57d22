/* The history file: section 3.5 of docs/worker-contract.md. The structs are laid over mapped
 * memory. */
#ifndef ASSAY_HOST_HISTORY_H
#define ASSAY_HOST_HISTORY_H

#include "counters.h"

enum {
    HISTORY_HEADER_BYTES = 4096,
    HISTORY_FORMAT_VERSION = 2,
    HISTORY_RECORDS_MULTIPLE = 4,
    HISTORY_OUTCOME_SHIFT = 40
};

/* One operation on a recorded key. */
struct history_record {
    uint64_t begin_ns, end_ns; /* since the phase's start */
    uint64_t what;             /* bits 0-39: sequence number; 40-47: outcome */
    uint64_t read;             /* the version that was read, or one of OBSERVED_... */
};

/* The head of a thread's area; its records follow. */
struct history_thread {
    uint64_t count, dropped;
    uint64_t reserved[14];
    struct history_record record[];
};

struct history {
    unsigned char *data; /* NULL: the trace has no recorded entries */
    size_t length;
    uint64_t each; /* records that a thread's area has room for */
};

static inline size_t history_area(uint64_t each) {
    return sizeof(struct history_thread) + each * sizeof(struct history_record);
}

/* Maps a file that fits the trace. False: error says what is wrong, and nothing is mapped. */
bool history_map(struct history *h, const char *path, const struct trace *trace, struct assay_error *error);
void history_unmap(struct history *h);

static inline struct history_thread *history_thread(const struct history *h, uint32_t thread) {
    return (struct history_thread *)(void *)(h->data + HISTORY_HEADER_BYTES + thread * history_area(h->each));
}

/* Adds a record. Once an area is full nothing more is recorded: a history with holes would accuse a
 * store of what is not in it. */
static inline void history_append(struct history_thread *t, uint64_t each, struct history_record record) {
    uint64_t n = t->count;
    if (n == each || t->dropped > 0) {
        t->dropped++;
        return;
    }
    t->record[n] = record;
    word_store(&t->count, n + 1); /* last: a reader that sees the count sees the record */
}

/* Adds a find: its record, and behind it its words, up to a whole record. */
static inline void history_append_find(struct history_thread *t, uint64_t each, struct history_record record, const uint64_t *words,
                                       uint64_t count) {
    uint64_t n = t->count, rows = 1 + (count + 3) / 4;
    if (n + rows > each || t->dropped > 0) {
        t->dropped++;
        return;
    }
    t->record[n] = record;
    uint64_t *at = (uint64_t *)(void *)&t->record[n + 1];
    for (uint64_t i = 0; i < 4 * (rows - 1); i++)
        at[i] = i < count ? words[i] : 0;
    word_store(&t->count, n + rows);
}

#endif
