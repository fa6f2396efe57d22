/* Tokyo Cabinet's table database: a hash database whose records are sets of named columns. See shared.h.
 *
 * Without `define` it is a key-value store: one column, "v", holds the value. With it, each column of a record is a column of the table; integers
 * are decimal text, which is how the library keeps numbers. What is used, and why, by the source of 1.4.48:
 *
 *   put     tctdbput, with a map that the thread fills anew each time: so its nodes stay where they are. Measured with nine columns: 4.4 us,
 *           with a new map each time 4.8 us, by tctdbput2 5.7 us: it makes such a map itself, and its columns can't hold zero bytes.
 *   get     tctdbget: the columns as a map. tctdbget2 and tctdbget3 join its columns by zeros or tabs, and so can't tell them from what is inside;
 *           tctdbget4 gives one column and reads the whole record for each.
 *   query   tctdbqrysearch gives keys; each record is then fetched by tctdbget, as the library's clients do it. tctdbqryproc would do both under
 *           a lock that keeps everybody else out.
 *   count   tctdbqrysearch again, and tctdbqrycount: the library has no count but the length of the last search's list of keys. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <tchdb.h>
#include <tctdb.h>

#include "shared.h"

/* An index is a B+tree file (tctdb.c, tctdbsetindeximpl), whose leaves are changed in the process's
 * memory: a kill leaves records in the table that no query finds. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D0, "tctdbput: as D1, but for the leaves of indexes, which are written when they leave the process's cache"},
    {ASSAY_D1, "tctdbput: shared mapped memory and pwrite, never synced; with indexes each write a transaction, whose commit writes their leaves"},
    {ASSAY_D3, "TDBOTSYNC, each write a transaction: write-ahead log and file are synced before tctdbtrancommit returns"},
    {0, NULL},
};

static const struct assay_option options[] = {
    TC_OPTION_BUCKETS("131071", "tctdbtune: buckets; advised: at least half the number of records"),
    TC_OPTION_MAPPED("64MiB", "tctdbsetxmsiz: how much of the file is mapped, beyond the buckets"),
    {"rcnum", "int", "0", "tctdbsetcache: records cached for reading, at least 256; 0, the default: none", NULL},
    {"lcnum", "int", "4096", "tctdbsetcache: leaves cached, of each index", NULL},
    {"ncnum", "int", "512", "tctdbsetcache: nodes cached, of each index", NULL},
    {"apow", "int", "4", "tctdbtune: records are aligned to 2^apow bytes", NULL},
    {"fpow", "int", "10", "tctdbtune: at most 2^fpow free blocks are remembered", NULL},
    {"dfunit", "int", "0", "tctdbsetdfunit: defragment a step after so many gaps; 0, the default: never", NULL},
    TC_OPTION_COMPRESSION,
    TC_OPTION_LARGE,
    TC_OPTION_MUTEX,
    TC_OPTION_FILES,
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "tokyocabinet-table",
    .summary = "table over a hash file: columns and indexes as defined, else one column, v",
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
            "write meanwhile; after a crash the free blocks are forgotten; one index a column; a query's records are found under the lock and fetched "
            "after it; a count makes the list of all keys; equality through a token index reads the list of each word; "
            "a lexical index of texts of which some have a zero byte inside may pass records over",
};

struct assay_store {
    TCTDB *db;
    const struct assay_config *config;
    bool transactional;
    pthread_mutex_t transactions;
    const struct assay_definition *definition; /* NULL: values without columns */
    /* of each column; index_type -1: it has no index */
    int name_bytes[ASSAY_COLUMNS_MAX], index_type[ASSAY_COLUMNS_MAX];
    pthread_key_t workspaces; /* of each thread, where there is a definition */
};

/* What a thread works with. Handles are the store itself and may be shared, so that it can't be
 * theirs. */
struct workspace {
    TCMAP *columns;
    struct assay_buffer condition, record;
};

static const char plain_column[] = "v";

static enum assay_status failed(struct assay_store *store, struct assay_error *error) {
    return tc_failed(tctdbecode(store->db), error);
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    struct tc_tuning tuning = tc_read_tuning(config->options);
    int64_t rcnum = assay_option_int(config->options, "rcnum");
    int64_t lcnum = assay_option_int(config->options, "lcnum"), ncnum = assay_option_int(config->options, "ncnum");
    char path[4096];
    enum assay_status status = tc_check_page_caches(lcnum, ncnum, error);
    if (status == ASSAY_OK)
        status = tc_check_tuning(config, &tuning, error);
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
    store->config = config;
    store->transactional = config->durability == ASSAY_D3;
    int mode = TDBOWRITER | TDBOCREAT | (store->transactional ? TDBOTSYNC : 0);
    bool tuned = (!assay_option_bool(config->options, "mutex") || tctdbsetmutex(store->db)) &&
                 tctdbtune(store->db, tuning.buckets, (int8_t)tuning.alignment_power, (int8_t)tuning.free_pool_power,
                           tuning.opts) &&
                 tctdbsetcache(store->db, (int32_t)rcnum, (int32_t)lcnum, (int32_t)ncnum) &&
                 tctdbsetxmsiz(store->db, tuning.mapped_bytes) && tctdbsetdfunit(store->db, (int32_t)tuning.defragment_every);
    const struct tc_told told[] = {
        {"xmsiz_bytes", tuning.mapped_bytes, (int64_t)store->db->hdb->xmsiz},
        {"rcnum", rcnum, store->db->hdb->rcnum},
        {NULL, 0, 0},
    };
    status = tuned ? tc_check_kept(told, error) : failed(store, error);
    if (status == ASSAY_OK)
        status = tctdbopen(store->db, path, mode) ? assay_sync_directory(config->directory, error) : failed(store, error);
    if (status != ASSAY_OK) {
        tctdbdel(store->db); /* closes it, too */
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static const char *index_name(int type) {
    static const struct {
        int type;
        const char *name;
    } names[] = {{TDBITLEXICAL, "lexical"}, {TDBITDECIMAL, "decimal"}, {TDBITTOKEN, "token"}, {TDBITQGRAM, "qgram"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type)
            return names[i].name;
    return "unknown";
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    TCTDB *db = store->db;
    assay_setting(sink, "bnum", "%llu", (unsigned long long)tctdbbnum(db));
    assay_setting(sink, "xmsiz", "%llu", (unsigned long long)tchdbxmsiz(db->hdb));
    assay_setting(sink, "rcnum", "%u", db->hdb->rcnum);
    assay_setting(sink, "lcnum", "%d", db->lcnum);
    assay_setting(sink, "ncnum", "%d", db->ncnum);
    assay_setting(sink, "alignment", "%u", tctdbalign(db));
    assay_setting(sink, "fbpmax", "%u", tctdbfbpmax(db));
    assay_setting(sink, "dfunit", "%u", tctdbdfunit(db));
    assay_setting(sink, "large", "%s", (tctdbopts(db) & TDBTLARGE) != 0 ? "true" : "false");
    assay_setting(sink, "compression", "%s", tc_compression(tctdbopts(db)));
    assay_setting(sink, "mutex", "%s", db->mmtx != NULL ? "true" : "false");
    assay_setting(sink, "tsync", "%s", (tchdbomode(db->hdb) & HDBOTSYNC) != 0 ? "true" : "false");
    bool if_indexed = store->config->durability == ASSAY_D1 && !store->transactional;
    assay_setting(sink, "transaction_each_write", "%s", store->transactional ? "true" : if_indexed ? "with indexes" : "false");
    for (int i = 0; i < db->inum; i++) { /* the object's own list: tctdbopen finds the files of indexes by their names */
        char name[80];
        snprintf(name, sizeof name, "index_%s", db->idxs[i].name);
        assay_setting(sink, name, "%s", index_name(db->idxs[i].type));
    }
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = tctdbclose(store->db) ? ASSAY_OK : failed(store, error);
    tctdbdel(store->db);
    if (store->definition != NULL)
        pthread_key_delete(store->workspaces);
    pthread_mutex_destroy(&store->transactions);
    free(store);
    return status;
}

static void free_workspace(void *of_thread) {
    struct workspace *w = of_thread;
    tcmapdel(w->columns);
    free(w->condition.data);
    free(w->record.data);
    free(w);
}

/* The calling thread's; NULL: there is no memory. It goes with the thread. */
static struct workspace *workspace_of(struct assay_store *store) {
    struct workspace *w = pthread_getspecific(store->workspaces);
    if (w != NULL)
        return w;
    w = calloc(1, sizeof *w);
    if (w == NULL || (w->columns = tcmapnew2((uint32_t)store->definition->columns_count + 1)) == NULL ||
        pthread_setspecific(store->workspaces, w) != 0) {
        if (w != NULL && w->columns != NULL)
            tcmapdel(w->columns);
        free(w);
        return NULL;
    }
    return w;
}

static const TDBIDX *index_of(const struct assay_store *store, const char *name) {
    for (int i = 0; i < store->db->inum; i++)
        if (strcmp(store->db->idxs[i].name, name) == 0)
            return &store->db->idxs[i];
    return NULL;
}

/* Takes the kinds of the indexes that are wanted; refuses what the file can't have. */
static enum assay_status plan_indexes(struct assay_store *store, const struct assay_definition *definition, struct assay_error *error) {
    for (size_t i = 0; i < definition->columns_count; i++)
        store->index_type[i] = -1;
    for (size_t i = 0; i < definition->indexes_count; i++) {
        const struct assay_index *index = &definition->indexes[i];
        const struct assay_column *column = &definition->columns[index->column];
        if (store->index_type[index->column] >= 0)
            return assay_refuse(error, "a table has one index for each column, and %s is to have two", column->name);
        store->index_type[index->column] = index->kind == ASSAY_TOKEN             ? TDBITTOKEN
                                           : column->type == ASSAY_INTEGER ? TDBITDECIMAL
                                                                           : TDBITLEXICAL;
        const TDBIDX *there = index_of(store, column->name);
        if (there != NULL && there->type != store->index_type[index->column])
            return assay_refuse(error, "the file has another kind of index on %s: %s", column->name, index_name(there->type));
    }
    for (int i = 0; i < store->db->inum; i++) {
        size_t column = 0;
        while (column < definition->columns_count && (store->index_type[column] < 0 ||
               strcmp(definition->columns[column].name, store->db->idxs[i].name) != 0))
            column++;
        if (column == definition->columns_count)
            return assay_refuse(error, "the file has an index that is not wanted: %s", store->db->idxs[i].name);
    }
    return ASSAY_OK;
}

static enum assay_status define(struct assay_store *store, const struct assay_definition *definition, struct assay_error *error) {
    enum assay_status status = plan_indexes(store, definition, error);
    if (status != ASSAY_OK)
        return status;
    for (size_t i = 0; i < definition->columns_count; i++) {
        const char *name = definition->columns[i].name;
        store->name_bytes[i] = (int)strlen(name);
        if (store->index_type[i] >= 0 && index_of(store, name) == NULL && !tctdbsetindex(store->db, name, store->index_type[i]))
            return failed(store, error);
    }
    status = assay_sync_directory(store->config->directory, error);
    int code = status == ASSAY_OK ? pthread_key_create(&store->workspaces, free_workspace) : 0;
    if (status != ASSAY_OK || code != 0)
        return status != ASSAY_OK ? status : assay_fail(error, "a place for each thread: %s", strerror(code));
    store->definition = definition;
    if (store->config->durability == ASSAY_D1 && definition->indexes_count > 0)
        store->transactional = true;
    return ASSAY_OK;
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

/* Puts the encoded form together from the columns that the table gave. */
static enum assay_status encode(const struct assay_store *store, TCMAP *columns, struct assay_buffer *buffer, struct assay_bytes *value,
                                struct assay_error *error) {
    const struct assay_definition *definition = store->definition;
    struct assay_bytes bytes[ASSAY_COLUMNS_MAX];
    size_t length = 0;
    for (size_t i = 0; i < definition->columns_count; i++) {
        int column_bytes;
        bytes[i].data = tcmapget(columns, definition->columns[i].name, store->name_bytes[i], &column_bytes);
        if (bytes[i].data == NULL)
            return assay_fail(error, "the table gave a record without the column %s", definition->columns[i].name);
        if (column_bytes > ASSAY_COLUMN_BYTES_MAX)
            return assay_fail(error, "the table gave a column %s of more than 65,535 bytes", definition->columns[i].name);
        bytes[i].length = (size_t)column_bytes;
        length += 2 + bytes[i].length;
    }
    if (!assay_buffer_grow(buffer, length))
        return assay_fail(error, "no memory for a record");
    unsigned char *at = buffer->data;
    for (size_t i = 0; i < definition->columns_count; i++)
        at = assay_put_column(at, bytes[i].data, bytes[i].length);
    *value = (struct assay_bytes){buffer->data, length};
    return ASSAY_OK;
}

static enum assay_status get_record(struct assay_store *store, struct assay_bytes key, struct assay_buffer *buffer,
                                    struct assay_bytes *value, struct assay_error *error) {
    TCMAP *columns = tctdbget(store->db, key.data, (int)key.length);
    if (columns == NULL)
        return failed(store, error);
    enum assay_status status = encode(store, columns, buffer, value, error);
    tcmapdel(columns);
    return status;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    if (store->definition != NULL)
        return get_record(store, key, buffer, value, error);
    int length;
    char *all = tctdbget4(store->db, key.data, (int)key.length, plain_column, sizeof plain_column - 1, &length);
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

/* Fills a map with the columns of a record, or with the one that a value without columns has. */
static bool fill(const struct assay_store *store, TCMAP *columns, struct assay_bytes value) {
    const struct assay_definition *definition = store->definition;
    if (definition == NULL) {
        tcmapput(columns, plain_column, sizeof plain_column - 1, value.data != NULL ? value.data : "", (int)value.length);
        return true;
    }
    struct assay_bytes bytes;
    for (size_t i = 0; i < definition->columns_count; i++) {
        if (!assay_next_column(&value, &bytes))
            return false;
        tcmapput(columns, definition->columns[i].name, store->name_bytes[i], bytes.data, (int)bytes.length);
    }
    return value.length == 0;
}

typedef bool write_call(TCTDB *db, const void *key, int key_bytes, TCMAP *columns);

static enum assay_status write_columns(struct assay_store *store, write_call *write, struct assay_bytes key, TCMAP *columns,
                                       struct assay_bytes value, struct assay_error *error) {
    if (!fill(store, columns, value))
        return assay_fail(error, "a value that is no record of the columns that were defined");
    if (!begin(store))
        return failed(store, error);
    return end(store, write(store->db, key.data, (int)key.length, columns), error);
}

static enum assay_status write_one(struct assay_handle *handle, write_call *write, struct assay_bytes key, struct assay_bytes value,
                                   struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, value))
        return assay_fail(error, "%s", tc_too_long);
    if (store->definition != NULL) {
        struct workspace *workspace = workspace_of(store);
        if (workspace == NULL)
            return assay_fail(error, "no memory for a map of columns");
        return write_columns(store, write, key, workspace->columns, value, error);
    }
    TCMAP *columns = tcmapnew2(1);
    enum assay_status status = write_columns(store, write, key, columns, value, error);
    tcmapdel(columns);
    return status;
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return write_one(handle, tctdbput, key, value, error);
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return write_one(handle, tctdbputkeep, key, value, error);
}

static bool has_words(struct assay_bytes bytes) {
    const unsigned char *at = bytes.data;
    for (size_t i = 0; i < bytes.length; i++)
        if (at[i] > ' ' && at[i] != ',')
            return true;
    return false;
}

/* Adds a condition. The call takes a C string; where bytes have zeros, they are put in place of
 * what it took: TDBQCSTREQ compares by the length that stands in the condition (tctdb.c,
 * tctdbqrycondmatch). */
static bool add_condition(TDBQRY *query, const char *column, int operation, struct assay_bytes bytes, struct assay_buffer *room) {
    if (!assay_buffer_grow(room, bytes.length + 1))
        return false;
    if (bytes.length > 0)
        memcpy(room->data, bytes.data, bytes.length);
    room->data[bytes.length] = 0;
    tctdbqryaddcond(query, column, operation, (char *)room->data);
    if (operation != TDBQCSTREQ || memchr(room->data, 0, bytes.length) == NULL)
        return true;
    TDBCOND *condition = &query->conds[query->cnum - 1];
    char *whole = malloc(bytes.length + 1);
    if (whole == NULL)
        return false;
    memcpy(whole, room->data, bytes.length + 1);
    free(condition->expr);
    condition->expr = whole;
    condition->esiz = (int)bytes.length;
    return true;
}

/* The keys of the records whose column has these bytes; NULL: there is no memory. */
static TCLIST *search(struct assay_store *store, size_t column, struct assay_bytes bytes, int limit, struct workspace *workspace,
                      uint64_t *records) {
    const struct assay_column *c = &store->definition->columns[column];
    TDBQRY *query = tctdbqrynew(store->db);
    bool made = true;
    /* An index of words gives those that have all of the words, and the second condition keeps
     * those that have just this text. */
    if (store->index_type[column] == TDBITTOKEN && has_words(bytes))
        made = add_condition(query, c->name, TDBQCSTRAND, bytes, &workspace->condition);
    if (made)
        made = add_condition(query, c->name, c->type == ASSAY_INTEGER ? TDBQCNUMEQ : TDBQCSTREQ, bytes, &workspace->condition);
    TCLIST *keys = NULL;
    if (made) {
        tctdbqrysetlimit(query, limit, 0);
        keys = tctdbqrysearch(query);
        *records = (uint64_t)tctdbqrycount(query);
    }
    tctdbqrydel(query);
    return keys;
}

enum { NO_LIMIT = -1 };
static const char no_memory[] = "no memory for a query";

static enum assay_status query_records(struct assay_handle *handle, size_t column, struct assay_bytes bytes, size_t limit,
                                       assay_visit *visit, void *context, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    struct workspace *workspace = workspace_of(store);
    uint64_t records = 0;
    TCLIST *keys = workspace != NULL ? search(store, column, bytes, limit < INT_MAX ? (int)limit : INT_MAX, workspace, &records) : NULL;
    if (keys == NULL)
        return assay_fail(error, "%s", no_memory);
    enum assay_status status = ASSAY_OK;
    bool more = true;
    for (int i = 0; i < tclistnum(keys) && status == ASSAY_OK && more; i++) {
        int key_bytes;
        const void *key = tclistval(keys, i, &key_bytes);
        struct assay_bytes whose = {key, (size_t)key_bytes}, record;
        status = get_record(store, whose, &workspace->record, &record, error);
        if (status == ASSAY_OK)
            more = visit(context, whose, record);
        else if (status == ASSAY_MISS) /* deleted since the search: no longer an answer */
            status = ASSAY_OK;
    }
    tclistdel(keys);
    return status;
}

static enum assay_status count_records(struct assay_handle *handle, size_t column, struct assay_bytes bytes, uint64_t *records,
                                       struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    struct workspace *workspace = workspace_of(store);
    TCLIST *keys = workspace != NULL ? search(store, column, bytes, NO_LIMIT, workspace, records) : NULL;
    if (keys == NULL)
        return assay_fail(error, "%s", no_memory);
    tclistdel(keys);
    return ASSAY_OK;
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
static void numbers(struct assay_store *store, double *numbers) {
    TCTDB *db = store->db;
    numbers[0] = (double)tctdbrnum(db);
    numbers[1] = (double)tctdbfsiz(db);
    numbers[2] = (double)tctdbrnum(db) / (double)tctdbbnum(db);
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
        .define = define,
        .query = query_records,
        .count = count_records,
        .sync = sync_store,
    },
    .numbers = numbers,
    .number_names = {"records", "file_bytes", "records_per_bucket"},
};

static enum assay_status open_files(const struct assay_config *config, struct assay_store **store, struct assay_error *error) {
    return tc_files_open(&file_driver, config, store, error);
}

const struct assay_driver tc_table_driver = {
    .description = &description,
    .open = open_files,
    TC_FILES_CALLS,
    .define = tc_files_define,
    .query = tc_files_query,
    .count = tc_files_count,
};
