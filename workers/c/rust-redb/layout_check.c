/* Holds header.rs against the header: prints every place where they differ, and fails if there is
 * one. */
#include <stdio.h>

#include "assay_driver.h"

struct place {
    const char *name;
    size_t number;
};

extern const struct place assay_redb_layout[]; /* ended by a place whose name is NULL */

#define SIZE(type) {"sizeof " #type, sizeof(struct type)}
#define FIELD(type, field) {#type "." #field, offsetof(struct type, field)}
#define VALUE(name) {#name, name}

static const struct place header[] = {
    SIZE(assay_bytes),
    FIELD(assay_bytes, data),
    FIELD(assay_bytes, length),
    SIZE(assay_buffer),
    SIZE(assay_error),
    SIZE(assay_durability_claim),
    FIELD(assay_durability_claim, class_),
    FIELD(assay_durability_claim, how),
    SIZE(assay_option),
    FIELD(assay_option, name),
    FIELD(assay_option, type),
    FIELD(assay_option, default_value),
    FIELD(assay_option, help),
    FIELD(assay_option, choices),
    FIELD(assay_option, tune),
    SIZE(assay_description),
    FIELD(assay_description, name),
    FIELD(assay_description, summary),
    FIELD(assay_description, library),
    FIELD(assay_description, licence),
    FIELD(assay_description, kind),
    FIELD(assay_description, durability),
    FIELD(assay_description, options),
    FIELD(assay_description, handles_shareable),
    FIELD(assay_description, key_text),
    FIELD(assay_description, key_numbers),
    FIELD(assay_description, batch_atomic),
    FIELD(assay_description, write_conflicts),
    FIELD(assay_description, server_sets_class),
    FIELD(assay_description, token_indexes),
    FIELD(assay_description, eventual),
    FIELD(assay_description, handles_max),
    FIELD(assay_description, key_bytes_min),
    FIELD(assay_description, key_bytes_max),
    FIELD(assay_description, value_bytes_max),
    FIELD(assay_description, value_bytes_option),
    FIELD(assay_description, batch_max),
    FIELD(assay_description, batch_bytes_max),
    FIELD(assay_description, fixed_disk_bytes),
    FIELD(assay_description, note),
    SIZE(assay_config),
    FIELD(assay_config, directory),
    FIELD(assay_config, endpoints),
    FIELD(assay_config, durability),
    FIELD(assay_config, loss_window_ns),
    FIELD(assay_config, threads),
    FIELD(assay_config, handles),
    FIELD(assay_config, first),
    FIELD(assay_config, options),
    SIZE(assay_write),
    FIELD(assay_write, key),
    FIELD(assay_write, value),
    FIELD(assay_write, remove),
    SIZE(assay_driver),
    FIELD(assay_driver, description),
    FIELD(assay_driver, version),
    FIELD(assay_driver, open),
    FIELD(assay_driver, settings),
    FIELD(assay_driver, close),
    FIELD(assay_driver, handle_open),
    FIELD(assay_driver, handle_close),
    FIELD(assay_driver, get),
    FIELD(assay_driver, put),
    FIELD(assay_driver, remove),
    FIELD(assay_driver, batch),
    FIELD(assay_driver, scan),
    FIELD(assay_driver, add),
    FIELD(assay_driver, compare_and_swap),
    FIELD(assay_driver, define),
    FIELD(assay_driver, query),
    FIELD(assay_driver, count),
    FIELD(assay_driver, modify),
    FIELD(assay_driver, increment),
    FIELD(assay_driver, delete_query),
    FIELD(assay_driver, explain),
    FIELD(assay_driver, sync),
    FIELD(assay_driver, inspect),
    VALUE(ASSAY_OK),
    VALUE(ASSAY_MISS),
    VALUE(ASSAY_CONFLICT),
    VALUE(ASSAY_ERROR),
    VALUE(ASSAY_REFUSED),
    VALUE(ASSAY_D0),
    VALUE(ASSAY_D3),
    {"sizeof enum assay_status", sizeof(enum assay_status)},
    {"sizeof enum assay_durability", sizeof(enum assay_durability)},
    {NULL, 0},
};

int main(void) {
    int differences = 0;
    for (size_t i = 0;; i++) {
        const struct place c = header[i], rust = assay_redb_layout[i];
        if (c.name == NULL && rust.name == NULL)
            break;
        if (c.name == NULL || rust.name == NULL || strcmp(c.name, rust.name) != 0) {
            printf("the lists part: C has %s, Rust %s\n", c.name != NULL ? c.name : "its end", rust.name != NULL ? rust.name : "its end");
            return 1;
        }
        if (c.number != rust.number) {
            printf("%s: C has %zu, Rust %zu\n", c.name, c.number, rust.number);
            differences++;
        }
    }
    return differences > 0;
}
