/* Trace files: section 2 of docs/worker-contract.md. A trace is checked whole when it is mapped, so
 * that the loop need not check anything. */
#ifndef ASSAY_HOST_TRACE_H
#define ASSAY_HOST_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay_driver.h"

enum operation {
    OPERATION_READ = 1,
    OPERATION_INSERT = 2,
    OPERATION_UPDATE = 3,
    OPERATION_UPSERT = 4,
    OPERATION_DELETE = 5,
    OPERATION_SCAN = 6,
    OPERATION_BATCH = 7,
    OPERATION_READ_MODIFY_WRITE = 8,
    OPERATION_COMPARE_AND_SWAP = 9,
    OPERATION_ADD = 10,
    OPERATION_QUERY = 11,
    OPERATION_COUNT = 12,
    OPERATION_MODIFY = 13,
    OPERATION_REQUEST = 14,
    OPERATION_INCREMENT = 15,
    OPERATION_DELETE_QUERY = 16,
    OPERATION_END = 17, /* the first code that this version does not define */
    OPERATION_CODES = 32
};

enum {
    TRACE_HEADER_BYTES = 4096,
    TRACE_DIRECTORY_BYTES = 128, /* a thread */
    TRACE_AMOUNTS = 256,
    TRACE_AMOUNTS_AT = 1024,
    TRACE_SLOTS_AT = 64, /* their operations, and then their queries */
    TRACE_SLOTS_MAX = 256,
    TRACE_FORMAT_VERSION = 3,
    TRACE_THREADS_MAX = 65535,
    TRACE_FLAG_DUE = 1,
    TRACE_FLAG_RECORD_VERSIONS = 2,
    TRACE_FLAG_HISTORY = 4,
    TRACE_FLAG_HANDLE_TIMES = 8,
    TRACE_FLAG_SAMPLED = 16,
    TRACE_FLAG_FINDS = 32,
    TRACE_FLAGS = 63,
    TRACE_TIMED_EVERY_MIN = 2,
    TRACE_TIMED_EVERY_MAX = 1000
};

struct trace_thread {
    const uint64_t *entries;
    uint64_t count;
    uint64_t stride;
    const uint64_t *due; /* count words; NULL: closed load */
    uint64_t lap_ns;
    uint64_t limit; /* entries in all; 0: until the deadline */
    uint64_t from_ns, until_ns; /* of the phase; until 0: its deadline */
    uint32_t group, endpoint;
};

struct trace {
    const unsigned char *data;
    size_t length;
    uint32_t flags;
    uint32_t groups;
    uint64_t timed_every; /* of so many operations one is timed; 0: all are */
    uint32_t slots; /* of the counters, ascending by operation and query */
    uint8_t operation[TRACE_SLOTS_MAX];
    uint8_t query[TRACE_SLOTS_MAX]; /* that the slot's operation asks; 0 where it asks none */
    int slot[OPERATION_CODES]; /* the first one of an operation; -1: does not occur */
    uint32_t amounts[TRACE_AMOUNTS];
    uint32_t threads;
    struct trace_thread *thread;
};

static inline uint64_t entry_index(uint64_t entry) { return entry & ((UINT64_C(1) << 48) - 1); }
static inline unsigned entry_size_class(uint64_t entry) { return (unsigned)(entry >> 48) & 0xff; }
static inline unsigned entry_operation(uint64_t entry) { return (unsigned)(entry >> 56) & 31; }

/* Says if the thread's operations belong to requests: then its last one does. */
static inline bool trace_thread_has_requests(const struct trace_thread *t) {
    return t->count > 0 && entry_operation(t->entries[t->count - 1]) == OPERATION_REQUEST;
}
static inline bool entry_grows(uint64_t entry) { return (entry >> 61 & 1) != 0; }
static inline bool entry_is_member(uint64_t entry) { return (entry >> 62 & 1) != 0; }
static inline bool entry_is_recorded(uint64_t entry) { return entry >> 63 != 0; }
/* Grows or is recorded, which no entry does both. */
static inline bool entry_is_special(uint64_t entry) { return (entry & (UINT64_C(5) << 61)) != 0; }
static inline uint64_t entry_effective_index(uint64_t entry, uint64_t lap, uint64_t stride) {
    return entry_index(entry) + (entry_grows(entry) ? lap * stride : 0);
}

/* Says if the operation, or a batch's member of this kind, puts a whole value, of the length that its
 * size class gives. */
static inline bool operation_puts(unsigned operation) {
    return (operation >= OPERATION_INSERT && operation <= OPERATION_UPSERT) ||
           (operation >= OPERATION_READ_MODIFY_WRITE && operation <= OPERATION_ADD);
}

/* Says if the operation, or a batch's member of this kind, leaves its version with the key. */
static inline bool operation_writes(unsigned operation) {
    return operation_puts(operation) || operation == OPERATION_MODIFY;
}

/* Says if the operation is a question about records: its size class gives a query's number. */
static inline bool operation_asks(unsigned operation) {
    return operation == OPERATION_QUERY || operation == OPERATION_COUNT || operation == OPERATION_DELETE_QUERY;
}

/* Says if the operation looks for records and gives or counts them. */
static inline bool operation_finds(unsigned operation) {
    return operation == OPERATION_SCAN || operation == OPERATION_QUERY || operation == OPERATION_COUNT;
}

/* Says if what a marked scan, query or count finds in a lap is recorded. */
static inline bool trace_records_find(uint64_t lap) { return lap < 1 << 11 && (lap & (lap - 1)) == 0; }

/* Says if the operation is about the key of its index alone. */
static inline bool operation_one_key(unsigned operation) {
    return operation == OPERATION_READ || operation == OPERATION_DELETE || operation == OPERATION_INCREMENT || operation_writes(operation);
}

/* The slot that counts an entry; -1: the header does not list it. */
static inline int trace_slot_of(const struct trace *trace, uint64_t entry) {
    unsigned operation = entry_operation(entry);
    int slot = trace->slot[operation];
    if (slot < 0 || !operation_asks(operation))
        return slot;
    for (uint32_t query = trace->amounts[entry_size_class(entry)]; slot < (int)trace->slots; slot++)
        if (trace->operation[slot] != operation)
            break;
        else if (trace->query[slot] == query)
            return slot;
    return -1;
}

/* The name of the contract; "operation N" is not one of its. */
const char *operation_name(unsigned operation);

/* Which operation of a thread is timed after one that was, counted from 0; of UINT64_MAX, the first:
 * section 3.3. */
uint64_t trace_next_timed(uint64_t every, uint64_t timed);

/* Maps and checks a file. False: error says what is wrong, and nothing is mapped. */
bool trace_map(struct trace *trace, const char *path, struct assay_error *error);

/* Reads a trace from bytes that stay where they are, aligned to 8. trace_free gives back what it
 * made, not the bytes. */
bool trace_decode(struct trace *trace, const unsigned char *data, size_t length, struct assay_error *error);
void trace_free(struct trace *trace);
void trace_unmap(struct trace *trace);

/* The length of a record follows from its columns: a trace gives none. */
#define TRACE_ANY_LENGTH SIZE_MAX

/* Step 3 of section 1.4: is the entry at that place a write of this index and length? */
bool trace_wrote(const struct trace *trace, uint64_t thread, uint64_t sequence, uint64_t index, size_t length);

#endif
