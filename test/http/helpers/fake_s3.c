#include "http/helpers/fake_s3.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/bytes.h"
#include "base/crc32c.h"

/* Headers of answers stay valid for a while. */
static const char *kept(const char *etag, const char *id, const char *sum)
{
    static char     ring[256][500];
    static unsigned at;
    char           *to = ring[at++ % 256];
    int             n  = 0;
    if (etag && *etag)
        n = snprintf(to, sizeof ring[0], "ETag: %s\r\n", etag);
    if (id && *id)
        n += snprintf(to + n, sizeof ring[0] - (size_t)n, "x-amz-meta-h5bucket-put: %s\r\n", id);
    if (sum && *sum)
        n += snprintf(to + n, sizeof ring[0] - (size_t)n, "x-amz-meta-h5bucket-crc32c: %s\r\n", sum);
    return n ? to : "";
}

static struct fake_object *find(struct fake_object *o, const char *key, bool make)
{
    struct fake_object *free_one = NULL;
    for (size_t i = 0; i < 64; i++)
        if (o[i].key[0] && strcmp(o[i].key, key) == 0)
            return &o[i];
        else if (!o[i].key[0] && !free_one)
            free_one = &o[i];
    if (make && free_one)
        (void)snprintf(free_one->key, sizeof free_one->key, "%s", key);
    return make ? free_one : NULL;
}

struct fake_object *fake_s3_find(struct fake_s3 *f, const char *key) { return find(f->object, key, false); }

unsigned fake_s3_count(const struct fake_s3 *f)
{
    unsigned n = 0;
    for (size_t i = 0; i < 64; i++)
        n += f->object[i].key[0] != 0;
    return n;
}

static void drop(struct fake_object *o)
{
    free(o->data);
    *o = (struct fake_object){0};
}

void fake_s3_fini(struct fake_s3 *f)
{
    for (size_t i = 0; i < 64; i++) {
        drop(&f->object[i]);
        drop(&f->part[i]);
    }
}

static void set(struct fake_s3 *f, struct fake_object *o, const void *data, size_t len, const char *id, const char *sum)
{
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned      n = 0;
    if (!o)
        return;
    free(o->data);
    o->data = malloc(len + 1);
    if (len)
        memcpy(o->data, data, len);
    o->data[len] = 0;
    o->len       = len;
    (void)EVP_Digest(data, len, md, &n, EVP_md5(), NULL);
    if (f->random_etag)
        (void)snprintf(o->etag, sizeof o->etag, "\"version-%u\"", ++f->version);
    for (unsigned i = 0; !f->random_etag && i < 16; i++)
        (void)snprintf(o->etag + 1 + 2 * i, 3, "%02x", md[i]);
    if (!f->random_etag) {
        o->etag[0] = '"';
        memcpy(o->etag + 33, "\"", 2);
    }
    (void)snprintf(o->id, sizeof o->id, "%s", f->no_meta ? "" : id);
    (void)snprintf(o->sum, sizeof o->sum, "%s", f->no_meta ? "" : sum);
}

/* 0: go on */
static int condition(const struct fake_s3 *f, const struct seen *r, const struct fake_object *o)
{
    const char *match = seen_header(r, "If-Match");
    char        want[100];
    (void)snprintf(want, sizeof want, "%s", match);
    const char *none = seen_header(r, "If-None-Match");
    bool        any  = *want || *none;
    if (f->kind == FAKE_DEAF || !any)
        return 0;
    if (f->kind == FAKE_REFUSES)
        return 501;
    if (*none && o)
        return 412;
    if (!*want || f->kind == FAKE_HALF)
        return 0;
    char etag[100] = "";
    if (o)
        (void)snprintf(etag, sizeof etag, "%s", o->etag);
    if (o && f->kind == FAKE_BARE) {
        memmove(etag, etag + 1, strlen(etag));
        etag[strlen(etag) - 1] = 0;
    }
    return !o || strcmp(etag, want) != 0 ? 412 : 0;
}

static void refuse(struct answer *a, int status)
{
    answer_error(a, status, status == 501 ? "NotImplemented" : status == 412 ? "PreconditionFailed" : status == 403 ? "AccessDenied"
                            : status == 404 ? "NoSuchKey" : status == 409 ? "ConditionalRequestConflict" : "UnknownError", NULL);
}

/* ---- uploads ---- */

static void join_parts(struct fake_s3 *f, const char *key)
{
    char  *all = NULL;
    size_t len = 0;
    for (unsigned i = 1; i < 64; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "%u", i);
        struct fake_object *p = find(f->part, name, false);
        if (!p)
            break;
        all = realloc(all, len + p->len + 1);
        memcpy(all + len, p->data, p->len);
        len += p->len;
    }
    set(f, find(f->object, key, true), all ? all : "", len, f->upload_put, f->upload_sum);
    free(all);
    f->applied++;
}

static void end_upload(struct fake_s3 *f)
{
    f->upload_id[0] = 0;
    for (size_t i = 0; i < 64; i++)
        drop(&f->part[i]);
}

static void upload(struct fake_s3 *f, const struct seen *r, struct answer *a, const char *key, const char *query)
{
    static char text[300];
    if (strstr(query, "uploads")) {
        end_upload(f);
        (void)snprintf(f->upload_id, sizeof f->upload_id, "up load+%u", ++f->version);
        (void)snprintf(f->upload_put, sizeof f->upload_put, "%s", seen_header(r, "x-amz-meta-h5bucket-put"));
        (void)snprintf(f->upload_sum, sizeof f->upload_sum, "%s", seen_header(r, "x-amz-meta-h5bucket-crc32c"));
        (void)snprintf(text, sizeof text, "<?xml version=\"1.0\"?>\n<InitiateMultipartUploadResult><Key>k</Key><UploadId>%s"
                       "</UploadId></InitiateMultipartUploadResult>", f->upload_id);
        a->body = text;
        a->len  = strlen(text);
    } else if (!f->upload_id[0] || !strstr(query, "uploadId=up%20load%2B")) {
        answer_error(a, 404, "NoSuchUpload", NULL);
    } else if (strcmp(r->method, "PUT") == 0) {
        char name[20] = "";
        (void)sscanf(query, "partNumber=%19[0-9]", name);
        struct fake_object *p = find(f->part, name, true);
        set(f, p, r->body, r->body_len, "", "");
        a->headers = f->no_etag ? "" : kept(p->etag, NULL, NULL);
    } else if (strcmp(r->method, "DELETE") == 0) {
        end_upload(f);
        a->status = 204;
    } else {
        join_parts(f, key);
        end_upload(f);
        a->body = "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>";
        a->len  = strlen(a->body);
    }
}

/* ---- requests ---- */

/* The fault in S3's own header for a sum; 0: no fault, or no header. */
static int wrong_sum(struct fake_s3 *f, const struct seen *r, const void *body, const char **code)
{
    char           want[40];
    unsigned char  be[4];
    struct bkt_buf text = {0};
    (void)snprintf(want, sizeof want, "%s", seen_header(r, "x-amz-checksum-crc32c"));
    if (!*want)
        return 0;
    f->summed++;
    *code = f->sums ? f->sums_code : "BadDigest";
    bkt_put_be(be, 4, bkt_crc32c_by_tables(0, body, r->body_len));
    (void)!bkt_base64_encode(be, 4, &text);
    bool right = strcmp(bkt_buf_str(&text), want) == 0;
    bkt_buf_fini(&text);
    return f->sums ? f->sums : right ? 0 : 400;
}

static void put(struct fake_s3 *f, const struct seen *r, struct answer *a, const char *key)
{
    struct fake_object *o      = find(f->object, key, false);
    int                 status = condition(f, r, o);
    if (f->kind == FAKE_DENIES && strncmp(key, ".h5bucket/", 10) == 0)
        status = 403;
    if (status) {
        refuse(a, status == 412 && f->losers && !strstr(key, ".h5bucket") ? f->losers : status);
        return;
    }
    const char *code = NULL;
    char        id[40], *body = malloc(r->body_len + 1);
    memcpy(body, r->body_len ? r->body : "", r->body_len);
    if (f->flip_puts && r->body_len && f->flip_puts--)
        body[r->body_len / 2] ^= 4;
    if ((status = wrong_sum(f, r, body, &code))) {
        answer_error(a, status, code, NULL);
        free(body);
        return;
    }
    o = find(f->object, key, true);
    (void)snprintf(id, sizeof id, "%s", seen_header(r, "x-amz-meta-h5bucket-put"));
    set(f, o, body, r->body_len, id, seen_header(r, "x-amz-meta-h5bucket-crc32c"));
    free(body);
    f->applied++;
    a->headers = f->no_etag ? "" : kept(o->etag, NULL, NULL);
    if (!f->lose_every || f->applied % f->lose_every || strstr(key, ".h5bucket"))
        return;
    if (f->lose_as)
        refuse(a, f->lose_as);
    a->silent = !f->lose_as;
    a->after  = f->lose_as ? KEEP : RESET;
}

static bool hit(const struct fake_s3 *f, const struct seen *r, unsigned k)
{
    const struct fake_fault *t = &f->fault;
    return t->nth && (!t->part || strstr(r->target, t->part)) && k >= t->nth && k < t->nth + (t->times ? t->times : 1);
}

static void write_object(struct fake_s3 *f, const struct seen *r, struct answer *a, const char *key, const char *query)
{
    bool probe = strstr(key, ".h5bucket") != NULL;
    if (!f->fault.part || strstr(r->target, f->fault.part))
        f->writes += !probe;
    f->probes += probe;
    if (probe && f->rounds)
        a->until = f->probes <= 2 ? 2 : f->probes <= 5 ? 5 : 6;
    bool bad = !probe && hit(f, r, f->writes);
    if (!bad || f->fault.carry_out) {
        if (query)
            upload(f, r, a, key, query);
        else
            put(f, r, a, key);
    }
    if (!bad)
        return;
    if (f->fault.overtaken)
        set(f, find(f->object, key, true), "other", 5, "other", "");
    a->silent = f->fault.status == 0;
    a->after  = a->silent ? RESET : KEEP;
    if (f->fault.status)
        refuse(a, f->fault.status);
    if (f->fault.body) {
        a->body = f->fault.body;
        a->len  = strlen(a->body);
    }
}

static void prefix_of(const char *query, char *to, size_t room)
{
    const char *p = strstr(query, "&prefix=");
    unsigned    c;
    size_t      n = 0;
    for (p = p ? p + 8 : ""; *p && *p != '&' && n + 1 < room; p++)
        if (*p == '%' && sscanf(p + 1, "%2x", &c) == 1)
            to[n++] = (char)c, p += 2;
        else
            to[n++] = *p;
    to[n] = 0;
}

/* All on one page, and none rolled up. */
static void list(const struct fake_s3 *f, struct answer *a, const char *query)
{
    char   prefix[200];
    prefix_of(query, prefix, sizeof prefix);
    size_t room = 64 * 400, n = 0;
    char  *to = malloc(room);
    n += (size_t)snprintf(to, room, "<?xml version=\"1.0\"?>\n<ListBucketResult>");
    for (size_t i = 0; i < 64; i++)
        if (f->object[i].key[0] && strncmp(f->object[i].key, prefix, strlen(prefix)) == 0)
            n += (size_t)snprintf(to + n, room - n, "<Contents><Key>%s</Key><ETag>%s</ETag><Size>%zu</Size></Contents>", f->object[i].key,
                                  f->object[i].etag, f->object[i].len);
    n += (size_t)snprintf(to + n, room - n, "<IsTruncated>false</IsTruncated></ListBucketResult>");
    a->owned = to;
    a->body  = to;
    a->len   = n;
}

static const char *with_lines(const char *head, const char *more)
{
    static char     ring[256][900];
    static unsigned at;
    char           *to = ring[at++ % 256];
    (void)snprintf(to, sizeof ring[0], "%s%s", head, more);
    return to;
}

static void read_object(struct fake_s3 *f, const struct fake_object *o, const struct seen *r, struct answer *a)
{
    a->body    = o->data;
    a->len     = o->len;
    a->headers = kept(o->etag, o->id, o->sum);
    if (*seen_header(r, "Range")) {
        answer_object(r, a, o->data, o->len, o->etag);
        a->headers = with_lines(a->headers, kept(NULL, o->id, o->sum));
        free(a->owned);
    }
    char *copy = malloc(a->len + 1); /* others may replace it while it is sent */
    if (a->len)
        memcpy(copy, a->body, a->len);
    if (f->flip_gets && a->len && strcmp(r->method, "GET") == 0 && (a->status == 200 || a->status == 206)) {
        f->flip_gets -= f->flip_gets != UINT_MAX;
        copy[a->len / 2] ^= 4;
    }
    a->body = a->owned = copy;
}

static void handle(struct fake_s3 *f, const struct seen *r, struct answer *a)
{
    char        key[300];
    const char *path = strncmp(r->target, "/buck/", 6) == 0 ? r->target + 6 : r->target;
    (void)snprintf(key, sizeof key, "%.299s", path);
    char *query = strchr(key, '?');
    if (query)
        *query++ = 0;
    if (strcmp(r->method, "PUT") == 0 || strcmp(r->method, "POST") == 0) {
        write_object(f, r, a, key, query);
        return;
    }
    struct fake_object *o = find(f->object, key, false);
    if (strcmp(r->method, "DELETE") == 0) {
        if (query)
            upload(f, r, a, key, query);
        else if (o)
            drop(o);
        a->status = 204;
    } else if (query && strstr(query, "list-type=")) {
        list(f, a, query);
    } else if (!o) {
        refuse(a, 404);
    } else {
        read_object(f, o, r, a);
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static bool is_odd(struct fake_s3 *f, const struct seen *r)
{
    struct fake_odd *o = &f->odd;
    return (!o->end || ends_with(r->target, o->end)) && o->method && strcmp(o->method, r->method) == 0 && !strstr(r->target, ".h5bucket") && (!o->part || strstr(r->target, o->part)) &&
           (++o->count <= o->times || !o->times);
}

void fake_s3_handle(const struct seen *r, struct answer *a, void *arg)
{
    struct fake_s3        *f     = arg;
    struct answer          plain = *a;
    const struct fake_odd *o     = &f->odd;
    if (!is_odd(f, r)) {
        handle(f, r, a);
        return;
    }
    if (o->carry_out) {
        handle(f, r, a);
        free(a->owned);
    }
    *a = plain;
    if (o->instead) {
        read_object(f, find(f->object, o->instead, false), r, a);
        return;
    }
    a->status  = o->status;
    a->headers = o->headers ? o->headers : "";
    a->body    = o->body ? o->body : "";
    a->len     = strlen(a->body);
}
