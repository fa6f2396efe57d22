#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool options_make(struct assay_options *options, const struct assay_option *declared) {
    *options = (struct assay_options){.declared = declared};
    while (declared != NULL && declared[options->count].name != NULL)
        options->count++;
    options->values = calloc(options->count + 1, sizeof *options->values);
    if (options->values == NULL)
        return false;
    for (size_t i = 0; i < options->count; i++)
        options->values[i] = declared[i].default_value;
    return true;
}

void options_free(struct assay_options *options) {
    free(options->values);
    *options = (struct assay_options){0};
}

bool parse_int(const char *text, int64_t *value) {
    char *end;
    if (strchr("+-0123456789", *text) == NULL || *text == 0)
        return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && *end == 0;
}

/* Reads a decimal number such as 12 or 1.5 at the start of text. NULL: there is none. */
static const char *parse_decimal(const char *text, double *number) {
    size_t length = strspn(text, "0123456789.");
    char copy[64];
    if (length == 0 || length >= sizeof copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    char *end;
    *number = strtod(copy, &end);
    return *end == 0 ? text + length : NULL;
}

bool parse_bytes(const char *text, int64_t *bytes) {
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {
        {"", 1},        {"B", 1},     {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
        {"kB", 1e3},    {"KB", 1e3},  {"MB", 1e6},     {"GB", 1e9},        {"TB", 1e12},
    };
    double number;
    const char *rest = parse_decimal(text, &number);
    if (rest == NULL)
        return false;
    rest += strspn(rest, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(rest, units[i].suffix) == 0 && number * units[i].factor < 4611686018427387904.0) { /* 2^62 */
            *bytes = (int64_t)(number * units[i].factor);
            return true;
        }
    }
    return false;
}

bool parse_duration(const char *text, int64_t *ns) {
    static const struct {
        const char *suffix;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}};
    double sign = 1, total = 0;
    if (*text == '+' || *text == '-')
        sign = *text++ == '-' ? -1 : 1;
    if (strcmp(text, "0") == 0) {
        *ns = 0;
        return true;
    }
    if (*text == 0)
        return false;
    while (*text != 0) {
        double number;
        text = parse_decimal(text, &number);
        if (text == NULL)
            return false;
        size_t length = strcspn(text, "0123456789."), i = 0, n = sizeof units / sizeof *units;
        while (i < n && !(strlen(units[i].suffix) == length && strncmp(text, units[i].suffix, length) == 0))
            i++;
        if (i == n)
            return false;
        total += number * units[i].ns;
        text += length;
    }
    if (total >= 9.2e18)
        return false;
    *ns = (int64_t)(sign * total);
    return true;
}

static bool is_choice(const char *choices, const char *value) {
    size_t length = strlen(value);
    for (const char *at = choices; length > 0 && (at = strstr(at, value)) != NULL; at += length)
        if ((at == choices || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

static bool is_valid(const struct assay_option *option, const char *value) {
    int64_t number;
    if (strcmp(option->type, "bool") == 0)
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    if (strcmp(option->type, "int") == 0)
        return parse_int(value, &number);
    if (strcmp(option->type, "bytes") == 0)
        return parse_bytes(value, &number);
    if (strcmp(option->type, "duration") == 0)
        return parse_duration(value, &number);
    if (strcmp(option->type, "choice") == 0)
        return is_choice(option->choices, value);
    return strcmp(option->type, "string") == 0;
}

bool options_set(struct assay_options *options, const char *name, const char *value, struct assay_error *error) {
    for (size_t i = 0; i < options->count; i++) {
        if (strcmp(options->declared[i].name, name) != 0)
            continue;
        if (!is_valid(&options->declared[i], value)) {
            assay_fail(error, "option %s: \"%s\" is no %s%s%s", name, value, options->declared[i].type,
                       options->declared[i].choices != NULL ? " of: " : "",
                       options->declared[i].choices != NULL ? options->declared[i].choices : "");
            return false;
        }
        options->values[i] = value;
        return true;
    }
    assay_fail(error, "unknown option \"%s\"", name);
    return false;
}

/* Ends the process where a driver reads what it did not declare: only a mistake in the driver can
 * be the reason. */
static const char *must(const struct assay_options *options, const char *name) {
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->declared[i].name, name) == 0)
            return options->values[i];
    fprintf(stderr, "worker: option %s was read but not declared\n", name);
    abort();
}

static int64_t valid(const char *name, bool read, int64_t value) {
    if (read)
        return value;
    fprintf(stderr, "worker: option %s was read as another type than it is declared\n", name);
    abort();
}

bool assay_option_bool(const struct assay_options *options, const char *name) {
    return strcmp(must(options, name), "true") == 0;
}

int64_t assay_option_int(const struct assay_options *options, const char *name) {
    int64_t value = 0;
    bool read = parse_int(must(options, name), &value);
    return valid(name, read, value);
}

int64_t assay_option_bytes(const struct assay_options *options, const char *name) {
    int64_t value = 0;
    bool read = parse_bytes(must(options, name), &value);
    return valid(name, read, value);
}

int64_t assay_option_duration_ns(const struct assay_options *options, const char *name) {
    int64_t value = 0;
    bool read = parse_duration(must(options, name), &value);
    return valid(name, read, value);
}

const char *assay_option_text(const struct assay_options *options, const char *name) { return must(options, name); }
