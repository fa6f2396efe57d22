/* A loop without a harness over Tokyo Cabinet's hash database: the rate that the native worker is held against.
 *
 *   bare-tokyocabinet DIRECTORY RECORDS SECONDS    prints ns a get, by the clock and of processor time */
#include <stdio.h>
#include <tchdb.h>

#include "bare.h"

static TCHDB *db;

static void put(const unsigned char *key, const unsigned char *value) { bare_must(tchdbput(db, key, BARE_KEY_BYTES, value, BARE_VALUE_BYTES)); }

static int get(const unsigned char *key, unsigned char *value, int room) { return tchdbget3(db, key, BARE_KEY_BYTES, value, room); }

int main(int argc, char **argv) {
    struct bare bare = bare_arguments(argc, argv, "bare.tch");
    db = tchdbnew();
    bare_must(tchdbsetmutex(db) && tchdbopen(db, bare.path, HDBOWRITER | HDBOCREAT));
    bare_run(&bare, put, get);
    bare_must(tchdbclose(db));
    return 0;
}
