#include "storage/http/whole_body.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "storage/http/tls.h"

static void begin(struct bkt_whole *w, const char *line, size_t n)
{
    char status[4] = "";
    const char *blank = memchr(line, ' ', n);
    if (blank && (size_t)(line + n - blank) > 3)
        memcpy(status, blank + 1, 3);
    long code = strtol(status, NULL, 10);
    bkt_whole_fini(w);
    w->begun = true;
    w->headed = false;
    w->framed = code < 200 || code == 204 || code == 304;
}

static bool is_header(const char *line, size_t n, const char *name)
{
    size_t k = strlen(name);
    return n > k && strncasecmp(line, name, k) == 0;
}

static bool says_chunked(const char *line, size_t n)
{
    static const char word[] = "chunked";
    for (size_t i = 0; i + sizeof word - 1 <= n; i++)
        if (strncasecmp(line + i, word, sizeof word - 1) == 0)
            return true;
    return false;
}

void bkt_whole_line(struct bkt_whole *w, void *easy, const char *line, size_t n)
{
    if (n > 5 && memcmp(line, "HTTP/", 5) == 0) {
        begin(w, line, n);
    } else if (is_header(line, n, "content-length:") ||
               (is_header(line, n, "transfer-encoding:") && says_chunked(line, n))) {
        w->framed = true;
    } else if (n && (line[0] == '\r' || line[0] == '\n')) {
        w->headed = true;
        if (!w->framed && !w->bodyless && !w->end)
            w->end = bkt_tls_end_of(easy);
    }
}

const char *bkt_whole_missing(const struct bkt_whole *w)
{
    if (w->begun && !w->headed)
        return "the connection ended in the answer's header";
    return w->end && !bkt_tls_ended_well(w->end) ? "the connection ended without TLS's close_notify" : NULL;
}

void bkt_whole_fini(struct bkt_whole *w)
{
    bkt_tls_end_drop(w->end);
    w->end = NULL;
}
