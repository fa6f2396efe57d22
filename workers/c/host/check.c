#include "thread.h"

/* Looks closer at a value that is not right. The messages leave numbers out, so that they count up. */
static const char *why_wrong(struct thread *t, struct assay_bytes value, uint64_t index) {
    uint64_t claimed, version;
    if (!value_claims(value, &claimed))
        return "a short value that is not this record's";
    if (claimed == index)
        return "the record's own value, damaged: its checksum or body is wrong";
    if (value_check(&t->phase->pool, value, claimed, &version))
        return "another record's value";
    return "bytes that are no value of this trial";
}

const char *check_value(struct thread *t, struct assay_bytes value, uint64_t index) {
    uint64_t version;
    if (!value_check(&t->phase->pool, value, index, &version))
        return why_wrong(t, value, index);
    if (value.length < KEYVAL_STAMP_BYTES)
        return NULL;
    if (version == 0)
        return index < t->phase->loaded_records ? NULL : "a loaded value for a record that was never loaded";
    const struct phase *writer = t->phases->phase[version >> 56];
    uint64_t thread = version >> 40 & 0xffff, sequence = version & ((UINT64_C(1) << 40) - 1);
    if (writer == NULL || !trace_wrote(&writer->trace, thread, sequence, index, value.length))
        return "a value with a right checksum that no operation of this trial wrote";
    return NULL;
}

const char *check_if_asked(struct thread *t, struct assay_bytes value, uint64_t index) {
    if (!t->phase->verify)
        return NULL;
    if (t->sample != NULL) { /* the work of checking, without the question: the null driver has no value that could be wrong */
        uint64_t version;
        value_check(&t->phase->pool, (struct assay_bytes){t->sample, t->phase->value_bytes_max}, 0, &version);
        return NULL;
    }
    return check_value(t, value, index);
}

uint64_t observe(struct thread *t, enum assay_status status, struct assay_bytes value, uint64_t index) {
    if (status == ASSAY_MISS)
        return OBSERVED_MISS;
    if (status != ASSAY_OK)
        return OBSERVED_ERROR;
    uint64_t version;
    if (!value_check(&t->phase->pool, value, index, &version))
        return OBSERVED_WRONG;
    return value.length < KEYVAL_STAMP_BYTES ? OBSERVED_SHORT : version;
}

static int compare_keys(struct assay_bytes a, const unsigned char *b, size_t b_length) {
    size_t common = a.length < b_length ? a.length : b_length;
    int order = common == 0 ? 0 : memcmp(a.data, b, common);
    return order != 0 ? order : (a.length > b_length) - (a.length < b_length);
}

static const char *problem_of(struct scan *s, struct assay_bytes key, struct assay_bytes value) {
    int order = compare_keys(key, s->previous, s->previous_length);
    if (s->seen > 0 && order <= 0)
        return "keys of a scan do not ascend";
    if (s->seen == 0 && order < 0)
        return "a scan began before its first key";
    uint64_t index;
    if (!value_claims(value, &index))
        return NULL; /* too short to say whose it is */
    const struct key_shape *shape = &s->thread->phase->keys;
    if (index > KEYVAL_INDEX_MAX || compare_keys(key, s->expected, key_write(shape, index, s->expected)) != 0)
        return "a scanned value that is not its key's";
    return check_value(s->thread, value, index);
}

bool check_scanned(void *context, struct assay_bytes key, struct assay_bytes value) {
    struct scan *s = context;
    if (s->thread->phase->verify && s->problem == NULL) {
        s->problem = problem_of(s, key, value);
        if (s->problem == NULL && key.length <= key_bytes_max(&s->thread->phase->keys)) {
            memcpy(s->previous, key.data, key.length);
            s->previous_length = key.length;
        } else if (s->problem == NULL) {
            s->problem = "a scanned key that is longer than any of this trial";
        }
    }
    s->bytes += value.length;
    s->seen++;
    return s->seen < s->limit;
}
