/* RocksDB through its C interface: a log-structured merge tree. */
#include <dirent.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "assay_driver.h"

/* db/db_impl/db_impl_write.cc and file/writable_file_writer.cc: with manual_wal_flush off, the
 * default, each write's log record is given to write(2) before the write returns; sync adds
 * fdatasync. Without a log, records stand in the memtable only. */
static const struct assay_durability_claim durability[] = {
    {ASSAY_D0, "WriteOptions.disableWAL = true: no log, records stand in memory until a memtable is flushed"},
    {ASSAY_D1, "WriteOptions.sync = false, the default: the log is written to the page cache"},
    {ASSAY_D3, "WriteOptions.sync = true: the log is synced before a write returns; concurrent writes share syncs"},
    {0, NULL},
};

static const struct assay_option options[] = {
    {"write_buffer_bytes", "bytes", "64MiB", "write_buffer_size: of one memtable, 64KiB to 64GiB", NULL, "log 4MiB 512MiB"},
    {"write_buffers_max", "int", "2", "max_write_buffer_number, at least 2", NULL, "linear 2 6"},
    {"block_cache_bytes", "bytes", "8MiB", "block_cache: an LRU cache", NULL, "log 1MiB 1GiB"},
    {"block_bytes", "bytes", "4096", "block_size, before compression", NULL, "log 1KiB 64KiB"},
    {"bloom_bits_per_key", "int", "0", "filter_policy: a full Bloom filter, up to 100; 0, the default: none", NULL, "list 0 10"},
    {"compression", "choice", "snappy", "compression of all levels", "none snappy zlib lz4 zstd", "list none snappy lz4 zstd"},
    {"background_jobs_max", "int", "2", "max_background_jobs: flushes and compactions", NULL, "linear 1 4"},
    {"open_files_max", "int", "-1", "max_open_files, at least 20; -1, the default: all", NULL},
    {"level0_compaction_files", "int", "4", "level0_file_num_compaction_trigger, at most level0_slowdown_files", NULL, "list 2 4 8"},
    {"level0_slowdown_files", "int", "20", "level0_slowdown_writes_trigger, at most level0_stop_files", NULL},
    {"level0_stop_files", "int", "36", "level0_stop_writes_trigger", NULL},
    {"level_base_bytes", "bytes", "256MiB", "max_bytes_for_level_base", NULL, "log 16MiB 1GiB"},
    {"table_bytes", "bytes", "64MiB", "target_file_size_base", NULL},
    {"pipelined_write", "bool", "false", "enable_pipelined_write", NULL, "list false true"},
    {"direct_io", "bool", "false", "use_direct_reads and use_direct_io_for_flush_and_compaction: not through the page cache", NULL},
    {"bytes_per_sync", "bytes", "0", "bytes_per_sync: tables are synced piecewise while they are written", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "rocksdb",
    .summary = "log-structured merge tree",
    .library = "rocksdb",
    .licence = "GPL-2.0-only OR Apache-2.0",
    .kind = "embedded",
    .durability = durability,
    .options = options,
    .handles_shareable = true,
    .batch_atomic = true,
    .fixed_disk_bytes = 78094336, /* the log, laid out in advance, and the manifest */
    .key_bytes_max = 8 << 20, /* the library says 8 MB */
    .value_bytes_max = 3u << 30, /* and 3 GB */
};

struct assay_store {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_block_based_table_options_t *table;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write;
    rocksdb_readoptions_t *read;
    const struct assay_config *config;
};

static const char *version(void) { return ROCKSDB_VERSION; }

#define LIBRARY(name) rocksdb_##name
#include "leveldb_like.h"

static int compression_of(const char *name) {
    static const struct {
        const char *name;
        int code;
    } all[] = {{"none", rocksdb_no_compression}, {"snappy", rocksdb_snappy_compression}, {"zlib", rocksdb_zlib_compression},
               {"lz4", rocksdb_lz4_compression}, {"zstd", rocksdb_zstd_compression}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].code;
    return rocksdb_no_compression;
}

static void set_options(struct assay_store *store, const struct assay_options *given) {
    rocksdb_options_t *o = store->options = rocksdb_options_create();
    store->table = rocksdb_block_based_options_create();
    store->cache = rocksdb_cache_create_lru((size_t)assay_option_bytes(given, "block_cache_bytes"));
    rocksdb_block_based_options_set_block_cache(store->table, store->cache);
    rocksdb_block_based_options_set_block_size(store->table, (size_t)assay_option_bytes(given, "block_bytes"));
    int64_t bits = assay_option_int(given, "bloom_bits_per_key");
    if (bits > 0)
        rocksdb_block_based_options_set_filter_policy(store->table, rocksdb_filterpolicy_create_bloom_full((double)bits));
    rocksdb_options_set_block_based_table_factory(o, store->table);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_write_buffer_size(o, (size_t)assay_option_bytes(given, "write_buffer_bytes"));
    rocksdb_options_set_max_write_buffer_number(o, (int)assay_option_int(given, "write_buffers_max"));
    rocksdb_options_set_compression(o, compression_of(assay_option_text(given, "compression")));
    rocksdb_options_set_max_background_jobs(o, (int)assay_option_int(given, "background_jobs_max"));
    rocksdb_options_set_max_open_files(o, (int)assay_option_int(given, "open_files_max"));
    rocksdb_options_set_level0_file_num_compaction_trigger(o, (int)assay_option_int(given, "level0_compaction_files"));
    rocksdb_options_set_level0_slowdown_writes_trigger(o, (int)assay_option_int(given, "level0_slowdown_files"));
    rocksdb_options_set_level0_stop_writes_trigger(o, (int)assay_option_int(given, "level0_stop_files"));
    rocksdb_options_set_max_bytes_for_level_base(o, (uint64_t)assay_option_bytes(given, "level_base_bytes"));
    rocksdb_options_set_target_file_size_base(o, (uint64_t)assay_option_bytes(given, "table_bytes"));
    rocksdb_options_set_enable_pipelined_write(o, assay_option_bool(given, "pipelined_write"));
    unsigned char direct = assay_option_bool(given, "direct_io");
    rocksdb_options_set_use_direct_reads(o, direct);
    rocksdb_options_set_use_direct_io_for_flush_and_compaction(o, direct);
    rocksdb_options_set_bytes_per_sync(o, (uint64_t)assay_option_bytes(given, "bytes_per_sync"));
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = ASSAY_OK;
    if (store->db != NULL) {
        if (store->config->durability == ASSAY_D0) { /* there is no log to recover from: close does not flush by itself */
            rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
            char *message = NULL;
            rocksdb_flush(store->db, flush, &message);
            rocksdb_flushoptions_destroy(flush);
            status = failed(message, error);
        }
        rocksdb_close(store->db);
    }
    rocksdb_writeoptions_destroy(store->write);
    rocksdb_readoptions_destroy(store->read);
    rocksdb_block_based_options_destroy(store->table);
    rocksdb_cache_destroy(store->cache);
    rocksdb_options_destroy(store->options);
    free(store);
    return status;
}

/* db/column_family.cc and db/db_impl/db_impl_open.cc, SanitizeOptions;
 * table/block_based/filter_policy.cc, BloomLikeFilterPolicy: what lies outside is moved without a
 * word. A job is a thread, and too many of them end the process. */
static enum assay_status check_options(const struct assay_options *given, struct assay_error *error) {
    static const struct {
        const char *name;
        int64_t least, most;
    } ints[] = {
        {"write_buffers_max", 2, INT32_MAX},     {"background_jobs_max", 1, 1024},      {"bloom_bits_per_key", 0, 100},
        {"level0_compaction_files", 1, INT32_MAX}, {"level0_slowdown_files", 1, INT32_MAX}, {"level0_stop_files", 1, INT32_MAX},
    }, bytes[] = {{"write_buffer_bytes", 64 << 10, (int64_t)64 << 30}, {"block_bytes", 0, UINT32_MAX}};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        if (assay_option_int(given, ints[i].name) < ints[i].least || assay_option_int(given, ints[i].name) > ints[i].most)
            return assay_refuse(error, "%s must be %lld to %lld", ints[i].name, (long long)ints[i].least, (long long)ints[i].most);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        if (assay_option_bytes(given, bytes[i].name) < bytes[i].least || assay_option_bytes(given, bytes[i].name) > bytes[i].most)
            return assay_refuse(error, "%s must be %lld to %lld", bytes[i].name, (long long)bytes[i].least, (long long)bytes[i].most);
    int64_t compaction = assay_option_int(given, "level0_compaction_files"), slowdown = assay_option_int(given, "level0_slowdown_files");
    if (compaction > slowdown || slowdown > assay_option_int(given, "level0_stop_files"))
        return assay_refuse(error, "level0_compaction_files can't be above level0_slowdown_files, nor that above level0_stop_files: the library would raise "
                                   "the latter");
    int64_t files = assay_option_int(given, "open_files_max");
    struct rlimit limit;
    int64_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT32_MAX ? (int64_t)limit.rlim_cur : INT32_MAX;
    if (files != -1 && (files < 20 || files > most))
        return assay_refuse(error, "open_files_max must be -1 (all) or 20 to %lld, the process's own limit (ulimit -n)", (long long)most);
    return ASSAY_OK;
}

static enum assay_status open_store(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    enum assay_status status = check_options(config->options, error);
    if (status != ASSAY_OK)
        return status;
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    set_options(store, config->options);
    store->config = config;
    store->write = rocksdb_writeoptions_create();
    store->read = rocksdb_readoptions_create();
    rocksdb_writeoptions_set_sync(store->write, config->durability == ASSAY_D3);
    rocksdb_writeoptions_disable_WAL(store->write, config->durability == ASSAY_D0);
    char *message = NULL;
    store->db = rocksdb_open(store->options, config->directory, &message);
    status = failed(message, error);
    if (status != ASSAY_OK) {
        struct assay_error ignored; /* why it did not open says more */
        close_store(store, &ignored);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

/* Finds the newest of the files OPTIONS-000123, in which the library writes down what it was opened
 * with. */
static bool newest_options(const char *directory, char *path, size_t path_bytes) {
    DIR *entries = opendir(directory);
    unsigned long newest = 0;
    if (entries == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        unsigned long number;
        char rest;
        if (sscanf(entry->d_name, "OPTIONS-%lu%c", &number, &rest) == 1 && number >= newest) {
            newest = number;
            snprintf(path, path_bytes, "%s/%s", directory, entry->d_name);
        }
    }
    closedir(entries);
    return newest > 0;
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    assay_setting(sink, "write_options.sync", "%d", rocksdb_writeoptions_get_sync(store->write));
    assay_setting(sink, "write_options.disable_wal", "%d", rocksdb_writeoptions_get_disable_WAL(store->write));
    assay_setting(sink, "block_cache.capacity", "%zu", rocksdb_cache_get_capacity(store->cache));
    assay_setting(sink, "filter_policy.bits_per_key", "%lld (asked)", (long long)assay_option_int(store->config->options, "bloom_bits_per_key"));
    char path[4096], line[4096];
    FILE *file = newest_options(store->config->directory, path, sizeof path) ? fopen(path, "r") : NULL;
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        char *name = line + strspn(line, " "), *equals = strchr(name, '=');
        if (equals == NULL || *name == '[' || *name == '#')
            continue;
        *equals = 0;
        equals[1 + strcspn(equals + 1, "\n")] = 0;
        assay_setting(sink, name, "%s", equals + 1);
    }
    fclose(file);
}

static bool fits(struct assay_bytes key, struct assay_bytes value, struct assay_error *error) {
    (void)key, (void)value, (void)error;
    return true;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    char *message = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned(store->db, store->read, data_of(key), key.length, &message);
    if (pinned == NULL)
        return message == NULL ? ASSAY_MISS : failed(message, error);
    size_t length;
    const char *data = rocksdb_pinnableslice_value(pinned, &length);
    enum assay_status status = assay_copy(buffer, data, length, value, error);
    rocksdb_pinnableslice_destroy(pinned);
    return status;
}

/* The log is synced; without one, the memtable is flushed to a table, which is synced. */
static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    char *message = NULL;
    if (store->config->durability != ASSAY_D0) {
        rocksdb_flush_wal(store->db, 1, &message);
        return failed(message, error);
    }
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    rocksdb_flush(store->db, flush, &message);
    rocksdb_flushoptions_destroy(flush);
    return failed(message, error);
}

/* The value of a property as a number; -1: there is no such property. */
static double number_of(rocksdb_t *db, const char *property) {
    char *text = rocksdb_property_value(db, property);
    double number = text != NULL ? strtod(text, NULL) : -1;
    rocksdb_free(text);
    return number;
}

/* The word at a position, from 0 on; NULL: the line has fewer. */
static const char *word_at(const char *line, int position) {
    for (line += strspn(line, " "); position > 0 && *line != 0 && *line != '\n'; position--) {
        line += strcspn(line, " \n");
        line += strspn(line, " ");
    }
    return *line != 0 && *line != '\n' ? line : NULL;
}

/* Finds a column by its head. A size is written in two words, so that what is behind it stands one
 * further in the rows. */
static int column_of(const char *head, const char *name) {
    const char *word;
    for (int i = 0; (word = word_at(head, i)) != NULL; i++)
        if (strncmp(word, name, strlen(name)) == 0 && strchr(" \n", word[strlen(name)]) != NULL)
            return i;
    return -1;
}

enum { LEVELS_MAX = 12, SIZE_COLUMN = 2 };

/* Reads the row of each level. A level without a row holds no file and was never written to: its
 * numbers are 0. What flushes write stands in the row of level 0. */
static void tell_rows(struct assay_sink *sink, const char *text, int levels) {
    struct {
        double bytes, seconds, times;
    } rows[LEVELS_MAX] = {{0}};
    const char *head = strstr(text, "Level "), *priorities = strstr(text, "Priority ");
    if (head == NULL)
        return;
    int seconds = column_of(head, "Comp(sec)") + 1, times = column_of(head, "Comp(cnt)") + 1;
    if (column_of(head, "Size") != SIZE_COLUMN || seconds < SIZE_COLUMN || times < SIZE_COLUMN)
        return; /* another version's table */
    for (const char *line = head; (line = strchr(line, '\n')) != NULL && (priorities == NULL || line < priorities);) {
        static const char units[] = "KMGT"; /* of 1024 */
        int level;
        char unit;
        double size;
        line++;
        if (sscanf(line, " L%d %*s %lf %cB", &level, &size, &unit) != 3 || level < 0 || level >= levels ||
            word_at(line, seconds) == NULL || word_at(line, times) == NULL)
            continue;
        for (const char *u = units; strchr(units, unit) != NULL && u <= strchr(units, unit); u++)
            size *= 1024;
        rows[level].bytes = size;
        rows[level].seconds = strtod(word_at(line, seconds), NULL);
        rows[level].times = strtod(word_at(line, times), NULL);
    }
    for (int level = 0; level < levels; level++) {
        char name[64];
        snprintf(name, sizeof name, "level%d_bytes", level);
        assay_stat(sink, name, rows[level].bytes);
        snprintf(name, sizeof name, "level%d_compaction_ns", level);
        assay_stat(sink, name, rows[level].seconds * 1e9);
        snprintf(name, sizeof name, "level%d_compactions", level);
        assay_stat(sink, name, rows[level].times);
    }
}

/* Tells the number behind a text, times a factor. */
static void tell_behind(struct assay_sink *sink, const char *text, const char *before, const char *name, double factor) {
    const char *at = text != NULL ? strstr(text, before) : NULL;
    double number;
    if (at != NULL && sscanf(at + strlen(before), "%lf", &number) == 1)
        assay_stat(sink, name, number * factor);
}

/* How often writes were slowed down or stopped, by what for: each time that the library looked and
 * found the condition to hold, which it does when the files or memtables have changed. Those of a
 * compaction under way are among the others. */
static void tell_stalls(struct assay_sink *sink, const char *text) {
    static const struct {
        const char *reason, *name;
    } reasons[] = {
        {" level0_slowdown,", "stalls_level0_slowdown"},
        {" level0_numfiles,", "stalls_level0_stop"},
        {" stop for pending_compaction_bytes,", "stalls_compaction_debt_stop"},
        {" slowdown for pending_compaction_bytes,", "stalls_compaction_debt_slowdown"},
        {" memtable_compaction,", "stalls_memtables_stop"},
        {" memtable_slowdown,", "stalls_memtables_slowdown"},
    };
    const char *line = strstr(text, "Stalls(count): ");
    if (line == NULL)
        return;
    double all = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const char *end = strstr(line, reasons[i].reason), *digits = end;
        if (end == NULL)
            return; /* a sum of some of them would be no sum */
        while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        double times = strtod(digits, NULL);
        assay_stat(sink, reasons[i].name, times);
        all += times;
    }
    assay_stat(sink, "stalls", all);
}

/* Totals that the library gives as text only, without its statistics object, which every operation
 * would have to pay for. So they are rounded: sizes of levels to 1/100 of their unit, times of
 * compaction to 10 ms, of stalls to 1 ms, bytes of flushes to 1/1000 GiB, other bytes to 1/100 GiB.
 * Asking takes some 40 µs, and no scan of the cache (db/internal_stats.cc). */
static void tell_totals(struct assay_store *store, struct assay_sink *sink) {
    const double gib = 1024.0 * 1024 * 1024;
    char *text = rocksdb_property_value(store->db, "rocksdb.cfstats-no-file-histogram");
    if (text != NULL) {
        int levels = rocksdb_options_get_num_levels(store->options);
        tell_rows(sink, text, levels < LEVELS_MAX ? levels : LEVELS_MAX);
        tell_stalls(sink, text);
        tell_behind(sink, text, "Flush(GB): cumulative ", "flush_written_bytes", gib);
        const char *compaction = strstr(text, "Cumulative compaction: ");
        tell_behind(sink, compaction, "Cumulative compaction: ", "flush_and_compaction_written_bytes", gib);
        tell_behind(sink, compaction, "MB/s write, ", "compaction_read_bytes", gib);
    }
    rocksdb_free(text);
    text = rocksdb_property_value(store->db, "rocksdb.dbstats");
    if (text != NULL) {
        const char *stall = strstr(text, "Cumulative stall: "), *log = strstr(text, "Cumulative WAL: ");
        double hours, minutes, seconds;
        if (stall != NULL && sscanf(stall, "Cumulative stall: %lf:%lf:%lf", &hours, &minutes, &seconds) == 3)
            assay_stat(sink, "stall_ns", (hours * 3600 + minutes * 60 + seconds) * 1e9);
        tell_behind(sink, log, "writes, ", "wal_syncs", 1);
        tell_behind(sink, log, "written: ", "wal_written_bytes", gib);
    }
    rocksdb_free(text);
}

static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    static const struct {
        const char *property, *name;
        bool work;
    } properties[] = {
        {"rocksdb.estimate-num-keys", "records_estimate", false},
        {"rocksdb.cur-size-all-mem-tables", "memtables_bytes", false},
        {"rocksdb.num-immutable-mem-table", "memtables_waiting", false},
        {"rocksdb.mem-table-flush-pending", "flush_pending", true},
        {"rocksdb.num-running-flushes", "flushes_under_way", true},
        {"rocksdb.compaction-pending", "compaction_pending", true},
        {"rocksdb.num-running-compactions", "compactions_under_way", true},
        {"rocksdb.estimate-pending-compaction-bytes", "compaction_debt_bytes", false},
        {"rocksdb.total-sst-files-size", "tables_bytes", false},
        {"rocksdb.live-sst-files-size", "tables_live_bytes", false},
        {"rocksdb.block-cache-usage", "block_cache_bytes", false},
        {"rocksdb.estimate-table-readers-mem", "table_readers_bytes", false},
        {"rocksdb.actual-delayed-write-rate", "delayed_write_bytes_per_second", false},
        {"rocksdb.is-write-stopped", "writes_stopped", false},
        {"rocksdb.background-errors", "background_errors", false},
    };
    *busy = false;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        uint64_t value;
        if (rocksdb_property_int(store->db, properties[i].property, &value) != 0)
            continue;
        assay_stat(sink, properties[i].name, (double)value);
        *busy = *busy || (properties[i].work && value > 0);
    }
    for (int level = 0; level < rocksdb_options_get_num_levels(store->options) && level < LEVELS_MAX; level++) {
        char property[64], name[64];
        snprintf(property, sizeof property, "rocksdb.num-files-at-level%d", level); /* a text, and no property_int */
        snprintf(name, sizeof name, "level%d_tables", level);
        double tables = number_of(store->db, property);
        if (tables >= 0)
            assay_stat(sink, name, tables);
    }
    tell_totals(store, sink);
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
