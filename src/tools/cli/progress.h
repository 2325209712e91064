/* Progress of a long command.  On a terminal: one line that is written over, with rate and time to go.
 * Elsewhere: a plain line now and then, so that the log of a quick command has none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Bytes that an object counts for in `total`: about as many as are copied in the time that an object
 * takes. */
#define PROGRESS_OBJECT 4096

struct progress {
    bool     tty, verbose;
    double   every;          /* seconds between two showings; 0: none */
    char     what[96];       /* what is being worked on */
    uint64_t bytes,
        total; /* total: bytes, and PROGRESS_OBJECT for each object; 0: unknown, no time to go is shown */
    uint64_t objects, chunks;
    double   started, shown; /* seconds, monotonic */
};
/** Begin to count; @p what is copied.  On a terminal the counts are shown several times a second, in a log
 *  now and then. */
void progress_init(struct progress *p, const char *what, bool verbose);
/** Show no counts in this process from now on: another one shows them. */
void progress_leave_to_another(void);
/** Count something; shows it now and then. */
void progress_add(struct progress *p, uint64_t bytes, uint64_t chunks, uint64_t objects);
/** Print a separate line; the progress goes on below.  Only with -v. */
void progress_line(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Print a line always (stderr). */
void progress_note(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Clear the line. */
void progress_end(struct progress *p);
