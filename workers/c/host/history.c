#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct history_header {
    char magic[8];
    uint32_t format_version, header_bytes, threads, record_bytes;
    uint64_t records_each, file_bytes;
};

_Static_assert(sizeof(struct history_record) == 32, "section 3.5");
_Static_assert(sizeof(struct history_thread) == 128, "section 3.5");
_Static_assert(offsetof(struct history_header, records_each) == 24, "section 3.5");

#define WRONG(...) return assay_fail(error, __VA_ARGS__), false

static bool check_header(struct history *h, const struct trace *trace, struct assay_error *error) {
    const struct history_header *header = (const struct history_header *)(const void *)h->data;
    if (memcmp(header->magic, "ASSAYHIS", sizeof header->magic) != 0)
        WRONG("not a history file: it does not begin with ASSAYHIS");
    if (header->format_version != HISTORY_FORMAT_VERSION)
        WRONG("history format version %u, this program reads %d", header->format_version, HISTORY_FORMAT_VERSION);
    if (header->header_bytes != HISTORY_HEADER_BYTES || header->record_bytes != sizeof(struct history_record))
        WRONG("a history file with a header of %u and records of %u bytes", header->header_bytes, header->record_bytes);
    if (header->threads != trace->threads)
        WRONG("a history file of %u threads for a trace of %u", header->threads, trace->threads);
    h->each = header->records_each;
    if (h->each == 0 || h->each % HISTORY_RECORDS_MULTIPLE != 0 || h->each > h->length ||
        header->file_bytes != h->length || HISTORY_HEADER_BYTES + trace->threads * history_area(h->each) != h->length)
        WRONG("the history file's length is not what its header says: it is cut short or damaged");
    return true;
}

bool history_map(struct history *h, const char *path, const struct trace *trace, struct assay_error *error) {
    memset(h, 0, sizeof *h);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        WRONG("opening the history file: %s", strerror(errno));
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size < HISTORY_HEADER_BYTES) {
        close(file);
        WRONG("the history file is too short");
    }
    h->length = (size_t)info.st_size;
    /* populated: no page is to be made while operations are measured */
    void *data = mmap(NULL, h->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (data == MAP_FAILED)
        WRONG("mapping the history file: %s", strerror(errno));
    h->data = data;
    if (!check_header(h, trace, error)) {
        history_unmap(h);
        return false;
    }
    return true;
}

void history_unmap(struct history *h) {
    munmap(h->data, h->length);
    h->data = NULL;
}
