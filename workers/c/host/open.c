#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "session.h"

struct request {
    const char *driver, *directory, *durability, *handles;
    struct json_object *endpoints, *options;
    int64_t loss_window_ns, pool_handles, threads;
    bool first;
};

static bool read_request(struct request *r, struct json_object *object, struct refusal *refusal) {
    *r = (struct request){.driver = "", .directory = "", .durability = "", .handles = ""};
    const struct field fields[] = {
        {"driver", FIELD_TEXT, &r->driver},
        {"first", FIELD_BOOL, &r->first},
        {"directory", FIELD_TEXT, &r->directory},
        {"endpoints", FIELD_LIST, &r->endpoints},
        {"durability", FIELD_TEXT, &r->durability},
        {"loss_window_ns", FIELD_INT, &r->loss_window_ns},
        {"options", FIELD_OBJECT, &r->options},
        {"handles", FIELD_TEXT, &r->handles},
        {"pool_handles", FIELD_INT, &r->pool_handles},
        {"threads", FIELD_INT, &r->threads},
    };
    return read_fields(object, "open", fields, sizeof fields / sizeof *fields, refusal);
}

static const struct assay_driver *find_driver(const char *name) {
    for (size_t i = 0; assay_drivers[i] != NULL; i++)
        if (strcmp(assay_drivers[i]->description->name, name) == 0)
            return assay_drivers[i];
    return NULL;
}

static bool find_class(const struct assay_description *d, const char *name, enum assay_durability *class_) {
    if (strlen(name) != 2 || name[0] != 'D' || name[1] < '0' || name[1] > '4')
        return false;
    *class_ = (enum assay_durability)(name[1] - '0');
    for (const struct assay_durability_claim *claim = d->durability; claim->how != NULL; claim++)
        if (claim->class_ == *class_)
            return true;
    return false;
}

/* How many handles will be open at once, and how they are shared. */
static bool count_handles(const struct request *r, const struct assay_description *d, enum handle_mode *mode, int *count,
                          struct refusal *refusal) {
    if (strcmp(r->handles, "shared") == 0) {
        *mode = HANDLES_SHARED;
        *count = 1;
        if (r->threads > 1 && !d->handles_shareable)
            return refuse(refusal, CLASS_REFUSED, "a handle of %s can't be shared by threads", d->name);
    } else if (strcmp(r->handles, "per_thread") == 0) {
        *mode = HANDLES_PER_THREAD;
        *count = (int)r->threads;
    } else if (strcmp(r->handles, "per_operation") == 0) {
        *mode = HANDLES_PER_OPERATION;
        *count = (int)r->threads;
    } else if (strcmp(r->handles, "pool") == 0) {
        *mode = HANDLES_POOL;
        if (r->pool_handles < 1 || r->pool_handles > 1 << 20)
            return refuse(refusal, CLASS_BAD_REQUEST, "a pool needs pool_handles of at least 1");
        *count = (int)r->pool_handles;
    } else {
        return refuse(refusal, CLASS_BAD_REQUEST, "unknown way to share handles \"%s\"", r->handles);
    }
    if (d->handles_max > 0 && (uint64_t)*count > d->handles_max)
        return refuse(refusal, CLASS_REFUSED, "%s has at most %llu handles, this needs %d", d->name,
                      (unsigned long long)d->handles_max, *count);
    return true;
}

static bool read_options(struct assay_options *options, const struct assay_description *d, struct json_object *given,
                         struct refusal *refusal) {
    if (!options_make(options, d->options))
        return refuse(refusal, CLASS_FAILED, "no memory for options");
    if (given == NULL)
        return true;
    json_object_object_foreach(given, name, value) {
        const char *text = NULL;
        struct assay_error error;
        if (!read_value(value, name, FIELD_TEXT, &text, refusal))
            return false;
        if (!options_set(options, name, text, &error))
            return refuse(refusal, CLASS_BAD_REQUEST, "%s: %s", d->name, error.text);
    }
    return true;
}

static const char **read_endpoints(struct json_object *list, struct refusal *refusal) {
    size_t count = list != NULL ? json_object_array_length(list) : 0;
    const char **endpoints = calloc(count + 1, sizeof *endpoints);
    for (size_t i = 0; endpoints != NULL && i < count; i++) {
        if (!read_value(json_object_array_get_idx(list, i), "endpoints", FIELD_TEXT, &endpoints[i], refusal)) {
            free(endpoints);
            return NULL;
        }
    }
    if (endpoints == NULL)
        refuse(refusal, CLASS_FAILED, "no memory for endpoints");
    return endpoints;
}

struct json_object *session_settings(struct session *session) {
    struct assay_sink sink = {.object = json_object_new_object()};
    session->driver->settings(session->store, &sink);
    return sink.object;
}

/* Opens the store and its handles for a request that was checked. */
static bool open_store(struct session *session, const struct assay_driver *driver, enum handle_mode mode,
                       struct refusal *refusal) {
    struct assay_error error = {{0}};
    enum assay_status status = driver->open(&session->config, &session->store, &error);
    if (status != ASSAY_OK)
        return refuse_status(refusal, status, driver->description->name, &error);
    status = handles_open(&session->handles, driver, session->store, mode, session->config.handles, &error);
    if (status == ASSAY_OK)
        return true;
    struct assay_error closing = {{0}};
    if (driver->close(session->store, &closing) != ASSAY_OK)
        fprintf(stderr, "worker: closing %s, which gave no handle: %s\n", driver->description->name, closing.text);
    return refuse_status(refusal, status, "opening a handle", &error);
}

struct json_object *session_open(struct session *session, struct json_object *fields, struct refusal *refusal) {
    struct request r;
    enum handle_mode mode = HANDLES_SHARED;
    if (session->driver != NULL)
        return refuse(refusal, CLASS_BAD_REQUEST, "open while %s is open", session->driver->description->name), NULL;
    if (!read_request(&r, fields, refusal))
        return NULL;
    if (r.threads < 1 || r.threads > TRACE_THREADS_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "open for threads out of 1 to %d", TRACE_THREADS_MAX), NULL;
    const struct assay_driver *driver = find_driver(r.driver);
    if (driver == NULL)
        return refuse(refusal, CLASS_BAD_REQUEST, "this worker has no driver \"%s\"", r.driver), NULL;
    session->config = (struct assay_config){
        .directory = r.directory, .loss_window_ns = r.loss_window_ns, .threads = (int)r.threads, .first = r.first};
    if (!find_class(driver->description, r.durability, &session->config.durability))
        return refuse(refusal, CLASS_REFUSED, "%s can't reach durability class %s", r.driver, r.durability), NULL;
    struct assay_options *options = session->options = calloc(1, sizeof *options);
    if (options == NULL)
        return refuse(refusal, CLASS_FAILED, "no memory for options"), NULL;
    session->config.options = options;
    if (read_options(options, driver->description, r.options, refusal) &&
        count_handles(&r, driver->description, &mode, &session->config.handles, refusal) &&
        (session->endpoints = read_endpoints(r.endpoints, refusal)) != NULL) {
        session->config.endpoints = session->endpoints;
        if (open_store(session, driver, mode, refusal)) {
            session->driver = driver;
            session->open_request = json_object_get(fields);
            struct json_object *result = json_object_new_object();
            json_object_object_add(result, "abilities", describe_abilities(driver));
            json_object_object_add(result, "settings", session_settings(session));
            json_object_object_add(result, "version",
                                   json_object_new_string(driver->version != NULL ? driver->version() : ""));
            return result;
        }
        free(session->endpoints);
    }
    options_free(options);
    free(options);
    session->endpoints = NULL;
    session->options = NULL;
    return NULL;
}
