/* Ready-made answers of the scripted server (server.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/helpers/server.h"

static const char *keep_text(struct answer *a, const char *text)
{
    free(a->owned);
    a->owned = strdup(text);
    return a->owned;
}

void answer_object(const struct seen *req, struct answer *a, const void *data, size_t len, const char *etag)
{
    char               head[512];
    unsigned long long first = 0, last = 0;
    const char        *match = seen_header(req, "If-Match"), *none = seen_header(req, "If-None-Match");
    const char        *range = seen_header(req, "Range");
    int                n     = snprintf(head, sizeof head,
                                        "%s%s%sLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\nAccept-Ranges: bytes\r\n",
                                        etag ? "ETag: " : "", etag ? etag : "", etag ? "\r\n" : "");
    if (*match && (!etag || strcmp(match, etag) != 0)) {
        a->status = 412;
    } else if (*none && etag && strcmp(none, etag) == 0) {
        a->status = 304;
    } else if (sscanf(range, "bytes=%llu-%llu", &first, &last) >= 1) {
        if (!strchr(range, '-') || strchr(range, '-')[1] == 0 || last >= len)
            last = len ? len - 1 : 0;
        if (first >= len) {
            a->status = 416;
            (void)snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes */%zu\r\n", len);
        } else {
            a->status = 206;
            a->body   = (const char *)data + first;
            a->len    = (size_t)(last - first + 1);
            (void)snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes %llu-%llu/%zu\r\n", first, last, len);
        }
    } else {
        a->body = data;
        a->len  = len;
    }
    a->headers = keep_text(a, head);
}

void answer_error(struct answer *a, int status, const char *code, const char *more)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>about %s</Message>%s"
                   "<RequestId>REQ1</RequestId></Error>", code, code, more ? more : "");
    a->status  = status;
    a->headers = "Content-Type: application/xml\r\n";
    a->body    = keep_text(a, text);
    a->len     = strlen(text);
}
