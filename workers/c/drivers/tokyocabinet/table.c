/* Tokyo Cabinet's table database: a hash database whose records are sets of named columns. See shared.h.
 *
 * Without `define` it is a key-value store: one column, "v", holds the value. With it, each column of a record is a column of the table; integers
 * are decimal text, which is how the library keeps numbers, and columns of type bytes are in the
 * form of zero_free.h. What is used, and why, by the source of 1.4.48:
 *
 *   put     tctdbput, with a map that the thread fills anew each time: so its nodes stay where they are. Measured with nine columns: 4.4 us,
 *           with a new map each time 4.8 us, by tctdbput2 5.7 us: it makes such a map itself, and its columns can't hold zero bytes.
 *   get     tctdbget: the columns as a map. tctdbget2 and tctdbget3 join its columns by zeros or tabs, and so can't tell them from what is inside;
 *           tctdbget4 gives one column and reads the whole record for each.
 *   modify, increment
 *           tctdbputproc: it reads the record, has the driver change it and puts it, under one lock
 *           that keeps everybody else out. It joins columns by zeros and splits them there, so that
 *           a text with a zero inside would come back as two columns: such a record is left as it
 *           is, and the operation fails. tctdbqryproc gives columns as a map, but finds a record by
 *           its key only by looking at all. tctdbaddint adds to a column of its own, "_num", and
 *           makes a record where there is none.
 *   query   tctdbqrysearch gives keys; each record is then fetched by tctdbget, as the library's clients do it. tctdbqryproc would do both under
 *           a lock that keeps everybody else out.
 *           Several alternatives are tctdbmetasearch's, which takes no limit.
 *   count   the length of the list of keys: the library has no other count.
 *   delete  tctdbqrysearchout: finds and deletes under one lock. How many stands in the hint alone.
 *   explain the hint of a search that is done for it: the library has no other way to ask. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <tchdb.h>
#include <tctdb.h>

#include "shared.h"
#include "zero_free.h"

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
    .token_indexes = true,
    .key_bytes_min = 1,
    .fixed_disk_bytes = 520 << 10,
    .key_bytes_max = TC_KEY_BYTES_MAX,
    .value_bytes_max = TC_VALUE_BYTES_MAX,
    .note = "all handles of a file are one object: a process can't open it twice; no batches: a transaction covers what all threads "
            "write meanwhile; after a crash the free blocks are forgotten; one index a column; a query's records are found under the lock and fetched "
            "after it; a count makes the list of all keys; a query of several alternatives finds all records of each before it keeps its limit; "
            "a lexical index of texts of which some have a zero byte inside may pass records over; "
            "modify and increment are tctdbputproc, which reads and writes the whole record under the lock, and splits it "
            "at zero bytes: columns of type bytes are kept without them, in a byte more for each 254 begun, and of a "
            "record with one inside a text both fail",
};

struct assay_store {
    TCTDB *db;
    const struct assay_config *config;
    bool transactional, synced;
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
    struct assay_buffer condition, record, zero_free;
};

static const char plain_column[] = "v";

/* The records and each index have a log. */
static enum assay_status logs_emptied(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = tc_log_emptied(store->db->hdb->walfd, error);
    for (int i = 0; status == ASSAY_OK && i < store->db->inum; i++)
        if (store->db->idxs[i].db != NULL)
            status = tc_log_emptied(((TCBDB *)store->db->idxs[i].db)->hdb->walfd, error);
    return status;
}

#define CALL(name) tctdb##name
#define MODE(name) TDB##name
#define LOGS_EMPTIED(store, error) logs_emptied(store, error)
#define VALUES_ARE_COLUMNS
#include "object.h"

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
    struct assay_store *store = new_store(config, config->durability == ASSAY_D3, error);
    if (store == NULL)
        return ASSAY_ERROR;
    store->config = config;
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
    return open_file(store, config, path, tuned, told, out, error);
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
    tell_file(store, sink);
    bool if_indexed = store->config->durability == ASSAY_D1 && !store->transactional;
    tell_object(store, tchdbomode(db->hdb), if_indexed ? "with indexes" : transactions_told(store), sink);
    for (int i = 0; i < db->inum; i++) { /* the object's own list: tctdbopen finds the files of indexes by their names */
        char name[80];
        snprintf(name, sizeof name, "index_%s", db->idxs[i].name);
        assay_setting(sink, name, "%s", index_name(db->idxs[i].type));
    }
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    if (store->definition != NULL)
        pthread_key_delete(store->workspaces);
    return close_file(store, error);
}

static void free_workspace(void *of_thread) {
    struct workspace *w = of_thread;
    tcmapdel(w->columns);
    free(w->condition.data);
    free(w->record.data);
    free(w->zero_free.data);
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

/* Writes a column that the table gave in its encoded form to *at, and moves that behind it. There
 * is room for as many bytes as were given, and two. */
static enum assay_status put_given(unsigned char **at, const struct assay_column *column, struct assay_bytes given,
                                   struct assay_error *error) {
    size_t length = given.length;
    if (column->type != ASSAY_BYTES && length <= ASSAY_COLUMN_BYTES_MAX) {
        *at = assay_put_column(*at, given.data, length);
        return ASSAY_OK;
    }
    if (column->type == ASSAY_BYTES && !zero_free_decode(*at + 2, given.data, given.length, &length))
        return assay_fail(error, "the table gave a column %s in another form than this driver's", column->name);
    if (length > ASSAY_COLUMN_BYTES_MAX)
        return assay_fail(error, "the table gave a column %s of more than 65,535 bytes", column->name);
    (*at)[0] = (unsigned char)length;
    (*at)[1] = (unsigned char)(length >> 8);
    *at += 2 + length;
    return ASSAY_OK;
}

/* Puts the encoded form together from the columns that the table gave: of those at positions; NULL:
 * all, as many as count. */
static enum assay_status encode(const struct assay_store *store, TCMAP *columns, const size_t *positions, size_t count,
                                struct assay_buffer *buffer, struct assay_bytes *value, struct assay_error *error) {
    struct assay_bytes given[ASSAY_COLUMNS_MAX];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        int column_bytes;
        size_t column = positions != NULL ? positions[i] : i;
        const char *name = store->definition->columns[column].name;
        given[i].data = tcmapget(columns, name, store->name_bytes[column], &column_bytes);
        if (given[i].data == NULL)
            return assay_fail(error, "the table gave a record without the column %s", name);
        given[i].length = (size_t)column_bytes;
        length += 2 + given[i].length;
    }
    if (!assay_buffer_grow(buffer, length))
        return assay_fail(error, "no memory for a record");
    unsigned char *at = buffer->data;
    enum assay_status status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        size_t column = positions != NULL ? positions[i] : i;
        status = put_given(&at, &store->definition->columns[column], given[i], error);
    }
    *value = (struct assay_bytes){buffer->data, (size_t)(at - buffer->data)};
    return status;
}

static enum assay_status get_record(struct assay_store *store, struct assay_bytes key, const size_t *positions, size_t count,
                                    struct assay_buffer *buffer, struct assay_bytes *value, struct assay_error *error) {
    TCMAP *columns = tctdbget(store->db, key.data, (int)key.length);
    if (columns == NULL)
        return failed(store, error);
    enum assay_status status = encode(store, columns, positions, count, buffer, value, error);
    tcmapdel(columns);
    return status;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    if (store->definition != NULL)
        return get_record(store, key, NULL, store->definition->columns_count, buffer, value, error);
    int length;
    char *all = tctdbget4(store->db, key.data, (int)key.length, plain_column, sizeof plain_column - 1, &length);
    return take(store, all, length, buffer, value, error);
}

static const char no_memory_for_columns[] = "no memory for a record's columns";

/* Fills the workspace's map with the columns of a record. */
static enum assay_status fill(const struct assay_store *store, struct workspace *workspace, struct assay_bytes value,
                              struct assay_error *error) {
    static const char no_record[] = "a value that is no record of the columns that were defined";
    const struct assay_definition *definition = store->definition;
    struct assay_bytes bytes;
    for (size_t i = 0; i < definition->columns_count; i++) {
        if (!assay_next_column(&value, &bytes))
            return assay_fail(error, "%s", no_record);
        if (definition->columns[i].type == ASSAY_BYTES) {
            if (!assay_buffer_grow(&workspace->zero_free, zero_free_bound(bytes.length)))
                return assay_fail(error, "%s", no_memory_for_columns);
            size_t length = zero_free_encode(workspace->zero_free.data, bytes);
            bytes = (struct assay_bytes){workspace->zero_free.data, length};
        }
        const char *name = definition->columns[i].name;
        tcmapput(workspace->columns, name, store->name_bytes[i], bytes.data, (int)bytes.length);
    }
    return value.length == 0 ? ASSAY_OK : assay_fail(error, "%s", no_record);
}

typedef bool write_call(TCTDB *db, const void *key, int key_bytes, TCMAP *columns);

static enum assay_status write_columns(struct assay_store *store, write_call *write, struct assay_bytes key, TCMAP *columns,
                                       struct assay_error *error) {
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
            return assay_fail(error, "%s", no_memory_for_columns);
        enum assay_status status = fill(store, workspace, value, error);
        return status == ASSAY_OK ? write_columns(store, write, key, workspace->columns, error) : status;
    }
    TCMAP *columns = tcmapnew2(1);
    const void *bytes = value.data != NULL ? value.data : "";
    tcmapput(columns, plain_column, sizeof plain_column - 1, bytes, (int)value.length);
    enum assay_status status = write_columns(store, write, key, columns, error);
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

/* What is done to the columns of a record while the library holds its lock. */
struct change {
    const struct assay_store *store;
    const size_t *columns; /* ascending */
    const struct assay_bytes *values; /* NULL: by is added to the one column */
    size_t count;
    int64_t by;
    const char *wrong; /* why the record was left as it is */
};

static const char not_as_defined[] =
    "a record with a zero inside a text, at which tctdbputproc splits it, or of other columns than were defined";

/* Takes the bytes before the next zero, and that; false: there are no more. */
static bool next_joined(struct assay_bytes *rest, struct assay_bytes *part) {
    if (rest->data == NULL)
        return false;
    const char *at = rest->data, *zero = memchr(at, 0, rest->length);
    *part = (struct assay_bytes){at, zero != NULL ? (size_t)(zero - at) : rest->length};
    rest->data = zero != NULL ? zero + 1 : NULL;
    rest->length = zero != NULL ? rest->length - part->length - 1 : 0;
    return true;
}

enum { SUM_BYTES = 24 };

/* The sum of a column's number and a change, as text; false: that is no number, or this has more than
 * 18 digits. */
static bool add_to(struct assay_bytes number, int64_t by, char sum[SUM_BYTES]) {
    static const int64_t most = INT64_C(999999999999999999);
    char *end;
    errno = 0;
    int64_t n = strtoll(number.data, &end, 10); /* a zero stands behind it, of the last column, too */
    if (errno != 0 || number.length == 0 || end != (const char *)number.data + number.length)
        return false;
    if (__builtin_add_overflow(n, by, &n) || n > most || n < -most)
        return false;
    snprintf(sum, SUM_BYTES, "%" PRId64, n);
    return true;
}

/* Writes the columns joined as the library does, those that are to change with what they change to;
 * returns their end. NULL: change->wrong says why. The columns come in the order of their
 * definition, in which they were put, each behind its name. */
static char *join_changed(char *at, struct assay_bytes joined, struct change *change) {
    const struct assay_definition *definition = change->store->definition;
    struct assay_bytes name, value;
    char sum[SUM_BYTES];
    size_t next = 0;
    change->wrong = not_as_defined;
    for (size_t i = 0; i < definition->columns_count; i++) {
        size_t name_bytes = (size_t)change->store->name_bytes[i];
        bool there = next_joined(&joined, &name) && next_joined(&joined, &value);
        if (!there || name.length != name_bytes)
            return NULL;
        if (memcmp(name.data, definition->columns[i].name, name_bytes) != 0)
            return NULL;
        if (next < change->count && change->columns[next] == i) {
            if (change->values == NULL && !add_to(value, change->by, sum)) {
                change->wrong = "a counter that is no number, or would have more than 18 digits";
                return NULL;
            }
            value = change->values != NULL ? change->values[next] : (struct assay_bytes){sum, strlen(sum)};
            next++;
        }
        if (i > 0)
            *at++ = 0;
        memcpy(at, name.data, name_bytes + 1); /* with the zero behind it */
        at += name_bytes + 1;
        if (value.length > 0)
            memcpy(at, value.data, value.length);
        at += value.length;
    }
    return joined.data == NULL ? at : NULL;
}

static void *change_record(const void *joined, int length, int *new_length, void *argument) {
    struct change *change = argument;
    size_t room = (size_t)length + SUM_BYTES;
    for (size_t i = 0; i < change->count && change->values != NULL; i++)
        room += change->values[i].length;
    char *changed = malloc(room); /* the library frees it */
    change->wrong = no_memory_for_columns;
    if (changed == NULL)
        return NULL; /* it leaves the record as it is */
    char *end = join_changed(changed, (struct assay_bytes){joined, (size_t)length}, change);
    if (end == NULL) {
        free(changed);
        return NULL;
    }
    *new_length = (int)(end - changed);
    return changed;
}

static enum assay_status change_columns(struct assay_store *store, struct assay_bytes key, struct change *change,
                                        struct assay_error *error) {
    if (!tc_fits(key, (struct assay_bytes){NULL, 0}))
        return assay_fail(error, "%s", tc_too_long);
    if (!begin(store))
        return failed(store, error);
    bool written = tctdbputproc(store->db, key.data, (int)key.length, NULL, 0, change_record, change);
    enum assay_status status = end(store, written, error);
    return status == ASSAY_CONFLICT ? assay_fail(error, "%s", change->wrong) : status; /* the change was none */
}

static enum assay_status modify(struct assay_handle *handle, struct assay_bytes key, const size_t *columns,
                                const struct assay_bytes *values, size_t count, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    struct workspace *workspace = workspace_of(store);
    struct assay_bytes kept[ASSAY_COLUMNS_MAX];
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += zero_free_bound(values[i].length);
    if (workspace == NULL || !assay_buffer_grow(&workspace->zero_free, room))
        return assay_fail(error, "%s", no_memory_for_columns);
    unsigned char *at = workspace->zero_free.data;
    for (size_t i = 0; i < count; i++) {
        kept[i] = values[i];
        if (store->definition->columns[columns[i]].type == ASSAY_BYTES) {
            kept[i] = (struct assay_bytes){at, zero_free_encode(at, values[i])};
            at += kept[i].length;
        } else if (values[i].length > 0 && memchr(values[i].data, 0, values[i].length) != NULL) {
            return assay_fail(error, "%s", not_as_defined);
        }
    }
    struct change change = {.store = store, .columns = columns, .values = kept, .count = count};
    return change_columns(store, key, &change, error);
}

static enum assay_status increment(struct assay_handle *handle, struct assay_bytes key, size_t column, int64_t by,
                                   struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    struct change change = {.store = store, .columns = &column, .count = 1, .by = by};
    return change_columns(store, key, &change, error);
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

static long long decimal_of(struct assay_bytes digits) {
    long long n = 0;
    for (size_t i = 0; i < digits.length; i++)
        n = 10 * n + (((const char *)digits.data)[i] - '0');
    return n;
}

/* Adds one condition of a query with its values. An integer's numbers are compared as long doubles,
 * which hold 64 bits (tctdb.c, tctdbatof); both ends of TDBQCNUMBT are within. */
static bool add_comparison(TDBQRY *query, const struct assay_column *column, enum assay_comparison is, const struct assay_bytes *values,
                           struct workspace *workspace) {
    struct assay_buffer *room = &workspace->condition, *zero_free = &workspace->zero_free;
    char range[64];
    switch (is) {
    case ASSAY_RANGE:
        snprintf(range, sizeof range, "%.*s %lld", (int)values[0].length, (const char *)values[0].data, decimal_of(values[1]) - 1);
        return add_condition(query, column->name, TDBQCNUMBT, (struct assay_bytes){range, strlen(range)}, room);
    case ASSAY_PREFIX:
        return add_condition(query, column->name, TDBQCSTRBW, values[0], room);
    case ASSAY_HAS:
        return add_condition(query, column->name, TDBQCSTRAND, values[0], room);
    default:
        if (column->type == ASSAY_INTEGER)
            return add_condition(query, column->name, TDBQCNUMEQ, values[0], room);
        if (column->type == ASSAY_TEXT)
            return add_condition(query, column->name, TDBQCSTREQ, values[0], room);
        if (!assay_buffer_grow(zero_free, zero_free_bound(values[0].length)))
            return false;
        size_t length = zero_free_encode(zero_free->data, values[0]);
        return add_condition(query, column->name, TDBQCSTREQ, (struct assay_bytes){zero_free->data, length}, room);
    }
}

/* Makes the library's queries, one for each alternative. False: there is no memory. */
static bool make_queries(struct assay_store *store, const struct assay_query *asked, const struct assay_bytes *values, TDBQRY **queries,
                         size_t count, struct workspace *workspace) {
    bool made = true;
    for (size_t i = 0; i < asked->conditions_count && made; i++) {
        const struct assay_condition *c = &asked->conditions[i];
        made = add_comparison(queries[c->alternative], &store->definition->columns[c->column], c->is, values, workspace);
        values += c->is == ASSAY_RANGE ? 2 : 1;
    }
    for (size_t i = 0; i < count && asked->sort >= 0; i++)
        tctdbqrysetorder(queries[i], store->definition->columns[asked->sort].name, asked->descending ? TDBQONUMDESC : TDBQONUMASC);
    return made;
}

/* Reads the hint of a search that was done (tctdb.c, tctdbqrysearchimpl and tctdbmetasearch): a line
 * for each thing that it did. */
static void read_hint(const char *hint, struct assay_plan *plan) {
    static const char using[] = "using an index: \"", order[] = " (order)", all[] = " (all)", table[] = "scanning the whole table";
    bool ordered = false, scanned = false;
    *plan = (struct assay_plan){.use = ASSAY_INDEX_UNTOLD};
    for (const char *line = hint; *line != 0;) {
        size_t length = strcspn(line, "\n");
        assay_plan_add(plan->text, sizeof plan->text, "; ", line, length);
        const char *name = memmem(line, length, using, sizeof using - 1);
        if (name != NULL) {
            name += sizeof using - 1;
            assay_plan_add(plan->index, sizeof plan->index, ", ", name, strcspn(name, "\""));
            plan->use = ASSAY_INDEX_FINDS;
        }
        ordered = ordered || memmem(line, length, order, sizeof order - 1) != NULL;
        scanned = scanned || memmem(line, length, all, sizeof all - 1) != NULL || memmem(line, length, table, sizeof table - 1) != NULL;
        line += length + (line[length] != 0);
    }
    if (scanned)
        plan->use = ASSAY_INDEX_NONE;
    else if (ordered)
        plan->use = ASSAY_INDEX_ORDERS;
}

/* The keys of the records that fulfil a query's conditions, at most limit of them where there is one
 * alternative; NULL: there is no memory. Fills in how they were found, where plan is not NULL. */
static TCLIST *search(struct assay_store *store, const struct assay_query *asked, const struct assay_bytes *values, int limit,
                      struct workspace *workspace, struct assay_plan *plan) {
    enum { ALTERNATIVES_MAX = 8 };
    TDBQRY *queries[ALTERNATIVES_MAX];
    size_t count = asked->alternatives > 0 ? asked->alternatives : 1;
    for (size_t i = 0; i < count; i++)
        queries[i] = tctdbqrynew(store->db);
    TCLIST *keys = NULL;
    if (make_queries(store, asked, values, queries, count, workspace)) {
        if (count == 1) {
            tctdbqrysetlimit(queries[0], limit, 0);
            keys = tctdbqrysearch(queries[0]);
        } else {
            keys = tctdbmetasearch(queries, (int)count, TDBMSUNION);
        }
    }
    if (keys != NULL && plan != NULL)
        read_hint(tctdbqryhint(queries[0]), plan);
    for (size_t i = 0; i < count; i++)
        tctdbqrydel(queries[i]);
    return keys;
}

enum { NO_LIMIT = -1 };
static const char no_memory[] = "no memory for a query";

/* The visitor stops at the limit. */
static enum assay_status query_records(struct assay_handle *handle, size_t number, const struct assay_bytes *values, assay_visit *visit,
                                       void *context, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    const struct assay_query *asked = &store->definition->queries[number];
    struct workspace *workspace = workspace_of(store);
    TCLIST *keys = workspace != NULL ? search(store, asked, values, (int)asked->limit, workspace, NULL) : NULL;
    if (keys == NULL)
        return assay_fail(error, "%s", no_memory);
    enum assay_status status = ASSAY_OK;
    bool more = true;
    for (int i = 0; i < tclistnum(keys) && status == ASSAY_OK && more; i++) {
        int key_bytes;
        const void *key = tclistval(keys, i, &key_bytes);
        struct assay_bytes whose = {key, (size_t)key_bytes}, record;
        status = get_record(store, whose, asked->columns, asked->columns_count, &workspace->record, &record, error);
        if (status == ASSAY_OK)
            more = visit(context, whose, record);
        else if (status == ASSAY_MISS) /* deleted since the search: no longer an answer */
            status = ASSAY_OK;
    }
    tclistdel(keys);
    return status;
}

static enum assay_status count_records(struct assay_handle *handle, size_t number, const struct assay_bytes *values, uint64_t *records,
                                       struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    struct assay_query asked = store->definition->queries[number];
    asked.sort = -1;
    struct workspace *workspace = workspace_of(store);
    TCLIST *keys = workspace != NULL ? search(store, &asked, values, NO_LIMIT, workspace, NULL) : NULL;
    if (keys == NULL)
        return assay_fail(error, "%s", no_memory);
    *records = (uint64_t)tclistnum(keys);
    tclistdel(keys);
    return ASSAY_OK;
}

static enum assay_status explain(struct assay_handle *handle, size_t number, const struct assay_bytes *values, bool counts,
                                 struct assay_plan *plan, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    struct assay_query asked = store->definition->queries[number];
    if (counts)
        asked.sort = -1;
    struct workspace *workspace = workspace_of(store);
    TCLIST *keys = workspace != NULL ? search(store, &asked, values, counts ? NO_LIMIT : (int)asked.limit, workspace, plan) : NULL;
    if (keys == NULL)
        return assay_fail(error, "%s", no_memory);
    tclistdel(keys);
    return ASSAY_OK;
}

static enum assay_status delete_records(struct assay_handle *handle, size_t number, const struct assay_bytes *values, uint64_t *records,
                                        struct assay_error *error) {
    static const char told[] = ", out=";
    struct assay_store *store = store_of(handle);
    struct assay_query asked = store->definition->queries[number];
    asked.sort = -1;
    struct workspace *workspace = workspace_of(store);
    TDBQRY *query = tctdbqrynew(store->db);
    if (workspace == NULL || !make_queries(store, &asked, values, &query, 1, workspace)) {
        tctdbqrydel(query);
        return assay_fail(error, "%s", no_memory);
    }
    enum assay_status status = begin(store) ? end(store, tctdbqrysearchout(query), error) : failed(store, error);
    const char *out = strstr(tctdbqryhint(query), told);
    *records = out != NULL ? strtoull(out + sizeof told - 1, NULL, 10) : 0;
    tctdbqrydel(query);
    return status == ASSAY_OK && out == NULL ? assay_fail(error, "the hint does not say how many records were deleted") : status;
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
        .modify = modify,
        .increment = increment,
        .define = define,
        .query = query_records,
        .count = count_records,
        .delete_query = delete_records,
        .explain = explain,
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
    .modify = tc_files_modify,
    .increment = tc_files_increment,
    .query = tc_files_query,
    .count = tc_files_count,
    .delete_query = tc_files_delete_query,
    .explain = tc_files_explain,
};
