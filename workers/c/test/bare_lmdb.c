/* A loop without a harness over LMDB: what the native worker is held against. */
#include <lmdb.h>
#include <stdio.h>

#include "bare.h"

static MDB_env *env;
static MDB_dbi dbi;
static MDB_txn *reader;

static void put(const unsigned char *key, const unsigned char *value) {
    MDB_txn *txn;
    MDB_val k = {BARE_KEY_BYTES, (void *)(uintptr_t)key}, v = {BARE_VALUE_BYTES, (void *)(uintptr_t)value};
    bare_must(mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_put(txn, dbi, &k, &v, 0) == 0 && mdb_txn_commit(txn) == 0);
}

/* As a program does that keeps no snapshot between reads. */
static int get(const unsigned char *key, unsigned char *value, int room) {
    MDB_val k = {BARE_KEY_BYTES, (void *)(uintptr_t)key}, v;
    (void)room;
    if (mdb_txn_renew(reader) != 0)
        return -1;
    int code = mdb_get(reader, dbi, &k, &v);
    if (code == 0)
        memcpy(value, v.mv_data, v.mv_size);
    mdb_txn_reset(reader);
    return code == 0 ? (int)v.mv_size : -1;
}

int main(int argc, char **argv) {
    struct bare bare = bare_arguments(argc, argv);
    MDB_txn *txn;
    bare_must(mdb_env_create(&env) == 0 && mdb_env_set_mapsize(env, (size_t)1 << 30) == 0 &&
              mdb_env_open(env, bare.directory, MDB_NOTLS | MDB_NOSYNC, 0600) == 0 &&
              mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, NULL, 0, &dbi) == 0 && mdb_txn_commit(txn) == 0 &&
              mdb_txn_begin(env, NULL, MDB_RDONLY, &reader) == 0);
    mdb_txn_reset(reader);
    bare_run(&bare, put, get);
    mdb_txn_abort(reader);
    mdb_env_close(env);
    return 0;
}
