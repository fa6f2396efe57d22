/* A loop without a harness over RocksDB, with the library's defaults where the driver has them:
 * what the native worker is held against. */
#include <rocksdb/c.h>
#include <stdio.h>

#include "bare.h"

static rocksdb_t *db;
static rocksdb_writeoptions_t *writing;
static rocksdb_readoptions_t *reading;

static void put(const unsigned char *key, const unsigned char *value) {
    char *message = NULL;
    rocksdb_put(db, writing, (const char *)key, BARE_KEY_BYTES, (const char *)value, BARE_VALUE_BYTES, &message);
    bare_must(message == NULL);
}

static int get(const unsigned char *key, unsigned char *value, int room) {
    char *message = NULL;
    size_t length;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned(db, reading, (const char *)key, BARE_KEY_BYTES, &message);
    if (pinned == NULL)
        return -1;
    const char *data = rocksdb_pinnableslice_value(pinned, &length);
    if (length <= (size_t)room)
        memcpy(value, data, length);
    rocksdb_pinnableslice_destroy(pinned);
    return (int)length;
}

int main(int argc, char **argv) {
    struct bare bare = bare_arguments(argc, argv);
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(8 << 20);
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_options_set_compression(options, rocksdb_snappy_compression);
    writing = rocksdb_writeoptions_create();
    reading = rocksdb_readoptions_create();
    char *message = NULL;
    db = rocksdb_open(options, bare.directory, &message);
    bare_must(db != NULL && message == NULL);
    bare_run(&bare, put, get);
    rocksdb_close(db);
    rocksdb_writeoptions_destroy(writing);
    rocksdb_readoptions_destroy(reading);
    rocksdb_block_based_options_destroy(table);
    rocksdb_cache_destroy(cache);
    rocksdb_options_destroy(options);
    return 0;
}
