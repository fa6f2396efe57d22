/* SQLite in C: one table WITHOUT ROWID, its key the primary key, in write-ahead-log mode: the same
 * as Assay's Go driver, so that the two can be compared. A handle is a connection with prepared
 * statements of its own.
 *
 * Values without columns are in the table `records`. With `define` the table is `typed`: a column
 * of the same name for each, TEXT, INTEGER or BLOB, and the key in "record key", a name that no
 * column can have. An ordered index is CREATE INDEX; there is none of words. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "assay_driver.h"

/* https://www.sqlite.org/pragma.html#pragma_synchronous: in WAL mode NORMAL syncs at checkpoints
 * only, FULL the log after each transaction. The log is written by pwrite (os_unix.c), so that a
 * commit outlives the process. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D1, "journal_mode=WAL, synchronous=NORMAL: the log is synced at checkpoints only"},
    {ASSAY_D3, "journal_mode=WAL, synchronous=FULL: the log is synced after each transaction"},
    {0, NULL},
};

static const struct assay_option options[] = {
    {"page_bytes", "bytes", "4096", "PRAGMA page_size, of a new file", NULL},
    {"cache_bytes", "bytes", "2000KiB", "PRAGMA cache_size, of each connection, in whole KiB", NULL},
    {"mmap_bytes", "bytes", "0", "PRAGMA mmap_size: how much of the file is read through a mapping, at most 2147418112", NULL},
    {"wal_autocheckpoint_pages", "int", "1000", "PRAGMA wal_autocheckpoint: the commit that fills the log so far moves it; 0: never", NULL},
    {"busy_timeout", "duration", "1m",
     "sqlite3_busy_timeout, in whole ms: how long a connection waits for another's write before the operation fails; the library's own default is 0, "
     "with which concurrent writers fail at once", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* SQLITE_MAX_LENGTH is 10^9 bytes for a row: the two bounds together stay below it. */
enum { KEY_BYTES_MAX = 1 << 20, VALUE_BYTES_MAX = 1000000000 - (2 << 20) };
enum { MS_NS = 1000000, MMAP_BYTES_MAX = 0x7fff0000 }; /* SQLITE_MAX_MMAP_SIZE of the usual build */

static const struct assay_description description = {
    .name = "sqlite-c",
    .summary = "SQLite in C: B-tree file with a write-ahead log, one writer",
    .library = "sqlite3",
    .licence = "blessing",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .batch_atomic = true,
    .fixed_disk_bytes = 52 << 10,
    .key_bytes_max = KEY_BYTES_MAX,
    .value_bytes_max = VALUE_BYTES_MAX,
    .note = "one writer at a time; waiting writers poll with growing sleeps of up to 100 ms and without a queue, so that one may starve "
            "for seconds, and tails under concurrent writes are SQLite's waiting, not its work",
};

/* What the page caches of connections count, each for itself. */
static const struct {
    int status;
    const char *name;
} cache_counts[] = {
    {SQLITE_DBSTATUS_CACHE_HIT, "cache_hits"},
    {SQLITE_DBSTATUS_CACHE_MISS, "cache_misses"},
    {SQLITE_DBSTATUS_CACHE_WRITE, "cache_pages_written"},
    {SQLITE_DBSTATUS_CACHE_SPILL, "cache_spills"}, /* of the pages written, those in the middle of a transaction, to make room */
};
enum { CACHE_COUNTS = sizeof cache_counts / sizeof *cache_counts };

struct assay_store {
    const struct assay_config *config;
    _Atomic uint64_t cache[CACHE_COUNTS]; /* of all handles there ever were */
    sqlite3 *own; /* of the store itself, for settings, statistics and syncs */
    char path[4096];
    const char *synchronous;
    const struct assay_definition *definition; /* NULL: values without columns */
};

enum statement { GET, PUT, ADD, REMOVE, SCAN, BEGIN, COMMIT, ROLLBACK, STATEMENTS };

struct assay_handle {
    struct assay_store *store;
    sqlite3 *connection;
    uint32_t counted[CACHE_COUNTS]; /* as the connection told them when they were last added to the store's */
    unsigned steps;
    sqlite3_stmt *statement[STATEMENTS];
    const struct assay_definition *definition;
    sqlite3_stmt *query[ASSAY_QUERIES_MAX], *count[ASSAY_QUERIES_MAX], *erase[ASSAY_QUERIES_MAX]; /* prepared when they are first used */
    sqlite3_stmt *modify, *increment; /* likewise */
    struct assay_buffer record;
};

static const char *version(void) { return sqlite3_libversion(); }

static enum assay_status failed(sqlite3 *connection, struct assay_error *error) {
    if (connection == NULL)
        return assay_fail(error, "no memory for a connection");
    int code = sqlite3_errcode(connection);
    assay_fail(error, "%s", sqlite3_errmsg(connection));
    return code == SQLITE_BUSY ? ASSAY_TIMEOUT : ASSAY_ERROR; /* busy_timeout is over; nothing was changed */
}

static enum assay_status execute(sqlite3 *connection, const char *text, struct assay_error *error) {
    return sqlite3_exec(connection, text, NULL, NULL, NULL) == SQLITE_OK ? ASSAY_OK : failed(connection, error);
}

/* Opens a connection and sets what holds for it alone. */
static enum assay_status connect(struct assay_store *store, sqlite3 **out, struct assay_error *error) {
    const struct assay_options *given = store->config->options;
    char pragmas[512];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA synchronous=%s; PRAGMA cache_size=-%lld; PRAGMA mmap_size=%lld; PRAGMA wal_autocheckpoint=%lld",
             store->synchronous, (long long)assay_option_bytes(given, "cache_bytes") >> 10,
             (long long)assay_option_bytes(given, "mmap_bytes"),
             (long long)assay_option_int(given, "wal_autocheckpoint_pages"));
    /* NOMUTEX: a connection is used by one thread at a time */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    enum assay_status status = ASSAY_OK;
    if (sqlite3_open_v2(store->path, out, flags, NULL) != SQLITE_OK)
        status = failed(*out, error);
    if (status == ASSAY_OK) {
        sqlite3_busy_timeout(*out, (int)(assay_option_duration_ns(given, "busy_timeout") / MS_NS));
        status = execute(*out, pragmas, error);
    }
    if (status != ASSAY_OK) {
        sqlite3_close_v2(*out);
        *out = NULL;
    }
    return status;
}

/* Runs a pragma and copies its first column. */
static bool ask(sqlite3 *connection, const char *text, char *answer, size_t answer_bytes) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(connection, text, -1, &statement, NULL) != SQLITE_OK)
        return false;
    bool there = sqlite3_step(statement) == SQLITE_ROW;
    if (there)
        snprintf(answer, answer_bytes, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return there;
}

/* Makes the file. The page size has to come first: it holds only for a file that is still empty. */
static enum assay_status make_file(struct assay_store *store, int64_t page, struct assay_error *error) {
    char text[64], mode[16] = "";
    snprintf(text, sizeof text, "PRAGMA page_size=%lld", (long long)page);
    enum assay_status status = execute(store->own, text, error);
    if (status != ASSAY_OK)
        return status;
    if (!ask(store->own, "PRAGMA journal_mode=WAL", mode, sizeof mode) || strcmp(mode, "wal") != 0)
        return assay_fail(error, "the journal mode stays \"%s\": this filesystem has no shared memory for a write-ahead log", mode);
    status = execute(store->own, "CREATE TABLE IF NOT EXISTS records (k BLOB NOT NULL PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID", error);
    return status == ASSAY_OK ? assay_sync_directory(store->config->directory, error) : status;
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    int64_t page = assay_option_bytes(config->options, "page_bytes");
    if (page < 512 || page > 65536 || (page & (page - 1)) != 0)
        return assay_refuse(error, "page_bytes must be a power of two from 512 to 65536");
    int64_t checkpoint = assay_option_int(config->options, "wal_autocheckpoint_pages"), cache = assay_option_bytes(config->options, "cache_bytes");
    int64_t timeout = assay_option_duration_ns(config->options, "busy_timeout");
    if (checkpoint < 0 || checkpoint > INT32_MAX)
        return assay_refuse(error, "wal_autocheckpoint_pages must be 0 (never) to %d", INT32_MAX);
    if (cache < 1024 || cache % 1024 != 0 || cache / 1024 > INT32_MAX)
        return assay_refuse(error, "cache_bytes must be whole KiB, 1KiB to %dKiB", INT32_MAX);
    if (timeout < 0 || timeout % MS_NS != 0 || timeout / MS_NS > INT32_MAX)
        return assay_refuse(error, "busy_timeout must be whole milliseconds: 0s (not at all), 1ms, 2ms … up to %dms", INT32_MAX);
    if (assay_option_bytes(config->options, "mmap_bytes") > MMAP_BYTES_MAX)
        return assay_refuse(error, "mmap_bytes must be at most %d", MMAP_BYTES_MAX);
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    store->config = config;
    store->synchronous = config->durability == ASSAY_D3 ? "FULL" : "NORMAL";
    enum assay_status status = assay_path(store->path, sizeof store->path, config->directory, "data.sqlite", error);
    if (status == ASSAY_OK)
        status = connect(store, &store->own, error);
    if (status == ASSAY_OK && (status = make_file(store, page, error)) != ASSAY_OK)
        sqlite3_close_v2(store->own);
    if (status != ASSAY_OK) {
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

/* synchronous is 0 for OFF, 1 for NORMAL, 2 for FULL; a negative cache_size is in KiB. */
static void settings(struct assay_store *store, struct assay_sink *sink) {
    static const char *const names[] = {"page_size",   "journal_mode",       "synchronous",  "cache_size",   "mmap_size",
                                        "busy_timeout", "wal_autocheckpoint", "locking_mode", "auto_vacuum"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[64], value[64];
        snprintf(text, sizeof text, "PRAGMA %s", names[i]);
        if (ask(store->own, text, value, sizeof value))
            assay_setting(sink, names[i], "%s", value);
    }
    sqlite3_stmt *indexes;
    const char *of_table = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'typed' AND sql IS NOT NULL ORDER BY name";
    if (sqlite3_prepare_v2(store->own, of_table, -1, &indexes, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(indexes) == SQLITE_ROW) /* they are named index_COLUMN */
        assay_setting(sink, (const char *)sqlite3_column_text(indexes, 0), "ordered");
    sqlite3_finalize(indexes);
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = sqlite3_close(store->own) == SQLITE_OK ? ASSAY_OK : failed(store->own, error);
    free(store);
    return status;
}

/* Adds what the connection has counted since the last time to the store's totals. Only the handle's
 * own thread may ask its connection. SQLite counts in 32 bits: differences are right past their
 * end. */
static void count_cache(struct assay_handle *handle) {
    for (int i = 0; i < CACHE_COUNTS; i++) {
        int now, highest;
        if (sqlite3_db_status(handle->connection, cache_counts[i].status, &now, &highest, 0) != SQLITE_OK)
            continue;
        atomic_fetch_add_explicit(&handle->store->cache[i], (uint32_t)now - handle->counted[i], memory_order_relaxed);
        handle->counted[i] = (uint32_t)now;
    }
}

static enum assay_status handle_close(struct assay_handle *handle, struct assay_error *error) {
    count_cache(handle);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(handle->statement[i]);
    sqlite3_finalize(handle->modify);
    sqlite3_finalize(handle->increment);
    for (int i = 0; i < ASSAY_QUERIES_MAX; i++) {
        sqlite3_finalize(handle->query[i]);
        sqlite3_finalize(handle->count[i]);
        sqlite3_finalize(handle->erase[i]);
    }
    free(handle->record.data);
    enum assay_status status = sqlite3_close(handle->connection) == SQLITE_OK ? ASSAY_OK : failed(handle->connection, error);
    free(handle);
    return status;
}

/* A statement's text with the columns' names in it; NULL: there is no memory. The caller frees it.
 * `each` is written for each column, its $ the column's name in quotes, with `between` in between.
 * */
static char *spell(const struct assay_definition *definition, const char *before, const char *each, const char *between, const char *after) {
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return NULL;
    fputs(before, stream);
    for (size_t i = 0; i < definition->columns_count; i++) {
        fputs(i > 0 ? between : "", stream);
        for (const char *at = each; *at != 0; at++) {
            if (*at == '$')
                fprintf(stream, "\"%s\"", definition->columns[i].name);
            else
                fputc(*at, stream);
        }
    }
    fputs(after, stream);
    return fclose(stream) == 0 ? text : NULL;
}

static enum assay_status prepare(sqlite3 *connection, const char *text, sqlite3_stmt **statement, struct assay_error *error) {
    if (text == NULL)
        return assay_fail(error, "no memory for a statement");
    if (sqlite3_prepare_v3(connection, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) != SQLITE_OK)
        return failed(connection, error);
    return ASSAY_OK;
}

/* An insert into the table `typed`; conflict says what to do where the key is there. */
static char *spell_insert(const struct assay_definition *d, const char *conflict) {
    char *names = spell(d, "INSERT INTO typed (\"record key\", ", "$", ", ", ") VALUES (?, ");
    char *places = names != NULL ? spell(d, names, "?", ", ", conflict) : NULL;
    free(names);
    return places;
}

/* The text of a statement on the table `typed`; NULL: there is no memory. */
static char *spell_typed(const struct assay_definition *d, enum statement which) {
    switch (which) {
    case GET:
        return spell(d, "SELECT ", "$", ", ", " FROM typed WHERE \"record key\" = ?");
    case SCAN:
        return spell(d, "SELECT ", "$", ", ", ", \"record key\" FROM typed WHERE \"record key\" >= ? ORDER BY \"record key\"");
    case REMOVE:
        return strdup("DELETE FROM typed WHERE \"record key\" = ?");
    case ADD:
        return spell_insert(d, ") ON CONFLICT (\"record key\") DO NOTHING");
    default: { /* PUT */
        char *insert = spell_insert(d, ") ON CONFLICT (\"record key\") DO UPDATE SET ");
        char *whole = insert != NULL ? spell(d, insert, "$ = excluded.$", ", ", "") : NULL;
        free(insert);
        return whole;
    }
    }
}

static enum assay_status handle_open(struct assay_store *store, struct assay_handle **out, struct assay_error *error) {
    static const char *const texts[STATEMENTS] = {
        [GET] = "SELECT v FROM records WHERE k = ?",
        [PUT] = "INSERT INTO records (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        [ADD] = "INSERT INTO records (k, v) VALUES (?, ?) ON CONFLICT (k) DO NOTHING",
        [REMOVE] = "DELETE FROM records WHERE k = ?",
        [SCAN] = "SELECT k, v FROM records WHERE k >= ? ORDER BY k",
        [BEGIN] = "BEGIN IMMEDIATE", /* takes the writer's lock at once: a later upgrade could fail with SQLITE_BUSY */
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
    };
    struct assay_handle *handle = calloc(1, sizeof *handle);
    if (handle == NULL)
        return assay_fail(error, "no memory for a handle");
    handle->store = store;
    enum assay_status status = connect(store, &handle->connection, error);
    if (status != ASSAY_OK) {
        free(handle);
        return status;
    }
    handle->definition = store->definition;
    for (int i = 0; i < STATEMENTS && status == ASSAY_OK; i++) {
        bool typed = store->definition != NULL && i < BEGIN;
        char *text = typed ? spell_typed(store->definition, i) : NULL;
        status = prepare(handle->connection, typed ? text : texts[i], &handle->statement[i], error);
        free(text);
    }
    if (status != ASSAY_OK) {
        struct assay_error ignored; /* why the statement can't be prepared says more */
        handle_close(handle, &ignored);
        return status;
    }
    *out = handle;
    return ASSAY_OK;
}

/* A NULL pointer would bind NULL, not the empty blob. The bytes stay the caller's until the
 * statement is reset. */
static void bind(sqlite3_stmt *statement, int place, struct assay_bytes bytes) {
    sqlite3_bind_blob64(statement, place, bytes.data != NULL ? bytes.data : "", bytes.length, SQLITE_STATIC);
}

/* An integer is stored as a number. Its text was checked by the host: at most 18 digits. */
static sqlite3_int64 integer_of(struct assay_bytes digits) {
    sqlite3_int64 n = 0;
    for (size_t i = 0; i < digits.length; i++)
        n = 10 * n + ((const char *)digits.data)[i] - '0';
    return n;
}

static void bind_column(sqlite3_stmt *statement, int place, enum assay_column_type type, struct assay_bytes bytes) {
    if (type == ASSAY_INTEGER)
        sqlite3_bind_int64(statement, place, integer_of(bytes));
    else if (type == ASSAY_TEXT)
        sqlite3_bind_text64(statement, place, bytes.data != NULL ? bytes.data : "", bytes.length, SQLITE_STATIC, SQLITE_UTF8);
    else
        bind(statement, place, bytes);
}

/* Binds a record's columns from place 2 on. */
static bool bind_record(sqlite3_stmt *statement, const struct assay_definition *definition, struct assay_bytes record) {
    struct assay_bytes bytes;
    for (size_t i = 0; i < definition->columns_count; i++) {
        if (!assay_next_column(&record, &bytes))
            return false;
        bind_column(statement, (int)i + 2, definition->columns[i].type, bytes);
    }
    return record.length == 0;
}

/* Puts the encoded form together from the first columns of a row: those at positions; NULL: all, as
 * many as count. */
static enum assay_status encode(const struct assay_definition *definition, const size_t *positions, size_t count, sqlite3_stmt *row,
                                struct assay_buffer *buffer, struct assay_bytes *value, struct assay_error *error) {
    char digits[ASSAY_COLUMNS_MAX][24];
    struct assay_bytes bytes[ASSAY_COLUMNS_MAX];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        int place = (int)i;
        switch (definition->columns[positions != NULL ? positions[i] : i].type) {
        case ASSAY_INTEGER:
            bytes[i].data = digits[i];
            bytes[i].length = (size_t)snprintf(digits[i], sizeof digits[i], "%" PRId64, (int64_t)sqlite3_column_int64(row, place));
            break;
        case ASSAY_TEXT:
            bytes[i].data = sqlite3_column_text(row, place);
            bytes[i].length = (size_t)sqlite3_column_bytes(row, place);
            break;
        default:
            bytes[i].data = sqlite3_column_blob(row, place);
            bytes[i].length = (size_t)sqlite3_column_bytes(row, place);
        }
        if (bytes[i].length > ASSAY_COLUMN_BYTES_MAX)
            return assay_fail(error, "the table gave a column of more than 65,535 bytes");
        length += 2 + bytes[i].length;
    }
    if (!assay_buffer_grow(buffer, length))
        return assay_fail(error, "no memory for a record");
    unsigned char *at = buffer->data;
    for (size_t i = 0; i < count; i++)
        at = assay_put_column(at, bytes[i].data, bytes[i].length);
    *value = (struct assay_bytes){buffer->data, length};
    return ASSAY_OK;
}

enum { STEPS_BETWEEN_COUNTS = 64 }; /* a count takes about 90 ns: so it is 1.4 ns an operation */

static enum assay_status finish(struct assay_handle *handle, sqlite3_stmt *statement, int code, struct assay_error *error) {
    enum assay_status status = code == SQLITE_DONE || code == SQLITE_ROW ? ASSAY_OK : failed(handle->connection, error);
    sqlite3_reset(statement); /* gives the error of the step again */
    if (++handle->steps % STEPS_BETWEEN_COUNTS == 0)
        count_cache(handle);
    return status;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    sqlite3_stmt *statement = handle->statement[GET];
    bind(statement, 1, key);
    int code = sqlite3_step(statement);
    enum assay_status status = ASSAY_MISS;
    if (code == SQLITE_ROW && handle->definition != NULL) {
        status = encode(handle->definition, NULL, handle->definition->columns_count, statement, buffer, value, error);
    } else if (code == SQLITE_ROW) {
        const void *data = sqlite3_column_blob(statement, 0);
        status = assay_copy(buffer, data, (size_t)sqlite3_column_bytes(statement, 0), value, error);
    }
    enum assay_status finished = finish(handle, statement, code, error);
    return finished != ASSAY_OK ? finished : status;
}

static enum assay_status write_one(struct assay_handle *handle, enum statement which, struct assay_bytes key,
                                   struct assay_bytes value, struct assay_error *error) {
    if (key.length > KEY_BYTES_MAX || value.length > VALUE_BYTES_MAX)
        return assay_fail(error, "the key is longer than 1 MiB or the value longer than the driver's limit");
    sqlite3_stmt *statement = handle->statement[which];
    bind(statement, 1, key);
    if (which != REMOVE && handle->definition == NULL)
        bind(statement, 2, value);
    else if (which != REMOVE && !bind_record(statement, handle->definition, value))
        return assay_fail(error, "a value that is no record of the columns that were defined");
    return finish(handle, statement, sqlite3_step(statement), error);
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    return write_one(handle, PUT, key, value, error);
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    enum assay_status status = write_one(handle, ADD, key, value, error);
    return status == ASSAY_OK && sqlite3_changes(handle->connection) == 0 ? ASSAY_CONFLICT : status;
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    return write_one(handle, REMOVE, key, (struct assay_bytes){NULL, 0}, error);
}

static enum assay_status prepare_modify(struct assay_handle *handle, const size_t *columns, size_t count, struct assay_error *error) {
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return assay_fail(error, "no memory for a statement");
    fputs("UPDATE typed SET ", stream);
    for (size_t i = 0; i < count; i++)
        fprintf(stream, "%s\"%s\" = ?", i > 0 ? ", " : "", handle->definition->columns[columns[i]].name);
    fputs(" WHERE \"record key\" = ?", stream);
    enum assay_status status = fclose(stream) == 0 ? prepare(handle->connection, text, &handle->modify, error)
                                                   : assay_fail(error, "no memory for a statement");
    free(text);
    return status;
}

static enum assay_status modify(struct assay_handle *handle, struct assay_bytes key, const size_t *columns, const struct assay_bytes *values,
                                size_t count, struct assay_error *error) {
    enum assay_status status = handle->modify == NULL ? prepare_modify(handle, columns, count, error) : ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        bind_column(handle->modify, (int)i + 1, handle->definition->columns[columns[i]].type, values[i]);
    bind(handle->modify, (int)count + 1, key);
    status = finish(handle, handle->modify, sqlite3_step(handle->modify), error);
    return status == ASSAY_OK && sqlite3_changes(handle->connection) == 0 ? ASSAY_MISS : status;
}

static enum assay_status increment(struct assay_handle *handle, struct assay_bytes key, size_t column, int64_t by, struct assay_error *error) {
    enum assay_status status = ASSAY_OK;
    if (handle->increment == NULL) {
        const char *name = handle->definition->columns[column].name;
        char text[256]; /* a name has at most 64 bytes */
        snprintf(text, sizeof text, "UPDATE typed SET \"%s\" = \"%s\" + ? WHERE \"record key\" = ?", name, name);
        status = prepare(handle->connection, text, &handle->increment, error);
    }
    if (status != ASSAY_OK)
        return status;
    sqlite3_bind_int64(handle->increment, 1, by);
    bind(handle->increment, 2, key);
    status = finish(handle, handle->increment, sqlite3_step(handle->increment), error);
    return status == ASSAY_OK && sqlite3_changes(handle->connection) == 0 ? ASSAY_MISS : status;
}

static enum assay_status step_alone(struct assay_handle *handle, enum statement which, struct assay_error *error) {
    sqlite3_stmt *statement = handle->statement[which];
    return finish(handle, statement, sqlite3_step(statement), error);
}

static enum assay_status batch(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                               struct assay_error *error) {
    enum assay_status status = step_alone(handle, BEGIN, error);
    if (status != ASSAY_OK)
        return status;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = write_one(handle, writes[i].remove ? REMOVE : PUT, writes[i].key, writes[i].value, error);
    if (status == ASSAY_OK)
        status = step_alone(handle, COMMIT, error);
    if (status != ASSAY_OK) {
        struct assay_error ignored; /* SQLite may have rolled back by itself; what went wrong before says more */
        step_alone(handle, ROLLBACK, &ignored);
    }
    return status;
}

/* Gives the rows of a statement, which ends with the key, to a visitor. */
static enum assay_status visit_typed(struct assay_handle *handle, const size_t *positions, size_t count, sqlite3_stmt *statement,
                                     assay_visit *visit, void *context,
                                     struct assay_error *error) {
    int code, key_place = (int)count;
    enum assay_status status = ASSAY_OK;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct assay_bytes value;
        if ((status = encode(handle->definition, positions, count, statement, &handle->record, &value, error)) != ASSAY_OK)
            break;
        struct assay_bytes key = {sqlite3_column_blob(statement, key_place), (size_t)sqlite3_column_bytes(statement, key_place)};
        if (!visit(context, key, value))
            break;
    }
    if (status != ASSAY_OK) {
        sqlite3_reset(statement);
        return status;
    }
    return finish(handle, statement, code, error);
}

/* Without LIMIT: it ends when the visitor says so, and SQLite makes rows one by one. */
static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    (void)limit;
    sqlite3_stmt *statement = handle->statement[SCAN];
    bind(statement, 1, start);
    if (handle->definition != NULL)
        return visit_typed(handle, NULL, handle->definition->columns_count, statement, visit, context, error);
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct assay_bytes key = {sqlite3_column_blob(statement, 0), (size_t)sqlite3_column_bytes(statement, 0)};
        struct assay_bytes value = {sqlite3_column_blob(statement, 1), (size_t)sqlite3_column_bytes(statement, 1)};
        if (!visit(context, key, value))
            break;
    }
    return finish(handle, statement, code, error);
}

/* Creates what is not there: one statement each, so that a file that stops in between is made whole
 * at the next define. */
static enum assay_status create_typed(struct assay_store *store, const struct assay_definition *d, struct assay_error *error) {
    static const char *const types[] = {[ASSAY_TEXT] = "TEXT", [ASSAY_INTEGER] = "INTEGER", [ASSAY_BYTES] = "BLOB"};
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return assay_fail(error, "no memory for a statement");
    fputs("CREATE TABLE IF NOT EXISTS typed (\"record key\" BLOB NOT NULL PRIMARY KEY", stream);
    for (size_t i = 0; i < d->columns_count; i++)
        fprintf(stream, ", \"%s\" %s NOT NULL", d->columns[i].name, types[d->columns[i].type]);
    fputs(") WITHOUT ROWID;", stream);
    for (size_t i = 0; i < d->indexes_count; i++) {
        const char *name = d->columns[d->indexes[i].column].name;
        fprintf(stream, "CREATE INDEX IF NOT EXISTS \"index_%s\" ON typed (\"%s\"%s);", name, name, d->indexes[i].descending ? " DESC" : "");
    }
    enum assay_status status = fclose(stream) == 0 ? execute(store->own, text, error) : assay_fail(error, "no memory for a statement");
    free(text);
    return status;
}

static enum assay_status define(struct assay_store *store, const struct assay_definition *d, struct assay_error *error) {
    for (size_t i = 0; i < d->indexes_count; i++)
        if (d->indexes[i].kind != ASSAY_ORDERED)
            return assay_refuse(error, "SQLite has no index of words: %s", d->columns[d->indexes[i].column].name);
    for (size_t i = 0; i < d->columns_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcasecmp(d->columns[i].name, d->columns[j].name) == 0)
                return assay_refuse(error, "SQLite does not tell the columns %s and %s apart", d->columns[j].name, d->columns[i].name);
    enum assay_status status = create_typed(store, d, error);
    if (status != ASSAY_OK)
        return status;
    char *text = spell_typed(d, GET);
    sqlite3_stmt *probe = NULL; /* a file of other columns shows here */
    status = prepare(store->own, text, &probe, error);
    free(text);
    sqlite3_finalize(probe);
    if (status == ASSAY_OK)
        store->definition = d;
    return status;
}

/* Writes the conditions of a query, with a parameter for each of their values; of a prefix, the value
 * and what no text with this prefix reaches. */
static void spell_where(FILE *stream, const struct assay_definition *d, const struct assay_query *q) {
    for (size_t i = 0; i < q->conditions_count; i++) {
        const struct assay_condition *c = &q->conditions[i];
        const char *name = d->columns[c->column].name;
        fputs(i == 0 ? " WHERE (" : c->alternative != c[-1].alternative ? ") OR (" : " AND ", stream);
        if (c->is == ASSAY_RANGE || c->is == ASSAY_PREFIX)
            fprintf(stream, "\"%s\" >= ? AND \"%s\" < ?", name, name);
        else if (c->is == ASSAY_HAS)
            fprintf(stream, "instr(' ' || replace(\"%s\", ',', ' ') || ' ', ' ' || ? || ' ') > 0", name);
        else
            fprintf(stream, "\"%s\" = ?", name);
    }
    fputs(q->conditions_count > 0 ? ")" : "", stream);
}

enum asks { FINDS, COUNTS, DELETES };

/* The statement of a query, made when it is first asked; before stands in front of it. The limit is written out: a bound one would
 * be prepared again each time. */
static enum assay_status statement_of(struct assay_handle *handle, sqlite3_stmt **place, const char *before, const struct assay_query *q,
                                      enum asks asks, struct assay_error *error) {
    bool finds = asks == FINDS;
    if (*place != NULL)
        return ASSAY_OK;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return assay_fail(error, "no memory for a statement");
    fputs(before, stream);
    fputs(finds ? "SELECT " : asks == COUNTS ? "SELECT count(*)" : "DELETE", stream);
    for (size_t i = 0; i < q->columns_count && finds; i++)
        fprintf(stream, "\"%s\", ", handle->definition->columns[q->columns[i]].name);
    fputs(finds ? "\"record key\" FROM typed" : " FROM typed", stream);
    spell_where(stream, handle->definition, q);
    if (finds && q->sort >= 0)
        fprintf(stream, " ORDER BY \"%s\"%s", handle->definition->columns[q->sort].name, q->descending ? " DESC" : "");
    if (finds)
        fprintf(stream, " LIMIT %zu", q->limit);
    enum assay_status status =
        fclose(stream) == 0 ? prepare(handle->connection, text, place, error) : assay_fail(error, "no memory for a statement");
    free(text);
    return status;
}

/* Binds a query's values. The end of a prefix is a copy that SQLite frees. */
static enum assay_status bind_values(sqlite3_stmt *statement, const struct assay_definition *d, const struct assay_query *q,
                                     const struct assay_bytes *values, struct assay_error *error) {
    int place = 1;
    for (size_t i = 0; i < q->conditions_count; i++) {
        const struct assay_condition *c = &q->conditions[i];
        enum assay_column_type type = d->columns[c->column].type;
        bind_column(statement, place++, type, *values);
        if (c->is == ASSAY_RANGE) {
            bind_column(statement, place++, type, *++values);
        } else if (c->is == ASSAY_PREFIX) {
            char *end = malloc(values->length);
            if (end == NULL)
                return assay_fail(error, "no memory for the end of a prefix");
            memcpy(end, values->data, values->length);
            end[values->length - 1]++;
            sqlite3_bind_text64(statement, place++, end, values->length, free, SQLITE_UTF8);
        }
        values++;
    }
    return ASSAY_OK;
}

static enum assay_status query(struct assay_handle *handle, size_t number, const struct assay_bytes *values, assay_visit *visit,
                               void *context, struct assay_error *error) {
    const struct assay_query *q = &handle->definition->queries[number];
    enum assay_status status = statement_of(handle, &handle->query[number], "", q, FINDS, error);
    sqlite3_stmt *statement = handle->query[number];
    if (status == ASSAY_OK)
        status = bind_values(statement, handle->definition, q, values, error);
    return status != ASSAY_OK ? status : visit_typed(handle, q->columns, q->columns_count, statement, visit, context, error);
}

static enum assay_status count(struct assay_handle *handle, size_t number, const struct assay_bytes *values, uint64_t *records,
                               struct assay_error *error) {
    const struct assay_query *q = &handle->definition->queries[number];
    enum assay_status status = statement_of(handle, &handle->count[number], "", q, COUNTS, error);
    sqlite3_stmt *statement = handle->count[number];
    if (status == ASSAY_OK)
        status = bind_values(statement, handle->definition, q, values, error);
    if (status != ASSAY_OK)
        return status;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *records = (uint64_t)sqlite3_column_int64(statement, 0);
    return finish(handle, statement, code, error);
}

static enum assay_status delete_query(struct assay_handle *handle, size_t number, const struct assay_bytes *values, uint64_t *records,
                                      struct assay_error *error) {
    const struct assay_query *q = &handle->definition->queries[number];
    enum assay_status status = statement_of(handle, &handle->erase[number], "", q, DELETES, error);
    sqlite3_stmt *statement = handle->erase[number];
    if (status == ASSAY_OK)
        status = bind_values(statement, handle->definition, q, values, error);
    if (status != ASSAY_OK)
        return status;
    status = finish(handle, statement, sqlite3_step(statement), error);
    *records = status == ASSAY_OK ? (uint64_t)sqlite3_changes(handle->connection) : 0;
    return status;
}

/* Reads a line of EXPLAIN QUERY PLAN (https://www.sqlite.org/eqp.html). SEARCH: an index finds rows by
 * a condition. SCAN: all rows are walked, in an index's order where one is named. */
static void read_plan_line(const char *line, bool ordered, struct assay_plan *plan) {
    static const char using[] = " USING ", covering[] = "COVERING ", index[] = "INDEX ";
    assay_plan_add(plan->text, sizeof plan->text, "; ", line, strlen(line));
    bool search = strncmp(line, "SEARCH ", 7) == 0;
    if (!search && strncmp(line, "SCAN ", 5) != 0)
        return;
    const char *name = strstr(line, using);
    enum assay_index_use use = search ? ASSAY_INDEX_FINDS : name != NULL && ordered ? ASSAY_INDEX_ORDERS : ASSAY_INDEX_NONE;
    if (use > plan->use)
        plan->use = use; /* the worst of all */
    if (name == NULL)
        return;
    name += sizeof using - 1;
    if (strncmp(name, covering, sizeof covering - 1) == 0)
        name += sizeof covering - 1;
    if (strncmp(name, index, sizeof index - 1) == 0)
        name += sizeof index - 1;
    const char *end = strstr(name, " (");
    assay_plan_add(plan->index, sizeof plan->index, ", ", name, end != NULL ? (size_t)(end - name) : strlen(name));
}

static enum assay_status explain(struct assay_handle *handle, size_t number, const struct assay_bytes *values, bool counts,
                                 struct assay_plan *plan, struct assay_error *error) {
    const struct assay_query *q = &handle->definition->queries[number];
    sqlite3_stmt *statement = NULL;
    enum assay_status status = statement_of(handle, &statement, "EXPLAIN QUERY PLAN ", q, counts ? COUNTS : FINDS, error);
    if (status == ASSAY_OK)
        status = bind_values(statement, handle->definition, q, values, error);
    *plan = (struct assay_plan){.use = ASSAY_INDEX_UNTOLD};
    int code = SQLITE_DONE;
    while (status == ASSAY_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        read_plan_line((const char *)sqlite3_column_text(statement, 3), !counts && q->sort >= 0, plan);
    if (status == ASSAY_OK && code != SQLITE_DONE)
        status = failed(handle->connection, error);
    sqlite3_finalize(statement);
    return status;
}

/* Moves the whole log into the file, as a connection that syncs both. */
static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = execute(store->own, "PRAGMA synchronous=FULL", error);
    if (status != ASSAY_OK)
        return status;
    int code = sqlite3_wal_checkpoint_v2(store->own, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL);
    if (code != SQLITE_OK)
        status = failed(store->own, error);
    struct assay_error back = {{0}};
    char text[64];
    snprintf(text, sizeof text, "PRAGMA synchronous=%s", store->synchronous);
    if (execute(store->own, text, &back) != ASSAY_OK && status == ASSAY_OK)
        status = assay_fail(error, "putting synchronous back: %s", back.text);
    return status;
}

/* The caches' counts lag behind by the last few operations of each handle that is open. */
static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    static const struct {
        const char *pragma, *name;
    } numbers[] = {{"PRAGMA page_count", "pages"}, {"PRAGMA freelist_count", "free_pages"}, {"PRAGMA page_size", "page_bytes"}};
    static const struct {
        const char *suffix, *name;
    } files[] = {{"", "file_bytes"}, {"-wal", "wal_bytes"}};
    *busy = false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char value[64];
        if (ask(store->own, numbers[i].pragma, value, sizeof value))
            assay_stat(sink, numbers[i].name, atof(value));
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[sizeof store->path + 8];
        struct stat info;
        snprintf(path, sizeof path, "%s%s", store->path, files[i].suffix);
        if (stat(path, &info) == 0)
            assay_stat(sink, files[i].name, (double)info.st_size);
    }
    for (int i = 0; i < CACHE_COUNTS; i++) {
        int now, highest;
        if (sqlite3_db_status(store->own, cache_counts[i].status, &now, &highest, 0) == SQLITE_OK) /* or this build does not count it */
            assay_stat(sink, cache_counts[i].name, (double)atomic_load_explicit(&store->cache[i], memory_order_relaxed));
    }
    assay_stat(sink, "memory_bytes", (double)sqlite3_memory_used());
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
    .define = define,
    .query = query,
    .count = count,
    .modify = modify,
    .increment = increment,
    .delete_query = delete_query,
    .explain = explain,
    .sync = sync_store,
    .inspect = inspect,
};

const struct assay_driver *const assay_drivers[] = {&driver, NULL};
