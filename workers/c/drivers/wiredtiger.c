/* WiredTiger, the engine of MongoDB: a B-tree (or a log-structured merge tree) with a write-ahead
 * log. A handle is a session with a cursor. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wiredtiger.h>

#include "assay_driver.h"

/* The manual, "Commit-level durability": without a log a record stands in the cache until a
 * checkpoint; with transaction_sync=(enabled,method=none) the log record is given to write(2)
 * before a commit returns, with method=fsync it is synced. Without transaction_sync the record may
 * wait in a buffer of the process (src/log/log.c, __log_release), which is no class between. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D0, "log=(enabled=false): records stand in the cache until a checkpoint"},
    {ASSAY_D1, "log=(enabled), transaction_sync=(enabled,method=none): the log is written to the page cache"},
    {ASSAY_D3, "log=(enabled), transaction_sync=(enabled,method=fsync): the log is synced before a commit returns"},
    {0, NULL},
};

static const struct assay_option options[] = {
    {"cache_bytes", "bytes", "100MiB", "cache_size, at least 1MiB", NULL, "log 16MiB 2GiB"},
    {"type", "choice", "file", "type: file is a B-tree, lsm a log-structured merge tree", "file lsm"},
    {"compression", "choice", "none",
     "block_compressor of the table; all but none need the library's extension of that name, libwiredtiger_NAME.so, in the library's own folder",
     "none snappy zlib zstd"},
    {"leaf_page_bytes", "bytes", "32KiB", "leaf_page_max, a multiple of 4KiB, at most 512MiB", NULL},
    {"checkpoint_every", "duration", "0s", "checkpoint=(wait), in whole seconds; 0, the default: never", NULL},
    {"eviction_threads_max", "int", "8", "eviction=(threads_max), 1 to 20", NULL},
    {"session_max", "int", "100", "session_max: handles, and some for the library itself", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "wiredtiger",
    .summary = "B-tree with a cache and a write-ahead log: MongoDB's engine",
    .library = "wiredtiger",
    .licence = "GPL-2.0-only OR GPL-3.0-only",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .batch_atomic = true,
    .key_bytes_min = 1,
    .fixed_disk_bytes = 314646528, /* three files of the log, laid out in advance; in D0 there is none */
    .key_bytes_max = 1 << 20,
    .value_bytes_max = 1 << 30, /* the library takes 4 GB less 512 MB */
};

struct assay_store {
    WT_EVENT_HANDLER events; /* must be the first: the library hands it back */
    WT_CONNECTION *connection;
    WT_SESSION *own; /* for syncs and statistics */
    const struct assay_config *config;
    _Atomic bool opened;
    char why[ASSAY_ERROR_TEXT_BYTES]; /* the library's first message while the store was opened */
};

struct assay_handle {
    WT_SESSION *session;
    WT_CURSOR *cursor, *adder; /* the adder does not overwrite */
};

#define SECOND_NS INT64_C(1000000000)

static const char *version(void) {
    static char text[32];
    int major, minor, patch;
    wiredtiger_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

static enum assay_status failed(int code, struct assay_error *error) {
    switch (code) {
    case 0:
        return ASSAY_OK;
    case WT_NOTFOUND:
        return ASSAY_MISS;
    case WT_DUPLICATE_KEY:
        return ASSAY_CONFLICT;
    default:
        return assay_fail(error, "%s", wiredtiger_strerror(code));
    }
}

/* Prints the library's message, as it would itself, and keeps the first of an opening: what a code
 * says alone ("Invalid argument") is of no help. It begins with the time and the thread in
 * brackets, which differ each time. */
static int take_message(WT_EVENT_HANDLER *events, WT_SESSION *session, int code, const char *message) {
    struct assay_store *store = (struct assay_store *)(void *)events;
    (void)session, (void)code;
    fprintf(stderr, "%s\n", message);
    if (atomic_load(&store->opened) || store->why[0] != 0)
        return 0;
    while (*message == '[' && strchr(message, ']') != NULL)
        message = strchr(message, ']') + 1;
    snprintf(store->why, sizeof store->why, "%s", message + strspn(message, ", "));
    return 0;
}

/* Finds the extension of a compressor: it lies beside the library, wherever that is. path stays
 * empty where the compressor is none, or built into the library, which then has the function that
 * an extension would bring. */
static enum assay_status find_extension(const char *compressor, char *path, size_t path_bytes, struct assay_error *error) {
    char function[64];
    Dl_info library;
    *path = 0;
    snprintf(function, sizeof function, "%s_extension_init", compressor);
    if (strcmp(compressor, "none") == 0 || dlsym(RTLD_DEFAULT, function) != NULL)
        return ASSAY_OK;
    /* an address of a function may be one of this program's; a text of the library's is not */
    if (dladdr(wiredtiger_version(NULL, NULL, NULL), &library) != 0 && library.dli_fname != NULL && strchr(library.dli_fname, '/') != NULL) {
        int folder = (int)(strrchr(library.dli_fname, '/') - library.dli_fname);
        if (snprintf(path, path_bytes, "%.*s/libwiredtiger_%s.so", folder, library.dli_fname, compressor) < (int)path_bytes &&
            access(path, R_OK) == 0 && strpbrk(path, "\"\\") == NULL)
            return ASSAY_OK;
    }
    return assay_refuse(error, "compression=%s needs libwiredtiger_%s.so in the folder of the WiredTiger library, and it is not there: install a package or "
                        "build of WiredTiger that has it (Debian's libwiredtiger-dev: snappy, zlib)", compressor, compressor);
}

/* What lies outside, the library would refuse after it made files, or the driver would round. */
static enum assay_status check_options(const struct assay_config *config, struct assay_error *error) {
    const struct assay_options *given = config->options;
    int64_t sessions = assay_option_int(given, "session_max"), leaf = assay_option_bytes(given, "leaf_page_bytes");
    int64_t cache = assay_option_bytes(given, "cache_bytes"), every = assay_option_duration_ns(given, "checkpoint_every");
    int64_t threads = assay_option_int(given, "eviction_threads_max");
    if (sessions < config->handles + 20 || sessions > 1 << 20) /* the library's own threads have sessions, too */
        return assay_refuse(error, "session_max must be at least the number of handles and 20 more, at most 1048576");
    if (cache < 1 << 20 || cache > (int64_t)10 << 40)
        return assay_refuse(error, "cache_bytes must be 1MiB to 10TiB");
    if (leaf < 4 << 10 || leaf > 512 << 20 || leaf % (4 << 10) != 0)
        return assay_refuse(error, "leaf_page_bytes must be a multiple of 4KiB, up to 512MiB");
    if (every < 0 || every > 100000 * SECOND_NS || every % SECOND_NS != 0)
        return assay_refuse(error, "checkpoint_every must be whole seconds: 0s (never), 1s, 2s … up to 100000s");
    if (threads < 1 || threads > 20)
        return assay_refuse(error, "eviction_threads_max must be 1 to 20");
    return ASSAY_OK;
}

static const char table[] = "table:records";

static int make_table(struct assay_store *store, const struct assay_options *given) {
    char config[256];
    snprintf(config, sizeof config, "key_format=u,value_format=u,type=%s,block_compressor=%s,leaf_page_max=%lld",
             assay_option_text(given, "type"), assay_option_text(given, "compression"),
             (long long)assay_option_bytes(given, "leaf_page_bytes"));
    return store->own->create(store->own, table, config);
}

static const char *const logs[] = {
    [ASSAY_D0] = "log=(enabled=false)",
    [ASSAY_D1] = "log=(enabled=true),transaction_sync=(enabled=true,method=none)",
    [ASSAY_D3] = "log=(enabled=true),transaction_sync=(enabled=true,method=fsync)",
};

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    const struct assay_options *given = config->options;
    char extension[4096], text[sizeof extension + 512];
    enum assay_status status = check_options(config, error);
    if (status == ASSAY_OK)
        status = find_extension(assay_option_text(given, "compression"), extension, sizeof extension, error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    store->events.handle_error = take_message;
    store->config = config;
    snprintf(text, sizeof text,
             "create,cache_size=%lld,session_max=%lld,eviction=(threads_max=%lld),checkpoint=(wait=%lld),statistics=(fast),extensions=[%s%s%s],%s",
             (long long)assay_option_bytes(given, "cache_bytes"), (long long)assay_option_int(given, "session_max"),
             (long long)assay_option_int(given, "eviction_threads_max"),
             (long long)(assay_option_duration_ns(given, "checkpoint_every") / SECOND_NS), *extension != 0 ? "\"" : "", extension,
             *extension != 0 ? "\"" : "", logs[config->durability]);
    int code = wiredtiger_open(config->directory, &store->events, text, &store->connection);
    if (code == 0 && (code = store->connection->open_session(store->connection, NULL, NULL, &store->own)) == 0)
        code = make_table(store, given);
    status = code == 0 ? assay_sync_directory(config->directory, error)
                       : store->why[0] != 0 ? assay_fail(error, "%s", store->why) : failed(code, error);
    atomic_store(&store->opened, status == ASSAY_OK);
    if (status != ASSAY_OK) {
        if (store->connection != NULL)
            store->connection->close(store->connection, NULL);
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

/* Tells what stands behind names in the metadata of a key, and copies the first of it. */
static void tell_metadata(struct assay_store *store, struct assay_sink *sink, const char *key, const char *const *names, char *first, size_t first_bytes) {
    WT_CURSOR *metadata;
    const char *value;
    if (store->own->open_cursor(store->own, "metadata:", NULL, NULL, &metadata) != 0)
        return;
    metadata->set_key(metadata, key);
    if (metadata->search(metadata) == 0 && metadata->get_value(metadata, &value) == 0) {
        for (size_t i = 0; names[i] != NULL; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s=", names[i]);
            const char *at = strstr(value, name);
            if (at == NULL)
                continue;
            at += strlen(name);
            assay_setting(sink, names[i], "%.*s", (int)strcspn(at, ","), at);
            if (i == 0)
                snprintf(first, first_bytes, "%.*s", (int)strcspn(at, ","), at);
        }
    }
    metadata->close(metadata);
}

/* The value of a statistic of the connection; false: it can't be had. */
static bool read_statistic(WT_CURSOR *statistics, int key, int64_t *value) {
    const char *text, *printed;
    statistics->set_key(statistics, key);
    return statistics->search(statistics) == 0 && statistics->get_value(statistics, &text, &printed, value) == 0;
}

/* The cache and the table's configuration are read back. What the library does not report of its
 * connection is reported as it was asked for. */
static void settings(struct assay_store *store, struct assay_sink *sink) {
    static const char *const of_table[] = {"type", NULL};
    static const char *const of_data[] = {"block_compressor", "leaf_page_max", "internal_page_max", "allocation_size", NULL};
    const struct assay_options *given = store->config->options;
    WT_CURSOR *statistics;
    int64_t cache;
    if (store->own->open_cursor(store->own, "statistics:", NULL, "statistics=(fast)", &statistics) == 0) {
        if (read_statistic(statistics, WT_STAT_CONN_CACHE_BYTES_MAX, &cache))
            assay_setting(sink, "cache_size", "%lld", (long long)cache);
        statistics->close(statistics);
    }
    assay_setting(sink, "session_max", "%lld (asked)", (long long)assay_option_int(given, "session_max"));
    assay_setting(sink, "eviction.threads_max", "%lld (asked)", (long long)assay_option_int(given, "eviction_threads_max"));
    assay_setting(sink, "checkpoint.wait", "%lld (asked)", (long long)(assay_option_duration_ns(given, "checkpoint_every") / SECOND_NS));
    assay_setting(sink, "log", "%s (asked)", logs[store->config->durability]);
    char type[16] = "", unused[64];
    tell_metadata(store, sink, "colgroup:records", of_table, type, sizeof type);
    tell_metadata(store, sink, strcmp(type, "lsm") == 0 ? "lsm:records" : "file:records.wt", of_data, unused, sizeof unused);
}

/* A close makes a checkpoint by itself. */
static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = failed(store->connection->close(store->connection, NULL), error);
    free(store);
    return status;
}

static enum assay_status handle_open(struct assay_store *store, struct assay_handle **out, struct assay_error *error) {
    struct assay_handle *handle = calloc(1, sizeof *handle);
    if (handle == NULL)
        return assay_fail(error, "no memory for a handle");
    int code = store->connection->open_session(store->connection, NULL, NULL, &handle->session);
    if (code == 0 && (code = handle->session->open_cursor(handle->session, table, NULL, "overwrite=true", &handle->cursor)) == 0)
        code = handle->session->open_cursor(handle->session, table, NULL, "overwrite=false", &handle->adder);
    if (code != 0) {
        if (handle->session != NULL)
            handle->session->close(handle->session, NULL);
        free(handle);
        return failed(code, error);
    }
    *out = handle;
    return ASSAY_OK;
}

static enum assay_status handle_close(struct assay_handle *handle, struct assay_error *error) {
    enum assay_status status = failed(handle->session->close(handle->session, NULL), error); /* and its cursors */
    free(handle);
    return status;
}

static WT_ITEM item_of(struct assay_bytes bytes) {
    return (WT_ITEM){.data = bytes.data != NULL ? bytes.data : "", .size = bytes.length};
}

/* The value stands in the library's cache until the cursor is reset, which also lets the page go.
 * */
static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    WT_CURSOR *cursor = handle->cursor;
    WT_ITEM k = item_of(key), v;
    cursor->set_key(cursor, &k);
    int code = cursor->search(cursor);
    if (code == 0)
        code = cursor->get_value(cursor, &v);
    enum assay_status status = code == 0 ? assay_copy(buffer, v.data, v.size, value, error) : failed(code, error);
    cursor->reset(cursor);
    return status;
}

static int insert(WT_CURSOR *cursor, struct assay_bytes key, struct assay_bytes value) {
    WT_ITEM k = item_of(key), v = item_of(value);
    cursor->set_key(cursor, &k);
    cursor->set_value(cursor, &v);
    int code = cursor->insert(cursor); /* leaves the cursor without a place */
    if (code != 0)
        cursor->reset(cursor);
    return code;
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return failed(insert(handle->cursor, key, value), error);
}

/* Outside of a transaction two sessions that add a key at once may both store it. */
static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    WT_SESSION *session = handle->session;
    for (;;) {
        int code = session->begin_transaction(session, "isolation=snapshot");
        if (code != 0)
            return failed(code, error);
        if ((code = insert(handle->adder, key, value)) == 0)
            code = session->commit_transaction(session, NULL);
        else
            session->rollback_transaction(session, NULL);
        if (code != WT_ROLLBACK) /* another one wrote the key meanwhile */
            return failed(code, error);
    }
}

/* With overwrite=true removing a key that is not there is no error. */
static int erase(WT_CURSOR *cursor, struct assay_bytes key) {
    WT_ITEM k = item_of(key);
    cursor->set_key(cursor, &k);
    int code = cursor->remove(cursor);
    cursor->reset(cursor);
    return code;
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    return failed(erase(handle->cursor, key), error);
}

static enum assay_status batch(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                               struct assay_error *error) {
    WT_SESSION *session = handle->session;
    int code = session->begin_transaction(session, NULL);
    if (code != 0)
        return failed(code, error);
    for (size_t i = 0; i < count && code == 0; i++)
        code = writes[i].remove ? erase(handle->cursor, writes[i].key) : insert(handle->cursor, writes[i].key, writes[i].value);
    if (code == 0)
        return failed(session->commit_transaction(session, NULL), error);
    session->rollback_transaction(session, NULL); /* why it is rolled back says more */
    return failed(code, error);
}

static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    (void)limit;
    WT_CURSOR *cursor = handle->cursor;
    WT_ITEM key = item_of(start), value;
    int exact;
    cursor->set_key(cursor, &key);
    int code = cursor->search_near(cursor, &exact);
    if (code == 0 && exact < 0) /* it stands on the largest key below */
        code = cursor->next(cursor);
    while (code == 0 && (code = cursor->get_key(cursor, &key)) == 0 && (code = cursor->get_value(cursor, &value)) == 0) {
        if (!visit(context, (struct assay_bytes){key.data, key.size}, (struct assay_bytes){value.data, value.size}))
            break;
        code = cursor->next(cursor);
    }
    cursor->reset(cursor);
    return code == WT_NOTFOUND ? ASSAY_OK : failed(code, error); /* the keys have ended */
}

static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    if (store->config->durability == ASSAY_D0)
        return failed(store->own->checkpoint(store->own, NULL), error);
    return failed(store->own->log_flush(store->own, "sync=on"), error);
}

static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    static const struct {
        int key;
        const char *name;
    } numbers[] = {
        {WT_STAT_CONN_CACHE_BYTES_INUSE, "cache_bytes"},
        {WT_STAT_CONN_CACHE_BYTES_MAX, "cache_bytes_max"},
        {WT_STAT_CONN_CACHE_BYTES_DIRTY, "cache_dirty_bytes"},
        {WT_STAT_CONN_CACHE_READ, "cache_pages_read"},
        {WT_STAT_CONN_CACHE_WRITE, "cache_pages_written"},
        {WT_STAT_CONN_CACHE_EVICTION_APP, "pages_evicted_by_callers"},
        {WT_STAT_CONN_TXN_CHECKPOINT, "checkpoints"},
        {WT_STAT_CONN_TXN_CHECKPOINT_RUNNING, "checkpoint_under_way"},
        {WT_STAT_CONN_LOG_BYTES_WRITTEN, "log_written_bytes"},
        {WT_STAT_CONN_LOG_SYNC, "log_syncs"},
        {WT_STAT_CONN_BLOCK_BYTE_READ, "read_bytes"},
        {WT_STAT_CONN_BLOCK_BYTE_WRITE, "written_bytes"},
    };
    *busy = false;
    WT_CURSOR *statistics;
    if (store->own->open_cursor(store->own, "statistics:", NULL, "statistics=(fast)", &statistics) != 0)
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t value;
        if (!read_statistic(statistics, numbers[i].key, &value))
            continue;
        assay_stat(sink, numbers[i].name, (double)value);
        *busy = *busy || (numbers[i].key == WT_STAT_CONN_TXN_CHECKPOINT_RUNNING && value > 0);
    }
    statistics->close(statistics);
}

static const struct assay_driver driver = {
    .description = &description,
    .version = version,
    .open = open_store,
    .settings = settings,
    .close = close_store,
    .handle_open = handle_open,
    .handle_close = handle_close,
    .get = get,
    .put = put,
    .remove = remove_key,
    .batch = batch,
    .scan = scan,
    .add = add,
    .sync = sync_store,
    .inspect = inspect,
};

const struct assay_driver *const assay_drivers[] = {&driver, NULL};
