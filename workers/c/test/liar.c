/* A driver that keeps a few records in memory and answers queries as its option says: what the
 * worker's checks of queries must see. */
#include <stdlib.h>

#include "assay_driver.h"

static const struct assay_durability_claim durability[] = {{ASSAY_D0, "in memory"}, {0, NULL}};

static const struct assay_option options[] = {
    {"lie", "choice", "none", "what is wrong with the answer to a query", "none twice other exchanged torn goes_on"},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct assay_description description = {
    .name = "liar",
    .summary = "answers queries wrongly",
    .library = "",
    .licence = "NONE",
    .kind = "memory",
    .durability = durability,
    .options = options,
    .handles_shareable = true,
};

enum { RECORDS_MAX = 64, KEY_BYTES_MAX = 32, RECORD_BYTES_MAX = 1024 };

struct assay_store {
    const char *lie;
    const struct assay_definition *definition;
    size_t count;
    struct {
        unsigned char key[KEY_BYTES_MAX], value[RECORD_BYTES_MAX];
        size_t key_bytes, value_bytes;
    } record[RECORDS_MAX];
};

static enum assay_status open_store(const struct assay_config *config, struct assay_store **store, struct assay_error *error) {
    if ((*store = calloc(1, sizeof **store)) == NULL)
        return assay_fail(error, "no memory");
    (*store)->lie = assay_option_text(config->options, "lie");
    return ASSAY_OK;
}

static void settings(struct assay_store *store, struct assay_sink *sink) { assay_setting(sink, "lie", "%s", store->lie); }

static enum assay_status close_store(struct assay_store *store, struct assay_error *error) {
    (void)error;
    free(store);
    return ASSAY_OK;
}

static enum assay_status handle_open(struct assay_store *store, struct assay_handle **handle, struct assay_error *error) {
    (void)error;
    *handle = (struct assay_handle *)store;
    return ASSAY_OK;
}

static enum assay_status handle_close(struct assay_handle *handle, struct assay_error *error) {
    (void)handle, (void)error;
    return ASSAY_OK;
}

static struct assay_bytes key_of(const struct assay_store *s, size_t i) { return (struct assay_bytes){s->record[i].key, s->record[i].key_bytes}; }
static struct assay_bytes value_of(const struct assay_store *s, size_t i) { return (struct assay_bytes){s->record[i].value, s->record[i].value_bytes}; }

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer, struct assay_bytes *value,
                             struct assay_error *error) {
    struct assay_store *s = (struct assay_store *)handle;
    for (size_t i = 0; i < s->count; i++)
        if (key.length == s->record[i].key_bytes && memcmp(key.data, s->record[i].key, key.length) == 0)
            return assay_copy(buffer, s->record[i].value, s->record[i].value_bytes, value, error);
    return ASSAY_MISS;
}

/* Every key is put once. */
static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value, struct assay_error *error) {
    struct assay_store *s = (struct assay_store *)handle;
    if (s->count == RECORDS_MAX || key.length > KEY_BYTES_MAX || value.length > RECORD_BYTES_MAX)
        return assay_fail(error, "no room");
    memcpy(s->record[s->count].key, key.data, s->record[s->count].key_bytes = key.length);
    memcpy(s->record[s->count].value, value.data, s->record[s->count].value_bytes = value.length);
    s->count++;
    return ASSAY_OK;
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    (void)handle, (void)key;
    return assay_fail(error, "nothing is removed here");
}

static enum assay_status define(struct assay_store *store, const struct assay_definition *definition, struct assay_error *error) {
    (void)error;
    store->definition = definition;
    return ASSAY_OK;
}

static bool matches(struct assay_bytes record, size_t column, struct assay_bytes bytes) {
    struct assay_bytes is = {NULL, 0};
    for (size_t i = 0; i <= column; i++)
        if (!assay_next_column(&record, &is))
            return false;
    return is.length == bytes.length && memcmp(is.data, bytes.data, bytes.length) == 0;
}

/* Of queries with one condition, equality, that give whole records. */
static enum assay_status query(struct assay_handle *handle, size_t number, const struct assay_bytes *values, assay_visit *visit,
                               void *context, struct assay_error *error) {
    (void)error;
    struct assay_store *s = (struct assay_store *)handle;
    size_t column = s->definition->queries[number].conditions[0].column;
    struct assay_bytes bytes = values[0];
    const bool other = strcmp(s->lie, "other") == 0, twice = strcmp(s->lie, "twice") == 0, exchanged = strcmp(s->lie, "exchanged") == 0,
               torn = strcmp(s->lie, "torn") == 0, goes_on = strcmp(s->lie, "goes_on") == 0;
    for (size_t i = 0; i < s->count; i++) {
        if (matches(value_of(s, i), column, bytes) == other)
            continue;
        struct assay_bytes key = key_of(s, exchanged ? (i + 1) % s->count : i), value = value_of(s, i);
        if (torn)
            s->record[i].value[value.length - 1] ^= 1;
        bool more = visit(context, key, value);
        if (twice && more)
            more = visit(context, key, value);
        if (!more && !goes_on)
            break;
    }
    return ASSAY_OK;
}

static const struct assay_driver driver = {
    .description = &description,
    .open = open_store,
    .settings = settings,
    .close = close_store,
    .handle_open = handle_open,
    .handle_close = handle_close,
    .get = get,
    .put = put,
    .remove = remove_key,
    .define = define,
    .query = query,
};

const struct assay_driver *const assay_drivers[] = {&driver, NULL};
