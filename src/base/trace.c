#include "base/trace.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/url.h"

static const struct {
    const char *name;
    unsigned    bits;
} cats[] = {
    {"vol", BKT_TRACE_VOL},
    {"schema", BKT_TRACE_SCHEMA},
    {"chunk", BKT_TRACE_CHUNK},
    {"store", BKT_TRACE_STORE},
    {"http", BKT_TRACE_HTTP},
    {"cred", BKT_TRACE_CRED},
    {"all", ~0U},
};
static atomic_uint     enabled;
static struct timespec start;

int bkt_trace_set(const char *categories, struct bkt_err *err)
{
    unsigned bits = 0;
    for (const char *p = categories ? categories : ""; *p;) {
        size_t n = strcspn(p, ", ");
        size_t i = 0;
        while (i < BKT_COUNT(cats) && !(strlen(cats[i].name) == n && strncmp(cats[i].name, p, n) == 0))
            i++;
        BKT_FAIL_IF(err, n && i == BKT_COUNT(cats), BKT_EINVAL,
                    "unknown trace category '%.*s'; known categories: " BKT_TRACE_NAMES, (int)n, p);
        if (n)
            bits |= cats[i].bits;
        p += n + (p[n] != 0);
    }
    if (bits && !start.tv_sec)
        (void)clock_gettime(CLOCK_MONOTONIC, &start);
    atomic_store(&enabled, bits);
    return BKT_OK;
}

bool bkt_trace_on(enum bkt_trace_cat cat)
{
    return (atomic_load_explicit(&enabled, memory_order_relaxed) & cat) != 0;
}

static const char *name_of(enum bkt_trace_cat cat)
{
    for (size_t i = 0; i < BKT_COUNT(cats); i++)
        if (cats[i].bits == (unsigned)cat)
            return cats[i].name;
    return "?";
}

void bkt_trace(enum bkt_trace_cat cat, const char *fmt, ...)
{
    if (!bkt_trace_on(cat))
        return;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    double  s = (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
    char    line[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    (void)bkt_url_shown(line, sizeof line, line, false);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    /* one call, so that lines of several threads do not mix */
    (void)fprintf(stderr, "h5bucket %9.6f %d %s: %s\n", s, (int)gettid(), name_of(cat), line);
}
