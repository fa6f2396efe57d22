/* The values of a driver's options: checked against what it declares, defaults filled in. */
#ifndef ASSAY_HOST_OPTIONS_H
#define ASSAY_HOST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "assay_driver.h"

struct assay_options {
    const struct assay_option *declared;
    const char **values; /* one for each that is declared; the texts belong to whoever set them */
    size_t count;
};

/* Takes the defaults. False: there is no memory. */
bool options_make(struct assay_options *options, const struct assay_option *declared);
void options_free(struct assay_options *options);

/* Sets one value. False: there is no such option, or the value is not of its type; error says
 * which. */
bool options_set(struct assay_options *options, const char *name, const char *value, struct assay_error *error);

/* "4096", "64MiB", "1.5GB": KiB to TiB are powers of 1024, kB to TB of 1000. */
bool parse_bytes(const char *text, int64_t *bytes);
/* Go's durations: "100ms", "1m30s", "-2h", "0". */
bool parse_duration(const char *text, int64_t *ns);
bool parse_int(const char *text, int64_t *value);

#endif
