/* Berkeley DB 5.3: B-tree and hash in a transactional environment: page locks, a cache of pages, a
 * write-ahead log. */
#include <db.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "assay_driver.h"

/* The manual, DB_ENV->set_flags: DB_TXN_NOSYNC leaves log records in the log's buffer in memory;
 * DB_TXN_WRITE_NOSYNC gives them to write(2) at commit; without either they are synced. Recovery at
 * open (DB_RECOVER) brings back what the log holds. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D0, "DB_TXN_NOSYNC: a commit leaves its log records in memory"},
    {ASSAY_D1, "DB_TXN_WRITE_NOSYNC: a commit writes its log records to the page cache"},
    {ASSAY_D3, "no flags, the default: a commit syncs the log; pages of 512 bytes, which a power cut does not tear, unless page_bytes says otherwise"},
    {0, NULL},
};

#define OPTIONS \
    {"cache_bytes", "bytes", "256KiB", "set_cachesize, at least 20KiB; rounded up: the library adds a quarter below 500 MB, and whole pages", NULL, "log 1MiB 1GiB"}, \
    {"page_bytes", "bytes", "0", "set_pagesize, of a new file; 0, the default: in D3 512, and else the filesystem's block, at most 16 KiB", NULL}, \
    {"log_buffer_bytes", "bytes", "0", "set_lg_bsize; 0, the default: 32000", NULL}, \
    {"log_file_bytes", "bytes", "0", "set_lg_max, above log_buffer_bytes; 0, the default: 10MiB", NULL}, \
    {"locks_max", "int", "0", "set_lk_max_locks and set_lk_max_objects; 0, the default: 1000 at first", NULL}
static const struct assay_option btree_options[] = {
    OPTIONS,
    {"serial_writes", "bool", "true",
     "one write at a time. false: as the library lets them; then its tree loses track of a record among some 10^5 that threads put at once: a cursor finds it, a get does not",
     NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
static const struct assay_option hash_options[] = {OPTIONS, {NULL, NULL, NULL, NULL, NULL, NULL}};

enum { SECTOR_BYTES = 512 }; /* what a disk writes whole: the log does not repair a page that was torn */
enum { LOG_BUFFER_BYTES = 32000, LOG_FILE_BYTES = 10 << 20 };         /* the library's own */
enum { KEY_BYTES_MAX = 1 << 20, VALUE_BYTES_MAX = 1 << 30 }; /* the library takes 4 GB: held well below */

#define DESCRIPTION(engine, text, its_options)                                                                                        \
    {.name = engine, .summary = text, .library = "db-5.3", .licence = "Sleepycat", .kind = "embedded", .durability = durability, \
     .options = its_options, .handles_shareable = true, .batch_atomic = true, .write_conflicts = true,                       \
     .key_bytes_max = KEY_BYTES_MAX, .value_bytes_max = VALUE_BYTES_MAX,                                                  \
     .fixed_disk_bytes = 224 << 10, /* the environment and its log, whose file of 10 MiB is sparse */                        \
     .note = "writers that wait for each other's pages in a circle are found, and one of them fails: it is counted as a conflict, for " \
             "nothing was done, and never tried again"}

static const struct assay_description btree_description =
    DESCRIPTION("berkeleydb-btree", "B-tree with page locks, a page cache and a write-ahead log", btree_options);
static const struct assay_description hash_description =
    DESCRIPTION("berkeleydb-hash", "extended linear hash with page locks, a page cache and a write-ahead log", hash_options);

struct assay_store {
    DB_ENV *env;
    DB *db;
    bool serial; /* writes take turns */
    pthread_mutex_t turn;
};

static const char *version(void) {
    int major, minor, patch;
    static char text[32];
    db_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

static enum assay_status failed(int code, struct assay_error *error) {
    switch (code) {
    case 0:
        return ASSAY_OK;
    case DB_NOTFOUND:
        return ASSAY_MISS;
    case DB_KEYEXIST:
    case DB_LOCK_DEADLOCK:
    case DB_LOCK_NOTGRANTED:
        return ASSAY_CONFLICT;
    default:
        return assay_fail(error, "%s", db_strerror(code));
    }
}

static int set_environment(DB_ENV *env, const struct assay_config *config) {
    const struct assay_options *given = config->options;
    int64_t cache = assay_option_bytes(given, "cache_bytes"), buffer = assay_option_bytes(given, "log_buffer_bytes");
    int64_t file = assay_option_bytes(given, "log_file_bytes"), locks = assay_option_int(given, "locks_max");
    env->set_errfile(env, stderr);
    int code = env->set_cachesize(env, (uint32_t)(cache >> 30), (uint32_t)(cache & ((1 << 30) - 1)), 1);
    if (code == 0 && buffer > 0)
        code = env->set_lg_bsize(env, (uint32_t)buffer);
    if (code == 0 && file > 0)
        code = env->set_lg_max(env, (uint32_t)file);
    if (code == 0 && locks > 0 && (code = env->set_lk_max_locks(env, (uint32_t)locks)) == 0)
        code = env->set_lk_max_objects(env, (uint32_t)locks);
    if (code == 0)
        code = env->set_lk_detect(env, DB_LOCK_DEFAULT); /* without it a circle would wait for ever */
    if (code == 0 && config->durability == ASSAY_D0)
        code = env->set_flags(env, DB_TXN_NOSYNC, 1);
    if (code == 0 && config->durability == ASSAY_D1)
        code = env->set_flags(env, DB_TXN_WRITE_NOSYNC, 1);
    return code;
}

static enum assay_status open_type(const struct assay_config *config, DBTYPE type, struct assay_store **out,
                                   struct assay_error *error) {
    int64_t page = assay_option_bytes(config->options, "page_bytes");
    if (page != 0 && (page < 512 || page > 65536 || (page & (page - 1)) != 0))
        return assay_refuse(error, "page_bytes must be 0 or a power of two from 512 to 65536");
    if (page == 0 && config->durability == ASSAY_D3)
        page = SECTOR_BYTES;
    int64_t buffer = assay_option_bytes(config->options, "log_buffer_bytes"), file = assay_option_bytes(config->options, "log_file_bytes");
    int64_t cache = assay_option_bytes(config->options, "cache_bytes"), locks = assay_option_int(config->options, "locks_max");
    if (cache < 20 << 10 || cache > (int64_t)10 << 40)
        return assay_refuse(error, "cache_bytes must be 20KiB to 10TiB");
    if (buffer > 1 << 30 || file > 1 << 30 || locks < 0 || locks > INT32_MAX)
        return assay_refuse(error, "log_buffer_bytes and log_file_bytes are at most 1GiB, locks_max 0 to %d", INT32_MAX);
    if ((file > 0 ? file : LOG_FILE_BYTES) <= (buffer > 0 ? buffer : LOG_BUFFER_BYTES))
        return assay_refuse(error, "log_file_bytes (default %d) must be above log_buffer_bytes (default %d)", LOG_FILE_BYTES, LOG_BUFFER_BYTES);
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    store->serial = type == DB_BTREE && assay_option_bool(config->options, "serial_writes");
    pthread_mutex_init(&store->turn, NULL);
    uint32_t flags = DB_CREATE | DB_INIT_TXN | DB_INIT_LOG | DB_INIT_LOCK | DB_INIT_MPOOL | DB_RECOVER | DB_THREAD;
    int code = db_env_create(&store->env, 0);
    if (code == 0 && (code = set_environment(store->env, config)) == 0 &&
        (code = store->env->open(store->env, config->directory, flags, 0600)) == 0 &&
        (code = db_create(&store->db, store->env, 0)) == 0) {
        if (page != 0)
            code = store->db->set_pagesize(store->db, (uint32_t)page);
        if (code == 0)
            code = store->db->open(store->db, NULL, "data.db", NULL, type, DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0600);
    }
    enum assay_status status = code == 0 ? assay_sync_directory(config->directory, error) : failed(code, error);
    if (status != ASSAY_OK) {
        if (store->db != NULL)
            store->db->close(store->db, 0);
        if (store->env != NULL)
            store->env->close(store->env, 0);
        pthread_mutex_destroy(&store->turn);
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static enum assay_status open_btree(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    return open_type(config, DB_BTREE, out, error);
}

static enum assay_status open_hash(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    return open_type(config, DB_HASH, out, error);
}

static DBTYPE type_of(struct assay_store *store) {
    DBTYPE type = DB_UNKNOWN;
    (void)store->db->get_type(store->db, &type);
    return type;
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    DB_ENV *env = store->env;
    uint32_t gbytes, bytes, value;
    int caches;
    if (env->get_cachesize(env, &gbytes, &bytes, &caches) == 0)
        assay_setting(sink, "cachesize", "%llu", ((unsigned long long)gbytes << 30) + bytes);
    if (env->get_lg_bsize(env, &value) == 0)
        assay_setting(sink, "lg_bsize", "%u", value);
    if (env->get_lg_max(env, &value) == 0)
        assay_setting(sink, "lg_max", "%u", value);
    if (env->get_lk_max_locks(env, &value) == 0)
        assay_setting(sink, "lk_max_locks", "%u", value);
    if (env->get_lk_max_objects(env, &value) == 0)
        assay_setting(sink, "lk_max_objects", "%u", value);
    if (env->get_flags(env, &value) == 0) {
        assay_setting(sink, "DB_TXN_NOSYNC", "%s", (value & DB_TXN_NOSYNC) != 0 ? "true" : "false");
        assay_setting(sink, "DB_TXN_WRITE_NOSYNC", "%s", (value & DB_TXN_WRITE_NOSYNC) != 0 ? "true" : "false");
    }
    if (store->db->get_pagesize(store->db, &value) == 0)
        assay_setting(sink, "pagesize", "%u", value);
    if (type_of(store) == DB_BTREE)
        assay_setting(sink, "serial_writes", "%s", store->serial ? "true" : "false");
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    int code = store->db->close(store->db, 0), environment = store->env->close(store->env, 0);
    pthread_mutex_destroy(&store->turn);
    free(store);
    return failed(code != 0 ? code : environment, error);
}

/* A handle is the store itself: DB_THREAD makes both free for all threads. */
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

/* A write's turn begins, where writes take turns, and ends. A reader needs none. */
static void begin_turn(struct assay_store *store) {
    if (store->serial)
        pthread_mutex_lock(&store->turn);
}

static enum assay_status end_turn(struct assay_store *store, enum assay_status status) {
    if (store->serial)
        pthread_mutex_unlock(&store->turn);
    return status;
}

static DBT dbt_of(struct assay_bytes bytes) {
    return (DBT){.data = (void *)(uintptr_t)(bytes.data != NULL ? bytes.data : ""), .size = (uint32_t)bytes.length};
}

static bool fits(struct assay_bytes key, struct assay_bytes value, struct assay_error *error) {
    if (key.length <= KEY_BYTES_MAX && value.length <= VALUE_BYTES_MAX)
        return true;
    return assay_fail(error, "the key is longer than 1 MiB or the value longer than 1 GiB"), false;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    DBT k = dbt_of(key), v = {.data = buffer->data, .ulen = (uint32_t)buffer->capacity, .flags = DB_DBT_USERMEM};
    int code = store->db->get(store->db, NULL, &k, &v, 0);
    while (code == DB_BUFFER_SMALL) { /* nothing was read: it told the length; another thread may put a longer one meanwhile */
        if (!assay_buffer_grow(buffer, v.size))
            return assay_fail(error, "no memory for a value");
        v = (DBT){.data = buffer->data, .ulen = (uint32_t)buffer->capacity, .flags = DB_DBT_USERMEM};
        code = store->db->get(store->db, NULL, &k, &v, 0);
    }
    *value = (struct assay_bytes){buffer->data, v.size};
    return failed(code, error);
}

static enum assay_status put_with(struct assay_handle *handle, DB_TXN *txn, struct assay_bytes key, struct assay_bytes value,
                                  uint32_t flags, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!fits(key, value, error))
        return ASSAY_ERROR;
    DBT k = dbt_of(key), v = dbt_of(value);
    return failed(store->db->put(store->db, txn, &k, &v, flags), error);
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    begin_turn(store);
    return end_turn(store, put_with(handle, NULL, key, value, 0, error));
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    begin_turn(store);
    return end_turn(store, put_with(handle, NULL, key, value, DB_NOOVERWRITE, error));
}

static enum assay_status remove_with(struct assay_handle *handle, DB_TXN *txn, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    DBT k = dbt_of(key);
    return failed(store->db->del(store->db, txn, &k, 0), error);
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    begin_turn(store);
    return end_turn(store, remove_with(handle, NULL, key, error));
}

static enum assay_status write_all(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                                   struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    DB_TXN *txn;
    int code = store->env->txn_begin(store->env, NULL, &txn, 0);
    if (code != 0)
        return failed(code, error);
    enum assay_status status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        status = writes[i].remove ? remove_with(handle, txn, writes[i].key, error)
                                  : put_with(handle, txn, writes[i].key, writes[i].value, 0, error);
        if (status == ASSAY_MISS)
            status = ASSAY_OK; /* a delete of what is not there */
    }
    if (status == ASSAY_OK)
        return failed(txn->commit(txn, 0), error);
    txn->abort(txn); /* why it is aborted says more */
    return status;
}

static enum assay_status batch(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                               struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    begin_turn(store);
    return end_turn(store, write_all(handle, writes, count, error));
}

static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    (void)limit;
    DBC *cursor;
    int code = store->db->cursor(store->db, NULL, &cursor, 0);
    if (code != 0)
        return failed(code, error);
    DBT key = {.flags = DB_DBT_REALLOC}, value = {.flags = DB_DBT_REALLOC}; /* grown by the library, freed here */
    key.data = malloc(start.length + 1);
    if (key.data != NULL) {
        memcpy(key.data, start.data, start.length);
        key.size = (uint32_t)start.length;
        code = cursor->get(cursor, &key, &value, DB_SET_RANGE);
        while (code == 0 && visit(context, (struct assay_bytes){key.data, key.size}, (struct assay_bytes){value.data, value.size}))
            code = cursor->get(cursor, &key, &value, DB_NEXT);
    }
    enum assay_status status = key.data == NULL ? assay_fail(error, "no memory for a key") : failed(code, error);
    free(key.data);
    free(value.data);
    int closed = cursor->close(cursor);
    if (status == ASSAY_MISS)
        status = ASSAY_OK; /* the keys have ended */
    return status == ASSAY_OK ? failed(closed, error) : status;
}

static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    return failed(store->env->log_flush(store->env, NULL), error);
}

static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    DB_ENV *env = store->env;
    DB_MPOOL_STAT *pool;
    DB_LOCK_STAT *locks;
    DB_LOG_STAT *log;
    *busy = false;
    if (env->memp_stat(env, &pool, NULL, 0) == 0) {
        assay_stat(sink, "cache_hits", (double)pool->st_cache_hit);
        assay_stat(sink, "cache_misses", (double)pool->st_cache_miss);
        assay_stat(sink, "pages_read", (double)pool->st_page_in);
        assay_stat(sink, "pages_written", (double)pool->st_page_out);
        assay_stat(sink, "pages_dirty", (double)pool->st_page_dirty);
        free(pool);
    }
    if (env->lock_stat(env, &locks, 0) == 0) {
        assay_stat(sink, "deadlocks", (double)locks->st_ndeadlocks);
        assay_stat(sink, "lock_waits", (double)locks->st_lock_wait);
        free(locks);
    }
    if (env->log_stat(env, &log, 0) == 0) {
        assay_stat(sink, "log_written_bytes", (double)log->st_w_mbytes * 1048576 + log->st_w_bytes);
        assay_stat(sink, "log_syncs", (double)log->st_scount);
        free(log);
    }
}

#define COMMON                                                                                                           \
    .version = version, .settings = settings, .close = close_store, .handle_open = handle_open, .handle_close = handle_close, \
    .get = get, .put = put, .remove = remove_key, .batch = batch, .add = add, .sync = sync_store, .inspect = inspect

static const struct assay_driver btree_driver = {.description = &btree_description, .open = open_btree, .scan = scan, COMMON};
static const struct assay_driver hash_driver = {.description = &hash_description, .open = open_hash, COMMON};

const struct assay_driver *const assay_drivers[] = {&btree_driver, &hash_driver, NULL};
