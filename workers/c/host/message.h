/* Control messages: section 4 of docs/worker-contract.md, in JSON by json-c.
 *
 * json-c, because pool_seed is a whole 64-bit word: jansson's integers are signed and cJSON's are
 * doubles. */
#ifndef ASSAY_HOST_MESSAGE_H
#define ASSAY_HOST_MESSAGE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay_driver.h"

#define CLASS_BAD_REQUEST "bad_request"
#define CLASS_REFUSED "refused"
#define CLASS_FAILED "failed"

/* Why something was not done, to be told to the conductor. */
struct refusal {
    const char *class_; /* NULL: nothing is wrong */
    struct assay_error error;
};

/* Fills in the refusal, unless there is one already; returns false, for the caller to return. */
bool refuse(struct refusal *refusal, const char *class_, const char *format, ...) ASSAY_PRINTF(3, 4);
/* The class of what a driver returned. */
bool refuse_status(struct refusal *refusal, enum assay_status status, const char *what, const struct assay_error *error);

enum field_type {
    FIELD_TEXT,   /* const char *: valid as long as the request is; no 0 byte inside */
    FIELD_BYTES,  /* struct assay_bytes: likewise, any bytes */
    FIELD_INT,    /* int64_t */
    FIELD_WORD,   /* uint64_t */
    FIELD_BOOL,   /* bool */
    FIELD_OBJECT, /* struct json_object * */
    FIELD_LIST    /* struct json_object * */
};

struct field {
    const char *name;
    enum field_type type;
    void *into; /* stays as it is where the field is absent or null */
};

/* Reads an object strictly: an unknown field or another type is a bad request. */
bool read_fields(struct json_object *object, const char *what, const struct field *fields, size_t count,
                 struct refusal *refusal);

/* One value, as read_fields reads it. */
bool read_value(struct json_object *value, const char *name, enum field_type type, void *into, struct refusal *refusal);

/* Lines from a descriptor. */
struct input {
    int descriptor;
    char *data;
    size_t length, capacity, taken; /* bytes read, room, bytes of lines that were given out */
    bool ended;
};

enum { LINE_BYTES_MAX = 16 << 20 };

/* Reads what is there, waiting for the first byte. False: it broke, or a line is too long. At the
 * end, input->ended is set. */
bool input_fill(struct input *input);
/* Gives the next whole line that is not blank, without its end; NULL: there is none yet. Valid
 * until input_fill. */
const char *input_line(struct input *input, size_t *length);

/* Writes an object as a line. False: the reader has gone. */
bool write_line(int descriptor, struct json_object *object);

/* Takes what a driver reports: into an object, or numbers by a function. */
struct assay_sink {
    struct json_object *object;
    void (*take)(void *context, const char *name, double value);
    void *context;
};

/* The driver's description as describe tells it. */
struct json_object *describe_driver(const struct assay_driver *driver);
struct json_object *describe_abilities(const struct assay_driver *driver);

#endif
