/* Records spread over several database files, by their keys. One file has one lock, and a process
 * can't open it twice: this is how each of many threads can have a lock of its own most of the
 * time. With one file everything is passed on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared.h"

enum { FILES_MAX = 1024 };

struct assay_store {
    const struct tc_file_driver *of;
    struct assay_config config; /* the trial's; each file's has its own directory */
    int files;
    struct file {
        struct assay_config config;
        char directory[4096];
        struct assay_store *store;
    } file[];
};

struct assay_handle {
    const struct assay_driver *driver; /* of one file */
    struct assay_store *store;
    uint64_t files;
    struct assay_handle *file[];
};

/* FNV-1a, mixed so that its high half depends on all of the key. It has nothing in common with the
 * library's hash of buckets. */
static inline struct assay_handle *file_of(struct assay_handle *handle, struct assay_bytes key) {
    if (handle->files == 1)
        return handle->file[0];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const unsigned char *at = key.data;
    for (size_t i = 0; i < key.length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return handle->file[(hash >> 32) * handle->files >> 32];
}

static enum assay_status close_files(struct assay_store *store, int opened, struct assay_error *error) {
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < opened; i++) {
        struct assay_error later = {{0}};
        enum assay_status closed = store->of->driver.close(store->file[i].store, status == ASSAY_OK ? error : &later);
        if (status == ASSAY_OK)
            status = closed;
    }
    free(store);
    return status;
}

/* A directory that was filled with another number of files would hide records. */
static enum assay_status check_number(const char *directory, int files, struct assay_error *error) {
    char next[4096];
    bool there = files > 1 && snprintf(next, sizeof next, "%s/%d", directory, files) < (int)sizeof next && access(next, F_OK) == 0;
    return there ? assay_refuse(error, "the directory holds more than %d files", files) : ASSAY_OK;
}

static enum assay_status make_directory(struct file *file, int number, const char *parent, struct assay_error *error) {
    if (snprintf(file->directory, sizeof file->directory, "%s/%d", parent, number) >= (int)sizeof file->directory)
        return assay_refuse(error, "the directory's path is too long");
    if (mkdir(file->directory, 0777) != 0 && errno != EEXIST)
        return assay_fail(error, "making a directory for a file: %s", strerror(errno));
    file->config.directory = file->directory;
    return ASSAY_OK;
}

enum assay_status tc_files_open(const struct tc_file_driver *of, const struct assay_config *config, struct assay_store **out,
                                struct assay_error *error) {
    int64_t files = assay_option_int(config->options, "files");
    if (files < 1 || files > FILES_MAX)
        return assay_refuse(error, "expected files of 1 to %d", FILES_MAX);
    enum assay_status status = check_number(config->directory, (int)files, error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = calloc(1, sizeof *store + (size_t)files * sizeof *store->file);
    if (store == NULL)
        return assay_fail(error, "no memory for the files");
    store->of = of;
    store->config = *config;
    store->files = (int)files;
    for (int i = 0; i < store->files; i++) {
        struct file *file = &store->file[i];
        file->config = *config;
        if (store->files > 1)
            status = make_directory(file, i, config->directory, error);
        if (status == ASSAY_OK)
            status = of->driver.open(&file->config, &file->store, error);
        if (status != ASSAY_OK) {
            struct assay_error later;
            close_files(store, i, &later);
            return status;
        }
    }
    if (store->files > 1 && (status = assay_sync_directory(config->directory, error)) != ASSAY_OK) {
        struct assay_error later;
        close_files(store, store->files, &later);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

void tc_files_settings(struct assay_store *store, struct assay_sink *sink) {
    assay_setting(sink, "files", "%d", store->files);
    store->of->driver.settings(store->file[0].store, sink); /* all were opened with the same */
}

enum assay_status tc_files_close(struct assay_store *store, struct assay_error *error) { return close_files(store, store->files, error); }

enum assay_status tc_files_handle_open(struct assay_store *store, struct assay_handle **out, struct assay_error *error) {
    struct assay_handle *handle = malloc(sizeof *handle + (size_t)store->files * sizeof *handle->file);
    if (handle == NULL)
        return assay_fail(error, "no memory for a handle");
    handle->driver = &store->of->driver;
    handle->store = store;
    handle->files = (uint64_t)store->files;
    for (int i = 0; i < store->files; i++) { /* a file's handle is its one object, so that none can fail */
        enum assay_status status = handle->driver->handle_open(store->file[i].store, &handle->file[i], error);
        if (status != ASSAY_OK) {
            free(handle);
            return status;
        }
    }
    *out = handle;
    return ASSAY_OK;
}

enum assay_status tc_files_handle_close(struct assay_handle *handle, struct assay_error *error) {
    (void)error;
    free(handle);
    return ASSAY_OK;
}

enum assay_status tc_files_get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer, struct assay_bytes *value,
                               struct assay_error *error) {
    return handle->driver->get(file_of(handle, key), key, buffer, value, error);
}

enum assay_status tc_files_put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value, struct assay_error *error) {
    return handle->driver->put(file_of(handle, key), key, value, error);
}

enum assay_status tc_files_remove(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    return handle->driver->remove(file_of(handle, key), key, error);
}

enum assay_status tc_files_add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value, struct assay_error *error) {
    return handle->driver->add(file_of(handle, key), key, value, error);
}

enum assay_status tc_files_compare_and_swap(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes old,
                                            struct assay_bytes value, struct assay_error *error) {
    return handle->driver->compare_and_swap(file_of(handle, key), key, old, value, error);
}

enum assay_status tc_files_modify(struct assay_handle *handle, struct assay_bytes key, const size_t *columns,
                                  const struct assay_bytes *values, size_t count, struct assay_error *error) {
    return handle->driver->modify(file_of(handle, key), key, columns, values, count, error);
}

enum assay_status tc_files_increment(struct assay_handle *handle, struct assay_bytes key, size_t column, int64_t by,
                                     struct assay_error *error) {
    return handle->driver->increment(file_of(handle, key), key, column, by, error);
}

/* A record of a scan, copied: the files are read one after the other. */
struct copied {
    struct assay_bytes key, value;
};

struct page {
    struct copied *records;
    size_t count, capacity, limit;
    size_t file_count; /* of the file that is being read */
    struct assay_bytes after; /* only keys behind it are taken; NULL: all */
    struct assay_bytes end;   /* the lowest key at which a file's part was cut; NULL: none was */
    bool no_memory;
};

static int compare_keys(struct assay_bytes a, struct assay_bytes b) {
    size_t common = a.length < b.length ? a.length : b.length;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_records(const void *a, const void *b) { return compare_keys(((const struct copied *)a)->key, ((const struct copied *)b)->key); }

static bool keep(void *context, struct assay_bytes key, struct assay_bytes value) {
    struct page *page = context;
    if (page->after.data != NULL && compare_keys(key, page->after) <= 0)
        return true;
    if (page->count == page->capacity) {
        size_t capacity = page->capacity > 0 ? 2 * page->capacity : 64;
        struct copied *grown = realloc(page->records, capacity * sizeof *grown);
        if (grown == NULL)
            return page->no_memory = true, false;
        page->records = grown;
        page->capacity = capacity;
    }
    unsigned char *copy = malloc(key.length + value.length + 1);
    if (copy == NULL)
        return page->no_memory = true, false;
    memcpy(copy, key.data, key.length);
    if (value.length > 0)
        memcpy(copy + key.length, value.data, value.length);
    struct copied *record = &page->records[page->count++];
    *record = (struct copied){{copy, key.length}, {copy + key.length, value.length}};
    if (++page->file_count < page->limit)
        return true;
    if (page->end.data == NULL || compare_keys(record->key, page->end) < 0)
        page->end = record->key;
    return false;
}

static void forget(struct page *page) {
    for (size_t i = 0; i < page->count; i++)
        free((void *)page->records[i].key.data);
    page->count = 0;
}

/* Takes a page of each file, and visits what lies below the first place at which one was cut; and
 * again from there. */
enum assay_status tc_files_scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit, void *context,
                                struct assay_error *error) {
    if (handle->files == 1)
        return handle->driver->scan(handle->file[0], start, limit, visit, context, error);
    struct page page = {.limit = limit > 0 ? limit : 1};
    unsigned char *last = NULL;
    enum assay_status status = ASSAY_OK;
    bool more = true;
    while (more && status == ASSAY_OK) {
        page.end = (struct assay_bytes){NULL, 0};
        for (uint64_t i = 0; i < handle->files && status == ASSAY_OK; i++) {
            page.file_count = 0;
            status = handle->driver->scan(handle->file[i], start, limit, keep, &page, error);
        }
        if (page.no_memory)
            status = assay_fail(error, "no memory for a scan over the files");
        if (status != ASSAY_OK)
            break;
        if (page.count > 0)
            qsort(page.records, page.count, sizeof *page.records, compare_records);
        size_t i = 0;
        for (; i < page.count && more && (page.end.data == NULL || compare_keys(page.records[i].key, page.end) <= 0); i++)
            more = visit(context, page.records[i].key, page.records[i].value);
        if (page.end.data == NULL)
            break;
        unsigned char *copy = malloc(page.end.length + 1);
        if (copy == NULL) {
            status = assay_fail(error, "no memory for a scan over the files");
            break;
        }
        memcpy(copy, page.end.data, page.end.length);
        page.after = start = (struct assay_bytes){copy, page.end.length};
        free(last);
        last = copy;
        forget(&page);
    }
    forget(&page);
    free(page.records);
    free(last);
    return status;
}

enum assay_status tc_files_define(struct assay_store *store, const struct assay_definition *definition, struct assay_error *error) {
    for (size_t i = 0; i < definition->queries_count && store->files > 1; i++)
        if (definition->queries[i].sort >= 0)
            return assay_refuse(error, "several files have no order in common: a query with an order needs one file");
    for (int i = 0; i < store->files; i++) {
        enum assay_status status = store->of->driver.define(store->file[i].store, definition, error);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

struct found {
    assay_visit *visit;
    void *context;
    bool stopped;
};

static bool pass_on(void *context, struct assay_bytes key, struct assay_bytes record) {
    struct found *found = context;
    found->stopped = !found->visit(found->context, key, record);
    return !found->stopped;
}

/* The visitor stops at the query's limit. */
enum assay_status tc_files_query(struct assay_handle *handle, size_t query, const struct assay_bytes *values, assay_visit *visit,
                                 void *context, struct assay_error *error) {
    struct found found = {visit, context, false};
    enum assay_status status = ASSAY_OK;
    for (uint64_t i = 0; i < handle->files && status == ASSAY_OK && !found.stopped; i++)
        status = handle->driver->query(handle->file[i], query, values, pass_on, &found, error);
    return status;
}

typedef enum assay_status number_of_query(struct assay_handle *handle, size_t query, const struct assay_bytes *values, uint64_t *records,
                                          struct assay_error *error);

/* Adds up what the files tell. */
static enum assay_status add_up(number_of_query *of, struct assay_handle *handle, size_t query, const struct assay_bytes *values,
                                uint64_t *records, struct assay_error *error) {
    *records = 0;
    for (uint64_t i = 0; i < handle->files; i++) {
        uint64_t of_file;
        enum assay_status status = of(handle->file[i], query, values, &of_file, error);
        if (status != ASSAY_OK)
            return status;
        *records += of_file;
    }
    return ASSAY_OK;
}

enum assay_status tc_files_count(struct assay_handle *handle, size_t query, const struct assay_bytes *values, uint64_t *records,
                                 struct assay_error *error) {
    return add_up(handle->driver->count, handle, query, values, records, error);
}

/* One step for each file, as a count is. */
enum assay_status tc_files_delete_query(struct assay_handle *handle, size_t query, const struct assay_bytes *values, uint64_t *records,
                                        struct assay_error *error) {
    return add_up(handle->driver->delete_query, handle, query, values, records, error);
}

/* All files have the same indexes: the first one tells for all. */
enum assay_status tc_files_explain(struct assay_handle *handle, size_t query, const struct assay_bytes *values, bool counts,
                                   struct assay_plan *plan, struct assay_error *error) {
    return handle->driver->explain(handle->file[0], query, values, counts, plan, error);
}

enum assay_status tc_files_sync(struct assay_store *store, struct assay_error *error) {
    for (int i = 0; i < store->files; i++) {
        enum assay_status status = store->of->driver.sync(store->file[i].store, error);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* Sums over the files; records_per_bucket is over all buckets, for the files have the same number.
 * */
void tc_files_inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    double sums[TC_NUMBERS_MAX] = {0};
    *busy = false;
    for (int i = 0; i < store->files; i++) {
        double numbers[TC_NUMBERS_MAX] = {0};
        store->of->numbers(store->file[i].store, numbers);
        for (size_t k = 0; k < TC_NUMBERS_MAX; k++)
            sums[k] += numbers[k];
    }
    for (size_t k = 0; k < TC_NUMBERS_MAX && store->of->number_names[k] != NULL; k++) {
        bool mean = strcmp(store->of->number_names[k], "records_per_bucket") == 0;
        assay_stat(sink, store->of->number_names[k], mean ? sums[k] / store->files : sums[k]);
    }
}
