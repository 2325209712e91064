/* The log of a writer that may be killed: "flushed N", phase N is stored; "failed N", it was tried once and
 * is tried again. */
#ifndef CRASH_LOG_H
#define CRASH_LOG_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "h5tests/helpers/must_succeed.h"

static const char *log_name;

static inline void note(const char *what, int phase)
{
    char line[40];
    int  fd = open(log_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int  n  = snprintf(line, sizeof line, "%s %d\n", what, phase);
    if (fd < 0 || write(fd, line, (size_t)n) != n || close(fd) < 0)
        die("the log");
}

/** A failure is noted, and the same is tried once more, as a program may. */
static inline void twice(herr_t (*fn)(void *arg), void *arg, int phase, const char *what)
{
    herr_t rc;
    H5E_BEGIN_TRY
    {
        rc = fn(arg);
    }
    H5E_END_TRY
    if (rc < 0) {
        note("failed", phase);
        if (fn(arg) < 0)
            die(what);
    }
}

static inline herr_t call_flush(void *arg) { return H5Fflush(*(hid_t *)arg, H5F_SCOPE_GLOBAL); }
static inline herr_t call_close(void *arg) { return H5Fclose(*(hid_t *)arg); }

static inline void flush_noted(hid_t f, int phase)
{
    twice(call_flush, &f, phase, "H5Fflush");
    note("flushed", phase);
}

static inline void close_noted(hid_t f, int phase)
{
    twice(call_close, &f, phase, "H5Fclose");
    note("flushed", phase);
}

#endif
