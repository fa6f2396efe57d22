#include "session.h"

#include "options.h"

enum { CONTRACT = 4 };

static struct json_object *describe(void) {
    struct json_object *result = json_object_new_object(), *drivers = json_object_new_array();
    json_object_object_add(result, "contract", json_object_new_int(CONTRACT));
    json_object_object_add(result, "worker", json_object_new_string("assay-c"));
#ifdef __VERSION__
    json_object_object_add(result, "language", json_object_new_string("C11, compiler " __VERSION__));
#else
    json_object_object_add(result, "language", json_object_new_string("C11"));
#endif
    for (size_t i = 0; assay_drivers[i] != NULL; i++)
        json_object_array_add(drivers, describe_driver(assay_drivers[i]));
    json_object_object_add(result, "drivers", drivers);
    return result;
}

static struct json_object *inspect(struct session *session) {
    struct json_object *result = json_object_new_object();
    bool busy = false;
    if (session->driver->inspect != NULL) {
        struct assay_sink sink = {.object = json_object_new_object()};
        session->driver->inspect(session->store, &sink, &busy);
        json_object_object_add(result, "stats", sink.object);
    }
    json_object_object_add(result, "busy", json_object_new_boolean(busy));
    json_object_object_add(result, "settings", session_settings(session));
    return result;
}

static struct json_object *sync_store(struct session *session, struct refusal *refusal) {
    const char *name = session->driver->description->name;
    if (session->driver->sync == NULL)
        return refuse(refusal, CLASS_REFUSED, "%s has no sync", name), NULL;
    struct assay_error error = {{0}};
    enum assay_status status = session->driver->sync(session->store, &error);
    if (status != ASSAY_OK)
        return refuse_status(refusal, status, name, &error), NULL;
    return json_object_new_object();
}

struct request {
    int64_t id;
    const char *command;
    struct json_object *open, *define, *prepare, *explain;
};

static bool read_request(struct request *r, struct json_object *object, struct refusal *refusal) {
    const struct field fields[] = {
        {"id", FIELD_INT, &r->id},
        {"command", FIELD_TEXT, &r->command},
        {"open", FIELD_OBJECT, &r->open},
        {"define", FIELD_OBJECT, &r->define},
        {"prepare", FIELD_OBJECT, &r->prepare},
        {"explain", FIELD_OBJECT, &r->explain},
    };
    struct json_object *id;
    if (json_object_get_type(object) == json_type_object && json_object_object_get_ex(object, "id", &id) &&
        json_object_get_type(id) == json_type_int)
        r->id = json_object_get_int64(id); /* so that the refusal of a bad request can carry it */
    if (!read_fields(object, "the request", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    const struct {
        const char *command;
        struct json_object *there;
        bool needed;
    } parts[] = {{"open", r->open, true}, {"define", r->define, true}, {"prepare", r->prepare, true}, {"explain", r->explain, true}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool own = strcmp(r->command, parts[i].command) == 0;
        if (parts[i].there != NULL && !own)
            return refuse(refusal, CLASS_BAD_REQUEST, "%s with the fields of %s", r->command, parts[i].command);
        if (parts[i].there == NULL && own && parts[i].needed)
            return refuse(refusal, CLASS_BAD_REQUEST, "%s without its fields", r->command);
    }
    return true;
}

static struct json_object *execute(struct session *session, const struct request *r, struct refusal *refusal) {
    const char *command = r->command;
    if (strcmp(command, "describe") == 0)
        return describe();
    if (strcmp(command, "open") == 0)
        return session_open(session, r->open, refusal);
    static const char *const of_open_store[] = {"prepare", "run", "inspect", "sync", "define", "explain", "close"};
    size_t known = 0, commands = sizeof of_open_store / sizeof *of_open_store;
    while (known < commands && strcmp(command, of_open_store[known]) != 0)
        known++;
    if (known == commands)
        return refuse(refusal, CLASS_BAD_REQUEST, "unknown command \"%s\"", command), NULL;
    if (session->driver == NULL)
        return refuse(refusal, CLASS_BAD_REQUEST, "%s before open", command), NULL;
    switch (known) {
    case 0:
        return session_prepare(session, r->prepare, refusal);
    case 1:
        return session_run(session, refusal);
    case 2:
        return inspect(session);
    case 3:
        return sync_store(session, refusal);
    case 4:
        return session_define(session, r->define, refusal);
    case 5:
        return session_explain(session, r->explain, refusal);
    default:
        return session_close(session, refusal);
    }
}

/* Reads one JSON value that fills the line. NULL: it is none. */
static struct json_object *parse(const char *line, size_t length, struct refusal *refusal) {
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *object = json_tokener_parse_ex(tokener, line, (int)length);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    if (error == json_tokener_success && json_tokener_get_parse_end(tokener) != length)
        error = json_tokener_error_parse_unexpected;
    if (error != json_tokener_success) {
        refuse(refusal, CLASS_BAD_REQUEST, "the request is no JSON: %s", json_tokener_error_desc(error));
        json_object_put(object);
        object = NULL;
    }
    json_tokener_free(tokener);
    return object;
}

struct json_object *session_answer(struct session *session, const char *line, size_t length) {
    struct refusal refusal = {0};
    struct request r = {.command = ""};
    struct json_object *request = parse(line, length, &refusal), *result = NULL;
    if (refusal.class_ == NULL && read_request(&r, request, &refusal))
        result = execute(session, &r, &refusal);
    struct json_object *reply = json_object_new_object();
    json_object_object_add(reply, "id", json_object_new_int64(r.id));
    json_object_object_add(reply, "ok", json_object_new_boolean(result != NULL));
    if (result != NULL) {
        json_object_object_add(reply, "result", result);
    } else {
        struct json_object *error = json_object_new_object();
        json_object_object_add(error, "class", json_object_new_string(refusal.class_));
        json_object_object_add(error, "message", json_object_new_string(refusal.error.text));
        json_object_object_add(reply, "error", error);
    }
    json_object_put(request);
    return reply;
}
