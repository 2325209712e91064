#include "storage/http/headers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/crc32c.h"

/* Digits only: strtoull() would accept signs and blanks. */
static bool take_number(const char **p, uint64_t *out)
{
    uint64_t v = 0;
    if (**p < '0' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; ++*p)
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
            return false;
    *out = v;
    return true;
}

bool bkt_http_parse_range(const char *p, uint64_t *first, uint64_t *last, uint64_t *total)
{
    *first = *last = 0;
    *total         = UINT64_MAX;
    if (strncasecmp(p, "bytes ", 6) != 0)
        return false;
    p += 6 + strspn(p + 6, " ");
    bool none = *p == '*';
    if (none)
        p++;
    else if (!take_number(&p, first) || *p++ != '-' || !take_number(&p, last) || *last < *first)
        return false;
    if (*p++ != '/')
        return false;
    if (*p == '*')
        return !none && p[1] == 0;
    return take_number(&p, total) && *p == 0 && (none || *last < *total);
}

static void set_range(struct bkt_http_reply *r, const char *v)
{
    r->has_range = true;
    r->bad_range = !bkt_http_parse_range(v, &r->first, &r->last, &r->total);
}

static void set_length(struct bkt_http_reply *r, const char *v)
{
    const char *p = v;
    if (!take_number(&p, &r->length))
        r->length = UINT64_MAX;
}

static void copy(char *to, size_t room, const char *v)
{
    if (strlen(v) < room)
        memcpy(to, v, strlen(v) + 1);
}

static void set_etag(struct bkt_http_reply *r, const char *v) { copy(r->etag, sizeof r->etag, v); }
static void set_region(struct bkt_http_reply *r, const char *v) { copy(r->region, sizeof r->region, v); }
static void set_id(struct bkt_http_reply *r, const char *v) { copy(r->request_id, sizeof r->request_id, v); }
static void set_s3_id(struct bkt_http_reply *r, const char *v)
{
    r->is_s3 = true;
    set_id(r, v);
}
static void set_s3(struct bkt_http_reply *r, const char *v) { r->is_s3 |= *v != 0; }
static void set_type(struct bkt_http_reply *r, const char *v)
{
    r->is_s3 |= strcasestr(v, "/xml") != NULL;
    r->is_page = strncasecmp(v, "text/html", 9) == 0;
}
static void set_put_id(struct bkt_http_reply *r, const char *v) { copy(r->put_id, sizeof r->put_id, v); }
static void set_sum(struct bkt_http_reply *r, const char *v) { r->has_sum = bkt_crc32c_parse(v, &r->sum); }
static void set_id2(struct bkt_http_reply *r, const char *v)
{
    r->is_s3 = true;
    copy(r->request_id2, sizeof r->request_id2, v);
}

static long seconds(const char *v)
{
    time_t t = curl_getdate(v, NULL);
    return t < 0 ? 0 : (long)t;
}
static void set_mtime(struct bkt_http_reply *r, const char *v) { r->mtime = (double)seconds(v); }
static void set_date(struct bkt_http_reply *r, const char *v) { r->date = seconds(v); }

static const struct {
    const char *name;
    void (*set)(struct bkt_http_reply *r, const char *value);
} headers[] = {
    {"content-length", set_length}, {"content-range", set_range},           {"etag", set_etag},
    {"last-modified", set_mtime},   {"x-amz-bucket-region", set_region},    {"x-amz-request-id", set_s3_id},
    {"x-request-id", set_id},       {"x-amz-id-2", set_id2},                {"date", set_date},
    {BKT_PUT_ID_HEADER, set_put_id}, {"content-type", set_type},           {"x-guploader-uploadid", set_s3},
    {BKT_SUM_HEADER, set_sum},
};

void bkt_http_reply_header(struct bkt_http_reply *r, const char *name, const char *value)
{
    for (size_t i = 0; i < BKT_COUNT(headers); i++)
        if (strcasecmp(headers[i].name, name) == 0)
            headers[i].set(r, value);
}
