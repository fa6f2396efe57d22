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
    bool transactional, synced;
    pthread_mutex_t transactions;
};

#define CALL(name) tcfdb##name
#define MODE(name) FDB##name
#define LOGS_EMPTIED(store, error) tc_log_emptied((store)->db->walfd, error)
#define KEYS_ARE_NUMBERS
#include "object.h"

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
    struct assay_store *store = new_store(config, config->durability == ASSAY_D3, error);
    if (store == NULL)
        return ASSAY_ERROR;
    bool tuned = (!mutex || tcfdbsetmutex(store->db)) && tcfdbtune(store->db, (int32_t)width, limit);
    const struct tc_told told[] = {{"limit_bytes", limit, (int64_t)store->db->limsiz}, {NULL, 0, 0}};
    return open_file(store, config, path, tuned, told, out, error);
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    TCFDB *db = store->db;
    assay_setting(sink, "width", "%u", tcfdbwidth(db));
    assay_setting(sink, "limsiz", "%llu", (unsigned long long)tcfdblimsiz(db));
    assay_setting(sink, "limid", "%llu", (unsigned long long)tcfdblimid(db));
    tell_object(store, db->omode, transactions_told(store), sink);
}

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

typedef bool write_call(TCFDB *db, int64_t id, const void *value, int length);

static inline enum assay_status write_one(struct assay_handle *handle, write_call *write, struct assay_bytes key, struct assay_bytes value,
                                          struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    int64_t id;
    if (!id_of(store, key, &id, error))
        return ASSAY_ERROR;
    if (value.length > tcfdbwidth(store->db)) /* the library would cut it without a word */
        return assay_fail(error, "the value is longer than the array's width");
    if (!begin(store))
        return failed(store, error);
    return end(store, write(store->db, id, value.data, (int)value.length), error);
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return write_one(handle, tcfdbput, key, value, error);
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return write_one(handle, tcfdbputkeep, key, value, error);
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
    .close = close_file,
    .handle_open = handle_open,
    .handle_close = handle_close,
    .get = get,
    .put = put,
    .remove = remove_key,
    .add = add,
    .sync = sync_store,
    .inspect = inspect,
};
