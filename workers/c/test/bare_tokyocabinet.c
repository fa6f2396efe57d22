/* A loop without a harness over Tokyo Cabinet's hash database: what the native worker is held
 * against. */
#include <stdio.h>
#include <tchdb.h>

#include "bare.h"

static TCHDB *db;

static void put(const unsigned char *key, const unsigned char *value) { bare_must(tchdbput(db, key, BARE_KEY_BYTES, value, BARE_VALUE_BYTES)); }

static int get(const unsigned char *key, unsigned char *value, int room) { return tchdbget3(db, key, BARE_KEY_BYTES, value, room); }

int main(int argc, char **argv) {
    struct bare bare = bare_arguments(argc, argv);
    char path[sizeof bare.directory + 16];
    snprintf(path, sizeof path, "%s/data.tch", bare.directory);
    db = tchdbnew();
    bare_must(tchdbsetmutex(db) && tchdbopen(db, path, HDBOWRITER));
    bare_run(&bare, put, get);
    bare_must(tchdbclose(db));
    return 0;
}
