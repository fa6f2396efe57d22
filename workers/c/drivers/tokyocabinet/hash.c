/* Tokyo Cabinet's hash database: one file, an array of buckets and chained records. See shared.h.
 * */
#include <stdlib.h>
#include <tchdb.h>

#include "shared.h"

static const struct assay_durability_claim durability[] = {
    {ASSAY_D1, "tchdbput: shared mapped memory and pwrite, never synced"},
    {ASSAY_D3, "HDBOTSYNC, each write a transaction: write-ahead log and file are synced before tchdbtrancommit returns"},
    {0, NULL},
};

static const struct assay_option options[] = {
    TC_OPTION_BUCKETS("131071", "tchdbtune: buckets; advised: at least half the number of records"),
    TC_OPTION_MAPPED("64MiB", "tchdbsetxmsiz: how much of the file is mapped, beyond the buckets"),
    {"rcnum", "int", "0", "tchdbsetcache: records cached for reading, at least 256; 0, the default: none", NULL},
    {"apow", "int", "4", "tchdbtune: records are aligned to 2^apow bytes", NULL},
    {"fpow", "int", "10", "tchdbtune: at most 2^fpow free blocks are remembered", NULL},
    {"dfunit", "int", "0", "tchdbsetdfunit: defragment a step after so many gaps; 0, the default: never", NULL},
    TC_OPTION_COMPRESSION,
    TC_OPTION_LARGE,
    TC_OPTION_MUTEX,
    TC_OPTION_FILES,
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "tokyocabinet-hash",
    .summary = "hash table in one file, partly mapped",
    .library = "tokyocabinet",
    .licence = "LGPL-2.1-or-later",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .handles_shareable = true,
    .key_bytes_min = 1,
    .fixed_disk_bytes = 520 << 10,
    .key_bytes_max = TC_KEY_BYTES_MAX,
    .value_bytes_max = TC_VALUE_BYTES_MAX,
    .note = "all handles of a file are one object: a process can't open it twice; no batches: a transaction covers what all threads "
            "write meanwhile; after a crash the free blocks are forgotten",
};

struct assay_store {
    TCHDB *db;
    bool transactional;
    pthread_mutex_t transactions;
};

static enum assay_status failed(struct assay_store *store, struct assay_error *error) {
    return tc_failed(tchdbecode(store->db), error);
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    struct tc_tuning tuning = tc_read_tuning(config->options);
    int64_t rcnum = assay_option_int(config->options, "rcnum");
    char path[4096];
    enum assay_status status = tc_check_tuning(config, &tuning, error);
    if (status == ASSAY_OK)
        status = assay_path(path, sizeof path, config->directory, "data.tch", error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL || (store->db = tchdbnew()) == NULL) {
        free(store);
        return assay_fail(error, "no memory for a database object");
    }
    pthread_mutex_init(&store->transactions, NULL);
    store->transactional = config->durability == ASSAY_D3;
    int mode = HDBOWRITER | HDBOCREAT | (store->transactional ? HDBOTSYNC : 0);
    bool tuned = (!assay_option_bool(config->options, "mutex") || tchdbsetmutex(store->db)) &&
                 tchdbtune(store->db, tuning.buckets, (int8_t)tuning.alignment_power, (int8_t)tuning.free_pool_power,
                           tuning.opts) &&
                 tchdbsetcache(store->db, (int32_t)rcnum) && tchdbsetxmsiz(store->db, tuning.mapped_bytes) &&
                 tchdbsetdfunit(store->db, (int32_t)tuning.defragment_every);
    const struct tc_told told[] = {
        {"xmsiz_bytes", tuning.mapped_bytes, (int64_t)store->db->xmsiz},
        {"rcnum", rcnum, store->db->rcnum},
        {NULL, 0, 0},
    };
    status = tuned ? tc_check_kept(told, error) : failed(store, error);
    bool kept = false;
    if (status == ASSAY_OK && store->transactional)
        status = tc_keep_log(config->directory, path, &kept, error);
    if (status == ASSAY_OK)
        status = tchdbopen(store->db, path, mode) ? assay_sync_directory(config->directory, error) : failed(store, error);
    if (status == ASSAY_OK && kept)
        status = tchdbsync(store->db) ? tc_drop_log(config->directory, path, error) : failed(store, error);
    if (status != ASSAY_OK) {
        tchdbdel(store->db); /* closes it, too */
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    TCHDB *db = store->db;
    assay_setting(sink, "bnum", "%llu", (unsigned long long)tchdbbnum(db));
    assay_setting(sink, "xmsiz", "%llu", (unsigned long long)tchdbxmsiz(db));
    assay_setting(sink, "rcnum", "%u", db->rcnum);
    assay_setting(sink, "alignment", "%u", tchdbalign(db));
    assay_setting(sink, "fbpmax", "%u", tchdbfbpmax(db));
    assay_setting(sink, "dfunit", "%u", tchdbdfunit(db));
    assay_setting(sink, "large", "%s", (tchdbopts(db) & HDBTLARGE) != 0 ? "true" : "false");
    assay_setting(sink, "compression", "%s", tc_compression(tchdbopts(db)));
    assay_setting(sink, "mutex", "%s", db->mmtx != NULL ? "true" : "false");
    assay_setting(sink, "tsync", "%s", (tchdbomode(db) & HDBOTSYNC) != 0 ? "true" : "false");
    assay_setting(sink, "transaction_each_write", "%s", store->transactional ? "true" : "false");
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = tchdbclose(store->db) ? ASSAY_OK : failed(store, error);
    tchdbdel(store->db);
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

/* tchdbget3 cuts what is longer than the buffer, without a word: a value that fills it is asked for
 * again. */
static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    int length = tchdbget3(store->db, key.data, (int)key.length, buffer->data, (int)buffer->capacity);
    if (length < 0)
        return failed(store, error);
    if ((size_t)length < buffer->capacity) {
        *value = (struct assay_bytes){buffer->data, (size_t)length};
        return ASSAY_OK;
    }
    void *all = tchdbget(store->db, key.data, (int)key.length, &length);
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
    if (tchdbtranbegin(store->db))
        return true;
    pthread_mutex_unlock(&store->transactions);
    return false;
}

static enum assay_status end(struct assay_store *store, bool written, struct assay_error *error) {
    enum assay_status status = written ? ASSAY_OK : failed(store, error);
    if (!store->transactional)
        return status;
    if (written && !tchdbtrancommit(store->db))
        status = failed(store, error);
    else if (written)
        status = tc_log_emptied(store->db->walfd, error);
    else
        tchdbtranabort(store->db);
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
    return end(store, tchdbput(store->db, key.data, (int)key.length, value.data, (int)value.length), error);
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, value))
        return assay_fail(error, "%s", tc_too_long);
    if (!begin(store))
        return failed(store, error);
    return end(store, tchdbputkeep(store->db, key.data, (int)key.length, value.data, (int)value.length), error);
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    if (!begin(store))
        return failed(store, error);
    return end(store, tchdbout(store->db, key.data, (int)key.length), error);
}

static enum assay_status compare_and_swap(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes old,
                                          struct assay_bytes value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, value))
        return assay_fail(error, "%s", tc_too_long);
    if (!begin(store))
        return failed(store, error);
    struct tc_swap swap = {.old = old, .value = value};
    bool written = tchdbputproc(store->db, key.data, (int)key.length, NULL, 0, tc_swap_proc, &swap);
    enum assay_status status = end(store, written && swap.swapped, error);
    return swap.no_memory ? assay_fail(error, "no memory for a value") : status;
}

static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    return tchdbsync(store->db) ? ASSAY_OK : failed(store, error);
}

/* Cheap numbers only: how many buckets are used takes a walk over all of them. */
static void numbers(struct assay_store *store, double *numbers) {
    TCHDB *db = store->db;
    numbers[0] = (double)tchdbrnum(db);
    numbers[1] = (double)tchdbfsiz(db);
    numbers[2] = (double)tchdbrnum(db) / (double)tchdbbnum(db);
}

static const struct tc_file_driver file_driver = {
    .driver = {
        .open = open_store,
        .settings = settings,
        .close = close_store,
        .handle_open = handle_open,
        .handle_close = handle_close,
        .get = get,
        .put = put,
        .remove = remove_key,
        .add = add,
        .compare_and_swap = compare_and_swap,
        .sync = sync_store,
    },
    .numbers = numbers,
    .number_names = {"records", "file_bytes", "records_per_bucket"},
};

static enum assay_status open_files(const struct assay_config *config, struct assay_store **store, struct assay_error *error) {
    return tc_files_open(&file_driver, config, store, error);
}

const struct assay_driver tc_hash_driver = {
    .description = &description,
    .open = open_files,
    TC_FILES_CALLS,
    .compare_and_swap = tc_files_compare_and_swap,
};
