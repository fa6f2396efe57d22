/* What assay_driver.h promises to drivers, but for options (options.c) and sinks (message.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "assay_driver.h"

enum assay_status assay_fail(struct assay_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return ASSAY_ERROR;
}

enum assay_status assay_refuse(struct assay_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return ASSAY_REFUSED;
}

bool assay_buffer_grow(struct assay_buffer *buffer, size_t length) {
    if (length <= buffer->capacity)
        return true;
    unsigned char *data = malloc(length);
    if (data == NULL)
        return false;
    free(buffer->data);
    buffer->data = data;
    buffer->capacity = length;
    return true;
}

void assay_plan_add(char *field, size_t field_bytes, const char *separator, const char *text, size_t text_bytes) {
    size_t length = strlen(field);
    snprintf(field + length, field_bytes - length, "%s%.*s", length > 0 ? separator : "", (int)text_bytes, text);
}

extern inline enum assay_status assay_copy(struct assay_buffer *buffer, const void *data, size_t length,
                                           struct assay_bytes *value, struct assay_error *error);

enum assay_status assay_sync_directory(const char *directory, struct assay_error *error) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return assay_fail(error, "opening the directory to sync it: %s", strerror(errno));
    int failed = fsync(fd) != 0 ? errno : 0;
    close(fd);
    return failed != 0 ? assay_fail(error, "syncing the directory: %s", strerror(failed)) : ASSAY_OK;
}

enum assay_status assay_path(char *path, size_t path_bytes, const char *directory, const char *name,
                             struct assay_error *error) {
    int length = snprintf(path, path_bytes, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= path_bytes)
        return assay_fail(error, "the directory's name is too long");
    return ASSAY_OK;
}
