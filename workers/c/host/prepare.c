#include <stdio.h>
#include <stdlib.h>

#include "definition.h"
#include "session.h"

struct request {
    const char *phase, *trace, *counters, *history, *clock;
    struct json_object *keys, *values;
    int64_t number, deadline_ns;
    bool zero_versions, verify;
    uint64_t loaded_records, must_hit_below;
};

static bool read_request(struct request *r, struct json_object *object, struct refusal *refusal) {
    *r = (struct request){.phase = "", .trace = "", .counters = "", .history = "", .clock = ""};
    const struct field fields[] = {
        {"phase", FIELD_TEXT, &r->phase},
        {"number", FIELD_INT, &r->number},
        {"trace", FIELD_TEXT, &r->trace},
        {"counters", FIELD_TEXT, &r->counters},
        {"history", FIELD_TEXT, &r->history},
        {"keys", FIELD_OBJECT, &r->keys},
        {"values", FIELD_OBJECT, &r->values},
        {"zero_versions", FIELD_BOOL, &r->zero_versions},
        {"verify", FIELD_BOOL, &r->verify},
        {"loaded_records", FIELD_WORD, &r->loaded_records},
        {"must_hit_below", FIELD_WORD, &r->must_hit_below},
        {"deadline_ns", FIELD_INT, &r->deadline_ns},
        {"clock", FIELD_TEXT, &r->clock},
    };
    return read_fields(object, "prepare", fields, sizeof fields / sizeof *fields, refusal);
}

enum { KEY_BYTES_MAX = 65535, KEY_DIGITS_MAX = 20 };

/* How many numbers, from 0 on, fit so many bytes. */
static uint64_t numbers_of(enum key_format format, size_t bytes) {
    if (bytes >= (format == KEY_BINARY ? 8 : DECIMAL_DIGITS_MAX))
        return UINT64_MAX;
    uint64_t numbers = 1;
    while (bytes-- > 0)
        numbers *= format == KEY_BINARY ? 256 : 10;
    return numbers;
}

/* Is the stretch at a place right, with those before it? */
static bool check_stretch(const struct key_shape *shape, unsigned i, struct refusal *refusal) {
    const struct key_stretch *stretch = &shape->stretch[i];
    if (stretch->from > KEYVAL_INDEX_MAX || stretch->first > KEYVAL_INDEX_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: from and first of a length are at most 2^48-1");
    if (stretch->bytes > KEY_BYTES_MAX || stretch->bytes <= shape->prefix_bytes)
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: lengths are longer than the prefix, and at most 65535");
    if (shape->scatter && (shape->format != KEY_BINARY || stretch->bytes - shape->prefix_bytes < 8))
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: scattered keys of several lengths are binary and have at least 8 bytes after the prefix");
    if (i == 0)
        return stretch->from == 0 || refuse(refusal, CLASS_BAD_REQUEST, "keys: the first length begins at index 0");
    const struct key_stretch *before = stretch - 1;
    if (stretch->from <= before->from)
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: lengths ascend by their first index");
    if (before->first + (stretch->from - before->from) > numbers_of(shape->format, before->bytes - shape->prefix_bytes))
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: a length can't hold the numbers of its keys");
    return true;
}

static bool read_lengths(struct key_shape *shape, struct json_object *list, struct refusal *refusal) {
    size_t count = json_object_array_length(list);
    if (count > KEYVAL_STRETCHES_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: at most %d lengths", KEYVAL_STRETCHES_MAX);
    for (shape->stretches = 0; shape->stretches < count; shape->stretches++) {
        struct key_stretch *stretch = &shape->stretch[shape->stretches];
        uint64_t bytes = 0;
        const struct field fields[] = {
            {"from", FIELD_WORD, &stretch->from}, {"bytes", FIELD_WORD, &bytes}, {"first", FIELD_WORD, &stretch->first}};
        if (!read_fields(json_object_array_get_idx(list, shape->stretches), "lengths", fields, sizeof fields / sizeof *fields, refusal))
            return false;
        stretch->bytes = (size_t)bytes;
        if (!check_stretch(shape, shape->stretches, refusal))
            return false;
        shape->longest = stretch->bytes > shape->longest ? stretch->bytes : shape->longest;
    }
    return true;
}

static bool read_keys(struct key_shape *shape, struct json_object *object, struct refusal *refusal) {
    *shape = (struct key_shape){0};
    const char *format = "";
    struct assay_bytes prefix = {"", 0}, suffix = {"", 0};
    int64_t bytes = 0, digits = 0;
    struct json_object *lengths = NULL;
    const struct field fields[] = {
        {"format", FIELD_TEXT, &format}, {"bytes", FIELD_INT, &bytes},   {"prefix", FIELD_BYTES, &prefix},
        {"suffix", FIELD_BYTES, &suffix}, {"digits", FIELD_INT, &digits}, {"scatter", FIELD_BOOL, &shape->scatter},
        {"first", FIELD_WORD, &shape->first}, {"lengths", FIELD_LIST, &lengths},
    };
    if (!read_fields(object, "keys", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    if (prefix.length > KEYVAL_AFFIX_BYTES_MAX || suffix.length > KEYVAL_AFFIX_BYTES_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: prefix and suffix have at most 255 bytes each");
    if (shape->first > 0 && (strcmp(format, "decimal") != 0 || shape->scatter || shape->first > KEYVAL_INDEX_MAX))
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: first is 0 to 2^48-1, and of decimal keys without scatter alone");
    memcpy(shape->prefix, prefix.data, shape->prefix_bytes = prefix.length);
    memcpy(shape->suffix, suffix.data, shape->suffix_bytes = suffix.length);
    if (lengths != NULL && json_object_array_length(lengths) > 0) {
        bool decimal = strcmp(format, "decimal") == 0;
        if (!decimal && strcmp(format, "binary") != 0)
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: binary and decimal keys alone have lengths");
        if (bytes != 0 || digits != 0 || shape->first != 0 || suffix.length > 0)
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: those of several lengths have no bytes, digits, first and suffix");
        shape->format = decimal ? KEY_DECIMAL : KEY_BINARY;
        return read_lengths(shape, lengths, refusal);
    }
    if (strcmp(format, "binary") == 0) {
        shape->format = KEY_BINARY;
        if (bytes < 1 || bytes > KEY_BYTES_MAX)
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: binary keys have 1 to 65535 bytes");
        if (suffix.length > 0 || digits != 0)
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: binary keys have no suffix or digits");
        if (prefix.length >= (size_t)bytes)
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: the prefix leaves nothing of a binary key");
        if ((size_t)bytes - prefix.length < 8 && shape->scatter)
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: scattered keys need at least 8 bytes after the prefix");
    } else if (strcmp(format, "decimal") == 0 || strcmp(format, "ycsb") == 0) {
        shape->format = *format == 'd' ? KEY_DECIMAL : KEY_YCSB;
        if (bytes != 0)
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: %s keys take no bytes", format);
        if (digits < 0 || digits > KEY_DIGITS_MAX || (shape->format == KEY_YCSB && digits != 0))
            return refuse(refusal, CLASS_BAD_REQUEST, "keys: decimal keys have 0 to 20 digits, ycsb keys take none");
    } else {
        return refuse(refusal, CLASS_BAD_REQUEST, "keys: unknown format \"%s\"", format);
    }
    shape->bytes = (size_t)bytes;
    shape->digits = (unsigned)digits;
    return true;
}

static bool read_values(struct value_shape *shape, struct json_object *object, struct refusal *refusal) {
    *shape = (struct value_shape){0};
    const struct field fields[] = {
        {"pool_bytes", FIELD_WORD, &shape->pool_bytes},
        {"pool_seed", FIELD_WORD, &shape->pool_seed},
        {"repeated_permille", FIELD_WORD, &shape->repeated_permille},
        {"length_max", FIELD_WORD, &shape->length_max},
        {"short_lengths", FIELD_WORD, &shape->short_lengths},
        {"trial_tag", FIELD_WORD, &shape->trial_tag},
    };
    if (!read_fields(object, "values", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    uint64_t pool = shape->pool_bytes;
    if (pool < 4096 || (pool & (pool - 1)) != 0 || pool > 1 << 30)
        return refuse(refusal, CLASS_BAD_REQUEST, "values: pool_bytes must be a power of two from 4096 to 2^30");
    if (shape->repeated_permille > 1000)
        return refuse(refusal, CLASS_BAD_REQUEST, "values: repeated_permille must be 0 to 1000");
    if (shape->length_max > INT32_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "values: length_max must be below 2^31");
    if (shape->short_lengths >> KEYVAL_STAMP_BYTES != 0)
        return refuse(refusal, CLASS_BAD_REQUEST, "values: short_lengths has bits of lengths below 24 alone");
    if (shape->trial_tag == 0 || shape->trial_tag > UINT32_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "values: trial_tag must be 1 to 2^32-1");
    return true;
}

/* Refuses a trace with an operation that the store can't do: nothing is emulated. */
static bool check_abilities(const struct assay_driver *driver, const struct trace *trace, enum handle_mode mode,
                            struct refusal *refusal) {
    for (uint32_t k = 0; k < trace->slots; k++) {
        unsigned o = trace->operation[k];
        if ((o == OPERATION_SCAN && driver->scan == NULL) || (o == OPERATION_BATCH && driver->batch == NULL) ||
            (o == OPERATION_ADD && driver->add == NULL) || (o == OPERATION_QUERY && driver->query == NULL) ||
            (o == OPERATION_COUNT && driver->count == NULL) || (o == OPERATION_MODIFY && driver->modify == NULL) ||
            (o == OPERATION_DELETE_QUERY && driver->delete_query == NULL) ||
            (o == OPERATION_INCREMENT && driver->increment == NULL) ||
            (o == OPERATION_COMPARE_AND_SWAP && driver->compare_and_swap == NULL))
            return refuse(refusal, CLASS_REFUSED, "%s has no %s", driver->description->name, operation_name(o));
    }
    if (trace->timed_every > 0 && mode != HANDLES_SHARED && mode != HANDLES_PER_THREAD)
        return refuse(refusal, CLASS_REFUSED, "only threads that keep their handles may leave operations untimed");
    return true;
}

/* Holds the trace against length_max, from which all buffers are sized. */
static bool check_lengths(const struct trace *trace, const struct record_shape *record, uint64_t length_max,
                          struct refusal *refusal) {
    if (record != NULL) {
        if (record->proof >= 0 && record->column[record->proof].proof_bytes > length_max)
            return refuse(refusal, CLASS_BAD_REQUEST, "the proof column is longer than length_max");
        return true; /* a record's length follows from its columns */
    }
    for (uint32_t i = 0; i < trace->threads; i++)
        for (uint64_t p = 0; p < trace->thread[i].count; p++) {
            uint64_t entry = trace->thread[i].entries[p];
            if (operation_puts(entry_operation(entry)) && trace->amounts[entry_size_class(entry)] > length_max)
                return refuse(refusal, CLASS_BAD_REQUEST, "a value in the trace is longer than length_max");
        }
    return true;
}

/* A modify writes the proof column, and an increment the counter. */
static bool check_columns(const struct trace *trace, const struct record_shape *record, struct refusal *refusal) {
    if (trace->slot[OPERATION_MODIFY] >= 0 && (record == NULL || record->proof < 0))
        return refuse(refusal, CLASS_BAD_REQUEST, "modify writes the proof column, and define named none");
    if (trace->slot[OPERATION_INCREMENT] >= 0 && (record == NULL || record->counter < 0))
        return refuse(refusal, CLASS_BAD_REQUEST, "increment adds to the counter column, and define named none");
    return true;
}

/* Holds queries and counts against those of define. */
static bool check_queries(const struct trace *trace, const struct definition *definition, struct refusal *refusal) {
    size_t defined = definition != NULL ? definition->told.queries_count : 0;
    if (trace->slot[OPERATION_QUERY] < 0 && trace->slot[OPERATION_COUNT] < 0 && trace->slot[OPERATION_DELETE_QUERY] < 0)
        return true;
    for (uint32_t i = 0; i < trace->threads; i++)
        for (uint64_t p = 0; p < trace->thread[i].count; p++) {
            uint64_t entry = trace->thread[i].entries[p];
            unsigned operation = entry_operation(entry);
            if (!operation_asks(operation))
                continue;
            uint32_t query = trace->amounts[entry_size_class(entry)];
            if (query >= defined)
                return refuse(refusal, CLASS_BAD_REQUEST, "a %s by query %u, but define named %zu", operation_name(operation), query, defined);
            if (operation == OPERATION_QUERY && definition->queries[query].limit == 0)
                return refuse(refusal, CLASS_BAD_REQUEST, "a query by query %u, which has no limit and can only be counted", query);
            if (operation == OPERATION_DELETE_QUERY && definition->queries[query].alternatives > 1)
                return refuse(refusal, CLASS_BAD_REQUEST, "a delete by query %u, which has several alternatives", query);
        }
    return true;
}

void phase_free(struct phase *phase) {
    if (phase == NULL)
        return;
    if (phase->history.data != NULL)
        history_unmap(&phase->history);
    if (phase->counters.data != NULL)
        counters_unmap(&phase->counters);
    if (phase->trace.thread != NULL)
        trace_unmap(&phase->trace);
    pool_free(&phase->pool);
    free(phase);
}

static bool make_threads(struct session *session, const struct phase *phase, struct refusal *refusal) {
    size_t bytes = phase->trace.threads * sizeof *session->threads;
    session->threads = aligned_alloc(_Alignof(struct thread), bytes);
    if (session->threads == NULL)
        return refuse(refusal, CLASS_FAILED, "no memory for the phase's threads");
    for (uint32_t i = 0; i < phase->trace.threads; i++) {
        if (thread_make(&session->threads[i], phase, &session->phases, &session->handles, i))
            continue;
        while (i-- > 0)
            thread_free(&session->threads[i]);
        free(session->threads);
        session->threads = NULL;
        return refuse(refusal, CLASS_FAILED, "no memory for the phase's threads");
    }
    return true;
}

static bool fill_phase(struct session *session, struct phase *phase, const struct request *r, struct refusal *refusal) {
    struct value_shape values;
    struct assay_error error = {{0}};
    if (!read_keys(&phase->keys, r->keys, refusal) || !read_values(&values, r->values, refusal))
        return false;
    if (!trace_map(&phase->trace, r->trace, &error))
        return refuse(refusal, CLASS_BAD_REQUEST, "%s", error.text);
    if (phase->trace.threads > (uint32_t)session->config.threads)
        return refuse(refusal, CLASS_BAD_REQUEST, "trace of %u threads, but the store was opened for %d",
                      phase->trace.threads, session->config.threads);
    if (!check_abilities(session->driver, &phase->trace, session->handles.mode, refusal) ||
        !check_lengths(&phase->trace, session->record, values.length_max, refusal) ||
        !check_columns(&phase->trace, session->record, refusal) || !check_queries(&phase->trace, session->definition, refusal))
        return false;
    if (!counters_map(&phase->counters, r->counters, &phase->trace, &error) ||
        !clock_make(&phase->clock, r->clock, &error))
        return refuse(refusal, CLASS_BAD_REQUEST, "%s", error.text);
    bool recorded = (phase->trace.flags & TRACE_FLAG_HISTORY) != 0;
    if (recorded != (*r->history != 0))
        return refuse(refusal, CLASS_BAD_REQUEST, "a trace with recorded entries and a history file belong together");
    if (recorded && !history_map(&phase->history, r->history, &phase->trace, &error))
        return refuse(refusal, CLASS_BAD_REQUEST, "%s", error.text);
    if (!pool_make(&phase->pool, &values))
        return refuse(refusal, CLASS_FAILED, "no memory for the value pool");
    snprintf(phase->name, sizeof phase->name, "%s", r->phase);
    phase->number = (uint64_t)r->number;
    phase->record = session->record;
    phase->definition = session->definition;
    phase->value_bytes_max = session->record != NULL ? session->record->bytes_max : values.length_max;
    phase->zero_versions = r->zero_versions;
    phase->verify = r->verify;
    phase->loaded_records = r->loaded_records;
    phase->must_hit_below = r->must_hit_below;
    phase->deadline_ns = r->deadline_ns;
    return make_threads(session, phase, refusal);
}

struct json_object *session_prepare(struct session *session, struct json_object *fields, struct refusal *refusal) {
    struct request r;
    if (session->prepared != NULL)
        return refuse(refusal, CLASS_BAD_REQUEST, "prepare while phase %s waits for run", session->prepared->name), NULL;
    if (!read_request(&r, fields, refusal))
        return NULL;
    if (r.number < 0 || r.number > KEYVAL_PHASE_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "phase number out of 0 to %d", KEYVAL_PHASE_MAX), NULL;
    if (session->phases.phase[r.number] != NULL)
        return refuse(refusal, CLASS_BAD_REQUEST, "phase number %d was used before", (int)r.number), NULL;
    struct phase *phase = calloc(1, sizeof *phase);
    if (phase == NULL)
        return refuse(refusal, CLASS_FAILED, "no memory for a phase"), NULL;
    if (!fill_phase(session, phase, &r, refusal)) {
        phase_free(phase);
        return NULL;
    }
    session->phases.phase[r.number] = session->prepared = phase;
    session->stats = (struct stats){.names = NULL};
    if ((phase->trace.flags & TRACE_FLAG_RECORD_VERSIONS) == 0) /* in a verify phase nothing is measured */
        stats_make(&session->stats, session->driver, session->store);
    struct json_object *result = json_object_new_object();
    if (session->stats.names != NULL)
        json_object_object_add(result, "stats", json_object_get(session->stats.names));
    return result;
}

void session_forget_prepared(struct session *session) {
    if (session->threads != NULL)
        for (uint32_t i = 0; i < session->prepared->trace.threads; i++)
            thread_free(&session->threads[i]);
    free(session->threads);
    stats_free(&session->stats);
    session->threads = NULL;
    session->prepared = NULL;
}
