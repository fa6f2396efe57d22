#include "message.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool refuse(struct refusal *refusal, const char *class_, const char *format, ...) {
    if (refusal->class_ != NULL)
        return false;
    refusal->class_ = class_;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal->error.text, sizeof refusal->error.text, format, arguments);
    va_end(arguments);
    return false;
}

bool refuse_status(struct refusal *refusal, enum assay_status status, const char *what, const struct assay_error *error) {
    return refuse(refusal, status == ASSAY_REFUSED ? CLASS_REFUSED : CLASS_FAILED, "%s: %s", what, error->text);
}

static bool wrong_type(struct refusal *refusal, const char *name, const char *expected) {
    return refuse(refusal, CLASS_BAD_REQUEST, "field %s: expected %s", name, expected);
}

bool read_value(struct json_object *value, const char *name, enum field_type type, void *into, struct refusal *refusal) {
    enum json_type is = json_object_get_type(value);
    switch (type) {
    case FIELD_TEXT:
        if (is != json_type_string || strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value))
            return wrong_type(refusal, name, "a text");
        *(const char **)into = json_object_get_string(value);
        return true;
    case FIELD_BYTES:
        if (is != json_type_string)
            return wrong_type(refusal, name, "a text");
        *(struct assay_bytes *)into =
            (struct assay_bytes){json_object_get_string(value), (size_t)json_object_get_string_len(value)};
        return true;
    case FIELD_INT: {
        if (is != json_type_int)
            return wrong_type(refusal, name, "a whole number");
        int64_t number = json_object_get_int64(value);
        if (number == INT64_MAX && json_object_get_uint64(value) > (uint64_t)INT64_MAX)
            return wrong_type(refusal, name, "a whole number below 2^63");
        *(int64_t *)into = number;
        return true;
    }
    case FIELD_WORD:
        if (is != json_type_int || json_object_get_int64(value) < 0)
            return wrong_type(refusal, name, "a whole number, 0 or more");
        *(uint64_t *)into = json_object_get_uint64(value);
        return true;
    case FIELD_BOOL:
        if (is != json_type_boolean)
            return wrong_type(refusal, name, "true or false");
        *(bool *)into = json_object_get_boolean(value);
        return true;
    case FIELD_OBJECT:
        if (is != json_type_object)
            return wrong_type(refusal, name, "an object");
        *(struct json_object **)into = value;
        return true;
    case FIELD_LIST:
        if (is != json_type_array)
            return wrong_type(refusal, name, "a list");
        *(struct json_object **)into = value;
        return true;
    }
    return false;
}

bool read_fields(struct json_object *object, const char *what, const struct field *fields, size_t count,
                 struct refusal *refusal) {
    if (json_object_get_type(object) != json_type_object)
        return refuse(refusal, CLASS_BAD_REQUEST, "%s is no object", what);
    json_object_object_foreach(object, name, value) {
        size_t i = 0;
        while (i < count && strcmp(fields[i].name, name) != 0)
            i++;
        if (i == count)
            return refuse(refusal, CLASS_BAD_REQUEST, "%s has the unknown field \"%s\"", what, name);
        if (value != NULL && !read_value(value, name, fields[i].type, fields[i].into, refusal))
            return false;
    }
    return true;
}

bool input_fill(struct input *input) {
    if (input->taken > 0) {
        input->length -= input->taken;
        memmove(input->data, input->data + input->taken, input->length);
        input->taken = 0;
    }
    if (input->length == input->capacity) {
        if (input->capacity >= LINE_BYTES_MAX) {
            fprintf(stderr, "worker: a control message is longer than 16 MiB\n");
            return false;
        }
        size_t capacity = input->capacity == 0 ? 64 << 10 : 2 * input->capacity;
        char *data = realloc(input->data, capacity);
        if (data == NULL) {
            fprintf(stderr, "worker: no memory for a control message\n");
            return false;
        }
        input->data = data;
        input->capacity = capacity;
    }
    ssize_t n;
    do
        n = read(input->descriptor, input->data + input->length, input->capacity - input->length);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        fprintf(stderr, "worker: reading a request: %s\n", strerror(errno));
        return false;
    }
    input->ended = n == 0;
    input->length += (size_t)n;
    return true;
}

const char *input_line(struct input *input, size_t *length) {
    for (;;) {
        char *start = input->data + input->taken;
        size_t rest = input->length - input->taken;
        if (rest == 0)
            return NULL;
        char *end = memchr(start, '\n', rest);
        if (end == NULL && !input->ended)
            return NULL;
        *length = end != NULL ? (size_t)(end - start) : rest;
        input->taken += end != NULL ? *length + 1 : rest;
        while (*length > 0 && strchr(" \t\r", start[*length - 1]) != NULL)
            --*length;
        while (*length > 0 && (*start == ' ' || *start == '\t')) {
            start++;
            --*length;
        }
        if (*length > 0)
            return start;
    }
}

bool write_line(int descriptor, struct json_object *object) {
    size_t length, done = 0;
    const char *text = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
                                                         &length);
    while (done <= length) { /* the line's end is one byte past the text */
        ssize_t n = done < length ? write(descriptor, text + done, length - done) : write(descriptor, "\n", 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

void assay_setting(struct assay_sink *sink, const char *name, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_object_object_add(sink->object, name, json_object_new_string(text));
}

void assay_stat(struct assay_sink *sink, const char *name, double value) {
    if (!isfinite(value))
        return;
    if (sink->take != NULL)
        sink->take(sink->context, name, value);
    else
        json_object_object_add(sink->object, name, json_object_new_double(value));
}

static void add_text(struct json_object *object, const char *name, const char *text) {
    if (text != NULL)
        json_object_object_add(object, name, json_object_new_string(text));
}

static void add_bool(struct json_object *object, const char *name, bool value) {
    json_object_object_add(object, name, json_object_new_boolean(value));
}

static void add_limit(struct json_object *object, const char *name, uint64_t value) {
    if (value != 0)
        json_object_object_add(object, name, json_object_new_uint64(value));
}

struct json_object *describe_abilities(const struct assay_driver *driver) {
    struct json_object *abilities = json_object_new_object();
    add_bool(abilities, "batch", driver->batch != NULL);
    add_bool(abilities, "scan", driver->scan != NULL);
    add_bool(abilities, "add", driver->add != NULL);
    add_bool(abilities, "compare_and_swap", driver->compare_and_swap != NULL);
    add_bool(abilities, "sync", driver->sync != NULL);
    add_bool(abilities, "inspect", driver->inspect != NULL);
    add_bool(abilities, "records", driver->define != NULL);
    add_bool(abilities, "query", driver->query != NULL);
    add_bool(abilities, "modify", driver->modify != NULL);
    add_bool(abilities, "increment", driver->increment != NULL);
    add_bool(abilities, "count", driver->count != NULL);
    add_bool(abilities, "delete_query", driver->delete_query != NULL);
    add_bool(abilities, "explain", driver->explain != NULL);
    return abilities;
}

static struct json_object *describe_option(const struct assay_option *option) {
    struct json_object *object = json_object_new_object();
    add_text(object, "name", option->name);
    add_text(object, "type", option->type);
    add_text(object, "default", option->default_value);
    add_text(object, "help", option->help);
    if (option->tune != NULL)
        add_text(object, "tune", option->tune);
    if (option->choices == NULL)
        return object;
    struct json_object *choices = json_object_new_array();
    for (const char *at = option->choices; *at != 0;) {
        size_t length = strcspn(at, " ");
        json_object_array_add(choices, json_object_new_string_len(at, (int)length));
        at += length + strspn(at + length, " ");
    }
    json_object_object_add(object, "choices", choices);
    return object;
}

struct json_object *describe_driver(const struct assay_driver *driver) {
    static const char *const classes[] = {"D0", "D1", "D2", "D3", "D4"};
    const struct assay_description *d = driver->description;
    struct json_object *object = json_object_new_object();
    add_text(object, "name", d->name);
    add_text(object, "summary", d->summary);
    add_text(object, "library", d->library);
    add_text(object, "version", driver->version != NULL ? driver->version() : "");
    add_text(object, "licence", d->licence);
    add_text(object, "kind", d->kind);
    struct json_object *claims = json_object_new_array();
    for (const struct assay_durability_claim *claim = d->durability; claim->how != NULL; claim++) {
        struct json_object *one = json_object_new_object();
        add_text(one, "class", classes[claim->class_]);
        add_text(one, "how", claim->how);
        json_object_array_add(claims, one);
    }
    json_object_object_add(object, "durability", claims);
    struct json_object *options = json_object_new_array();
    for (const struct assay_option *option = d->options; option != NULL && option->name != NULL; option++)
        json_object_array_add(options, describe_option(option));
    json_object_object_add(object, "options", options);
    add_bool(object, "handles_shareable", d->handles_shareable);
    add_limit(object, "handles_max", d->handles_max);
    add_bool(object, "handle_times", true);
    add_bool(object, "latency_sampled", true);
    add_bool(object, "finds_recorded", true);
    add_bool(object, "key_lengths", true);
    add_limit(object, "key_bytes_min", d->key_bytes_min);
    add_limit(object, "key_bytes_max", d->key_bytes_max);
    add_limit(object, "value_bytes_max", d->value_bytes_max);
    if (d->value_bytes_option != NULL)
        add_text(object, "value_bytes_option", d->value_bytes_option);
    add_bool(object, "key_text", d->key_text);
    add_bool(object, "key_numbers", d->key_numbers);
    add_bool(object, "batch_atomic", d->batch_atomic);
    add_limit(object, "batch_max", d->batch_max);
    add_limit(object, "batch_bytes_max", d->batch_bytes_max);
    add_bool(object, "write_conflicts", d->write_conflicts);
    add_bool(object, "server_sets_class", d->server_sets_class);
    add_bool(object, "token_indexes", d->token_indexes);
    add_bool(object, "eventual", d->eventual);
    add_limit(object, "fixed_disk_bytes", d->fixed_disk_bytes);
    json_object_object_add(object, "abilities", describe_abilities(driver));
    add_text(object, "note", d->note);
    return object;
}
