/* Kyoto Cabinet through its C interface: a hash database and a B+tree whose pages are the records
 * of one. A process can't open a file twice: all handles of a store are one object. */
#include <kclangc.h>
#include <stdio.h>
#include <stdlib.h>

#include "assay_driver.h"

/* kcfile.cc: what is written goes to memory mapped MAP_SHARED, up to msiz, and by pwrite beyond:
 * both are the page cache. kcplantdb.h: a tree's leaves stand in the process's cache and are
 * written when they leave it, or at the end of a transaction. kchashdb.h: with OAUTOTRAN each write
 * is a transaction with a write-ahead log, with OAUTOSYNC file and log are synced. A sync without
 * the log is not offered as D3: what a power cut leaves of the next write may take older records
 * with it. Nor is a tree with its log offered as more than D0: kills of version 1.2.79's process left
 * files that do not open ("invalid magic data of a record"), 4 of 150 without syncs, 1 of 207 with. */
static const struct assay_durability_claim hash_durability[] = {
    {ASSAY_D1, "no flags, the default: shared mapped memory and pwrite, never synced; a crash is repaired at the next open"},
    {ASSAY_D3, "OAUTOTRAN | OAUTOSYNC: each write is a transaction, log and file are synced before it returns"},
    {0, NULL},
};
static const struct assay_durability_claim tree_durability[] = {
    {ASSAY_D0, "no flags, the default: leaves are changed in the process's cache"},
    {0, NULL},
};

#define COMMON_OPTIONS(buckets, alignment)                                                                               \
    {"bnum", "int", buckets, "tune_buckets; above 32767 rounded up to the next prime of the library's list", NULL}, \
        {"msiz_bytes", "bytes", "64MiB", "tune_map: how much of the file is mapped", NULL}, \
        {"apow", "int", alignment, "tune_alignment: records are aligned to 2^apow bytes", NULL},                         \
        {"fpow", "int", "10", "tune_fbp: at most 2^fpow free blocks are remembered", NULL},                               \
        {"dfunit", "int", "0", "tune_defrag: defragment after so many gaps; 0, the default: never", NULL},                \
        {"linear", "bool", "false", "TLINEAR: chains of a bucket are lists, not trees", NULL},                            \
        {"small", "bool", "false", "TSMALL: 32-bit addresses", NULL},                                                     \
        {"compress", "bool", "false", "TCOMPRESS with zcomp=zlib", NULL}

static const struct assay_option hash_options[] = {COMMON_OPTIONS("1048583", "3"), {NULL, NULL, NULL, NULL, NULL}};
static const struct assay_option tree_options[] = {
    COMMON_OPTIONS("65536", "8"),
    {"page_bytes", "bytes", "8192", "tune_page: a page is split above it; at least 1", NULL},
    {"page_cache_bytes", "bytes", "64MiB", "tune_page_cache; at least 1: the library takes 0 for its default", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

enum { KEY_BYTES_MAX = 1 << 20, VALUE_BYTES_MAX = 1 << 30 };

#define NOTE "all handles are one object: a process can't open the file twice"
static const struct assay_description hash_description = {
    .name = "kyotocabinet-hash",
    .summary = "hash table in one file, partly mapped",
    .library = "kyotocabinet",
    .licence = "GPL-3.0-or-later",
    .kind = "embedded",
    .durability = hash_durability,
    .options = hash_options,
    .handles_shareable = true,
    .fixed_disk_bytes = 16 << 10,
    .key_bytes_max = KEY_BYTES_MAX,
    .value_bytes_max = VALUE_BYTES_MAX,
    .note = NOTE,
};
static const struct assay_description tree_description = {
    .name = "kyotocabinet-tree",
    .summary = "B+tree over a hash file, pages cached in the process",
    .library = "kyotocabinet",
    .licence = "GPL-3.0-or-later",
    .kind = "embedded",
    .durability = tree_durability,
    .options = tree_options,
    .handles_shareable = true,
    .fixed_disk_bytes = 16 << 10,
    .key_bytes_max = KEY_BYTES_MAX,
    .value_bytes_max = VALUE_BYTES_MAX,
    .note = NOTE,
};

struct assay_store {
    KCDB *db;
    uint32_t mode;
    bool tree;
};

static const char *version(void) { return KCVERSION; }

static enum assay_status failed(struct assay_store *store, struct assay_error *error) {
    switch (kcdbecode(store->db)) {
    case KCENOREC:
        return ASSAY_MISS;
    case KCEDUPREC:
    case KCELOGIC: /* kcdbcas: another value was there, or none */
        return ASSAY_CONFLICT;
    default:
        return assay_fail(error, "%s", kcdbemsg(store->db));
    }
}

static void write_path(char *path, size_t path_bytes, const struct assay_config *config, bool tree) {
    const struct assay_options *given = config->options;
    char opts[4] = "", tree_tuning[128] = "";
    if (assay_option_bool(given, "small"))
        strcat(opts, "s");
    if (assay_option_bool(given, "linear"))
        strcat(opts, "l");
    if (assay_option_bool(given, "compress"))
        strcat(opts, "c");
    if (tree)
        snprintf(tree_tuning, sizeof tree_tuning, "#psiz=%lld#pccap=%lld", (long long)assay_option_bytes(given, "page_bytes"),
                 (long long)assay_option_bytes(given, "page_cache_bytes"));
    snprintf(path, path_bytes, "%s/data.%s#bnum=%lld#msiz=%lld#apow=%lld#fpow=%lld#dfunit=%lld%s%s%s%s", config->directory,
             tree ? "kct" : "kch", (long long)assay_option_int(given, "bnum"), (long long)assay_option_bytes(given, "msiz_bytes"),
             (long long)assay_option_int(given, "apow"), (long long)assay_option_int(given, "fpow"),
             (long long)assay_option_int(given, "dfunit"), tree_tuning, *opts != 0 ? "#opts=" : "", opts,
             assay_option_bool(given, "compress") ? "#zcomp=zlib" : "");
}

static enum assay_status open_file(const struct assay_config *config, bool tree, struct assay_store **out,
                                   struct assay_error *error) {
    if (assay_option_int(config->options, "bnum") < 1 || assay_option_int(config->options, "bnum") > UINT32_MAX ||
        assay_option_int(config->options, "apow") < 0 || assay_option_int(config->options, "apow") > 15 ||
        assay_option_int(config->options, "fpow") < 0 || assay_option_int(config->options, "fpow") > 20 ||
        assay_option_int(config->options, "dfunit") < 0)
        return assay_refuse(error, "expected bnum of 1 to 4294967295, apow 0 to 15, fpow 0 to 20, dfunit of at least 0");
    if (tree && (assay_option_bytes(config->options, "page_bytes") < 1 || assay_option_bytes(config->options, "page_bytes") > INT32_MAX))
        return assay_refuse(error, "page_bytes must be 1 to 2147483647: the library would take another number for it");
    if (tree && assay_option_bytes(config->options, "page_cache_bytes") < 1) /* kcplantdb.h, tune_page_cache: 0 is the default */
        return assay_refuse(error, "page_cache_bytes must be at least 1: the library takes 0 for its default, 64 MiB");
    if (strlen(config->directory) > 3000 || strchr(config->directory, '#') != NULL)
        return assay_refuse(error, "the directory's name is too long or holds a #, which the library takes for tuning");
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return assay_fail(error, "no memory for a store");
    char path[4096];
    write_path(path, sizeof path, config, tree);
    uint32_t mode = KCOWRITER | KCOCREATE;
    if (config->durability == ASSAY_D3)
        mode |= KCOAUTOTRAN | KCOAUTOSYNC;
    store->mode = mode;
    store->tree = tree;
    store->db = kcdbnew();
    enum assay_status status = kcdbopen(store->db, path, mode) ? assay_sync_directory(config->directory, error)
                                                              : assay_fail(error, "%s", kcdbemsg(store->db));
    if (status != ASSAY_OK) {
        kcdbdel(store->db);
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static enum assay_status open_hash(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    return open_file(config, false, out, error);
}

static enum assay_status open_tree(const struct assay_config *config, struct assay_store **out, struct assay_error *error) {
    return open_file(config, true, out, error);
}

/* The library gives its state as lines of a name, a tab and a value. Numbers of the state are for
 * inspect, the rest are settings. The mode that it was opened with is not among them, and a tree's
 * bnum is the number that was asked for, not what the hash of its pages made of it. */
static bool is_state(const char *name) {
    static const char *const names[] = {"count", "size", "cusage", "lcnt", "icnt", "first", "last", "root", "frgcnt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void tell(struct assay_store *store, struct assay_sink *sink, bool state) {
    char *text = kcdbstatus(store->db);
    if (text == NULL)
        return;
    for (char *line = text, *next; *line != 0; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] != 0);
        line[length] = 0;
        char *tab = strchr(line, '\t');
        if (tab == NULL)
            continue;
        *tab = 0;
        if (!state && !is_state(line) && strcmp(line, "path") != 0)
            assay_setting(sink, line, store->tree && strcmp(line, "bnum") == 0 ? "%s (asked)" : "%s", tab + 1);
        else if (state && is_state(line))
            assay_stat(sink, strcmp(line, "count") == 0 ? "records" : strcmp(line, "size") == 0 ? "file_bytes" : line, atof(tab + 1));
    }
    kcfree(text);
}

static void settings(struct assay_store *store, struct assay_sink *sink) {
    tell(store, sink, false);
    assay_setting(sink, "OAUTOTRAN", "%s (asked)", (store->mode & KCOAUTOTRAN) != 0 ? "true" : "false");
    assay_setting(sink, "OAUTOSYNC", "%s (asked)", (store->mode & KCOAUTOSYNC) != 0 ? "true" : "false");
}

static void inspect(struct assay_store *store, struct assay_sink *sink, bool *busy) {
    *busy = false;
    tell(store, sink, true);
}

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = kcdbclose(store->db) ? ASSAY_OK : failed(store, error);
    kcdbdel(store->db);
    free(store);
    return status;
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
static const char *data_of(struct assay_bytes bytes) { return bytes.data != NULL ? bytes.data : ""; }

static bool fits(struct assay_bytes key, struct assay_bytes value, struct assay_error *error) {
    if (key.length <= KEY_BYTES_MAX && value.length <= VALUE_BYTES_MAX)
        return true;
    return assay_fail(error, "the key is longer than 1 MiB or the value longer than 1 GiB"), false;
}

/* kcdbgetbuf cuts what is longer than the buffer, and tells the whole length. */
static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    int32_t length = kcdbgetbuf(store->db, data_of(key), key.length, (char *)buffer->data, buffer->capacity);
    if (length < 0)
        return failed(store, error);
    if ((size_t)length < buffer->capacity) {
        *value = (struct assay_bytes){buffer->data, (size_t)length};
        return ASSAY_OK;
    }
    size_t whole;
    char *all = kcdbget(store->db, data_of(key), key.length, &whole);
    if (all == NULL)
        return failed(store, error);
    enum assay_status status = assay_copy(buffer, all, whole, value, error);
    kcfree(all);
    return status;
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!fits(key, value, error))
        return ASSAY_ERROR;
    return kcdbset(store->db, data_of(key), key.length, data_of(value), value.length) ? ASSAY_OK : failed(store, error);
}

static enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!fits(key, value, error))
        return ASSAY_ERROR;
    return kcdbadd(store->db, data_of(key), key.length, data_of(value), value.length) ? ASSAY_OK : failed(store, error);
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    return kcdbremove(store->db, data_of(key), key.length) ? ASSAY_OK : failed(store, error);
}

static enum assay_status compare_and_swap(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes old,
                                          struct assay_bytes value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!fits(key, value, error))
        return ASSAY_ERROR;
    bool swapped = kcdbcas(store->db, data_of(key), key.length, data_of(old), old.length, data_of(value), value.length);
    return swapped ? ASSAY_OK : failed(store, error);
}

static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    (void)limit;
    KCCUR *cursor = kcdbcursor(store->db);
    bool more = kccurjumpkey(cursor, data_of(start), start.length);
    while (more) {
        size_t key_length, value_length;
        const char *value;
        char *key = kccurget(cursor, &key_length, &value, &value_length, 1); /* the value stands behind the key */
        if (key == NULL)
            break;
        more = visit(context, (struct assay_bytes){key, key_length}, (struct assay_bytes){value, value_length});
        kcfree(key);
        if (!more) {
            kccurdel(cursor);
            return ASSAY_OK;
        }
    }
    enum assay_status status = failed(store, error);
    kccurdel(cursor);
    return status == ASSAY_MISS ? ASSAY_OK : status; /* the keys have ended */
}

static enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    return kcdbsync(store->db, 1, NULL, NULL) ? ASSAY_OK : failed(store, error);
}

#define COMMON                                                                                                           \
    .version = version, .settings = settings, .close = close_store, .handle_open = handle_open, .handle_close = handle_close, \
    .get = get, .put = put, .remove = remove_key, .add = add, .compare_and_swap = compare_and_swap, .sync = sync_store,   \
    .inspect = inspect

static const struct assay_driver hash_driver = {.description = &hash_description, .open = open_hash, COMMON};
static const struct assay_driver tree_driver = {.description = &tree_description, .open = open_tree, .scan = scan, COMMON};

const struct assay_driver *const assay_drivers[] = {&hash_driver, &tree_driver, NULL};
