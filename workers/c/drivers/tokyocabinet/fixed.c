/* Tokyo Cabinet's fixed-length database: one mapped file, an array of records of one width. See
 * shared.h. */
#include <stdlib.h>
#include <tcfdb.h>

#include "shared.h"

static const struct assay_durability_claim durability[] = {
    {ASSAY_D1, "tcfdbput: shared mapped memory, never synced"},
    {ASSAY_D3, "FDBOTSYNC, each write a transaction: write-ahead log and file are synced before tcfdbtrancommit returns"},
    {0, NULL},
};

enum { KEY_BYTES = 8, WIDTH_DEFAULT = 255, WIDTH_MAX = 65536 }; /* FDBDEFWIDTH */

static const struct assay_option options[] = {
    {"width_bytes", "int", "255", "tcfdbtune: the longest value, 1 to 65536; each record takes so many bytes and the length", NULL},
    {"limit_bytes", "bytes", "256MiB", "tcfdbtune: the largest size of the file, all of it mapped, in whole pages", NULL},
    TC_OPTION_MUTEX,
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "tokyocabinet-fixed",
    .summary = "array of records of one width in a mapped file",
    .library = "tokyocabinet",
    .licence = "LGPL-2.1-or-later",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .handles_shareable = true,
    .key_numbers = true,
    .key_bytes_min = KEY_BYTES,
    .fixed_disk_bytes = 4 << 10,
    .key_bytes_max = KEY_BYTES,
    .value_bytes_max = WIDTH_DEFAULT,
    .value_bytes_option = "width_bytes",
    .note = "keys are numbers, 8 bytes with the high byte first and unscattered, below "
            "limit_bytes / (width_bytes + 1 to 4); all handles are one "
            "object; no batches: a transaction covers what all threads write meanwhile",
};

struct assay_store {
    TCFDB *db;
    bool transactional;
    pthread_mutex_t transactions;
};

static enum assay_status failed(struct assay_store *store, struct assay_error *error) {
    return tc_failed(tcfdbecode(store->db), error);
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    int64_t width = assay_option_int(config->options, "width_bytes"), limit = assay_option_bytes(config->options, "limit_bytes");
    bool mutex = assay_option_bool(config->options, "mutex");
    if (width < 1 || width > WIDTH_MAX)
        return assay_refuse(error, "expected width_bytes of 1 to 65536");
    if (!mutex && config->threads > 1)
        return assay_refuse(error, "without its mutex the object takes one thread only");
    char path[4096];
    enum assay_status status = assay_path(path, sizeof path, config->directory, "data.tcf", error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL || (store->db = tcfdbnew()) == NULL) {
        free(store);
        return assay_fail(error, "no memory for a database object");
    }
    pthread_mutex_init(&store->transactions, NULL);
    store->transactional = config->durability == ASSAY_D3;
    int mode = FDBOWRITER | FDBOCREAT | (store->transactional ? FDBOTSYNC : 0);
    bool tuned = (!mutex || tcfdbsetmutex(store->db)) && tcfdbtune(store->db, (int32_t)width, limit);
    const struct tc_told told[] = {{"limit_bytes", limit, (int64_t)store->db->limsiz}, {NULL, 0, 0}};
    status = tuned ? tc_check_kept(told, error) : failed(store, error);
    bool kept = false;
    if (status == ASSAY_OK && store->transactional)
        status = tc_keep_log(config->directory, path, &kept, error);
    if (status == ASSAY_OK)
        status = tcfdbopen(store->db, path, mode) ? assay_sync_directory(config->directory, error) : failed(store, error);
    if (status == ASSAY_OK && kept)
        status = tcfdbsync(store->db) ? tc_drop_log(config->directory, path, error) : failed(store, error);
    if (status != ASSAY_OK) {
        tcfdbdel(store->db); /* closes it, too */
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    TCFDB *db = store->db;
    assay_setting(sink, "width", "%u", tcfdbwidth(db));
    assay_setting(sink, "limsiz", "%llu", (unsigned long long)tcfdblimsiz(db));
    assay_setting(sink, "limid", "%llu", (unsigned long long)tcfdblimid(db));
    assay_setting(sink, "mutex", "%s", db->mmtx != NULL ? "true" : "false");
    assay_setting(sink, "tsync", "%s", (db->omode & FDBOTSYNC) != 0 ? "true" : "false");
    assay_setting(sink, "transaction_each_write", "%s", store->transactional ? "true" : "false");
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = tcfdbclose(store->db) ? ASSAY_OK : failed(store, error);
    tcfdbdel(store->db);
    pthread_mutex_destroy(&store->transactions);
    free(store);
    return status;
}

/* A handle is the store itself. */
static enum assay_status handle_open(struct assay_store *store, struct assay_handle **handle, struct assay_error *error) {
    (void)error;
    *handle = (struct assay_handle *)store;
    return ASSAY_OK;
}

static enum assay_status handle_close(struct assay_handle *handle, struct assay_error *error) {
    (void)handle, (void)error;
    return ASSAY_OK;
}

static struct assay_store *store_of(struct assay_handle *handle) { return (struct assay_store *)handle; }

/* The record number of a key: the key, a number of 8 bytes with the high byte first, plus 1. */
static bool id_of(struct assay_store *store, struct assay_bytes key, int64_t *id, struct assay_error *error) {
    if (key.length != KEY_BYTES)
        return assay_fail(error, "keys of an array are numbers of exactly 8 bytes"), false;
    uint64_t big;
    memcpy(&big, key.data, sizeof big);
    uint64_t n = __builtin_bswap64(big);
    if (n >= tcfdblimid(store->db))
        return assay_fail(error, "the key's number is beyond limit_bytes"), false;
    *id = (int64_t)n + 1;
    return true;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    int64_t id;
    if (!id_of(store, key, &id, error))
        return ASSAY_ERROR;
    if (!assay_buffer_grow(buffer, (size_t)tcfdbwidth(store->db) + 1))
        return assay_fail(error, "no memory for a value");
    int length = tcfdbget4(store->db, id, buffer->data, (int)buffer->capacity);
    if (length < 0)
        return failed(store, error);
    *value = (struct assay_bytes){buffer->data, (size_t)length};
    return ASSAY_OK;
}

/* begin and end stand around each write. end keeps the write's own error. */
static bool begin(struct assay_store *store) {
    if (!store->transactional)
        return true;
    pthread_mutex_lock(&store->transactions);
    if (tcfdbtranbegin(store->db))
        return true;
    pthread_mutex_unlock(&store->transactions);
    return false;
}

static enum assay_status end(struct assay_store *store, bool written, struct assay_error *error) {
    enum assay_status status = written ? ASSAY_OK : failed(store, error);
    if (!store->transactional)
        return status;
    if (written && !tcfdbtrancommit(store->db))
        status = failed(store, error);
    else if (written)
        status = tc_log_emptied(store->db->walfd, error);
    else
        tcfdbtranabort(store->db);
    pthread_mutex_unlock(&store->transactions);
    return status;
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    int64_t id;
    if (!id_of(store, key, &id, error))
        return ASSAY_ERROR;
    if (value.length > tcfdbwidth(store->db)) /* the library would cut it without a word */
        return assay_fail(error, "the value is longer than the array's width");
    if (!begin(store))
        return failed(store, error);
    return end(store, tcfdbput(store->db, id, value.data, (int)value.length), error);
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    int64_t id;
    if (!id_of(store, key, &id, error))
        return ASSAY_ERROR;
    if (value.length > tcfdbwidth(store->db)) /* the library would cut it without a word */
        return assay_fail(error, "the value is longer than the array's width");
    if (!begin(store))
        return failed(store, error);
    return end(store, tcfdbputkeep(store->db, id, value.data, (int)value.length), error);
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    int64_t id;
    if (!id_of(store, key, &id, error))
        return ASSAY_ERROR;
    if (!begin(store))
        return failed(store, error);
    return end(store, tcfdbout(store->db, id), error);
}

static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    return tcfdbsync(store->db) ? ASSAY_OK : failed(store, error);
}

/* Cheap numbers only. */
static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    TCFDB *db = store->db;
    *busy = false;
    assay_stat(sink, "records", (double)tcfdbrnum(db));
    assay_stat(sink, "file_bytes", (double)tcfdbfsiz(db));
}

const struct assay_driver tc_fixed_driver = {
    .description = &description,
    .version = tc_version,
    .open = open_store,
    .settings = settings,
    .close = close_store,
    .handle_open = handle_open,
    .handle_close = handle_close,
    .get = get,
    .put = put,
    .remove = remove_key,
    .add = add,
    .sync = sync_store,
    .inspect = inspect,
};
