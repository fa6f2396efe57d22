/* LMDB: a copy-on-write B+tree in one mapped file, one writer at a time, readers without locks. One
 * put is one write transaction. A handle keeps a read transaction and a cursor, which are renewed
 * for each read and reset after it, so that no reader pins old pages between operations. */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "assay_driver.h"

/* mdb.c, mdb_txn_commit: pages and then the meta page go to the file by pwrite, or are shared
 * mapped memory with MDB_WRITEMAP; fdatasync (msync) follows unless MDB_NOSYNC. MDB_NOMETASYNC is
 * not offered: it loses at most the last transaction, which is no bound in time. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D1, "MDB_NOSYNC: commits are written to the page cache; a power cut may damage the file where the filesystem reorders writes"},
    {ASSAY_D3, "no flags, the default: the pages are synced, then the meta page is written through O_DSYNC"},
    {0, NULL},
};

static const struct assay_option options[] = {
    {"map_bytes", "bytes", "10MiB", "mdb_env_set_mapsize: the largest size of the file, at least 8KiB; a put beyond it fails", NULL},
    {"writemap", "bool", "false", "MDB_WRITEMAP: pages are changed in the mapped file itself", NULL},
    {"readahead", "bool", "true", "false: MDB_NORDAHEAD", NULL},
    {"meminit", "bool", "true", "false: MDB_NOMEMINIT, pages are not cleared before they are filled", NULL},
    {"readers_max", "int", "126", "mdb_env_set_maxreaders: handles at once", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

enum { MAP_BYTES_MIN = 8192 }; /* the two meta pages */
enum { KEY_BYTES_MAX = 511 }; /* MDB_MAXKEYSIZE of the usual build: open checks it */

static const struct assay_description description = {
    .name = "lmdb",
    .summary = "copy-on-write B+tree in one mapped file, one writer",
    .library = "lmdb",
    .licence = "OLDAP-2.8",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .batch_atomic = true,
    .key_bytes_min = 1,
    .fixed_disk_bytes = 36 << 10,
    .key_bytes_max = KEY_BYTES_MAX,
    .value_bytes_max = UINT32_MAX, /* MAXDATASIZE */
    .note = "the default map_bytes holds 10 MiB: raise it above the data; one writer at a time, whose lock the others wait for",
};

struct assay_store {
    MDB_env *env;
    MDB_dbi dbi;
    unsigned flags;
};

struct assay_handle {
    struct assay_store *store;
    MDB_txn *reader; /* reset between operations */
    MDB_cursor *cursor;
};

static const char *version(void) {
    static char text[32];
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

static enum assay_status failed(int code, struct assay_error *error) {
    switch (code) {
    case MDB_SUCCESS:
        return ASSAY_OK;
    case MDB_NOTFOUND:
        return ASSAY_MISS;
    case MDB_KEYEXIST:
        return ASSAY_CONFLICT;
    default:
        return assay_fail(error, "%s", mdb_strerror(code));
    }
}

static MDB_val val_of(struct assay_bytes bytes) { return (MDB_val){bytes.length, (void *)(uintptr_t)bytes.data}; }
static struct assay_bytes bytes_of(MDB_val val) { return (struct assay_bytes){val.mv_data, val.mv_size}; }

static int open_database(struct assay_store *store) {
    MDB_txn *txn;
    int code = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (code != 0)
        return code;
    if ((code = mdb_dbi_open(txn, NULL, 0, &store->dbi)) != 0) {
        mdb_txn_abort(txn);
        return code;
    }
    return mdb_txn_commit(txn);
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    const struct assay_options *given = config->options;
    int64_t readers = assay_option_int(given, "readers_max");
    if (readers < config->handles || readers > 1 << 20)
        return assay_refuse(error, "each handle is a reader: readers_max must be at least the number of handles, at most %d", 1 << 20);
    if (assay_option_bytes(given, "map_bytes") < MAP_BYTES_MIN)
        return assay_refuse(error, "map_bytes must be at least %d: the library would make it larger", MAP_BYTES_MIN);
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    /* NOTLS: a reader belongs to its handle, not to the thread that made it */
    store->flags = MDB_NOTLS | (config->durability == ASSAY_D1 ? MDB_NOSYNC : 0) |
                   (assay_option_bool(given, "writemap") ? MDB_WRITEMAP : 0) |
                   (assay_option_bool(given, "readahead") ? 0 : MDB_NORDAHEAD) |
                   (assay_option_bool(given, "meminit") ? 0 : MDB_NOMEMINIT);
    int code = mdb_env_create(&store->env);
    if (code == 0 && (code = mdb_env_set_mapsize(store->env, (size_t)assay_option_bytes(given, "map_bytes"))) == 0 &&
        (code = mdb_env_set_maxreaders(store->env, (unsigned)readers)) == 0 &&
        (code = mdb_env_open(store->env, config->directory, store->flags, 0600)) == 0)
        code = open_database(store);
    enum assay_status status = failed(code, error);
    if (status == ASSAY_OK && mdb_env_get_maxkeysize(store->env) != KEY_BYTES_MAX)
        status = assay_refuse(error, "this build of LMDB has another longest key than the driver says");
    if (status == ASSAY_OK)
        status = assay_sync_directory(config->directory, error);
    if (status != ASSAY_OK) {
        mdb_env_close(store->env);
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    unsigned flags = 0, readers = 0;
    MDB_envinfo info;
    MDB_stat stat;
    if (mdb_env_get_flags(store->env, &flags) == 0) {
        assay_setting(sink, "MDB_NOSYNC", "%s", (flags & MDB_NOSYNC) != 0 ? "true" : "false");
        assay_setting(sink, "MDB_WRITEMAP", "%s", (flags & MDB_WRITEMAP) != 0 ? "true" : "false");
        assay_setting(sink, "MDB_NORDAHEAD", "%s", (flags & MDB_NORDAHEAD) != 0 ? "true" : "false");
        assay_setting(sink, "MDB_NOMEMINIT", "%s", (flags & MDB_NOMEMINIT) != 0 ? "true" : "false");
        assay_setting(sink, "MDB_NOTLS", "%s", (flags & MDB_NOTLS) != 0 ? "true" : "false");
    }
    if (mdb_env_get_maxreaders(store->env, &readers) == 0)
        assay_setting(sink, "maxreaders", "%u", readers);
    if (mdb_env_info(store->env, &info) == 0)
        assay_setting(sink, "mapsize", "%zu", info.me_mapsize);
    if (mdb_env_stat(store->env, &stat) == 0)
        assay_setting(sink, "psize", "%u", stat.ms_psize);
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    (void)error;
    mdb_env_close(store->env);
    free(store);
    return ASSAY_OK;
}

static enum assay_status handle_open(struct assay_store *store, struct assay_handle **out, struct assay_error *error) {
    struct assay_handle *handle = calloc(1, sizeof *handle);
    if (handle == NULL)
        return assay_fail(error, "no memory for a handle");
    handle->store = store;
    int code = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &handle->reader);
    if (code == 0 && (code = mdb_cursor_open(handle->reader, store->dbi, &handle->cursor)) != 0)
        mdb_txn_abort(handle->reader);
    if (code != 0) {
        free(handle);
        return failed(code, error);
    }
    mdb_txn_reset(handle->reader);
    *out = handle;
    return ASSAY_OK;
}

static enum assay_status handle_close(struct assay_handle *handle, struct assay_error *error) {
    (void)error;
    mdb_cursor_close(handle->cursor);
    mdb_txn_abort(handle->reader);
    free(handle);
    return ASSAY_OK;
}

/* Copies: the value stands in the map only as long as the read transaction does. */
static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    MDB_val k = val_of(key), v;
    int code = mdb_txn_renew(handle->reader);
    if (code != 0)
        return failed(code, error);
    code = mdb_get(handle->reader, handle->store->dbi, &k, &v);
    enum assay_status status =
        code == 0 ? assay_copy(buffer, v.mv_data, v.mv_size, value, error) : failed(code, error);
    mdb_txn_reset(handle->reader);
    return status;
}

/* Does one put or delete in a transaction under way. A delete of a key that is not there is
 * MDB_NOTFOUND. */
static int write_one(struct assay_store *store, MDB_txn *txn, const struct assay_write *write, unsigned flags) {
    MDB_val key = val_of(write->key), value = val_of(write->value);
    return write->remove ? mdb_del(txn, store->dbi, &key, NULL) : mdb_put(txn, store->dbi, &key, &value, flags);
}

static enum assay_status write_alone(struct assay_handle *handle, const struct assay_write *write, unsigned flags,
                                     struct assay_error *error) {
    MDB_txn *txn;
    int code = mdb_txn_begin(handle->store->env, NULL, 0, &txn);
    if (code != 0)
        return failed(code, error);
    if ((code = write_one(handle->store, txn, write, flags)) != 0) {
        mdb_txn_abort(txn);
        return failed(code, error);
    }
    return failed(mdb_txn_commit(txn), error);
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return write_alone(handle, &(struct assay_write){key, value, false}, 0, error);
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return write_alone(handle, &(struct assay_write){key, value, false}, MDB_NOOVERWRITE, error);
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    return write_alone(handle, &(struct assay_write){key, {NULL, 0}, true}, 0, error);
}

static enum assay_status batch(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                               struct assay_error *error) {
    MDB_txn *txn;
    int code = mdb_txn_begin(handle->store->env, NULL, 0, &txn);
    if (code != 0)
        return failed(code, error);
    for (size_t i = 0; i < count; i++) {
        code = write_one(handle->store, txn, &writes[i], 0);
        if (code != 0 && !(code == MDB_NOTFOUND && writes[i].remove)) {
            mdb_txn_abort(txn);
            return failed(code, error);
        }
    }
    return failed(mdb_txn_commit(txn), error);
}

static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    (void)limit;
    int code = mdb_txn_renew(handle->reader);
    if (code != 0)
        return failed(code, error);
    MDB_val key = val_of(start), value;
    if ((code = mdb_cursor_renew(handle->reader, handle->cursor)) == 0)
        code = mdb_cursor_get(handle->cursor, &key, &value, MDB_SET_RANGE);
    while (code == 0 && visit(context, bytes_of(key), bytes_of(value)))
        code = mdb_cursor_get(handle->cursor, &key, &value, MDB_NEXT);
    mdb_txn_reset(handle->reader);
    return code == MDB_NOTFOUND ? ASSAY_OK : failed(code, error); /* the keys have ended */
}

static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    return failed(mdb_env_sync(store->env, 1), error);
}

static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    MDB_stat stat;
    MDB_envinfo info;
    *busy = false;
    if (mdb_env_stat(store->env, &stat) == 0) {
        assay_stat(sink, "records", (double)stat.ms_entries);
        assay_stat(sink, "depth", stat.ms_depth);
        assay_stat(sink, "branch_pages", (double)stat.ms_branch_pages);
        assay_stat(sink, "leaf_pages", (double)stat.ms_leaf_pages);
        assay_stat(sink, "overflow_pages", (double)stat.ms_overflow_pages);
    }
    if (mdb_env_info(store->env, &info) == 0) {
        assay_stat(sink, "file_used_bytes", ((double)info.me_last_pgno + 1) * stat.ms_psize);
        assay_stat(sink, "transactions", (double)info.me_last_txnid);
        assay_stat(sink, "readers", info.me_numreaders);
    }
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
