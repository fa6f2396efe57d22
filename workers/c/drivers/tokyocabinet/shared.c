#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

enum assay_status tc_log_emptied(int log, struct assay_error *error) {
    if (log >= 0 && fsync(log) != 0)
        return assay_fail(error, "syncing the emptied log: %s", strerror(errno));
    return ASSAY_OK;
}

static bool copy_synced(const char *from, const char *to) {
    char block[1 << 16];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t length = in < 0 || out < 0 ? -1 : 0;
    while (length >= 0 && (length = read(in, block, sizeof block)) > 0)
        for (ssize_t done = 0, part; done < length; done += part)
            if ((part = write(out, block + done, (size_t)(length - done))) < 0) {
                length = part;
                break;
            }
    bool copied = length == 0 && fsync(out) == 0;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return copied;
}

/* The name of a file's log, with something behind it. */
static bool log_name(char name[4200], const char *path, const char *behind) {
    int length = snprintf(name, 4200, "%s.wal%s", path, behind);
    return length > 0 && length < 4200;
}

enum assay_status tc_keep_log(const char *directory, const char *path, bool *kept, struct assay_error *error) {
    char log[4200], copy[4200], made[4200];
    struct stat is;
    *kept = false;
    if (!log_name(log, path, "") || !log_name(copy, path, ".kept") || !log_name(made, path, ".new"))
        return assay_fail(error, "the directory's name is too long");
    if (rename(copy, log) == 0) {
        enum assay_status status = assay_sync_directory(directory, error);
        if (status != ASSAY_OK)
            return status;
    } else if (errno != ENOENT) {
        return assay_fail(error, "putting back %s: %s", copy, strerror(errno));
    }
    if (stat(log, &is) != 0 || is.st_size == 0)
        return ASSAY_OK;
    if (!copy_synced(log, made) || rename(made, copy) != 0)
        return assay_fail(error, "keeping a copy of %s: %s", log, strerror(errno));
    *kept = true;
    return assay_sync_directory(directory, error);
}

enum assay_status tc_drop_log(const char *directory, const char *path, struct assay_error *error) {
    char copy[4200];
    if (!log_name(copy, path, ".kept") || unlink(copy) != 0)
        return assay_fail(error, "removing the copy of the log: %s", strerror(errno));
    return assay_sync_directory(directory, error);
}
