/* The driver "null": it does nothing, as cheaply as can be. Its rate is the ceiling that the
 * harness itself allows. */
#include "assay_driver.h"

#define HOW "nothing is stored: this is the ceiling of the harness"

static const struct assay_durability_claim durability[] = {{ASSAY_D0, HOW}, {ASSAY_D1, HOW}, {ASSAY_D2, HOW},
                                                           {ASSAY_D3, HOW}, {ASSAY_D4, HOW}, {0, NULL}};

static const struct assay_description description = {
    .name = "null-c",
    .summary = "does nothing, in C: the ceiling of the native harness",
    .library = "",
    .licence = "NONE",
    .kind = "none",
    .durability = durability,
    .handles_shareable = true,
    .batch_atomic = true,
    .note = "it keeps nothing: every read gives the empty value, every scan ends at once, every query finds one empty record, and nothing can be verified",
};

static char nothing;

static enum assay_status open_store(const struct assay_config *config, struct assay_store **store, struct assay_error *error) {
    (void)config, (void)error;
    *store = (struct assay_store *)&nothing;
    return ASSAY_OK;
}

static void settings(struct assay_store *store, struct assay_sink *sink) { (void)store, (void)sink; }

static enum assay_status of_store(struct assay_store *store, struct assay_error *error) {
    (void)store, (void)error;
    return ASSAY_OK;
}

static enum assay_status handle_open(struct assay_store *store, struct assay_handle **handle, struct assay_error *error) {
    (void)store, (void)error;
    *handle = (struct assay_handle *)&nothing;
    return ASSAY_OK;
}

static enum assay_status handle_close(struct assay_handle *handle, struct assay_error *error) {
    (void)handle, (void)error;
    return ASSAY_OK;
}

static enum assay_status get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error) {
    (void)handle, (void)key, (void)buffer, (void)error;
    *value = (struct assay_bytes){&nothing, 0};
    return ASSAY_OK;
}

static enum assay_status put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error) {
    (void)handle, (void)key, (void)value, (void)error;
    return ASSAY_OK;
}

static enum assay_status remove_key(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error) {
    (void)handle, (void)key, (void)error;
    return ASSAY_OK;
}

static enum assay_status batch(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                               struct assay_error *error) {
    (void)handle, (void)writes, (void)count, (void)error;
    return ASSAY_OK;
}

static enum assay_status scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error) {
    (void)handle, (void)start, (void)limit, (void)visit, (void)context, (void)error;
    return ASSAY_OK;
}

static enum assay_status compare_and_swap(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes old,
                                          struct assay_bytes value, struct assay_error *error) {
    (void)handle, (void)key, (void)old, (void)value, (void)error;
    return ASSAY_OK;
}

static enum assay_status modify(struct assay_handle *handle, struct assay_bytes key, const size_t *columns, const struct assay_bytes *values,
                                size_t count, struct assay_error *error) {
    (void)handle, (void)key, (void)columns, (void)values, (void)count, (void)error;
    return ASSAY_OK;
}

static enum assay_status increment(struct assay_handle *handle, struct assay_bytes key, size_t column, int64_t by, struct assay_error *error) {
    (void)handle, (void)key, (void)column, (void)by, (void)error;
    return ASSAY_OK;
}

static enum assay_status define(struct assay_store *store, const struct assay_definition *definition, struct assay_error *error) {
    (void)store, (void)definition, (void)error;
    return ASSAY_OK;
}

/* One empty record, as a read gives the empty value. */
static enum assay_status query(struct assay_handle *handle, size_t number, const struct assay_bytes *values, assay_visit *visit,
                               void *context, struct assay_error *error) {
    (void)handle, (void)number, (void)values, (void)error;
    struct assay_bytes empty = {&nothing, 0};
    visit(context, empty, empty);
    return ASSAY_OK;
}

static enum assay_status count(struct assay_handle *handle, size_t number, const struct assay_bytes *values, uint64_t *records,
                               struct assay_error *error) {
    (void)handle, (void)number, (void)values, (void)error;
    *records = 1;
    return ASSAY_OK;
}

static const struct assay_driver driver = {
    .description = &description,
    .open = open_store,
    .settings = settings,
    .close = of_store,
    .handle_open = handle_open,
    .handle_close = handle_close,
    .get = get,
    .put = put,
    .remove = remove_key,
    .batch = batch,
    .scan = scan,
    .add = put,
    .compare_and_swap = compare_and_swap,
    .define = define,
    .query = query,
    .count = count,
    .modify = modify,
    .increment = increment,
    .delete_query = count, /* it says that it deleted one */
    .sync = of_store,
};

const struct assay_driver *const assay_drivers[] = {&driver, NULL};
