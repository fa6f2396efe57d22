/* Tokyo Cabinet's table database: a hash database whose records are sets of named columns. See shared.h.
 *
 * Here it is a key-value store: one column, "v", holds the value, and there is no index. Typed columns, indexes and queries come
 * with the contract's `define`. */
#include <stdlib.h>
#include <tchdb.h>
#include <tctdb.h>

#include "shared.h"

static const struct assay_durability_claim durability[] = {
    {ASSAY_D1, "tctdbput: shared mapped memory and pwrite, never synced"},
    {ASSAY_D3, "TDBOTSYNC, each write a transaction: write-ahead log and file are synced before tctdbtrancommit returns"},
    {0, NULL},
};

static const struct assay_option options[] = {
    {"bnum", "int", "131071", "tctdbtune: buckets; advised: at least half the number of records", NULL},
    {"xmsiz_bytes", "bytes", "64MiB", "tctdbsetxmsiz: how much of the file is mapped, beyond the buckets", NULL},
    {"rcnum", "int", "0", "tctdbsetcache: records cached for reading; 0, the default: none", NULL},
    {"lcnum", "int", "4096", "tctdbsetcache: leaves cached, of each index", NULL},
    {"ncnum", "int", "512", "tctdbsetcache: nodes cached, of each index", NULL},
    {"apow", "int", "4", "tctdbtune: records are aligned to 2^apow bytes", NULL},
    {"fpow", "int", "10", "tctdbtune: at most 2^fpow free blocks are remembered", NULL},
    {"dfunit", "int", "0", "tctdbsetdfunit: defragment a step after so many gaps; 0, the default: never", NULL},
    TC_OPTION_COMPRESSION,
    TC_OPTION_LARGE,
    TC_OPTION_MUTEX,
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "tokyocabinet-table",
    .summary = "table over a hash file: here with one column, v",
    .library = "tokyocabinet",
    .licence = "LGPL-2.1-or-later",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .handles_shareable = true,
    .key_bytes_min = 1,
    .key_bytes_max = TC_KEY_BYTES_MAX,
    .value_bytes_max = TC_VALUE_BYTES_MAX,
    .note = "all handles are one object: a process can't open the file twice; no batches: a transaction covers what all threads "
            "write meanwhile; after a crash the free blocks are forgotten",
};

struct assay_store {
    TCTDB *db;
    bool transactional;
    pthread_mutex_t transactions;
};

static const char column[] = "v";

static enum assay_status failed(struct assay_store *store, struct assay_error *error) {
    return tc_failed(tctdbecode(store->db), error);
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    struct tc_tuning tuning = tc_read_tuning(config->options);
    int64_t rcnum = assay_option_int(config->options, "rcnum");
    int32_t lcnum = (int32_t)assay_option_int(config->options, "lcnum");
    int32_t ncnum = (int32_t)assay_option_int(config->options, "ncnum");
    char path[4096];
    enum assay_status status = tc_check_tuning(config, &tuning, error);
    if (status == ASSAY_OK)
        status = assay_path(path, sizeof path, config->directory, "data.tct", error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL || (store->db = tctdbnew()) == NULL) {
        free(store);
        return assay_fail(error, "no memory for a database object");
    }
    pthread_mutex_init(&store->transactions, NULL);
    store->transactional = config->durability == ASSAY_D3;
    int mode = TDBOWRITER | TDBOCREAT | (store->transactional ? TDBOTSYNC : 0);
    bool opened = (!assay_option_bool(config->options, "mutex") || tctdbsetmutex(store->db)) &&
                  tctdbtune(store->db, tuning.buckets, (int8_t)tuning.alignment_power, (int8_t)tuning.free_pool_power,
                            tuning.opts) &&
                  tctdbsetcache(store->db, (int32_t)rcnum, lcnum, ncnum) && tctdbsetxmsiz(store->db, tuning.mapped_bytes) &&
                  tctdbsetdfunit(store->db, tuning.defragment_every) && tctdbopen(store->db, path, mode);
    status = opened ? assay_sync_directory(config->directory, error) : failed(store, error);
    if (status != ASSAY_OK) {
        tctdbdel(store->db); /* closes it, too */
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    TCTDB *db = store->db;
    assay_setting(sink, "bnum", "%llu", (unsigned long long)tctdbbnum(db));
    assay_setting(sink, "xmsiz", "%llu", (unsigned long long)tchdbxmsiz(db->hdb));
    assay_setting(sink, "rcnum", "%u", db->hdb->rcnum);
    assay_setting(sink, "alignment", "%u", tctdbalign(db));
    assay_setting(sink, "fbpmax", "%u", tctdbfbpmax(db));
    assay_setting(sink, "dfunit", "%u", tctdbdfunit(db));
    assay_setting(sink, "large", "%s", (tctdbopts(db) & TDBTLARGE) != 0 ? "true" : "false");
    assay_setting(sink, "compression", "%s", tc_compression(tctdbopts(db)));
    assay_setting(sink, "mutex", "%s", db->mmtx != NULL ? "true" : "false");
    assay_setting(sink, "tsync", "%s", (tchdbomode(db->hdb) & HDBOTSYNC) != 0 ? "true" : "false");
    assay_setting(sink, "transaction_each_write", "%s", store->transactional ? "true" : "false");
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = tctdbclose(store->db) ? ASSAY_OK : failed(store, error);
    tctdbdel(store->db);
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

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    int length;
    char *all = tctdbget4(store->db, key.data, (int)key.length, column, sizeof column - 1, &length);
    if (all == NULL)
        return failed(store, error);
    enum assay_status status = assay_copy(buffer, all, (size_t)length, value, error);
    free(all);
    return status;
}

/* begin and end stand around each write. end keeps the write's own error. */
static bool begin(struct assay_store *store) {
    if (!store->transactional)
        return true;
    pthread_mutex_lock(&store->transactions);
    if (tctdbtranbegin(store->db))
        return true;
    pthread_mutex_unlock(&store->transactions);
    return false;
}

static enum assay_status end(struct assay_store *store, bool written, struct assay_error *error) {
    enum assay_status status = written ? ASSAY_OK : failed(store, error);
    if (!store->transactional)
        return status;
    if (written && !tctdbtrancommit(store->db))
        status = failed(store, error);
    else if (!written)
        tctdbtranabort(store->db);
    pthread_mutex_unlock(&store->transactions);
    return status;
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, value))
        return assay_fail(error, "%s", tc_too_long);
    if (!begin(store))
        return failed(store, error);
    TCMAP *columns = tcmapnew2(1);
    tcmapput(columns, column, sizeof column - 1, value.data != NULL ? value.data : "", (int)value.length);
    bool written = tctdbput(store->db, key.data, (int)key.length, columns);
    enum assay_status status = end(store, written, error);
    tcmapdel(columns);
    return status;
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, value))
        return assay_fail(error, "%s", tc_too_long);
    if (!begin(store))
        return failed(store, error);
    TCMAP *columns = tcmapnew2(1);
    tcmapput(columns, column, sizeof column - 1, value.data != NULL ? value.data : "", (int)value.length);
    bool written = tctdbputkeep(store->db, key.data, (int)key.length, columns);
    enum assay_status status = end(store, written, error);
    tcmapdel(columns);
    return status;
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    if (!begin(store))
        return failed(store, error);
    return end(store, tctdbout(store->db, key.data, (int)key.length), error);
}

static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    return tctdbsync(store->db) ? ASSAY_OK : failed(store, error);
}

/* Cheap numbers only: how many buckets are used takes a walk over all of them. */
static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    TCTDB *db = store->db;
    *busy = false;
    assay_stat(sink, "records", (double)tctdbrnum(db));
    assay_stat(sink, "file_bytes", (double)tctdbfsiz(db));
    assay_stat(sink, "records_per_bucket", (double)tctdbrnum(db) / (double)tctdbbnum(db));
}

const struct assay_driver tc_table_driver = {
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
