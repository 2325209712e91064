/* Fuzz target for servers' answers: S3's XML lists and errors, and header lines.  Input: kind (1: 'L' list,
 * 'U' uploads, 'D' deletes, 'E' error, 'H' headers, "name: value" a line), then the text. */
#include <stdlib.h>
#include <string.h>

#include "storage/http/request.h"
#include "storage/aws/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int each(const struct bkt_listed *entry, void *arg)
{
    size_t *n = arg;
    if (!entry->key || !*entry->key || strlen(entry->etag) >= BKT_ETAG_MAX)
        abort();
    return ++*n > 1000 ? BKT_ECANCEL : BKT_OK;
}

static void list(const void *p, size_t n)
{
    struct bkt_s3_page page  = {0};
    struct bkt_err     err   = {0};
    size_t             count = 0;
    int                rc    = bkt_s3_parse_list(p, n, each, &count, &page, &err);
    if (rc < 0 && rc != BKT_ECANCEL && err.n == 0)
        abort();
    bkt_buf_fini(&page.token);
}

static int each_upload(const struct bkt_upload *u, void *arg)
{
    size_t *n = arg;
    if (!u->key || !*u->key || !u->id || !*u->id)
        abort();
    return ++*n > 1000 ? BKT_ECANCEL : BKT_OK;
}

static void uploads(const void *p, size_t n)
{
    struct bkt_s3_uploads_page page  = {0};
    struct bkt_err             err   = {0};
    size_t                     count = 0;
    int                        rc    = bkt_s3_parse_uploads(p, n, each_upload, &count, &page, &err);
    if (rc < 0 && rc != BKT_ECANCEL && err.n == 0)
        abort();
    bkt_buf_fini(&page.key);
    bkt_buf_fini(&page.upload);
}

static int each_kept(const char *key, const struct bkt_s3_error *why, void *arg)
{
    size_t *n = arg;
    if (!key || strpbrk(why->code, "\r\n") || strpbrk(why->message, "\r\n"))
        abort();
    return ++*n > 1000 ? BKT_ECANCEL : BKT_OK;
}

static void deletes(const void *p, size_t n)
{
    struct bkt_err err   = {0};
    size_t         count = 0;
    int            rc    = bkt_s3_parse_deleted(p, n, each_kept, &count, &err);
    if (rc < 0 && rc != BKT_ECANCEL && err.n == 0)
        abort();
}

static void error(const void *p, size_t n)
{
    struct bkt_s3_error e;
    if (bkt_s3_parse_error(p, n, &e) && (!e.code[0] || strlen(e.message) >= sizeof e.message || strpbrk(e.message, "\r\n")))
        abort();
}

static void headers(const char *p, size_t n)
{
    struct bkt_http_reply r    = {.length = UINT64_MAX, .total = UINT64_MAX};
    char                 *text = strndup(p, n), *save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = 0;
        bkt_http_reply_header(&r, line, colon + 1 + strspn(colon + 1, " "));
    }
    if (r.has_range && !r.bad_range && (r.last < r.first || (r.total != UINT64_MAX && r.total && r.last >= r.total)))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] == 'L')
        list(data + 1, size - 1);
    else if (data[0] == 'U')
        uploads(data + 1, size - 1);
    else if (data[0] == 'D')
        deletes(data + 1, size - 1);
    else if (data[0] == 'E')
        error(data + 1, size - 1);
    else
        headers((const char *)data + 1, size - 1);
    return 0;
}
