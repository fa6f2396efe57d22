#include <stdlib.h>

#include "definition.h"
#include "session.h"

struct request {
    int64_t query;
    bool count;
    uint64_t index;
};

/* Asks the driver on a handle that operations use; where each operation opens its own, on one that is
 * opened for it. */
static enum assay_status ask(struct session *session, const struct request *r, const struct assay_bytes *values, struct assay_plan *plan,
                             struct assay_error *error) {
    const struct assay_driver *driver = session->driver;
    bool own = session->handles.mode == HANDLES_PER_OPERATION;
    struct assay_handle *handle = own ? NULL : session->handles.all[0];
    if (own) {
        enum assay_status status = driver->handle_open(session->store, &handle, error);
        if (status != ASSAY_OK)
            return status;
    }
    enum assay_status status = driver->explain(handle, (size_t)r->query, values, r->count, plan, error);
    if (own) {
        struct assay_error closing = {{0}};
        if (driver->handle_close(handle, &closing) != ASSAY_OK && status == ASSAY_OK)
            status = assay_fail(error, "closing a handle: %s", closing.text);
    }
    return status;
}

static struct json_object *tell(const struct assay_plan *plan) {
    static const char *const uses[] = {[ASSAY_INDEX_UNTOLD] = "", [ASSAY_INDEX_FINDS] = "finds", [ASSAY_INDEX_ORDERS] = "orders",
                                       [ASSAY_INDEX_NONE] = "none"};
    struct json_object *result = json_object_new_object();
    json_object_object_add(result, "use", json_object_new_string(uses[plan->use]));
    json_object_object_add(result, "index", json_object_new_string(plan->index));
    json_object_object_add(result, "plan", json_object_new_string(plan->text));
    return result;
}

struct json_object *session_explain(struct session *session, struct json_object *fields, struct refusal *refusal) {
    struct request r = {0};
    const char *name = session->driver->description->name;
    const struct field known[] = {{"query", FIELD_INT, &r.query}, {"count", FIELD_BOOL, &r.count}, {"index", FIELD_WORD, &r.index}};
    if (!read_fields(fields, "explain", known, sizeof known / sizeof *known, refusal))
        return NULL;
    const struct definition *d = session->definition;
    if (r.query < 0 || d == NULL || (uint64_t)r.query >= d->told.queries_count)
        return refuse(refusal, CLASS_BAD_REQUEST, "explain of a query that define did not name"), NULL;
    const struct query_shape *shape = &d->shape[r.query];
    if (!r.count && shape->told.limit == 0)
        return refuse(refusal, CLASS_BAD_REQUEST, "explain of a query that has no limit and can only be counted"), NULL;
    if (session->driver->explain == NULL)
        return refuse(refusal, CLASS_REFUSED, "%s has no explain", name), NULL;
    struct assay_bytes values[QUERY_VALUES_MAX];
    unsigned char *room = malloc(query_room(shape, session->record) + 1);
    if (room == NULL)
        return refuse(refusal, CLASS_FAILED, "no memory for a query's values"), NULL;
    query_ask(shape, session->record, r.index, values, room);
    struct assay_plan plan = {.use = ASSAY_INDEX_UNTOLD};
    struct assay_error error = {{0}};
    enum assay_status status = ask(session, &r, values, &plan, &error);
    free(room);
    if (status != ASSAY_OK)
        return refuse_status(refusal, status, name, &error), NULL;
    return tell(&plan);
}
