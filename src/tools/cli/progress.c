#include "tools/cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "tools/show/show.h"

#define EVERY_TTY   0.2 /* seconds between two showings */
#define EVERY_PLAIN 5.0 /* in a log file */

static bool left_to_another;

void progress_leave_to_another(void)
{
    left_to_another = true;
}

void progress_init(struct progress *p, const char *what, bool verbose)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    memset(p, 0, sizeof *p);
    bkt_show_url(&name, what);
    (void)snprintf(p->what, sizeof p->what, "%s", bkt_buf_str(&name));
    p->tty     = isatty(STDERR_FILENO) > 0;
    p->verbose = verbose;
    p->started = bkt_clock_now();
    p->every = left_to_another ? 0 : p->tty ? EVERY_TTY : EVERY_PLAIN;
    p->shown   = p->started - (p->tty ? EVERY_TTY : 0); /* on a terminal the first count is shown at once */
}

static void clear(struct progress *p)
{
    if (p->tty)
        (void)fputs("\r\033[K", stderr);
}

static void show(struct progress *p)
{
    double t = bkt_clock_now() - p->started, rate = t > 0 ? (double)p->bytes / t : 0;
    clear(p);
    (void)fprintf(stderr, "%s: ", p->what);
    if (p->objects || p->chunks) /* a download counts bytes alone */
        (void)fprintf(stderr, "%llu objects, %llu chunks, ", (unsigned long long)p->objects,
                      (unsigned long long)p->chunks);
    (void)fprintf(stderr, "%.1f MB, %.1f MB/s", (double)p->bytes / 1e6, rate / 1e6);
    double work = (double)p->bytes + (double)p->objects * PROGRESS_OBJECT;
    if (work > 0 && work < (double)p->total) {
        unsigned long long left = (unsigned long long)(t * ((double)p->total - work) / work);
        (void)fprintf(stderr, ", %llu:%02llu to go", left / 60, left % 60);
    }
    if (!p->tty)
        (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

void progress_add(struct progress *p, uint64_t bytes, uint64_t chunks, uint64_t objects)
{
    p->bytes += bytes, p->chunks += chunks, p->objects += objects;
    if (p->every == 0 || bkt_clock_now() - p->shown < p->every)
        return;
    p->shown = bkt_clock_now();
    show(p);
}

/* Prints a line; stored names in it must not move the terminal's cursor. */
static void line(struct progress *p, const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_url(&b, text);
    clear(p);
    (void)fprintf(stderr, "%s\n", bkt_buf_str(&b));
}

void progress_line(struct progress *p, const char *fmt, ...)
{
    char    text[1024];
    va_list ap;
    if (!p->verbose)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    line(p, text);
}

void progress_note(struct progress *p, const char *fmt, ...)
{
    char    text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    line(p, text);
}

void progress_end(struct progress *p) { clear(p); }
