#include <stdio.h>
#include <stdlib.h>

#include "definition.h"
#include "options.h"
#include "session.h"

static void forget_definition(struct session *session) {
    if (session->definition != NULL)
        json_object_put(session->definition->request);
    free(session->definition);
    free(session->record);
    session->definition = NULL;
    session->record = NULL;
}

struct json_object *session_close(struct session *session, struct refusal *refusal) {
    struct assay_error error = {{0}};
    if (session->prepared != NULL)
        session_forget_prepared(session);
    enum assay_status status = handles_close(&session->handles, &error);
    if (status != ASSAY_OK)
        refuse_status(refusal, status, "closing a handle", &error);
    status = session->driver->close(session->store, &error);
    if (status != ASSAY_OK)
        refuse_status(refusal, status, "closing the store", &error);
    for (int i = 0; i <= KEYVAL_PHASE_MAX; i++) {
        phase_free(session->phases.phase[i]);
        session->phases.phase[i] = NULL;
    }
    forget_definition(session);
    options_free(session->options);
    free(session->options);
    free(session->endpoints);
    json_object_put(session->open_request);
    *session = (struct session){.input = session->input};
    return refusal->class_ == NULL ? json_object_new_object() : NULL;
}

void session_abandon(struct session *session) {
    struct refusal refusal = {0};
    if (session->driver == NULL)
        return;
    json_object_put(session_close(session, &refusal));
    if (refusal.class_ != NULL)
        fprintf(stderr, "worker: the conductor went away; %s\n", refusal.error.text);
}
