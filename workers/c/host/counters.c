#include "counters.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(offsetof(struct counters_header, thread_bytes) == 24, "section 3.1");
_Static_assert(offsetof(struct counters_header, flags) == 44, "section 3.1");
_Static_assert(offsetof(struct counters_header, observed_offset) == 48, "section 3.1");
_Static_assert(offsetof(struct counters_header, operation) == 64, "section 3.1");
_Static_assert(offsetof(struct counters_header, query) == 320, "section 3.1");
_Static_assert(offsetof(struct counters_header, state) == 1024, "section 3.1");
_Static_assert(offsetof(struct counters_header, clock_difference_ns) == 1056, "section 3.1");
_Static_assert(offsetof(struct counters_header, stop) == 2048, "section 3.1");
_Static_assert(sizeof(struct counters_header) == COUNTERS_HEADER_BYTES, "section 3.1");
_Static_assert(sizeof(struct counters_thread) == 256, "section 3.2");
_Static_assert(offsetof(struct counters_slot, service) == 128, "section 3.2");
_Static_assert(HISTOGRAM_BUCKETS == 4608, "section 3.4");
_Static_assert(ASSAY_ERROR_TEXT_BYTES == COUNTERS_ERROR_TEXT_BYTES + 1, "section 3.2");

size_t counters_measure(struct counters *c, uint32_t threads, uint32_t slots, uint32_t flags, uint64_t observed_entries) {
    c->threads = threads;
    c->slots = slots;
    c->response = (flags & COUNTERS_FLAG_RESPONSE) != 0;
    c->handle_times = (flags & COUNTERS_FLAG_HANDLE_TIMES) != 0;
    c->slot_bytes = sizeof(struct counters_slot) + (c->response ? 8 * (size_t)HISTOGRAM_BUCKETS : 0);
    size_t block = sizeof(struct counters_thread) + slots * c->slot_bytes + COUNTERS_ERROR_PLACES * COUNTERS_ERROR_BYTES +
                   (c->handle_times ? 8 * (size_t)HISTOGRAM_BUCKETS : 0);
    c->thread_bytes = (block + 127) & ~(size_t)127;
    size_t end = COUNTERS_HEADER_BYTES + threads * c->thread_bytes;
    c->observed_at = observed_entries > 0 ? end : 0;
    return end + 8 * observed_entries;
}

#define WRONG(...) return assay_fail(error, __VA_ARGS__), false

static uint32_t flags_of(const struct trace *trace) {
    return ((trace->flags & TRACE_FLAG_DUE) != 0 ? COUNTERS_FLAG_RESPONSE : 0) |
           ((trace->flags & TRACE_FLAG_HANDLE_TIMES) != 0 ? COUNTERS_FLAG_HANDLE_TIMES : 0);
}

static bool check_header(const struct counters *c, const struct trace *trace, struct assay_error *error) {
    const struct counters_header *h = c->header;
    if (memcmp(h->magic, "ASSAYCNT", 8) != 0)
        WRONG("the counters file does not begin with ASSAYCNT");
    const struct {
        const char *name;
        uint64_t got, expected;
    } fields[] = {
        {"format version", h->format_version, COUNTERS_FORMAT_VERSION},
        {"header bytes", h->header_bytes, COUNTERS_HEADER_BYTES},
        {"threads", h->threads, trace->threads},
        {"slots", h->slots, trace->slots},
        {"histogram bits", h->histogram_bits, HISTOGRAM_SUB_BUCKET_BITS},
        {"histogram buckets", h->histogram_buckets, HISTOGRAM_BUCKETS},
        {"error places", h->error_places, COUNTERS_ERROR_PLACES},
        {"flags", h->flags, flags_of(trace)},
        {"thread bytes", h->thread_bytes, c->thread_bytes},
        {"offset of the observed versions", h->observed_offset, c->observed_at},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].got != fields[i].expected)
            WRONG("the counters file's %s is %llu, expected %llu", fields[i].name, (unsigned long long)fields[i].got,
                  (unsigned long long)fields[i].expected);
    if (memcmp(h->operation, trace->operation, trace->slots) != 0 || memcmp(h->query, trace->query, trace->slots) != 0)
        WRONG("the counters file's slots are not the trace's");
    return true;
}

bool counters_map(struct counters *c, const char *path, const struct trace *trace, struct assay_error *error) {
    memset(c, 0, sizeof *c);
    uint64_t entries = 0;
    if ((trace->flags & TRACE_FLAG_RECORD_VERSIONS) != 0)
        for (uint32_t i = 0; i < trace->threads; i++)
            entries += trace->thread[i].count;
    size_t expected =
        counters_measure(c, trace->threads, trace->slots, flags_of(trace), entries);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        WRONG("opening the counters file: %s", strerror(errno));
    struct stat info;
    if (fstat(file, &info) != 0 || (size_t)info.st_size != expected) {
        close(file);
        WRONG("the counters file has another length than its trace needs");
    }
    if ((trace->flags & TRACE_FLAG_RECORD_VERSIONS) != 0)
        c->observed_at = COUNTERS_HEADER_BYTES + c->threads * c->thread_bytes; /* also where no thread has an entry */
    c->length = expected;
    void *data = mmap(NULL, c->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (data == MAP_FAILED)
        WRONG("mapping the counters file: %s", strerror(errno));
    c->data = data;
    c->header = data;
    if (!check_header(c, trace, error)) {
        counters_unmap(c);
        return false;
    }
    return true;
}

void counters_unmap(struct counters *c) {
    munmap(c->data, c->length);
    c->data = NULL;
}

/* Copies text as UTF-8, at most limit bytes and no character cut in two; bytes that are none become
 * '?'. */
static uint32_t copy_utf8(char *to, const char *text, size_t limit) {
    size_t at = 0;
    while (*text != 0 && at < limit) {
        unsigned char first = (unsigned char)*text;
        size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3
                      : first >= 0xf0 && first < 0xf5 ? 4 : 0;
        for (size_t i = 1; i < length; i++)
            if (((unsigned char)text[i] & 0xc0) != 0x80) { /* the 0 at the end, too */
                length = 0;
                break;
            }
        if (length == 0) {
            to[at++] = '?';
            text++;
            continue;
        }
        if (at + length > limit)
            break;
        memcpy(to + at, text, length);
        at += length;
        text += length;
    }
    return (uint32_t)at;
}

struct error_place {
    uint64_t count;
    uint32_t operation, outcome, length;
    char text[COUNTERS_ERROR_TEXT_BYTES];
};

_Static_assert(offsetof(struct error_place, text) == COUNTERS_ERROR_TEXT_AT, "section 3.2");
_Static_assert(sizeof(struct error_place) == COUNTERS_ERROR_BYTES, "section 3.2");

void counters_message(const struct counters *c, uint32_t thread, unsigned operation, enum outcome outcome, const char *text) {
    char clean[COUNTERS_ERROR_TEXT_BYTES];
    uint32_t length = copy_utf8(clean, text, sizeof clean);
    for (uint32_t i = 0; i < COUNTERS_ERROR_PLACES; i++) {
        struct error_place *place = (struct error_place *)(void *)(c->data + counters_error_place_at(c, thread, i));
        bool last = i == COUNTERS_ERROR_PLACES - 1;
        if (place->count == 0) {
            if (last)
                length = copy_utf8(clean, "other messages", sizeof clean);
            place->operation = operation;
            place->outcome = outcome;
            place->length = length;
            memcpy(place->text, clean, length);
            word_store(&place->count, 1); /* last: a reader that sees the count sees the text */
            return;
        }
        bool same = place->operation == operation && place->outcome == (uint32_t)outcome && place->length == length &&
                    memcmp(place->text, clean, length) == 0;
        if (same || last) {
            word_store(&place->count, place->count + 1);
            return;
        }
    }
}
