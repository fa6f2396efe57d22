/* What the drivers of hash, B+tree, table and array do alike with their object. The library has each call four times, under four
 * prefixes; so this is text that each driver includes once, after it has said which they are:
 *
 *   CALL(name)           the object's call of this name: tchdb##name
 *   MODE(name)           a bit of its open mode: HDB##name
 *   LOGS_EMPTIED(store, error)   syncs its logs after a commit; tc_log_emptied of its only one, mostly
 *   WRITE_BEGINS(store), WRITE_ENDED(store)   what else is to be done around a write; nothing, mostly
 *
 * and its struct assay_store, with `db`, `transactional` (each write a transaction), `synced` (whose commit waits for the disk) and
 * `transactions`. There are no pointers to functions in it: all of this is in the measured loop. What a driver has no use for, as
 * keys that are numbers for bytes, it leaves (so everything is inline, of which the compiler does not ask to be used). */
#ifndef ASSAY_TOKYOCABINET_OBJECT_H
#define ASSAY_TOKYOCABINET_OBJECT_H

#ifndef WRITE_BEGINS
#define WRITE_BEGINS(store) ((void)0)
#define WRITE_ENDED(store) ((void)0)
#endif

static inline enum assay_status failed(struct assay_store *store, struct assay_error *error) {
    return tc_failed(CALL(ecode)(store->db), error);
}

/* A store whose object has no settings and no file yet; NULL: there is no memory. */
static inline struct assay_store *new_store(const struct assay_config *config, bool transactional, struct assay_error *error) {
    struct assay_store *store = calloc(1, sizeof *store);
    if (store == NULL || (store->db = CALL(new)()) == NULL) {
        free(store);
        assay_fail(error, "no memory for a database object");
        return NULL;
    }
    pthread_mutex_init(&store->transactions, NULL);
    store->transactional = transactional;
    store->synced = config->durability == ASSAY_D3;
    return store;
}

/* Opens the file of an object that was tuned and kept its options; otherwise frees the store. */
static inline enum assay_status open_file(struct assay_store *store, const struct assay_config *config, const char *path, bool tuned,
                                          const struct tc_told *told, struct assay_store **out, struct assay_error *error) {
    enum assay_status status = tuned ? tc_check_kept(told, error) : failed(store, error);
    bool kept = false;
    if (status == ASSAY_OK && store->synced)
        status = tc_keep_log(config->directory, path, &kept, error);
    int mode = MODE(OWRITER) | MODE(OCREAT) | (store->synced ? MODE(OTSYNC) : 0);
    if (status == ASSAY_OK)
        status = CALL(open)(store->db, path, mode) ? assay_sync_directory(config->directory, error) : failed(store, error);
    if (status == ASSAY_OK && kept)
        status = CALL(sync)(store->db) ? tc_drop_log(config->directory, path, error) : failed(store, error);
    if (status != ASSAY_OK) {
        CALL(del)(store->db); /* closes it, too */
        pthread_mutex_destroy(&store->transactions);
        free(store);
        return status;
    }
    *out = store;
    return ASSAY_OK;
}

static inline enum assay_status close_file(struct assay_store *store, struct assay_error *error) {
    enum assay_status status = CALL(close)(store->db) ? ASSAY_OK : failed(store, error);
    CALL(del)(store->db);
    pthread_mutex_destroy(&store->transactions);
    free(store);
    return status;
}

/* A handle is the store itself. */
static inline enum assay_status handle_open(struct assay_store *store, struct assay_handle **handle, struct assay_error *error) {
    (void)error;
    *handle = (struct assay_handle *)store;
    return ASSAY_OK;
}

static inline enum assay_status handle_close(struct assay_handle *handle, struct assay_error *error) {
    (void)handle, (void)error;
    return ASSAY_OK;
}

static inline struct assay_store *store_of(struct assay_handle *handle) { return (struct assay_store *)handle; }

/* begin and end stand around each write. end keeps the write's own error. */
static inline bool begin(struct assay_store *store) {
    WRITE_BEGINS(store);
    if (!store->transactional)
        return true;
    pthread_mutex_lock(&store->transactions);
    if (CALL(tranbegin)(store->db))
        return true;
    pthread_mutex_unlock(&store->transactions);
    WRITE_ENDED(store);
    return false;
}

static inline enum assay_status end(struct assay_store *store, bool written, struct assay_error *error) {
    enum assay_status status = written ? ASSAY_OK : failed(store, error);
    if (store->transactional) {
        if (written && !CALL(trancommit)(store->db))
            status = failed(store, error);
        else if (written && store->synced)
            status = LOGS_EMPTIED(store, error);
        else if (!written)
            CALL(tranabort)(store->db);
        pthread_mutex_unlock(&store->transactions);
    }
    WRITE_ENDED(store);
    return status;
}

static inline enum assay_status sync_store(struct assay_store *store, struct assay_error *error) {
    return CALL(sync)(store->db) ? ASSAY_OK : failed(store, error);
}

/* What every object tells of itself. */
static inline void tell_object(struct assay_store *store, int open_mode, const char *transactions, struct assay_sink *sink) {
    assay_setting(sink, "mutex", "%s", store->db->mmtx != NULL ? "true" : "false");
    assay_setting(sink, "tsync", "%s", (open_mode & MODE(OTSYNC)) != 0 ? "true" : "false");
    assay_setting(sink, "transaction_each_write", "%s", transactions);
}

static inline const char *transactions_told(const struct assay_store *store) { return store->transactional ? "true" : "false"; }

#ifndef KEYS_ARE_NUMBERS
/* Three of the four are a hash database or stand on one, and have keys of bytes. */
static inline void tell_file(struct assay_store *store, struct assay_sink *sink) {
    assay_setting(sink, "alignment", "%u", CALL(align)(store->db));
    assay_setting(sink, "fbpmax", "%u", CALL(fbpmax)(store->db));
    assay_setting(sink, "dfunit", "%u", CALL(dfunit)(store->db));
    assay_setting(sink, "large", "%s", (CALL(opts)(store->db) & HDBTLARGE) != 0 ? "true" : "false");
    assay_setting(sink, "compression", "%s", tc_compression(CALL(opts)(store->db)));
}

/* Begins the write of a key and a value that the library takes. */
static inline enum assay_status begin_write(struct assay_store *store, struct assay_bytes key, struct assay_bytes value,
                                            struct assay_error *error) {
    if (!tc_fits(key, value))
        return assay_fail(error, "%s", tc_too_long);
    return begin(store) ? ASSAY_OK : failed(store, error);
}

static inline enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    enum assay_status status = begin_write(store, key, (struct assay_bytes){NULL, 0}, error);
    if (status != ASSAY_OK)
        return status;
    return end(store, CALL(out)(store->db, key.data, (int)key.length), error);
}

/* A value in memory of the library's own, as its calls give it where another thread may write
 * meanwhile: a copy that its call made under the lock. */
static inline enum assay_status take(struct assay_store *store, void *all, int length, struct assay_buffer *buffer,
                                     struct assay_bytes *value, struct assay_error *error) {
    if (all == NULL)
        return failed(store, error);
    enum assay_status status = assay_copy(buffer, all, (size_t)length, value, error);
    free(all);
    return status;
}

#ifndef VALUES_ARE_COLUMNS
static inline enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                                    struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    enum assay_status status = begin_write(store, key, value, error);
    if (status != ASSAY_OK)
        return status;
    return end(store, CALL(put)(store->db, key.data, (int)key.length, value.data, (int)value.length), error);
}

static inline enum assay_status add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                                    struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    enum assay_status status = begin_write(store, key, value, error);
    if (status != ASSAY_OK)
        return status;
    return end(store, CALL(putkeep)(store->db, key.data, (int)key.length, value.data, (int)value.length), error);
}

static inline enum assay_status compare_and_swap(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes old,
                                                 struct assay_bytes value, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    enum assay_status status = begin_write(store, key, value, error);
    if (status != ASSAY_OK)
        return status;
    struct tc_swap swap = {.old = old, .value = value};
    bool written = CALL(putproc)(store->db, key.data, (int)key.length, NULL, 0, tc_swap_proc, &swap);
    status = end(store, written && swap.swapped, error);
    return swap.no_memory ? assay_fail(error, "no memory for a value") : status;
}
#endif
#endif

#endif
