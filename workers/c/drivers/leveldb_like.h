/* What the drivers of LevelDB and of RocksDB have in common: the latter's C interface is the
 * former's under another prefix. A driver defines LIBRARY(name), the library's name for one of
 * LevelDB's; its struct assay_store, with db, write and read; and fits. */

/* Whether the library takes a record of that size; sets the error if not. */
static bool fits(struct assay_bytes key, struct assay_bytes value, struct assay_error *error);

/* Takes over a message of the library. */
static enum assay_status failed(char *message, struct assay_error *error) {
    if (message == NULL)
        return ASSAY_OK;
    enum assay_status status = assay_fail(error, "%s", message);
    LIBRARY(free)(message);
    return status;
}

/* A handle is the store itself: the library has no sessions. */
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

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    if (!fits(key, value, error))
        return ASSAY_ERROR;
    char *message = NULL;
    LIBRARY(put)(store->db, store->write, data_of(key), key.length, data_of(value), value.length, &message);
    return failed(message, error);
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    char *message = NULL;
    LIBRARY(delete)(store->db, store->write, data_of(key), key.length, &message);
    return failed(message, error);
}

static enum assay_status batch(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                               struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    LIBRARY(writebatch_t) *all = LIBRARY(writebatch_create)();
    for (size_t i = 0; i < count; i++) {
        struct assay_bytes key = writes[i].key, value = writes[i].value;
        if (!fits(key, value, error)) {
            LIBRARY(writebatch_destroy)(all);
            return ASSAY_ERROR;
        }
        if (writes[i].remove)
            LIBRARY(writebatch_delete)(all, data_of(key), key.length);
        else
            LIBRARY(writebatch_put)(all, data_of(key), key.length, data_of(value), value.length);
    }
    char *message = NULL;
    LIBRARY(write)(store->db, store->write, all, &message);
    LIBRARY(writebatch_destroy)(all);
    return failed(message, error);
}

static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    struct assay_store *store = store_of(handle);
    (void)limit;
    LIBRARY(iterator_t) *iterator = LIBRARY(create_iterator)(store->db, store->read);
    for (LIBRARY(iter_seek)(iterator, data_of(start), start.length); LIBRARY(iter_valid)(iterator); LIBRARY(iter_next)(iterator)) {
        struct assay_bytes key, value;
        key.data = LIBRARY(iter_key)(iterator, &key.length);
        value.data = LIBRARY(iter_value)(iterator, &value.length);
        if (!visit(context, key, value))
            break;
    }
    char *message = NULL;
    LIBRARY(iter_get_error)(iterator, &message);
    LIBRARY(iter_destroy)(iterator);
    return failed(message, error);
}
