#include <stdlib.h>

#include "definition.h"
#include "session.h"

/* Hands the definition to a driver that has columns of its own. Its handles are opened anew, for
 * what they prepare depends on the columns; if that fails the store can't be used any more, and is
 * closed. */
static bool tell_driver(struct session *session, const struct definition *d, bool *closed, struct refusal *refusal) {
    const struct assay_driver *driver = session->driver;
    const char *name = driver->description->name;
    if (driver->define == NULL)
        return d->told.indexes_count == 0 || refuse(refusal, CLASS_REFUSED, "%s has no columns of its own, and so no indexes", name);
    struct assay_error error = {{0}};
    enum handle_mode mode = session->handles.mode;
    enum assay_status status = handles_close(&session->handles, &error);
    if (status == ASSAY_OK)
        status = driver->define(session->store, &d->told, &error);
    if (status != ASSAY_OK)
        refuse_status(refusal, status, name, &error);
    status = handles_open(&session->handles, driver, session->store, mode, session->config.handles, &error);
    if (status != ASSAY_OK) {
        refuse_status(refusal, status, "opening a handle after define; the store is closed", &error);
        *closed = true;
    }
    return refusal->class_ == NULL;
}

struct json_object *session_define(struct session *session, struct json_object *fields, struct refusal *refusal) {
    if (session->record != NULL)
        return refuse(refusal, CLASS_BAD_REQUEST, "define twice: the columns hold until close"), NULL;
    for (int i = 0; i <= KEYVAL_PHASE_MAX; i++)
        if (session->phases.phase[i] != NULL)
            return refuse(refusal, CLASS_BAD_REQUEST, "define after the first prepare"), NULL;
    struct definition *d = calloc(1, sizeof *d);
    struct record_shape *record = calloc(1, sizeof *record);
    bool closed = false;
    if (d == NULL || record == NULL) {
        refuse(refusal, CLASS_FAILED, "no memory for a definition");
    } else if (definition_read(d, record, fields, refusal) && tell_driver(session, d, &closed, refusal)) {
        d->request = json_object_get(fields);
        session->definition = d;
        session->record = record;
        return json_object_new_object();
    }
    if (closed)
        json_object_put(session_close(session, refusal));
    free(d);
    free(record);
    return NULL;
}
