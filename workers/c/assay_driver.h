/* The contract between Assay's native worker and a store that is driven from C, or from any
 * language that can fill a table of C functions. It is the C face of store/store.go and
 * store/describe.go.
 *
 * A driver is one `struct assay_driver`. A program is a worker when it links the host (host/) and
 * defines `assay_drivers`, the list of its drivers, ended by NULL. Abilities beyond open, get, put
 * and delete are functions that may be NULL: the host probes nothing else. A driver never emulates
 * an ability, never retries and never rounds a durability class up: it refuses, and the refusal is
 * a result.
 *
 * Who owns bytes. Keys and values that are passed in belong to the host; they are valid during the
 * call and never written to. What `get` returns stands in the buffer that the host passed, or in
 * memory of the store that stays unchanged until the same thread's next call with that handle.
 *
 * What may be called at once. All functions of a store and `handle_open` are called from one
 * thread, except `inspect`, which may be called while operations run. A handle is used by one
 * thread at a time, and may go from thread to thread, unless `handles_shareable` says that many may
 * use it at once. `handle_open` and `handle_close` are called from many threads at once where a
 * handle is opened for each operation.
 *
 * What must not happen. Nothing may be written to descriptor 1 of the process under another name;
 * the host has pointed it at standard error. An error's text must not hold a key, a number that
 * differs each time, or an address: texts are counted. */
#ifndef ASSAY_DRIVER_H
#define ASSAY_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. */
enum assay_status {
    ASSAY_OK = 0,
    ASSAY_MISS = 1,     /* there is no such key: outcome miss */
    ASSAY_CONFLICT = 2, /* add: the key was there; compare_and_swap: another value was; with write_conflicts, any operation: it was refused
                         * because others write beside it, and not done: outcome conflict */
    ASSAY_TIMEOUT = 3,  /* the store gave up waiting; whether the operation took effect is unknown */
    ASSAY_ERROR = 4,    /* the store tried and failed; the error's text says why */
    ASSAY_REFUSED = 5,  /* open, handle_open, sync: the store can't do what is asked; the text says why */
};

/* Bytes of somebody else. `data` may be NULL where `length` is 0. */
struct assay_bytes {
    const void *data;
    size_t length;
};

/* What the host lends to `get`: `capacity` bytes at `data`. A driver whose value is longer calls
 * assay_buffer_grow. */
struct assay_buffer {
    unsigned char *data;
    size_t capacity;
};

enum { ASSAY_ERROR_TEXT_BYTES = 237 }; /* 236 bytes fit an error place of the counters file */

struct assay_error {
    char text[ASSAY_ERROR_TEXT_BYTES];
};

/* The durability classes of docs/durability.md. */
enum assay_durability { ASSAY_D0, ASSAY_D1, ASSAY_D2, ASSAY_D3, ASSAY_D4 };

struct assay_durability_claim {
    enum assay_durability class_; /* the underscore is for C++, where `class` is a keyword */
    const char *how;              /* in the library's words */
};

/* A setting that an experiment may change. All values are text; types are checked by the host
 * before open. */
struct assay_option {
    const char *name;          /* lower_case, ends in its unit: "cache_bytes" */
    const char *type;          /* "bool", "int", "bytes", "duration", "choice" or "string" */
    const char *default_value; /* the library's own, unless help says otherwise */
    const char *help;
    const char *choices; /* of a choice: its values with a space between them; else NULL */
    const char *tune;    /* values that tuning may try: "log 8MiB 1GiB", "linear 1 16", "list none lz4"; NULL: none */
};

/* What a driver says of itself: the fields of store.Description. Limits are claims, and the tests
 * try them. */
struct assay_description {
    const char *name;
    const char *summary;
    const char *library; /* the package that is linked; "" if there is none */
    const char *licence; /* SPDX identifier of the library */
    const char *kind;    /* "embedded", "memory", "server" or "none" */
    const struct assay_durability_claim *durability; /* weakest first; ended by a claim whose `how` is NULL */
    const struct assay_option *options;              /* ended by an option whose name is NULL; NULL: none */
    bool handles_shareable;                          /* many threads may use one handle at once */
    bool key_text;                                   /* keys must be printable ASCII without spaces */
    bool key_numbers;                                /* keys are positions in an array: binary and unscattered, 0, 1, 2 … */
    bool batch_atomic;                               /* others see all of a batch or nothing of it */
    bool write_conflicts;                            /* any operation may end in ASSAY_CONFLICT where others write neighbouring records;
                                                      * a write was then not done */
    bool server_sets_class; /* the settings that a server runs with decide its classes: opening it in another is refused */
    bool token_indexes; /* a text may have an index of kind ASSAY_TOKEN; otherwise define refuses it */
    bool eventual; /* a read may return an older value than the newest acknowledged one, as of a replica */
    uint64_t handles_max;                            /* 0: no limit but memory, as in all that follow */
    uint64_t key_bytes_min;
    uint64_t key_bytes_max;
    uint64_t value_bytes_max;
    const char *value_bytes_option; /* the option, an int or bytes, that value_bytes_max follows, as far below as below its default; NULL: none */
    uint64_t batch_max;       /* records in one batch */
    uint64_t batch_bytes_max; /* bytes in one batch, of which each record takes its key, its value and 128 */
    uint64_t fixed_disk_bytes; /* about what the store sets aside on disk from its first write on, however small its data; 0: not known */
    const char *note; /* what a user must know before trusting a figure; NULL if there is nothing */
};

/* What a store is opened with. All of it is valid until the store's close has returned. */
struct assay_config {
    const char *directory;        /* existing, empty at the first open; "" for servers */
    const char *const *endpoints; /* host:port, ended by NULL */
    enum assay_durability durability;
    int64_t loss_window_ns; /* T of the class D2(T) */
    int threads;            /* how many threads will call */
    int handles;            /* how many handles will be open at once */
    bool first;             /* the trial's first opening: only then may a driver empty a store that earlier trials used */
    const struct assay_options *options;
};

/* One write of a batch. */
struct assay_write {
    struct assay_bytes key;
    struct assay_bytes value; /* empty where `remove` is set */
    bool remove;
};

/* Called for each record of a scan; key and value are valid during the call. False: stop. */
typedef bool assay_visit(void *context, struct assay_bytes key, struct assay_bytes value);

/* Records with columns: section 1.5 of docs/worker-contract.md. Where `define` was called, each
 * value that a driver is given or gives back is a record in its encoded form: for each column, in
 * order, its length as 16 bits (little-endian), then its bytes. */
enum assay_column_type {
    ASSAY_TEXT,    /* UTF-8; a 0 byte may be inside */
    ASSAY_INTEGER, /* a decimal number of 1 to 18 digits, without zeros in front, in the encoded form; whatever the store keeps */
    ASSAY_BYTES,   /* any bytes, 0 to 65,535 of them, as in each column */
};

enum { ASSAY_COLUMNS_MAX = 64, ASSAY_COLUMN_BYTES_MAX = 65535 };

struct assay_column {
    const char *name; /* 1 to 64 letters, digits and '_', the first no digit; no other column has it */
    enum assay_column_type type;
};

enum assay_index_kind {
    ASSAY_ORDERED, /* of a text or an integer */
    ASSAY_TOKEN,   /* of a text: each word between spaces or commas is found by itself */
};

struct assay_index {
    size_t column; /* position in the list of columns */
    enum assay_index_kind kind;
    bool descending; /* an ordered one has its largest entries first; a store whose indexes have no direction makes the one that it has */
};

enum { ASSAY_QUERIES_MAX = 64 };

enum assay_comparison {
    ASSAY_EQUAL,  /* the column has just the value's bytes */
    ASSAY_RANGE,  /* an integer from the first value on and below the second, both in decimal */
    ASSAY_PREFIX, /* a text that begins with the value, which is ASCII and not empty */
    ASSAY_HAS,    /* a text one of whose words, between spaces or commas, is the value */
};

struct assay_condition {
    size_t alternative; /* conditions of one alternative stand together, and ascend */
    size_t column;
    enum assay_comparison is;
};

/* A template: each time that it is asked, it has other values, in the order of its conditions, two
 * for a range. A record is found that fulfils all conditions of at least one alternative. */
struct assay_query {
    const struct assay_condition *conditions;
    size_t conditions_count;
    size_t alternatives; /* 0: there are no conditions, and every record is found */
    int sort;            /* the column by whose numbers, an integer's, records come; -1: in any order */
    bool descending;
    size_t limit;          /* the most records that are found; 0: the query is only counted */
    const size_t *columns; /* what is given of each record, in this order: positions */
    size_t columns_count;
};

/* What `define` is given: valid until the store's close has returned. */
struct assay_definition {
    const struct assay_column *columns;
    size_t columns_count; /* 1 to ASSAY_COLUMNS_MAX */
    const struct assay_index *indexes;
    size_t indexes_count; /* no column has two of one kind */
    const struct assay_query *queries;
    size_t queries_count; /* at most ASSAY_QUERIES_MAX */
};

/* How a store says that it answers a query: the values of "use" in section 4 of docs/worker-contract.md. */
enum assay_index_use {
    ASSAY_INDEX_UNTOLD, /* the store does not say */
    ASSAY_INDEX_FINDS,  /* an index finds the records by a condition */
    ASSAY_INDEX_ORDERS, /* an index gives all records in the query's order, up to its limit */
    ASSAY_INDEX_NONE,   /* every record is looked at; also where that is so for a part of them */
};

struct assay_plan {
    enum assay_index_use use;
    char index[200]; /* names, as the store has them; "": none */
    char text[1000]; /* the plan in the store's words, in one line */
};

struct assay_sink;   /* takes settings or numbers, one by one: see assay_setting and assay_stat */
struct assay_store;  /* the driver's own */
struct assay_handle; /* the driver's own */

struct assay_driver {
    const struct assay_description *description;

    /* The library's version, as it reports it when it runs; NULL where there is no library. */
    const char *(*version)(void);

    /* Opens or creates the store. ASSAY_REFUSED where it can't do what the config asks, before
     * anything in the directory was touched; ASSAY_ERROR where it failed. */
    enum assay_status (*open)(const struct assay_config *config, struct assay_store **store, struct assay_error *error);

    /* Tells the settings in force, by assay_setting: read back from the store where it can tell
     * them; else the value that it was given, with " (asked)" behind it. Names are the library's.
     * An option that the library would change or round is refused by open instead; where its help
     * says "rounded up", it may be rounded up. */
    void (*settings)(struct assay_store *store, struct assay_sink *sink);

    /* Closes the store; every handle was closed before. What was acknowledged must then be as
     * durable as the class says. The store is gone after it, also if it fails. */
    enum assay_status (*close)(struct assay_store *store, struct assay_error *error);

    /* Opens one more handle: a session, a reader, whatever the store's clients hold. handle_close
     * gives it back. */
    enum assay_status (*handle_open)(struct assay_store *store, struct assay_handle **handle, struct assay_error *error);
    enum assay_status (*handle_close)(struct assay_handle *handle, struct assay_error *error);

    /* Sets *value to the value of key, or returns ASSAY_MISS. The empty value is a value. */
    enum assay_status (*get)(struct assay_handle *handle, struct assay_bytes key, struct assay_buffer *buffer,
                             struct assay_bytes *value, struct assay_error *error);

    /* Stores value under key, whether key was there or not. */
    enum assay_status (*put)(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error);

    /* Removes key. ASSAY_MISS only if the store tells by itself that it was not there; else that is
     * ASSAY_OK. */
    enum assay_status (*remove)(struct assay_handle *handle, struct assay_bytes key, struct assay_error *error);

    /* Abilities: NULL where the store has no such call of its own. */

    /* Applies all writes, in order. batch_atomic says if others see all or nothing. */
    enum assay_status (*batch)(struct assay_handle *handle, const struct assay_write *writes, size_t count,
                               struct assay_error *error);

    /* Calls visit for each record from the first key >= start, in ascending bytewise order, until
     * visit returns false or the keys end. limit is how many records will be taken: a hint for
     * prefetching. */
    enum assay_status (*scan)(struct assay_handle *handle, struct assay_bytes start, size_t limit, assay_visit *visit,
                              void *context, struct assay_error *error);

    /* Stores value if key is absent, otherwise ASSAY_CONFLICT: in one step of the store's own. */
    enum assay_status (*add)(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes value,
                             struct assay_error *error);

    /* Stores value if the value of key is old: in one step of the store's own. ASSAY_CONFLICT if it
     * is another, ASSAY_MISS if there is none. */
    enum assay_status (*compare_and_swap)(struct assay_handle *handle, struct assay_bytes key, struct assay_bytes old,
                                          struct assay_bytes value, struct assay_error *error);

    /* Makes the records' columns the store's own, and its indexes, where they are not there yet.
     * Called after open, with no handle open and nothing read or written yet, until it has
     * succeeded once; again after each open of the same directory, with the same fields. Not called
     * where an experiment has plain values. From then on each value is a record in its encoded
     * form, which put takes apart, and which get, scan and query put together again from the
     * columns that the store gives back, and nothing else: the encoded form itself must not be
     * kept. A driver without it may still be given records: values like any other.
     * ASSAY_REFUSED, before anything was changed, for an index of a kind that the store does not
     * have, for a query that it can't answer itself, or for more than it can do. */
    enum assay_status (*define)(struct assay_store *store, const struct assay_definition *definition, struct assay_error *error);

    /* Calls visit for the records that a query of define (a position) finds with these values, until
     * visit returns false or the query's limit is reached: no record twice, in the query's order,
     * each in the encoded form of the query's columns. No such record is ASSAY_OK. An index is used
     * where there is one; without one the store looks through everything. */
    enum assay_status (*query)(struct assay_handle *handle, size_t query, const struct assay_bytes *values, assay_visit *visit,
                               void *context, struct assay_error *error);

    /* Sets *records to how many records the store says fulfil a query's conditions. The query's
     * order, limit and columns are of no meaning. */
    enum assay_status (*count)(struct assay_handle *handle, size_t query, const struct assay_bytes *values, uint64_t *records,
                               struct assay_error *error);

    /* Gives columns of the record of key, by their positions, new values in the bytes of the encoded
     * form, in one step of the store's own, and leaves the other columns as they are. ASSAY_MISS if
     * key is absent: no record is made then. A handle is always asked for the same columns, in
     * ascending order. */
    enum assay_status (*modify)(struct assay_handle *handle, struct assay_bytes key, const size_t *columns, const struct assay_bytes *values,
                                size_t count, struct assay_error *error);

    /* Adds to an integer column of the record of key, in one step of the store's own. ASSAY_MISS if
     * key is absent: no record is made then. A handle is always asked for the same column. */
    enum assay_status (*increment)(struct assay_handle *handle, struct assay_bytes key, size_t column, int64_t by, struct assay_error *error);

    /* Deletes all records that fulfil a query's conditions, in one step of the store's own, and sets
     * *records to how many that were, as the store reports it. The query has at most one alternative;
     * its order, limit and columns are of no meaning. */
    enum assay_status (*delete_query)(struct assay_handle *handle, size_t query, const struct assay_bytes *values, uint64_t *records,
                                      struct assay_error *error);

    /* Tells how the store answers a query or, where counts is true, how it counts it. Called between
     * phases. */
    enum assay_status (*explain)(struct assay_handle *handle, size_t query, const struct assay_bytes *values, bool counts,
                                 struct assay_plan *plan, struct assay_error *error);

    /* Returns once every acknowledged write survives a power cut. */
    enum assay_status (*sync)(struct assay_store *store, struct assay_error *error);

    /* Tells the store's counters and gauges by assay_stat; what can't be had is left out, never
     * zero. Sets *busy while work in the background goes on that the store knows of. May be called
     * while operations run. */
    void (*inspect)(struct assay_store *store, struct assay_sink *sink, bool *busy);
};

/* The drivers of this program, ended by NULL. The program defines it. */
extern const struct assay_driver *const assay_drivers[];

/* What the host gives to drivers. */

#if defined(__GNUC__)
#define ASSAY_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define ASSAY_PRINTF(text, first)
#endif

/* Write an error's text, cut to what fits, and return ASSAY_ERROR or ASSAY_REFUSED. */
enum assay_status assay_fail(struct assay_error *error, const char *format, ...) ASSAY_PRINTF(2, 3);
enum assay_status assay_refuse(struct assay_error *error, const char *format, ...) ASSAY_PRINTF(2, 3);

/* Makes the buffer hold at least so many bytes; what was in it is lost. False: there is no memory.
 * */
bool assay_buffer_grow(struct assay_buffer *buffer, size_t length);

/* Adds a text to what stands in a field of a plan, with a separator where it is not the first; what
 * does not fit is cut. */
void assay_plan_add(char *field, size_t field_bytes, const char *separator, const char *text, size_t text_bytes);

/* Copies length bytes into the buffer and points value at them. */
inline enum assay_status assay_copy(struct assay_buffer *buffer, const void *data, size_t length, struct assay_bytes *value,
                                    struct assay_error *error) {
    if (length > buffer->capacity && !assay_buffer_grow(buffer, length))
        return assay_fail(error, "no memory for a value");
    if (length > 0)
        memcpy(buffer->data, data, length);
    *value = (struct assay_bytes){buffer->data, length};
    return ASSAY_OK;
}

/* The checked value of an option. They end the process for a name that the driver did not declare
 * or a type that it is not. */
bool assay_option_bool(const struct assay_options *options, const char *name);
int64_t assay_option_int(const struct assay_options *options, const char *name);
int64_t assay_option_bytes(const struct assay_options *options, const char *name);
int64_t assay_option_duration_ns(const struct assay_options *options, const char *name);
const char *assay_option_text(const struct assay_options *options, const char *name); /* choice or string */

/* Reads the next column of a record in its encoded form and moves *rest behind it. False: rest ends
 * before the column does. */
static inline bool assay_next_column(struct assay_bytes *rest, struct assay_bytes *column) {
    const unsigned char *at = (const unsigned char *)rest->data;
    if (rest->length < 2)
        return false;
    size_t length = at[0] | (size_t)at[1] << 8;
    if (rest->length - 2 < length)
        return false;
    column->data = at + 2;
    column->length = length;
    rest->data = at + 2 + length;
    rest->length -= 2 + length;
    return true;
}

/* Writes a column of at most 65,535 bytes in its encoded form to at; returns its end. */
static inline unsigned char *assay_put_column(unsigned char *at, const void *data, size_t length) {
    at[0] = (unsigned char)length;
    at[1] = (unsigned char)(length >> 8);
    if (length > 0)
        memcpy(at + 2, data, length);
    return at + 2 + length;
}

/* Tell one setting, or one number whose name ends in its unit. Numbers that are not finite are left
 * out. */
void assay_setting(struct assay_sink *sink, const char *name, const char *format, ...) ASSAY_PRINTF(3, 4);
void assay_stat(struct assay_sink *sink, const char *name, double value);

/* Makes a directory's entries durable: the name of a new file is not, by itself. */
enum assay_status assay_sync_directory(const char *directory, struct assay_error *error);

/* Writes "directory/name" to path; refuses what does not fit. */
enum assay_status assay_path(char *path, size_t path_bytes, const char *directory, const char *name,
                             struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
