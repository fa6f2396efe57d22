/* WiredTiger, the engine of MongoDB: a B-tree (or a log-structured merge tree) with a write-ahead log. A handle is a session with a
 * cursor. */
#include <stdio.h>
#include <stdlib.h>
#include <wiredtiger.h>

#include "assay_driver.h"

/* The manual, "Commit-level durability": without a log a record stands in the cache until a checkpoint; with
 * transaction_sync=(enabled,method=none) the log record is given to write(2) before a commit returns, with method=fsync it is
 * synced. Without transaction_sync the record may wait in a buffer of the process (src/log/log.c, __log_release), which
 * is no class between. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D0, "log=(enabled=false): records stand in the cache until a checkpoint"},
    {ASSAY_D1, "log=(enabled), transaction_sync=(enabled,method=none): the log is written to the page cache"},
    {ASSAY_D3, "log=(enabled), transaction_sync=(enabled,method=fsync): the log is synced before a commit returns"},
    {0, NULL},
};

static const struct assay_option options[] = {
    {"cache_bytes", "bytes", "100MiB", "cache_size", NULL},
    {"type", "choice", "file", "type: file is a B-tree, lsm a log-structured merge tree", "file lsm"},
    {"compression", "choice", "none", "block_compressor of the table", "none snappy zlib zstd"},
    {"leaf_page_bytes", "bytes", "32KiB", "leaf_page_max", NULL},
    {"checkpoint_every", "duration", "0s", "checkpoint=(wait), in whole seconds; 0, the default: never", NULL},
    {"eviction_threads_max", "int", "8", "eviction=(threads_max)", NULL},
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
    WT_CONNECTION *connection;
    WT_SESSION *own; /* for syncs and statistics */
    const char *directory;
    enum assay_durability durability;
    char config[1024];
};

struct assay_handle {
    WT_SESSION *session;
    WT_CURSOR *cursor, *adder; /* the adder does not overwrite */
};

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

static const char table[] = "table:records";

static int make_table(struct assay_store *store, const struct assay_options *given) {
    char config[256];
    snprintf(config, sizeof config, "key_format=u,value_format=u,type=%s,block_compressor=%s,leaf_page_max=%lld",
             assay_option_text(given, "type"), assay_option_text(given, "compression"),
             (long long)assay_option_bytes(given, "leaf_page_bytes"));
    return store->own->create(store->own, table, config);
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    static const char *const logs[] = {
        [ASSAY_D0] = "log=(enabled=false)",
        [ASSAY_D1] = "log=(enabled=true),transaction_sync=(enabled=true,method=none)",
        [ASSAY_D3] = "log=(enabled=true),transaction_sync=(enabled=true,method=fsync)",
    };
    const struct assay_options *given = config->options;
    int64_t sessions = assay_option_int(given, "session_max");
    if (sessions < config->handles + 20 || sessions > 1 << 20) /* the library's own threads have sessions, too */
        return assay_refuse(error, "session_max must be at least the number of handles and 20 more");
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    store->directory = config->directory;
    store->durability = config->durability;
    snprintf(store->config, sizeof store->config,
             "create,cache_size=%lld,session_max=%lld,eviction=(threads_max=%lld),checkpoint=(wait=%lld),statistics=(fast),%s",
             (long long)assay_option_bytes(given, "cache_bytes"), (long long)sessions,
             (long long)assay_option_int(given, "eviction_threads_max"),
             (long long)(assay_option_duration_ns(given, "checkpoint_every") / 1000000000), logs[config->durability]);
    int code = wiredtiger_open(config->directory, NULL, store->config, &store->connection);
    if (code == 0 && (code = store->connection->open_session(store->connection, NULL, NULL, &store->own)) == 0)
        code = make_table(store, given);
    if (code != 0) {
        if (store->connection != NULL)
            store->connection->close(store->connection, NULL);
        free(store);
        return failed(code, error);
    }
    enum assay_status status = assay_sync_directory(config->directory, error);
    if (status != ASSAY_OK) {
        store->connection->close(store->connection, NULL);
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

/* The table's own configuration is read back; the connection's is as it was given. */
static void settings(struct assay_store *store, struct assay_sink *sink) {
    assay_setting(sink, "wiredtiger_open", "%s", store->config);
    WT_CURSOR *metadata;
    if (store->own->open_cursor(store->own, "metadata:", NULL, NULL, &metadata) != 0)
        return;
    const char *value;
    metadata->set_key(metadata, "file:records.wt");
    if (metadata->search(metadata) == 0 && metadata->get_value(metadata, &value) == 0) {
        static const char *const names[] = {"block_compressor=", "leaf_page_max=", "internal_page_max=", "allocation_size="};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const char *at = strstr(value, names[i]);
            if (at == NULL)
                continue;
            size_t length = strlen(names[i]);
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)length - 1, names[i]);
            assay_setting(sink, name, "%.*s", (int)strcspn(at + length, ","), at + length);
        }
    }
    metadata->close(metadata);
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

/* The value stands in the library's cache until the cursor is reset, which also lets the page go. */
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

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return failed(insert(handle->adder, key, value), error);
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
    if (store->durability == ASSAY_D0)
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
        const char *text, *printed;
        int64_t value;
        statistics->set_key(statistics, numbers[i].key);
        if (statistics->search(statistics) != 0 || statistics->get_value(statistics, &text, &printed, &value) != 0)
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
