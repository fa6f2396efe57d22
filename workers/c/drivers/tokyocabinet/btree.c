/* Tokyo Cabinet's B+tree database: pages kept as the records of a hash database. See shared.h. */
#include <stdatomic.h>
#include <stdlib.h>
#include <tcbdb.h>
#include <tchdb.h>

#include "shared.h"

static const struct assay_durability_claim durability[] = {
    {ASSAY_D0, "tcbdbput: leaves are changed in the cache of the process, and written when they leave it"},
    {ASSAY_D1, "each write a transaction: tcbdbtrancommit writes all changed leaves to the page cache"},
    {ASSAY_D3, "BDBOTSYNC, each write a transaction: write-ahead log and file are synced before tcbdbtrancommit returns"},
    {0, NULL},
};

static const struct assay_option options[] = {
    TC_OPTION_BUCKETS("32749", "tcbdbtune: buckets of the hash of pages"),
    TC_OPTION_MAPPED("0", "tcbdbsetxmsiz: how much of the file is mapped, beyond the buckets; the default: nothing"),
    {"lmemb", "int", "128", "tcbdbtune: records of a leaf", NULL},
    {"nmemb", "int", "256", "tcbdbtune: keys of a node", NULL},
    {"lcnum", "int", "1024", "tcbdbsetcache: leaves cached", NULL},
    {"ncnum", "int", "512", "tcbdbsetcache: nodes cached", NULL},
    {"apow", "int", "8", "tcbdbtune: records are aligned to 2^apow bytes", NULL},
    {"fpow", "int", "10", "tcbdbtune: at most 2^fpow free blocks are remembered", NULL},
    {"dfunit", "int", "0", "tcbdbsetdfunit: defragment a step after so many gaps; 0, the default: never", NULL},
    TC_OPTION_COMPRESSION,
    TC_OPTION_LARGE,
    TC_OPTION_MUTEX,
    TC_OPTION_FILES,
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "tokyocabinet-btree",
    .summary = "B+tree over a hash file, pages cached in the process",
    .library = "tokyocabinet",
    .licence = "LGPL-2.1-or-later",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .handles_shareable = true,
    .key_bytes_min = 1,
    .fixed_disk_bytes = 136 << 10,
    .key_bytes_max = TC_KEY_BYTES_MAX,
    .value_bytes_max = TC_VALUE_BYTES_MAX,
    .note = "all handles of a file are one object: a process can't open it twice; no batches: a transaction covers what all threads "
            "write meanwhile; after a crash the free blocks are forgotten; a scan beside writes goes on by tcbdbrange, for they move cursors",
};

struct assay_store {
    TCBDB *db;
    bool transactional, synced;
    pthread_mutex_t transactions;
    bool alone;                    /* one thread only: nothing is written beside a scan, and writes are not counted */
    _Atomic uint64_t begun, ended; /* writes */
};

#define CALL(name) tcbdb##name
#define MODE(name) BDB##name
#define LOGS_EMPTIED(store, error) tc_log_emptied((store)->db->hdb->walfd, error)
#define WRITE_BEGINS(store) ((store)->alone ? (void)0 : (void)atomic_fetch_add(&(store)->begun, 1))
#define WRITE_ENDED(store) ((store)->alone ? (void)0 : (void)atomic_fetch_add(&(store)->ended, 1))
#include "object.h"

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    struct tc_tuning tuning = tc_read_tuning(config->options);
    int64_t lmemb = assay_option_int(config->options, "lmemb"), nmemb = assay_option_int(config->options, "nmemb");
    int64_t lcnum = assay_option_int(config->options, "lcnum"), ncnum = assay_option_int(config->options, "ncnum");
    char path[4096];
    if (lmemb < 4 || nmemb < 4 || lmemb > INT32_MAX || nmemb > INT32_MAX) /* the library would raise them silently */
        return assay_refuse(error, "expected lmemb and nmemb of 4 to 2147483647");
    enum assay_status status = tc_check_page_caches(lcnum, ncnum, error);
    if (status == ASSAY_OK)
        status = tc_check_tuning(config, &tuning, error);
    if (status == ASSAY_OK)
        status = assay_path(path, sizeof path, config->directory, "data.tcb", error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = new_store(config, config->durability != ASSAY_D0, error);
    if (store == NULL)
        return ASSAY_ERROR;
    store->alone = config->threads == 1;
    bool tuned = (!assay_option_bool(config->options, "mutex") || tcbdbsetmutex(store->db)) &&
                 tcbdbtune(store->db, (int32_t)lmemb, (int32_t)nmemb, tuning.buckets, (int8_t)tuning.alignment_power,
                           (int8_t)tuning.free_pool_power, tuning.opts) &&
                 tcbdbsetcache(store->db, (int32_t)lcnum, (int32_t)ncnum) && tcbdbsetxmsiz(store->db, tuning.mapped_bytes) &&
                 tcbdbsetdfunit(store->db, (int32_t)tuning.defragment_every);
    const struct tc_told told[] = {{"xmsiz_bytes", tuning.mapped_bytes, (int64_t)store->db->hdb->xmsiz}, {NULL, 0, 0}};
    return open_file(store, config, path, tuned, told, out, error);
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    TCBDB *db = store->db;
    assay_setting(sink, "bnum", "%llu", (unsigned long long)tcbdbbnum(db));
    assay_setting(sink, "xmsiz", "%llu", (unsigned long long)db->hdb->xmsiz);
    assay_setting(sink, "lmemb", "%u", tcbdblmemb(db));
    assay_setting(sink, "nmemb", "%u", tcbdbnmemb(db));
    assay_setting(sink, "lcnum", "%u", db->lcnum);
    assay_setting(sink, "ncnum", "%u", db->ncnum);
    tell_file(store, sink);
    tell_object(store, tchdbomode(db->hdb), transactions_told(store), sink);
}

/* tcbdbget3 would give the leaf's own memory, which another thread may change: tcbdbget copies
 * under the lock. */
static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    int length;
    void *all = tcbdbget(store->db, key.data, (int)key.length, &length);
    return take(store, all, length, buffer, value, error);
}

/* What a scan has come to. */
struct walk {
    assay_visit *visit;
    void *context;
    size_t limit;
    TCXSTR *last; /* where to begin, or the key that was looked at last */
    bool begun;   /* it was looked at */
    bool stopped;
};

static void show(struct walk *walk, const void *key, int key_length, const void *value, int length) {
    walk->stopped = !walk->visit(walk->context, (struct assay_bytes){key, (size_t)key_length}, (struct assay_bytes){value, (size_t)length});
    walk->limit -= walk->limit > 0;
}

static void came_to(struct walk *walk, const void *key, int key_length) {
    tcxstrclear(walk->last);
    tcxstrcat(walk->last, key, key_length);
    walk->begun = true;
}

/* Walks with a cursor (of its own each time: the one object has many users). It names a place in a
 * leaf and not a key, so that a write beside it moves it: false, once anything was written since
 * its first step. What it has visited is right. */
static bool walk_alone(struct assay_store *store, struct walk *walk, enum assay_status *status, struct assay_error *error) {
    uint64_t ended = atomic_load(&store->ended);
    BDBCUR *cursor = tcbdbcurnew(store->db);
    TCXSTR *key = tcxstrnew(), *value = tcxstrnew();
    bool alone = true, more = tcbdbcurjump(cursor, tcxstrptr(walk->last), tcxstrsize(walk->last));
    while (more && (more = tcbdbcurrec(cursor, key, value)) && (alone = atomic_load(&store->begun) == ended)) {
        show(walk, tcxstrptr(key), tcxstrsize(key), tcxstrptr(value), tcxstrsize(value));
        if (!store->alone)
            came_to(walk, tcxstrptr(key), tcxstrsize(key));
        if (walk->stopped)
            break;
        more = tcbdbcurnext(cursor);
    }
    alone = alone && (more || atomic_load(&store->begun) == ended); /* also the end of the keys may be that of a leaf which went away */
    *status = more || !alone ? ASSAY_OK : failed(store, error);
    tcxstrdel(key);
    tcxstrdel(value);
    tcbdbcurdel(cursor);
    return alone;
}

/* Walks from where the cursor came to: a few keys at a time, under the library's lock, and the
 * value of each. */
static enum assay_status walk_beside(struct assay_store *store, struct walk *walk, struct assay_error *error) {
    enum { KEYS = 100 };
    enum assay_status status = ASSAY_OK;
    bool more = true;
    while (more && status == ASSAY_OK && !walk->stopped) {
        int wanted = walk->limit > 0 && walk->limit < KEYS ? (int)walk->limit : KEYS;
        tcbdbsetecode(store->db, TCESUCCESS, __FILE__, __LINE__, __func__); /* tcbdbrange tells a failure in no other way */
        TCLIST *keys = tcbdbrange(store->db, tcxstrptr(walk->last), tcxstrsize(walk->last), !walk->begun, NULL, 0, false, wanted);
        int code = tcbdbecode(store->db);
        if (code != TCESUCCESS && code != TCENOREC) /* the keys have ended */
            status = tc_failed(code, error);
        more = tclistnum(keys) == wanted;
        for (int i = 0; i < tclistnum(keys) && status == ASSAY_OK && !walk->stopped; i++) {
            int key_length, length;
            const void *key = tclistval(keys, i, &key_length);
            void *got = tcbdbget(store->db, key, key_length, &length);
            if (got != NULL) {
                show(walk, key, key_length, got, length);
                free(got);
            } else if (tcbdbecode(store->db) != TCENOREC) { /* else it was deleted meanwhile */
                status = failed(store, error);
            }
            came_to(walk, key, key_length);
        }
        tclistdel(keys);
    }
    return status;
}

static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    struct walk walk = {.visit = visit, .context = context, .limit = limit, .last = tcxstrnew()};
    enum assay_status status;
    tcxstrcat(walk.last, start.data, (int)start.length);
    if (!walk_alone(store, &walk, &status, error))
        status = walk_beside(store, &walk, error);
    tcxstrdel(walk.last);
    return status == ASSAY_MISS ? ASSAY_OK : status; /* the keys have ended */
}

/* Cheap numbers only: how many buckets are used takes a walk over all of them. */
static void numbers(struct assay_store *store, double *numbers) {
    TCBDB *db = store->db;
    numbers[0] = (double)tcbdbrnum(db);
    numbers[1] = (double)tcbdbfsiz(db);
    numbers[2] = (double)tcbdblnum(db);
    numbers[3] = (double)tcbdbnnum(db);
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
        .scan = scan,
        .add = add,
        .compare_and_swap = compare_and_swap,
        .sync = sync_store,
    },
    .numbers = numbers,
    .number_names = {"records", "file_bytes", "leaves", "nodes"},
};

static enum assay_status open_files(const struct assay_config *config, struct assay_store **store, struct assay_error *error) {
    return tc_files_open(&file_driver, config, store, error);
}

const struct assay_driver tc_btree_driver = {
    .description = &description,
    .open = open_files,
    TC_FILES_CALLS,
    .compare_and_swap = tc_files_compare_and_swap,
    .scan = tc_files_scan,
};
