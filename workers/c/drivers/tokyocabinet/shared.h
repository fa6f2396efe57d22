/* What the four drivers of Tokyo Cabinet have in common.
 *
 * One object stands for a database file, and a process can't open a file twice (tchdb.c, tchdbopen: the path is locked inside the
 * process). So all handles of a file are that one object; with
 * the option `files` a store has several, and each handle all of them (files.c).
 *
 * What reaches which class, by the source of 1.4.48:
 *
 *   D1  tchdb.c, tchdbseekwrite: what is written goes to memory mapped MAP_SHARED, up to xmsiz, and by pwrite beyond. Both are the
 *       page cache. The header's record count and file size, too, are changed there at each write. Nothing is kept in the process:
 *       the record cache (rcnum) drops what is written, and the delayed pool is used by tchdbputasync only.
 *   D0  tcbdb.c, tcbdbputimpl: a leaf is changed in the cache of leaves, in the process's memory, and written when it leaves it.
 *   D1  tcbdb.c, tcbdbtrancommit: all leaves are written (tcbdbmemsync without phys) before it returns.
 *   D3  …OTSYNC: tchdbtrancommit syncs map and file (msync, fsync), and tchdbwalwrite syncs what was there before, before it is
 *       overwritten. It then empties the log, and does not sync that: after a power cut the log is still there, and undoes a
 *       transaction that was acknowledged (11 to 14 of 24 cuts did). The driver syncs it: tc_log_emptied. Recovery removes the log
 *       before what it has put back is on the disk, so that a second cut may leave half of it and no log: tc_keep_log. A mere sync after each write (tchdbsync) is not offered as D3: what a power cut leaves of the next write, half
 *       done and without a log, may take older records with it.
 *
 * A transaction covers the whole object: a second thread that begins one sleeps for 10 ms and more and may starve. Therefore a mutex of
 * the driver lets them in one by one; there are no batches, because the roll-back of one after a crash would take with it what other
 * threads had acknowledged meanwhile. */
#ifndef ASSAY_TOKYOCABINET_SHARED_H
#define ASSAY_TOKYOCABINET_SHARED_H

#include <pthread.h>
#include <tcutil.h>

#include "assay_driver.h"

/* Lengths are `int` in the library. */
enum { TC_KEY_BYTES_MAX = 1 << 20, TC_VALUE_BYTES_MAX = 1 << 30 };

static inline bool tc_fits(struct assay_bytes key, struct assay_bytes value) {
    return key.length <= TC_KEY_BYTES_MAX && value.length <= TC_VALUE_BYTES_MAX;
}

const char *tc_version(void);

/* Syncs the emptied log of a transaction that was committed; below 0: there is none. */
enum assay_status tc_log_emptied(int log, struct assay_error *error);

/* Keeps a copy of the log of a file that is about to be opened, if it has one, or puts the copy in its place that a recovery which
 * was cut off has left. kept says whether there is a copy: once the file was opened and synced, tc_drop_log removes it. */
enum assay_status tc_keep_log(const char *directory, const char *path, bool *kept, struct assay_error *error);
enum assay_status tc_drop_log(const char *directory, const char *path, struct assay_error *error);

/* The status of a call that failed with a code of tcutil.h. */
enum assay_status tc_failed(int code, struct assay_error *error);
extern const char tc_too_long[];

/* Tuning as given in options; HDBT…, BDBT… and TDBT… have the same values. */
struct tc_tuning {
    int64_t buckets, mapped_bytes, alignment_power, free_pool_power, defragment_every;
    uint8_t opts;
};
struct tc_tuning tc_read_tuning(const struct assay_options *options);
enum assay_status tc_check_tuning(const struct assay_config *config, const struct tc_tuning *tuning,
                                  struct assay_error *error);
const char *tc_compression(uint8_t opts);

/* What was asked for an option, and what the object reports once it was tuned, before it opens its
 * file. */
struct tc_told {
    const char *option;
    int64_t asked, kept;
};
/* Refuses what the library keeps as another number than was asked. The list is ended by an option
 * whose name is NULL. */
enum assay_status tc_check_kept(const struct tc_told *told, struct assay_error *error);

/* The caches of the B+tree and of a table's indexes: the library raises what is below without a
 * word, and its map of a cache is made at once. */
enum { TC_PAGES_CACHED_MIN = 64, TC_PAGES_CACHED_MAX = 1 << 24 };
enum assay_status tc_check_page_caches(int64_t leaves, int64_t nodes, struct assay_error *error);

#define TC_OPTION_BUCKETS(standard, help)                                                                                 \
    {"bnum", "int", standard, help "; rounded up to the next prime of the library's list", NULL}
#define TC_OPTION_MAPPED(standard, help)                                                                                  \
    {"xmsiz_bytes", "bytes", standard, help ", in whole pages", NULL}
#define TC_OPTION_LARGE {"large", "bool", "false", "HDBTLARGE: 64-bit offsets, for files above 64 GiB", NULL}
#define TC_OPTION_COMPRESSION                                                                                            \
    {"compression", "choice", "none",                                                                                    \
     "HDBTDEFLATE, HDBTBZIP or HDBTTCBS: of each record, or of each page of the B+tree; tcbs takes seconds for 100 kB that repeat themselves", \
     "none deflate bzip tcbs"}
#define TC_OPTION_MUTEX                                                                                                  \
    {"mutex", "bool", "true",                                                                                            \
     "tc…setmutex: makes the object safe for threads; the library's own default is false, with which one thread may call", NULL}

/* compare-and-swap through tc…putproc: the library calls it with the value that is there, under the
 * record's lock. */
struct tc_swap {
    struct assay_bytes old, value;
    bool swapped, no_memory;
};
void *tc_swap_proc(const void *value, int length, int *new_length, void *swap);

#define TC_OPTION_FILES                                                                                                  \
    {"files", "int", "1",                                                                                                \
     "records are spread by their keys over so many files, each an object with a lock and these settings of its own", NULL}

/* One database file, and files.c over several of them. */
enum { TC_NUMBERS_MAX = 4 };
struct tc_file_driver {
    struct assay_driver driver; /* of one file; its description, settings of handles and inspect are those of files.c */
    void (*numbers)(struct assay_store *store, double *numbers);
    const char *number_names[TC_NUMBERS_MAX + 1]; /* ended by NULL */
};

enum assay_status tc_files_open(const struct tc_file_driver *of, const struct assay_config *config, struct assay_store **store,
                                struct assay_error *error);
void tc_files_settings(struct assay_store *store, struct assay_sink *sink);
enum assay_status tc_files_close(struct assay_store *store, struct assay_error *error);
enum assay_status tc_files_handle_open(struct assay_store *store, struct assay_handle **handle, struct assay_error *error);
enum assay_status tc_files_handle_close(struct assay_handle *handle, struct assay_error *error);
enum assay_status tc_files_get(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer, struct assay_bytes *value,
                               struct assay_error *error);
enum assay_status tc_files_put(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value, struct assay_error *error);
enum assay_status tc_files_remove(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error);
enum assay_status tc_files_add(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value, struct assay_error *error);
enum assay_status tc_files_compare_and_swap(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes old,
                                            struct assay_bytes value, struct assay_error *error);
enum assay_status tc_files_scan(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit, void *context,
                                struct assay_error *error);
enum assay_status tc_files_define(struct assay_store *store, const struct assay_definition *definition, struct assay_error *error);
enum assay_status tc_files_query(struct assay_handle *handle, size_t query, const struct assay_bytes *values, assay_visit *visit,
                                 void *context, struct assay_error *error);
enum assay_status tc_files_count(struct assay_handle *handle, size_t query, const struct assay_bytes *values, uint64_t *records,
                                 struct assay_error *error);
enum assay_status tc_files_modify(struct assay_handle *handle, struct assay_bytes key, const size_t *columns,
                                  const struct assay_bytes *values, size_t count, struct assay_error *error);
enum assay_status tc_files_increment(struct assay_handle *handle, struct assay_bytes key, size_t column, int64_t by,
                                     struct assay_error *error);
enum assay_status tc_files_delete_query(struct assay_handle *handle, size_t query, const struct assay_bytes *values, uint64_t *records,
                                        struct assay_error *error);
enum assay_status tc_files_explain(struct assay_handle *handle, size_t query, const struct assay_bytes *values, bool counts,
                                   struct assay_plan *plan, struct assay_error *error);
enum assay_status tc_files_sync(struct assay_store *store, struct assay_error *error);
void tc_files_inspect(struct assay_store *store, struct assay_sink *sink, bool *busy);

/* What the drivers over several files have in common; open and what not all can do stands beside
 * it. */
#define TC_FILES_CALLS                                                                                                   \
    .version = tc_version, .settings = tc_files_settings, .close = tc_files_close, .handle_open = tc_files_handle_open,  \
    .handle_close = tc_files_handle_close, .get = tc_files_get, .put = tc_files_put, .remove = tc_files_remove,          \
    .add = tc_files_add, .sync = tc_files_sync, .inspect = tc_files_inspect

extern const struct assay_driver tc_hash_driver, tc_btree_driver, tc_fixed_driver, tc_table_driver;

#endif
