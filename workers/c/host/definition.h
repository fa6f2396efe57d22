/* Reading the fields of the command define: section 4 of docs/worker-contract.md. */
#ifndef ASSAY_HOST_DEFINITION_H
#define ASSAY_HOST_DEFINITION_H

#include "message.h"
#include "query.h"

/* What a driver gets, and the texts that it and the columns' shapes point to. */
struct definition {
    struct json_object *request; /* holds the texts */
    struct assay_column columns[RECORD_COLUMNS_MAX];
    struct assay_index indexes[2 * RECORD_COLUMNS_MAX];
    struct assay_query queries[ASSAY_QUERIES_MAX];
    struct query_shape shape[ASSAY_QUERIES_MAX]; /* of queries */
    struct assay_definition told;
};

/* Both were set to zero. False: a bad request. The texts stay those of fields. */
bool definition_read(struct definition *definition, struct record_shape *record, struct json_object *fields,
                     struct refusal *refusal);

#endif
