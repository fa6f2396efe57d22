#include "shared.h"

#include <stdlib.h>
#include <tchdb.h>

const char *tc_version(void) { return tcversion; }

const char tc_too_long[] = "the key is longer than 1 MiB or the value longer than 1 GiB";

enum assay_status tc_failed(int code, struct assay_error *error) {
    switch (code) {
    case TCENOREC:
        return ASSAY_MISS;
    case TCEKEEP:
        return ASSAY_CONFLICT;
    default:
        return assay_fail(error, "%s", tcerrmsg(code));
    }
}

struct tc_tuning tc_read_tuning(const struct assay_options *options) {
    static const struct {
        const char *name;
        uint8_t opt;
    } compressions[] = {{"none", 0}, {"deflate", HDBTDEFLATE}, {"bzip", HDBTBZIP}, {"tcbs", HDBTTCBS}};
    struct tc_tuning tuning = {
        .buckets = assay_option_int(options, "bnum"),
        .mapped_bytes = assay_option_bytes(options, "xmsiz_bytes"),
        .alignment_power = assay_option_int(options, "apow"),
        .free_pool_power = assay_option_int(options, "fpow"),
        .defragment_every = assay_option_int(options, "dfunit"),
        .opts = assay_option_bool(options, "large") ? HDBTLARGE : 0,
    };
    const char *compression = assay_option_text(options, "compression");
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
        if (strcmp(compression, compressions[i].name) == 0)
            tuning.opts |= compressions[i].opt;
    return tuning;
}

enum assay_status tc_check_tuning(const struct assay_config *config, const struct tc_tuning *tuning,
                                  struct assay_error *error) {
    if (!assay_option_bool(config->options, "mutex") && config->threads > 1)
        return assay_refuse(error, "without its mutex the object takes one thread only");
    if (tuning->buckets < 1 || tuning->buckets > UINT32_MAX || tuning->alignment_power < 0 || tuning->alignment_power > 16 ||
        tuning->free_pool_power < 0 || tuning->free_pool_power > 20 || tuning->defragment_every < 0 || tuning->defragment_every > INT32_MAX)
        return assay_refuse(error, "expected bnum of 1 to 4294967295, apow 0 to 16, fpow 0 to 20, dfunit 0 to 2147483647");
    return ASSAY_OK;
}

enum assay_status tc_check_kept(const struct tc_told *told, struct assay_error *error) {
    for (; told->option != NULL; told++)
        if (told->kept != told->asked)
            return assay_refuse(error, "%s=%lld would become %lld in the library: ask for that, or for another number that it keeps", told->option,
                                (long long)told->asked, (long long)told->kept);
    return ASSAY_OK;
}

enum assay_status tc_check_page_caches(int64_t leaves, int64_t nodes, struct assay_error *error) {
    if (leaves < TC_PAGES_CACHED_MIN || nodes < TC_PAGES_CACHED_MIN || leaves > TC_PAGES_CACHED_MAX || nodes > TC_PAGES_CACHED_MAX)
        return assay_refuse(error, "expected lcnum and ncnum of %d to %d", TC_PAGES_CACHED_MIN, TC_PAGES_CACHED_MAX);
    return ASSAY_OK;
}

const char *tc_compression(uint8_t opts) {
    return (opts & HDBTDEFLATE) != 0 ? "deflate" : (opts & HDBTBZIP) != 0 ? "bzip" : (opts & HDBTTCBS) != 0 ? "tcbs" : "none";
}

void *tc_swap_proc(const void *value, int length, int *new_length, void *argument) {
    struct tc_swap *swap = argument;
    if ((size_t)length != swap->old.length || memcmp(value, swap->old.data, swap->old.length) != 0)
        return NULL; /* leave it as it is */
    void *copy = malloc(swap->value.length + 1); /* the library frees it */
    if (copy == NULL) {
        swap->no_memory = true;
        return NULL;
    }
    if (swap->value.length > 0)
        memcpy(copy, swap->value.data, swap->value.length);
    *new_length = (int)swap->value.length;
    swap->swapped = true;
    return copy;
}

const struct assay_driver *const assay_drivers[] = {&tc_hash_driver, &tc_btree_driver, &tc_fixed_driver, &tc_table_driver,
                                                    NULL};
