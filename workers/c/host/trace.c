#include "keyval.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[OPERATION_END] = {
    [OPERATION_READ] = "read",
    [OPERATION_INSERT] = "insert",
    [OPERATION_UPDATE] = "update",
    [OPERATION_UPSERT] = "upsert",
    [OPERATION_DELETE] = "delete",
    [OPERATION_SCAN] = "scan",
    [OPERATION_BATCH] = "batch",
    [OPERATION_READ_MODIFY_WRITE] = "read_modify_write",
    [OPERATION_COMPARE_AND_SWAP] = "compare_and_swap",
    [OPERATION_ADD] = "add",
    [OPERATION_QUERY] = "query",
    [OPERATION_COUNT] = "count",
    [OPERATION_MODIFY] = "modify",
    [OPERATION_REQUEST] = "request",
    [OPERATION_INCREMENT] = "increment",
    [OPERATION_DELETE_QUERY] = "delete_query",
};

const char *operation_name(unsigned operation) {
    return operation < OPERATION_END && names[operation] != NULL ? names[operation] : "unknown operation";
}

static uint32_t u32_at(const unsigned char *data, size_t at) {
    uint32_t value;
    memcpy(&value, data + at, sizeof value);
    return value;
}

static uint64_t u64_at(const unsigned char *data, size_t at) {
    uint64_t value;
    memcpy(&value, data + at, sizeof value);
    return value;
}

/* FNV-1a 64. */
static uint64_t checksum(const unsigned char *data, size_t length) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = TRACE_HEADER_BYTES; i < length; i++)
        h = (h ^ data[i]) * UINT64_C(1099511628211);
    return h;
}

#define WRONG(...) return assay_fail(error, __VA_ARGS__), false

static bool words_at(const struct trace *trace, uint64_t offset, uint64_t count, const uint64_t **words) {
    size_t from = TRACE_HEADER_BYTES + (size_t)TRACE_DIRECTORY_BYTES * trace->threads;
    if (offset % 64 != 0 || offset < from || offset > trace->length || count > (trace->length - offset) / 8)
        return false;
    *words = (const uint64_t *)(const void *)(trace->data + offset);
    return true;
}

static bool check_due(const struct trace_thread *t, bool flagged, uint32_t number, struct assay_error *error) {
    if (!flagged && t->due != NULL)
        WRONG("trace, thread %u: due times in a trace of closed load", number);
    if (t->due == NULL)
        return true;
    for (uint64_t i = 1; i < t->count; i++)
        if (t->due[i] < t->due[i - 1])
            WRONG("trace, thread %u: due times do not ascend", number);
    if (t->due[t->count - 1] - t->due[0] > t->lap_ns)
        WRONG("trace, thread %u: due times span more than the lap time", number);
    return true;
}

static bool check_recorded(const struct trace *trace, uint64_t entry, bool member, bool batch_recorded) {
    unsigned operation = entry_operation(entry);
    if (!entry_is_recorded(entry))
        return true;
    if (operation_finds(operation))
        return (trace->flags & TRACE_FLAG_FINDS) != 0 && !entry_grows(entry) && !member;
    return (trace->flags & TRACE_FLAG_HISTORY) != 0 && !entry_grows(entry) &&
           (member ? batch_recorded : operation == OPERATION_BATCH || operation_one_key(operation));
}

static bool check_entries(const struct trace *trace, const struct trace_thread *t, uint32_t number,
                          struct assay_error *error) {
    uint64_t members = 0; /* of the batch under way that are still to come */
    bool batch_recorded = false;
    for (uint64_t p = 0; p < t->count; p++) {
        uint64_t entry = t->entries[p];
        unsigned operation = entry_operation(entry);
        if (!check_recorded(trace, entry, members > 0, batch_recorded))
            WRONG("trace, thread %u: an entry is recorded that can't be", number);
        if (members > 0) {
            bool may = (operation >= OPERATION_INSERT && operation <= OPERATION_DELETE);
            if (!entry_is_member(entry) || !may)
                WRONG("trace, thread %u: an entry should be a put or delete in a batch, is %s", number,
                      operation_name(operation));
            members--;
            continue;
        }
        if (entry_is_member(entry))
            WRONG("trace, thread %u: a batch's member without a batch", number);
        if (trace_slot_of(trace, entry) < 0)
            WRONG("trace, thread %u: operation %s, or its query, is not in the header's list", number, operation_name(operation));
        batch_recorded = entry_is_recorded(entry);
        if (operation == OPERATION_BATCH && (members = trace->amounts[entry_size_class(entry)]) == 0)
            WRONG("trace, thread %u: a batch without members", number);
        if ((trace->flags & TRACE_FLAG_RECORD_VERSIONS) != 0 && operation != OPERATION_READ)
            WRONG("trace, thread %u: a phase that records versions has only reads", number);
    }
    if (members > 0)
        WRONG("trace, thread %u: the last batch crosses the end of the lap", number);
    if (t->count > 0 && t->limit % t->count > 0 && entry_is_member(t->entries[t->limit % t->count]))
        WRONG("trace, thread %u: its limit cuts a batch", number);
    return true;
}

/* Each operation of the thread belongs to a request, or none does. */
static bool check_requests(const struct trace *trace, const struct trace_thread *t, uint32_t number,
                           struct assay_error *error) {
    const uint64_t same_key = ((UINT64_C(1) << 48) - 1) | UINT64_C(1) << 61;
    uint64_t steps = 0, requests = 0;
    for (uint64_t p = 0; p < t->count; p++) {
        uint64_t entry = t->entries[p];
        if (entry_operation(entry) != OPERATION_REQUEST) {
            steps++;
            continue;
        }
        if (steps == 0 || trace->amounts[entry_size_class(entry)] != steps)
            WRONG("trace, thread %u: a request has not as many steps as it says", number);
        for (uint64_t i = p - steps; i < p; i++) {
            if (entry_is_member(t->entries[i]) || !operation_one_key(entry_operation(t->entries[i])))
                WRONG("trace, thread %u: %s can't be a step of a request", number,
                      operation_name(entry_operation(t->entries[i])));
            if (((t->entries[i] ^ entry) & same_key) != 0)
                WRONG("trace, thread %u: the steps of a request are on several keys", number);
        }
        steps = 0;
        requests++;
    }
    if (requests == 0)
        return true;
    if (steps > 0)
        WRONG("trace, thread %u: its last operations belong to no request", number);
    uint64_t rest = t->limit % t->count;
    if (rest > 0 && entry_operation(t->entries[rest - 1]) != OPERATION_REQUEST)
        WRONG("trace, thread %u: its limit cuts a request", number);
    return true;
}

uint64_t trace_next_timed(uint64_t every, uint64_t timed) {
    uint64_t first = timed + 1; /* that may be */
    return first + keyval_mix(first) % (2 * every - 1);
}

/* What makes the rest of a trace look at the clock in each operation. */
static bool check_sampled(const struct trace *trace, struct assay_error *error) {
    const uint32_t all = TRACE_FLAG_DUE | TRACE_FLAG_RECORD_VERSIONS | TRACE_FLAG_HANDLE_TIMES;
    uint64_t every = trace->timed_every;
    if ((trace->flags & TRACE_FLAG_SAMPLED) == 0) {
        if (every != 0)
            WRONG("one operation in so many is timed in a trace in which all are");
        return true;
    }
    if (every < TRACE_TIMED_EVERY_MIN || every > TRACE_TIMED_EVERY_MAX)
        WRONG("one operation in so many is timed: expected %d to %d", TRACE_TIMED_EVERY_MIN, TRACE_TIMED_EVERY_MAX);
    if ((trace->flags & all) != 0 || trace->slot[OPERATION_REQUEST] >= 0)
        WRONG("a trace with due times, observed versions, handle times or requests, in which not all operations are timed");
    return true;
}

/* Bounds from and until, so that sums with the clock fit a signed word. */
#define TIME_MAX (UINT64_C(1) << 62)

static bool decode_thread(struct trace *trace, uint32_t number, struct assay_error *error) {
    const unsigned char *directory = trace->data + TRACE_HEADER_BYTES + (size_t)TRACE_DIRECTORY_BYTES * number;
    struct trace_thread *t = &trace->thread[number];
    *t = (struct trace_thread){
        .count = u64_at(directory, 8),
        .stride = u64_at(directory, 16),
        .lap_ns = u64_at(directory, 32),
        .group = u32_at(directory, 40),
        .endpoint = u32_at(directory, 44),
        .limit = u64_at(directory, 48),
        .from_ns = u64_at(directory, 56),
        .until_ns = u64_at(directory, 64),
    };
    uint64_t due = u64_at(directory, 24);
    if (t->count > 0 && !words_at(trace, u64_at(directory, 0), t->count, &t->entries))
        WRONG("trace, thread %u: its entries do not fit the file", number);
    if (t->count > 0 && due != 0 && !words_at(trace, due, t->count, &t->due))
        WRONG("trace, thread %u: its due times do not fit the file", number);
    if ((t->until_ns != 0 && t->until_ns <= t->from_ns) || t->from_ns > TIME_MAX || t->until_ns > TIME_MAX)
        WRONG("trace, thread %u: it is to end before it begins", number);
    if (t->group >= trace->groups)
        WRONG("trace, thread %u: client group %u of %u", number, t->group, trace->groups);
    return check_due(t, (trace->flags & TRACE_FLAG_DUE) != 0, number, error) &&
           check_entries(trace, t, number, error) &&
           (trace->slot[OPERATION_REQUEST] < 0 || check_requests(trace, t, number, error));
}

static bool decode_slots(struct trace *trace, struct assay_error *error) {
    for (int code = 0; code < OPERATION_CODES; code++)
        trace->slot[code] = -1;
    for (uint32_t k = 0; k < trace->slots; k++) {
        unsigned code = trace->operation[k] = trace->data[TRACE_SLOTS_AT + k];
        unsigned query = trace->query[k] = trace->data[TRACE_SLOTS_AT + TRACE_SLOTS_MAX + k];
        if (code >= OPERATION_END || names[code] == NULL)
            WRONG("trace uses operation %u, which this program does not know", code);
        if (query != 0 && !operation_asks(code))
            WRONG("trace says that %s asks query %u", operation_name(code), query);
        if (k > 0 && (code < trace->operation[k - 1] || (code == trace->operation[k - 1] && query <= trace->query[k - 1])))
            WRONG("trace lists its operations out of order");
        if (trace->slot[code] < 0)
            trace->slot[code] = (int)k;
    }
    return true;
}

bool trace_decode(struct trace *trace, const unsigned char *data, size_t length, struct assay_error *error) {
    memset(trace, 0, sizeof *trace);
    if (length < TRACE_HEADER_BYTES || memcmp(data, "ASSAYTRC", 8) != 0)
        WRONG("not a trace file: it does not begin with ASSAYTRC");
    if (u32_at(data, 8) != TRACE_FORMAT_VERSION)
        WRONG("trace format version %u, this program reads %d", u32_at(data, 8), TRACE_FORMAT_VERSION);
    if (u32_at(data, 12) != TRACE_HEADER_BYTES)
        WRONG("trace header of %u bytes, expected %d", u32_at(data, 12), TRACE_HEADER_BYTES);
    if (u64_at(data, 24) != length)
        WRONG("the trace's length is not what its header says: it is cut short or damaged");
    trace->data = data;
    trace->length = length;
    trace->threads = u32_at(data, 16);
    trace->flags = u32_at(data, 20);
    trace->groups = u32_at(data, 32);
    trace->slots = u32_at(data, 36);
    if (trace->threads < 1 || trace->threads > TRACE_THREADS_MAX)
        WRONG("trace of %u threads: expected 1 to %d", trace->threads, TRACE_THREADS_MAX);
    if (trace->slots > TRACE_SLOTS_MAX)
        WRONG("trace of %u slots: expected at most %d", trace->slots, TRACE_SLOTS_MAX);
    if ((trace->flags & ~(uint32_t)TRACE_FLAGS) != 0)
        WRONG("trace has flags %#x, of which this program does not know all", trace->flags);
    if ((trace->flags & TRACE_FLAG_FINDS) != 0 && (trace->flags & TRACE_FLAG_HISTORY) == 0)
        WRONG("what scans and queries found is recorded in a history, and the trace has no flag for one");
    if ((trace->flags & TRACE_FLAG_RECORD_VERSIONS) != 0 && (trace->flags & TRACE_FLAG_HISTORY) != 0)
        WRONG("a trace that records observed versions has no history");
    if (trace->groups < 1)
        WRONG("a trace has at least one client group");
    if (TRACE_HEADER_BYTES + (size_t)TRACE_DIRECTORY_BYTES * trace->threads > length)
        WRONG("trace is too short for the directory of %u threads", trace->threads);
    if (u64_at(data, 48) != checksum(data, length))
        WRONG("trace checksum is wrong: the file is damaged");
    trace->timed_every = u64_at(data, 56);
    if (!decode_slots(trace, error) || !check_sampled(trace, error))
        return false;
    for (int i = 0; i < TRACE_AMOUNTS; i++)
        trace->amounts[i] = u32_at(data, TRACE_AMOUNTS_AT + 4 * (size_t)i);
    trace->thread = calloc(trace->threads, sizeof *trace->thread);
    if (trace->thread == NULL)
        WRONG("no memory for the trace's %u threads", trace->threads);
    for (uint32_t i = 0; i < trace->threads; i++) {
        if (!decode_thread(trace, i, error)) {
            trace_free(trace);
            return false;
        }
    }
    return true;
}

void trace_free(struct trace *trace) {
    free(trace->thread);
    trace->thread = NULL;
}

bool trace_map(struct trace *trace, const char *path, struct assay_error *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        WRONG("opening the trace: %s", strerror(errno));
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size == 0) {
        close(file);
        WRONG("the trace is empty or can't be looked at");
    }
    size_t length = (size_t)info.st_size;
    void *data = mmap(NULL, length, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (data == MAP_FAILED)
        WRONG("mapping the trace: %s", strerror(errno));
    if (!trace_decode(trace, data, length, error)) {
        munmap(data, length);
        return false;
    }
    return true;
}

void trace_unmap(struct trace *trace) {
    trace_free(trace);
    munmap((void *)(uintptr_t)trace->data, trace->length);
}

bool trace_wrote(const struct trace *trace, uint64_t thread, uint64_t sequence, uint64_t index, size_t length) {
    if (thread >= trace->threads || trace->thread[thread].count == 0)
        return false;
    const struct trace_thread *t = &trace->thread[thread];
    if (t->limit != 0 && sequence >= t->limit)
        return false;
    uint64_t entry = t->entries[sequence % t->count];
    return operation_writes(entry_operation(entry)) &&
           entry_effective_index(entry, sequence / t->count, t->stride) == index &&
           (length == TRACE_ANY_LENGTH || trace->amounts[entry_size_class(entry)] == length);
}
