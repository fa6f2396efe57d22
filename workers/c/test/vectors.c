/* Holds the host's code against the vectors of the worker contract.
 *
 *   vectors FOLDER       checks all files of vectors/; prints how many values were held against each; status 1 if one is wrong
 *   vectors constants    prints the constants and offsets of the sources, a name and a number a line */
#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

#include "counters.h"
#include "definition.h"
#include "history.h"
#include "keyval.h"
#include "sha256.h"
#include "trace.h"

static unsigned long checked, wrong;
static const char *file_name;

static void expect(bool right, const char *what, unsigned long position) {
    checked++;
    if (right)
        return;
    wrong++;
    printf("%s: %s, number %lu, is wrong\n", file_name, what, position);
}

static struct json_object *field(struct json_object *object, const char *name) {
    struct json_object *value;
    if (json_object_object_get_ex(object, name, &value))
        return value;
    printf("%s: there is no field %s\n", file_name, name);
    exit(1);
}

static uint64_t number(struct json_object *object, const char *name) {
    struct json_object *value;
    return json_object_object_get_ex(object, name, &value) ? json_object_get_uint64(value) : 0;
}

static uint64_t word_of(struct json_object *text) { return strtoull(json_object_get_string(text), NULL, 16); }
static uint64_t word(struct json_object *object, const char *name) { return word_of(field(object, name)); }
static struct json_object *at(struct json_object *list, size_t i) { return json_object_array_get_idx(list, i); }
static size_t count(struct json_object *list) { return json_object_array_length(list); }

struct hex {
    unsigned char *data;
    size_t length;
};

static struct hex hex_of(const char *text) {
    struct hex hex = {calloc(1, strlen(text) / 2 + 1), strlen(text) / 2};
    for (size_t i = 0; i < hex.length; i++) {
        unsigned byte;
        sscanf(text + 2 * i, "%2x", &byte);
        hex.data[i] = (unsigned char)byte;
    }
    return hex;
}

static bool same(struct json_object *text, const unsigned char *data, size_t length) {
    struct hex hex = hex_of(json_object_get_string(text));
    bool equal = hex.length == length && memcmp(hex.data, data, length) == 0;
    free(hex.data);
    return equal;
}

static bool same_digest(struct json_object *text, const unsigned char *data, size_t length) {
    unsigned char digest[32];
    sha256(data, length, digest);
    return same(text, digest, sizeof digest);
}

static void check_mix(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        uint64_t x = word(at(list, i), "x");
        expect(keyval_mix(x) == word(at(list, i), "mix"), "mix", i);
        expect(keyval_ycsb_hash(x) == word(at(list, i), "ycsb_hash"), "ycsb_hash", i);
    }
}

static void set_affix(struct json_object *shape, const char *name, unsigned char *bytes, size_t *length) {
    struct json_object *value;
    if (!json_object_object_get_ex(shape, name, &value))
        return;
    *length = (size_t)json_object_get_string_len(value);
    memcpy(bytes, json_object_get_string(value), *length);
}

static struct key_shape key_shape_of(struct json_object *object) {
    const char *format = json_object_get_string(field(object, "format"));
    struct key_shape shape = {.bytes = number(object, "bytes"), .digits = (unsigned)number(object, "digits")};
    struct json_object *scatter, *first;
    if (json_object_object_get_ex(object, "first", &first))
        shape.first = json_object_get_uint64(first);
    shape.format = *format == 'b' ? KEY_BINARY : *format == 'd' ? KEY_DECIMAL : KEY_YCSB;
    shape.scatter = json_object_object_get_ex(object, "scatter", &scatter) && json_object_get_boolean(scatter);
    set_affix(object, "prefix", shape.prefix, &shape.prefix_bytes);
    set_affix(object, "suffix", shape.suffix, &shape.suffix_bytes);
    struct json_object *lengths;
    if (json_object_object_get_ex(object, "lengths", &lengths))
        for (; shape.stretches < count(lengths); shape.stretches++) {
            struct json_object *one = at(lengths, shape.stretches);
            shape.stretch[shape.stretches] =
                (struct key_stretch){number(one, "from"), number(one, "first"), number(one, "bytes")};
            shape.longest = number(one, "bytes") > shape.longest ? number(one, "bytes") : shape.longest;
        }
    return shape;
}

static void check_keys(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        struct key_shape shape = key_shape_of(field(at(list, i), "shape"));
        struct json_object *keys = field(at(list, i), "keys");
        unsigned char *key = malloc(key_bytes_max(&shape) + 8);
        for (size_t j = 0; j < count(keys); j++) {
            uint64_t index = word(at(keys, j), "index");
            size_t length = key_write(&shape, index, key);
            expect(length <= key_bytes_max(&shape) && same(field(at(keys, j), "key"), key, length), "key", i);
            expect(key_write_any(&shape, index, key) == length && same(field(at(keys, j), "key"), key, length), "key made slowly", i);
        }
        free(key);
    }
}

static struct value_pool pool_of(struct json_object *object) {
    struct value_shape shape = {.pool_bytes = number(object, "pool_bytes"),
                                .pool_seed = word(object, "pool_seed"),
                                .repeated_permille = number(object, "repeated_permille"),
                                .length_max = number(object, "length_max"),
                                .short_lengths = number(object, "short_lengths"),
                                .trial_tag = number(object, "trial_tag")};
    struct value_pool pool;
    if (!pool_make(&pool, &shape))
        exit(1);
    return pool;
}

static void check_pool(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        struct value_pool pool = pool_of(field(at(list, i), "shape"));
        expect(pool.length == number(at(list, i), "bytes"), "length of the pool", i);
        expect(same_digest(field(at(list, i), "sha256"), pool.bytes, pool.length), "digest of the pool", i);
        struct json_object *blocks = field(at(list, i), "blocks");
        for (size_t j = 0; j < count(blocks); j++)
            expect(same(field(at(blocks, j), "bytes"), pool.bytes + 64 * number(at(blocks, j), "block"), 64), "block", j);
        pool_free(&pool);
    }
}

static void check_values(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        struct value_pool pool = pool_of(field(at(list, i), "shape"));
        struct json_object *values = field(at(list, i), "values");
        for (size_t j = 0; j < count(values); j++) {
            size_t length = number(at(values, j), "length");
            uint64_t index = word(at(values, j), "index"), version = word(at(values, j), "version"), proved;
            unsigned char *value = malloc(length + 1);
            value_write(&pool, value, length, index, version);
            expect(same(field(at(values, j), "first"), value, length < 64 ? length : 64), "first bytes of a value", j);
            expect(same_digest(field(at(values, j), "sha256"), value, length), "digest of a value", j);
            expect(value_check(&pool, (struct assay_bytes){value, length}, index, &proved) && proved == version,
                   "check of a value that was made", j);
            free(value);
        }
        pool_free(&pool);
    }
}

static void check_short_values(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        struct json_object *values = field(at(list, i), "values");
        struct value_pool pool = {.tag = (uint32_t)number(at(list, i), "trial_tag")};
        for (size_t length = 0; length < count(values); length++) {
            unsigned char value[KEYVAL_STAMP_BYTES];
            value_write_short(&pool, value, length, word(at(list, i), "index"));
            expect(same(at(values, length), value, length), "short value", length);
        }
    }
}

static void check_checks(struct json_object *object) {
    struct value_pool pool = pool_of(field(object, "shape"));
    struct json_object *values = field(object, "values");
    for (size_t i = 0; i < count(values); i++) {
        struct hex value = hex_of(json_object_get_string(field(at(values, i), "value")));
        uint64_t version, expected = 0;
        bool right = json_object_get_boolean(field(at(values, i), "right"));
        bool said = value_check(&pool, (struct assay_bytes){value.data, value.length}, word(at(values, i), "index"), &version);
        if (right)
            expected = word(at(values, i), "version");
        expect(value_of_other_trial(&pool, (struct assay_bytes){value.data, value.length}, word(at(values, i), "index")) ==
                   json_object_get_boolean(field(at(values, i), "other_trial")), "of another trial", i);
        expect(said == right && (!right || version == expected), json_object_get_string(field(at(values, i), "name")), i);
        free(value.data);
    }
    pool_free(&pool);
}

/* The columns of a vector, read as define reads them. */
static struct record_shape record_shape_of(struct json_object *object, struct definition *definition) {
    struct record_shape shape = {.columns = 0};
    struct refusal refusal = {0};
    struct json_object *fields = json_object_new_object();
    json_object_object_add(fields, "columns", json_object_get(field(object, "columns")));
    *definition = (struct definition){.request = fields};
    expect(definition_read(definition, &shape, fields, &refusal), refusal.error.text, 0);
    return shape;
}

static void check_records_made(const struct record_shape *shape, const struct value_pool *pool, struct json_object *records) {
    unsigned char *record = malloc(shape->bytes_max), *scratch = malloc(shape->bytes_max + RECORD_COLUMN_BYTES_MAX);
    for (size_t j = 0; j < count(records); j++) {
        struct json_object *o = at(records, j);
        uint64_t index = word(o, "index"), version = word(o, "version"), proved, claimed;
        size_t length = record_write(shape, pool, record, index, version);
        struct assay_bytes made = {record, length};
        expect(length <= shape->bytes_max && same(field(o, "record"), record, length), "record", j);
        expect(record_check(shape, pool, made, index, scratch, &proved) && proved == (shape->proof >= 0 ? version : 0),
               "check of a record that was made", j);
        expect(!record_check(shape, pool, (struct assay_bytes){record, length - 1}, index, scratch, &proved), "check of a record cut short", j);
        if (shape->proof >= 0 && shape->column[shape->proof].proof_bytes > KEYVAL_STAMP_BYTES) {
            struct record_shape shorter = *shape;
            shorter.column[shape->proof].proof_bytes--;
            struct assay_bytes other = {scratch, record_write(&shorter, pool, scratch, index, version)};
            unsigned char *room = malloc(RECORD_COLUMN_BYTES_MAX);
            expect(!record_check(shape, pool, other, index, room, &proved), "check of a record whose proof is a shorter value", j);
            free(room);
        }
        if (shape->proof >= 0 || shape->leads_back >= 0)
            expect(record_index(shape, made, &claimed) && claimed == index, "the index that a record leads back to", j);
    }
    free(record);
    free(scratch);
}

static void check_records_read(const struct record_shape *shape, const struct value_pool *pool, struct json_object *checks) {
    unsigned char *scratch = malloc(RECORD_COLUMN_BYTES_MAX);
    for (size_t j = 0; j < count(checks); j++) {
        struct json_object *o = at(checks, j);
        struct hex record = hex_of(json_object_get_string(field(o, "record")));
        uint64_t proved;
        bool right = json_object_get_boolean(field(o, "right"));
        bool said = record_check(shape, pool, (struct assay_bytes){record.data, record.length}, word(o, "index"), scratch, &proved);
        expect(said == right && (!right || proved == word(o, "version")), json_object_get_string(field(o, "name")), j);
        free(record.data);
    }
    free(scratch);
}

static void check_records(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        struct value_pool pool = pool_of(field(at(list, i), "shape"));
        struct definition definition;
        struct record_shape shape = record_shape_of(at(list, i), &definition);
        check_records_made(&shape, &pool, field(at(list, i), "records"));
        check_records_read(&shape, &pool, field(at(list, i), "checks"));
        json_object_put(definition.request);
        pool_free(&pool);
    }
}

static void check_versions(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++)
        expect(version_make(number(at(list, i), "phase"), number(at(list, i), "thread"), number(at(list, i), "sequence")) ==
                   word(at(list, i), "version"), "version", i);
}

static void check_buckets(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++)
        expect(histogram_bucket(word(at(list, i), "value")) == number(at(list, i), "bucket"), "bucket", i);
}

static void check_counters(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        struct json_object *o = at(list, i);
        struct counters c;
        uint32_t flags = (json_object_get_boolean(field(o, "response")) ? COUNTERS_FLAG_RESPONSE : 0) |
                         (json_object_get_boolean(field(o, "handle_times")) ? COUNTERS_FLAG_HANDLE_TIMES : 0);
        size_t length = counters_measure(&c, (uint32_t)number(o, "threads"), (uint32_t)number(o, "slots"), flags,
                                         number(o, "observed_entries"));
        expect(length == number(o, "file_bytes"), "length of the file", i);
        expect(c.slot_bytes == number(o, "slot_bytes"), "length of a slot", i);
        expect(c.thread_bytes == number(o, "thread_bytes"), "length of a thread's block", i);
        expect(c.observed_at == number(o, "observed_offset"), "place of the observed versions", i);
        for (uint32_t t = 0; t < c.threads; t++) {
            expect(counters_thread_at(&c, t) == json_object_get_uint64(at(field(o, "thread_offsets"), t)), "thread", t);
            if (c.handle_times)
                expect(counters_error_place_at(&c, t, COUNTERS_ERROR_PLACES) ==
                           json_object_get_uint64(at(field(o, "handle_times_offsets"), t)), "handle times", t);
            for (uint32_t k = 0; k < c.slots; k++)
                expect(counters_slot_at(&c, t, k) == json_object_get_uint64(at(at(field(o, "slot_offsets"), t), k)), "slot", k);
            for (uint32_t p = 0; p < COUNTERS_ERROR_PLACES; p++)
                expect(counters_error_place_at(&c, t, p) == json_object_get_uint64(at(at(field(o, "error_place_offsets"), t), p)),
                       "error place", p);
        }
    }
}

/* Spreads the blocks of a vector's file over as many bytes as it says. */
static unsigned char *file_of(struct json_object *o, size_t length) {
    unsigned char *data = aligned_alloc(64, (length + 63) / 64 * 64);
    memset(data, 0, (length + 63) / 64 * 64);
    json_object_object_foreach(field(o, "file"), offset, text) {
        struct hex block = hex_of(json_object_get_string(text));
        memcpy(data + strtoull(offset, NULL, 10), block.data, block.length);
        free(block.data);
    }
    return data;
}

static void check_trace_thread(const struct trace *trace, uint32_t number_, struct json_object *expected,
                               struct json_object *effective) {
    const struct trace_thread *t = &trace->thread[number_];
    struct json_object *entries = field(expected, "entries"), *due = NULL;
    json_object_object_get_ex(expected, "due", &due); /* absent: closed load */
    expect(t->count == count(entries) && t->stride == number(expected, "stride") && t->limit == number(expected, "limit") &&
               t->lap_ns == number(expected, "lap_ns") && t->from_ns == number(expected, "from_ns") &&
               t->until_ns == number(expected, "until_ns") && t->group == number(expected, "group") &&
               t->endpoint == number(expected, "endpoint"), "a thread's directory entry", number_);
    expect((t->due != NULL) == (due != NULL && count(due) > 0), "due times", number_);
    for (uint64_t p = 0; p < t->count; p++) {
        expect(t->entries[p] == word_of(at(entries, p)), "entry", p);
        if (t->due != NULL)
            expect(t->due[p] == json_object_get_uint64(at(due, p)), "due time", p);
    }
    for (uint64_t sequence = 0; sequence < count(effective); sequence++) {
        uint64_t entry = t->entries[sequence % t->count], index = word_of(at(effective, sequence));
        expect(entry_effective_index(entry, sequence / t->count, t->stride) == index, "effective index", sequence);
        size_t length = trace->amounts[entry_size_class(entry)];
        bool did = operation_writes(entry_operation(entry)) && (t->limit == 0 || sequence < t->limit);
        expect(trace_wrote(trace, number_, sequence, index, length) == did, "who wrote what", sequence);
        expect(!trace_wrote(trace, number_, sequence, index + 1, length), "who wrote another index", sequence);
        expect(!trace_wrote(trace, number_, sequence, index, length + 1), "who wrote another length", sequence);
    }
}

static void check_traces(struct json_object *list) {
    for (size_t i = 0; i < count(list); i++) {
        struct json_object *o = at(list, i), *expected = field(o, "trace");
        size_t length = number(o, "bytes");
        unsigned char *data = file_of(o, length);
        expect(same_digest(field(o, "sha256"), data, length), "digest of the file", i);
        struct trace trace;
        struct assay_error error;
        bool decoded = trace_decode(&trace, data, length, &error);
        expect(decoded, decoded ? "trace" : error.text, i);
        if (!decoded)
            continue;
        expect(trace.flags == number(expected, "flags") && trace.groups == number(expected, "groups"), "flags and groups", i);
        struct json_object *operations = field(expected, "operations"), *amounts = field(expected, "amounts");
        struct json_object *queries = field(expected, "queries");
        expect(trace.slots == count(operations), "operations", i);
        for (uint32_t k = 0; k < trace.slots; k++) {
            bool first = k == 0 || trace.operation[k] != trace.operation[k - 1];
            expect(trace.operation[k] == json_object_get_uint64(at(operations, k)) && trace.query[k] == json_object_get_uint64(at(queries, k)) &&
                       (!first || trace.slot[trace.operation[k]] == (int)k), "slot", k);
        }
        for (size_t k = 0; k < count(amounts); k++)
            expect(trace.amounts[k] == json_object_get_uint64(at(amounts, k)), "amount", k);
        struct json_object *threads = field(expected, "threads");
        expect(trace.threads == count(threads), "threads", i);
        for (uint32_t t = 0; t < trace.threads; t++)
            check_trace_thread(&trace, t, at(threads, t), at(field(o, "effective_indexes"), t));
        trace_free(&trace);
        for (size_t byte = 0; byte < length; byte += 61) { /* any damage is seen, or was in bytes that say nothing */
            data[byte] ^= 0x5a;
            bool seen = !trace_decode(&trace, data, length, &error);
            bool silent = byte >= 40 && byte < 48; /* the experiment's seed */
            silent = silent || (byte >= 56 && byte < 64) || (byte >= TRACE_SLOTS_AT + trace.slots && byte < TRACE_SLOTS_AT + TRACE_SLOTS_MAX) ||
                     (byte >= TRACE_SLOTS_AT + TRACE_SLOTS_MAX + trace.slots && byte < TRACE_HEADER_BYTES);
            expect(seen || silent, "damage of a byte", byte);
            if (!seen)
                trace_free(&trace);
            data[byte] ^= 0x5a;
        }
        free(data);
    }
}

static void write_file(const char *path, const unsigned char *data, size_t length) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, length, file) != length || fclose(file) != 0)
        exit(1);
}

/* Writes the records of a vector into an empty file of its shape: the bytes must be the vector's.
 * */
static void check_history(struct json_object *list) {
    char path[] = "/tmp/assay-vectors-XXXXXX";
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        exit(1);
    close(descriptor);
    for (size_t i = 0; i < count(list); i++) {
        struct json_object *o = at(list, i), *threads = field(o, "threads");
        size_t length = number(o, "bytes");
        unsigned char *expected = file_of(o, length), *empty = calloc(1, length);
        memcpy(empty, expected, HISTORY_HEADER_BYTES);
        write_file(path, empty, length);
        struct trace trace = {.threads = (uint32_t)count(threads)};
        struct history h;
        struct assay_error error;
        bool mapped = history_map(&h, path, &trace, &error);
        expect(mapped, "an empty history file", i);
        if (!mapped)
            return;
        expect(h.each == number(o, "records_each"), "room for records", i);
        for (uint32_t t = 0; t < trace.threads; t++) {
            struct history_thread *thread = history_thread(&h, t);
            struct json_object *records = field(at(threads, t), "records");
            expect((size_t)((unsigned char *)thread - h.data) == json_object_get_uint64(at(field(o, "thread_offsets"), t)), "area", t);
            for (size_t j = 0; j < count(records); j++) {
                struct json_object *r = at(records, j);
                history_append(thread, h.each, (struct history_record){
                    number(r, "begin_ns"), number(r, "end_ns"),
                    number(r, "sequence") | number(r, "outcome") << HISTORY_OUTCOME_SHIFT, word(r, "read")});
            }
            for (uint64_t dropped = number(at(threads, t), "dropped"); dropped > 0; dropped--)
                history_append(thread, h.each, (struct history_record){.read = 1});
        }
        expect(memcmp(h.data, expected, length) == 0, "bytes of a history file", i);
        history_unmap(&h);
        for (size_t byte = 0; byte < 40; byte++) { /* any damage of the header is seen */
            expected[byte] ^= 0x5a;
            write_file(path, expected, length);
            bool seen = !history_map(&h, path, &trace, &error);
            expect(seen, "damage of a history file's header", byte);
            if (!seen)
                history_unmap(&h);
            expected[byte] ^= 0x5a;
        }
        free(expected);
        free(empty);
    }
    unlink(path);
}

static void print_constants(void) {
#define PRINT(name, value) printf("%s %llu\n", name, (unsigned long long)(value))
#define HEADER(member) PRINT("3.1 " #member, offsetof(struct counters_header, member))
#define THREAD(member) PRINT("3.2 " #member, offsetof(struct counters_thread, member))
#define HISTORY(member) PRINT("3.5 " #member, offsetof(struct history_record, member))
#define SLOT(member) PRINT("slot " #member, offsetof(struct counters_slot, member))
    HEADER(magic), HEADER(format_version), HEADER(header_bytes), HEADER(threads), HEADER(slots), HEADER(thread_bytes);
    HEADER(histogram_bits), HEADER(histogram_buckets), HEADER(error_places), HEADER(flags), HEADER(observed_offset);
    HEADER(operation), HEADER(query), HEADER(state), HEADER(start_ns), HEADER(end_ns), HEADER(clock), HEADER(clock_difference_ns), HEADER(stop);
    HEADER(rounds), HEADER(stats);
    THREAD(attempted), THREAD(acknowledged), THREAD(now_ns), THREAD(state), THREAD(handle_wait_ns), THREAD(handles_opened);
    THREAD(lateness_max_ns), THREAD(late);
    for (int outcome = 0; outcome < OUTCOMES; outcome++) {
        static const char *const names[OUTCOMES] = {"ok", "miss", "lost", "conflict", "wrong", "error", "timeout"};
        printf("slot %s %zu\n", names[outcome], offsetof(struct counters_slot, outcomes) + 8 * (size_t)outcome);
        printf("outcome %s %d\n", names[outcome], outcome);
    }
    SLOT(bytes_sent), SLOT(bytes_read), SLOT(items), SLOT(service_max_ns), SLOT(foreign), SLOT(sort_sum), SLOT(service);
    HISTORY(begin_ns), HISTORY(end_ns), HISTORY(what), HISTORY(read);
    for (unsigned code = 1; code < OPERATION_END; code++)
        printf("operation %s %u\n", operation_name(code), code);
    PRINT("constant histogram_bits", HISTOGRAM_SUB_BUCKET_BITS);
    PRINT("constant histogram_buckets", HISTOGRAM_BUCKETS);
    PRINT("constant error_places", COUNTERS_ERROR_PLACES);
    PRINT("constant stats_max", COUNTERS_STATS_MAX);
    PRINT("constant threads_max", TRACE_THREADS_MAX);
    PRINT("constant header_bytes", TRACE_HEADER_BYTES);
    PRINT("constant directory_bytes", TRACE_DIRECTORY_BYTES);
    PRINT("constant amounts_at", TRACE_AMOUNTS_AT);
    PRINT("constant slots_at", TRACE_SLOTS_AT);
    PRINT("constant slots_max", TRACE_SLOTS_MAX);
    PRINT("constant stamp_bytes", KEYVAL_STAMP_BYTES);
    PRINT("constant index_max", KEYVAL_INDEX_MAX);
    PRINT("constant flag_due", TRACE_FLAG_DUE);
    PRINT("constant flag_record_versions", TRACE_FLAG_RECORD_VERSIONS);
    PRINT("constant flag_history", TRACE_FLAG_HISTORY);
    PRINT("observed foreign", OBSERVED_FOREIGN);
    PRINT("observed miss", OBSERVED_MISS);
    PRINT("observed wrong", OBSERVED_WRONG);
    PRINT("observed error", OBSERVED_ERROR);
    PRINT("observed not_read", OBSERVED_NOT_READ);
    PRINT("observed short", OBSERVED_SHORT);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*check)(struct json_object *);
    } files[] = {
        {"mix", check_mix},           {"keys", check_keys},     {"pool", check_pool},         {"values", check_values},
        {"short_values", check_short_values}, {"checks", check_checks}, {"versions", check_versions}, {"traces", check_traces},
        {"counters", check_counters}, {"buckets", check_buckets}, {"records", check_records},
        {"history", check_history},
    };
    if (argc != 2) {
        fprintf(stderr, "usage: vectors FOLDER | vectors constants\n");
        return 2;
    }
    if (strcmp(argv[1], "constants") == 0) {
        print_constants();
        return 0;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.json", argv[1], files[i].name);
        file_name = files[i].name;
        struct json_object *object = json_object_from_file(path);
        if (object == NULL) {
            printf("%s: %s\n", path, json_util_get_last_err());
            return 1;
        }
        checked = 0;
        files[i].check(object);
        printf("%s %lu\n", files[i].name, checked);
        json_object_put(object);
    }
    return wrong > 0;
}
