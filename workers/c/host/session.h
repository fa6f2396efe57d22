/* The worker's state between requests: the store that is open and the phases that were prepared. */
#ifndef ASSAY_HOST_SESSION_H
#define ASSAY_HOST_SESSION_H

#include "message.h"
#include "stats.h"
#include "thread.h"

struct session {
    struct input *input; /* watched while a phase runs: at its end the phase is stopped */

    const struct assay_driver *driver; /* of the open store; NULL: none is open */
    struct json_object *open_request;  /* holds the texts of config and options */
    struct assay_config config;
    struct assay_options *options;
    const char **endpoints;
    struct assay_store *store;
    struct handles handles;
    struct record_shape *record; /* NULL: define was not called, values have no columns */
    struct definition *definition;
    struct phases phases;
    struct phase *prepared; /* waits for run; one of phases */
    struct thread *threads; /* of the prepared phase */
    struct stats stats;     /* of the prepared phase */
};

/* Answers one request; the caller gives the reply back with json_object_put. */
struct json_object *session_answer(struct session *session, const char *line, size_t length);

/* Closes what a conductor that went away left open. */
void session_abandon(struct session *session);

/* The commands that have a file of their own (open.c, define.c, explain.c, prepare.c, run.c, close.c): they return the
 * result, or NULL and a refusal. */
struct json_object *session_open(struct session *session, struct json_object *fields, struct refusal *refusal);
struct json_object *session_define(struct session *session, struct json_object *fields, struct refusal *refusal);
struct json_object *session_prepare(struct session *session, struct json_object *fields, struct refusal *refusal);
struct json_object *session_explain(struct session *session, struct json_object *fields, struct refusal *refusal);
struct json_object *session_run(struct session *session, struct refusal *refusal);
/* Closes the store that is open; what it prepared and defined is forgotten, also where closing
 * fails. */
struct json_object *session_close(struct session *session, struct refusal *refusal);
void session_forget_prepared(struct session *session);
void phase_free(struct phase *phase);
struct json_object *session_settings(struct session *session);

#endif
