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
    bool transactional, synced;
    pthread_mutex_t transactions;
};

#define CALL(name) tchdb##name
#define MODE(name) HDB##name
#define LOGS_EMPTIED(store, error) tc_log_emptied((store)->db->walfd, error)
#include "object.h"

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    struct tc_tuning tuning = tc_read_tuning(config->options);
    int64_t rcnum = assay_option_int(config->options, "rcnum");
    char path[4096];
    enum assay_status status = tc_check_tuning(config, &tuning, error);
    if (status == ASSAY_OK)
        status = assay_path(path, sizeof path, config->directory, "data.tch", error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = new_store(config, config->durability == ASSAY_D3, error);
    if (store == NULL)
        return ASSAY_ERROR;
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
    return open_file(store, config, path, tuned, told, out, error);
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    TCHDB *db = store->db;
    assay_setting(sink, "bnum", "%llu", (unsigned long long)tchdbbnum(db));
    assay_setting(sink, "xmsiz", "%llu", (unsigned long long)tchdbxmsiz(db));
    assay_setting(sink, "rcnum", "%u", db->rcnum);
    tell_file(store, sink);
    tell_object(store, tchdbomode(db), transactions_told(store), sink);
}

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
    return take(store, all, length, buffer, value, error);
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
        .close = close_file,
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
