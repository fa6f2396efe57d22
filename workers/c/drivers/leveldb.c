/* LevelDB through its C interface: a log-structured merge tree with one thread in the background.
 * */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "assay_driver.h"

/* db/log_writer.cc, Writer::EmitPhysicalRecord: each record is flushed to write(2); sync adds
 * fdatasync. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D1, "WriteOptions.sync = false, the default: the log is written to the page cache"},
    {ASSAY_D3, "WriteOptions.sync = true: the log is synced before a write returns; concurrent writes share syncs"},
    {0, NULL},
};

static const struct assay_option options[] = {
    {"write_buffer_bytes", "bytes", "4MiB", "write_buffer_size: of one memtable", NULL, "log 1MiB 256MiB"},
    {"block_cache_bytes", "bytes", "8MiB", "block_cache: an LRU cache, of 16 parts alike", NULL, "log 1MiB 1GiB"},
    {"block_bytes", "bytes", "4096", "block_size, before compression", NULL, "log 1KiB 64KiB"},
    {"table_bytes", "bytes", "2MiB", "max_file_size", NULL, "log 1MiB 64MiB"},
    {"bloom_bits_per_key", "int", "0", "filter_policy: a Bloom filter, up to 100; 0, the default: none", NULL, "list 0 10"},
    {"compression", "choice", "snappy", "compression", "none snappy", "list none snappy"},
    {"open_files_max", "int", "1000", "max_open_files", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "leveldb",
    .summary = "log-structured merge tree, one background thread",
    .library = "leveldb",
    .licence = "BSD-3-Clause",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .handles_shareable = true,
    .batch_atomic = true,
    .fixed_disk_bytes = 16 << 10,
    .key_bytes_max = 16 << 20, /* lengths are 32 bits inside: held well below */
    .value_bytes_max = 1 << 30,
    .note = "the library does not tell its settings: those shown are as they were asked",
};

struct assay_store {
    leveldb_t *db;
    leveldb_options_t *options;
    leveldb_cache_t *cache;
    leveldb_filterpolicy_t *filter;
    leveldb_writeoptions_t *write;
    leveldb_readoptions_t *read;
    const struct assay_options *given;
    const char *directory;
    bool sync;
};

static const char *version(void) {
    static char text[32];
    snprintf(text, sizeof text, "%d.%d", leveldb_major_version(), leveldb_minor_version());
    return text;
}

#define LIBRARY(name) leveldb_##name
#include "leveldb_like.h"

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    (void)error;
    if (store->db != NULL)
        leveldb_close(store->db);
    leveldb_writeoptions_destroy(store->write);
    leveldb_readoptions_destroy(store->read);
    leveldb_options_destroy(store->options);
    leveldb_cache_destroy(store->cache);
    if (store->filter != NULL)
        leveldb_filterpolicy_destroy(store->filter);
    free(store);
    return ASSAY_OK;
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    const struct assay_options *given = config->options;
    int64_t files = assay_option_int(given, "open_files_max"), bits = assay_option_int(given, "bloom_bits_per_key");
    /* db/db_impl.cc, SanitizeOptions: what lies outside is moved without a word */
    if (files < 74 || files > 50000 || assay_option_bytes(given, "write_buffer_bytes") < 64 << 10 ||
        assay_option_bytes(given, "write_buffer_bytes") > 1 << 30 || assay_option_bytes(given, "table_bytes") < 1 << 20 ||
        assay_option_bytes(given, "table_bytes") > 1 << 30 || assay_option_bytes(given, "block_bytes") < 1 << 10 ||
        assay_option_bytes(given, "block_bytes") > 4 << 20)
        return assay_refuse(error, "expected open_files_max 74 to 50000, write_buffer_bytes 64KiB to 1GiB, table_bytes 1MiB to "
                                   "1GiB, block_bytes 1KiB to 4MiB");
    if (assay_option_bytes(given, "block_cache_bytes") % 16 != 0) /* util/cache.cc, ShardedLRUCache: each part is rounded up */
        return assay_refuse(error, "block_cache_bytes must be a multiple of 16");
    if (bits < 0 || bits > 100)
        return assay_refuse(error, "bloom_bits_per_key must be 0 (no filter) to 100");
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    leveldb_options_t *o = store->options = leveldb_options_create();
    store->given = given;
    store->directory = config->directory;
    store->sync = config->durability == ASSAY_D3;
    store->cache = leveldb_cache_create_lru((size_t)assay_option_bytes(given, "block_cache_bytes"));
    leveldb_options_set_cache(o, store->cache);
    if (bits > 0)
        leveldb_options_set_filter_policy(o, store->filter = leveldb_filterpolicy_create_bloom((int)bits));
    leveldb_options_set_create_if_missing(o, 1);
    leveldb_options_set_write_buffer_size(o, (size_t)assay_option_bytes(given, "write_buffer_bytes"));
    leveldb_options_set_block_size(o, (size_t)assay_option_bytes(given, "block_bytes"));
    leveldb_options_set_max_file_size(o, (size_t)assay_option_bytes(given, "table_bytes"));
    leveldb_options_set_max_open_files(o, (int)files);
    leveldb_options_set_compression(
        o, strcmp(assay_option_text(given, "compression"), "none") == 0 ? leveldb_no_compression : leveldb_snappy_compression);
    store->write = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(store->write, store->sync);
    store->read = leveldb_readoptions_create();
    char *message = NULL;
    store->db = leveldb_open(o, config->directory, &message);
    enum assay_status status = failed(message, error);
    if (status != ASSAY_OK) {
        close_store(store, error);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    assay_setting(sink, "write_options.sync", "%s (asked)", store->sync ? "true" : "false");
    for (const struct assay_option *option = options; option->name != NULL; option++)
        assay_setting(sink, option->name, "%s (asked)", assay_option_text(store->given, option->name));
}

static bool fits(struct assay_bytes key, struct assay_bytes value, struct assay_error *error) {
    if (key.length <= description.key_bytes_max && value.length <= description.value_bytes_max)
        return true;
    return assay_fail(error, "the key is longer than 16 MiB or the value longer than 1 GiB"), false;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    char *message = NULL;
    size_t length;
    char *data = leveldb_get(store->db, store->read, data_of(key), key.length, &length, &message);
    if (data == NULL)
        return message == NULL ? ASSAY_MISS : failed(message, error);
    enum assay_status status = assay_copy(buffer, data, length, value, error);
    leveldb_free(data);
    return status;
}

/* A write with sync would sync the present log only: the one before it, whose table is still being
 * made, is closed without a sync (db/db_impl.cc, MakeRoomForWrite). So every log in the directory
 * is synced by its name. */
static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    DIR *entries = opendir(store->directory);
    if (entries == NULL)
        return assay_fail(error, "reading the directory to sync its logs: %s", strerror(errno));
    enum assay_status status = ASSAY_OK;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL && status == ASSAY_OK;) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".log") != 0)
            continue;
        int file = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (file < 0 && errno == ENOENT)
            continue; /* its table was made meanwhile, and synced */
        if (file < 0 || fsync(file) != 0)
            status = assay_fail(error, "syncing a log: %s", strerror(errno));
        if (file >= 0)
            close(file);
    }
    closedir(entries);
    return status == ASSAY_OK ? assay_sync_directory(store->directory, error) : status;
}

enum { LEVELS = 7 }; /* db/dbformat.h, kNumLevels */

/* Reads the library's table, which is rounded to whole MiB and seconds. It leaves out levels that
 * hold no file and that nothing was ever written to: their numbers are 0. What flushes write stands
 * in the level that the new file went to. */
static void tell_rows(struct assay_sink *sink, const char *text) {
    static const struct {
        const char *name;
        double factor;
    } columns[] = {{"bytes", 1048576}, {"compaction_ns", 1e9}, {"compaction_read_bytes", 1048576}, {"compaction_written_bytes", 1048576}};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    double rows[LEVELS][COLUMNS] = {{0}};
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        int level;
        double row[COLUMNS];
        line += *line == '\n';
        if (sscanf(line, "%d %*d %lf %lf %lf %lf", &level, &row[0], &row[1], &row[2], &row[3]) == 1 + COLUMNS && level >= 0 && level < LEVELS)
            memcpy(rows[level], row, sizeof row);
    }
    for (int level = 0; level < LEVELS; level++)
        for (int column = 0; column < COLUMNS; column++) {
            char name[64];
            snprintf(name, sizeof name, "level%d_%s", level, columns[column].name);
            assay_stat(sink, name, rows[level][column] * columns[column].factor);
        }
}

/* The library does not report whether it works in the background, nor of stalls, but for a line in
 * its own log. */
static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    *busy = false;
    char *text = leveldb_property_value(store->db, "leveldb.approximate-memory-usage");
    if (text != NULL)
        assay_stat(sink, "memory_bytes", atof(text));
    leveldb_free(text);
    for (int level = 0; level < LEVELS; level++) {
        char property[64], name[64];
        snprintf(property, sizeof property, "leveldb.num-files-at-level%d", level);
        snprintf(name, sizeof name, "level%d_tables", level);
        text = leveldb_property_value(store->db, property);
        if (text != NULL)
            assay_stat(sink, name, atof(text));
        leveldb_free(text);
    }
    text = leveldb_property_value(store->db, "leveldb.stats");
    if (text != NULL && strstr(text, "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)") != NULL)
        tell_rows(sink, text);
    leveldb_free(text);
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
    .sync = sync_store,
    .inspect = inspect,
};

const struct assay_driver *const assay_drivers[] = {&driver, NULL};
