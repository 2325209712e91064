#include "storage/aws/xml.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <expat.h>

#define MAX_DEPTH 16     /* levels; S3's documents nest 4 deep */
/* Bytes of one element; keys are at most 1024 bytes, three times that when encoded. */
#define MAX_TEXT  16384U

struct parse {
    XML_Parser     parser;
    int            depth;
    const char    *too; /* why parsing was given up */
    struct bkt_buf text;
    int            rc;
    void (*start)(struct parse *p, const char *name);
    void (*end)(struct parse *p, const char *name);
    void *arg;
};

static void stop(struct parse *p, int rc, const char *why)
{
    if (p->rc == BKT_OK) {
        p->rc  = rc;
        p->too = why;
    }
    (void)XML_StopParser(p->parser, XML_FALSE);
}

static const char *local_name(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static void XMLCALL on_start(void *arg, const char *name, const char **atts)
{
    struct parse *p = arg;
    (void)atts;
    bkt_buf_clear(&p->text);
    if (++p->depth > MAX_DEPTH) {
        stop(p, BKT_EFORMAT, "elements are nested too deep");
        return;
    }
    p->start(p, local_name(name));
}

static void XMLCALL on_end(void *arg, const char *name)
{
    struct parse *p = arg;
    p->end(p, local_name(name));
    p->depth--;
    bkt_buf_clear(&p->text);
}

static void XMLCALL on_text(void *arg, const char *s, int n)
{
    struct parse *p = arg;
    if (n < 0 || p->text.len + (size_t)n > MAX_TEXT)
        stop(p, BKT_EFORMAT, "an element's text is too long");
    else if (bkt_buf_add(&p->text, s, (size_t)n) < 0)
        stop(p, BKT_ENOMEM, "out of memory");
}

static void XMLCALL on_doctype(void *arg, const char *name, const char *sysid, const char *pubid,
                               int internal)
{
    (void)name, (void)sysid, (void)pubid, (void)internal;
    stop(arg, BKT_EFORMAT, "a document type is not accepted");
}

struct text {
    const char *p;
    size_t      n;
};

/* A slow server may send blanks before the declaration, which XML does not allow. */
static struct text skip_blanks(struct text t)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (t.n >= 3 && memcmp(t.p, mark, 3) == 0)
        t = (struct text){t.p + 3, t.n - 3};
    while (t.n && strchr(" \t\r\n", *t.p))
        t.p++, t.n--;
    return t;
}

static int parse(struct parse *p, const void *xml, size_t n, struct bkt_err *err)
{
    struct text t = skip_blanks((struct text){xml, n});
    if (n > INT_MAX)
        BKT_FAIL(err, BKT_EFORMAT, "S3's answer of %zu bytes is too long", n);
    p->parser = XML_ParserCreate(NULL);
    if (!p->parser)
        BKT_NOMEM(err);
    XML_SetUserData(p->parser, p);
    XML_SetElementHandler(p->parser, on_start, on_end);
    XML_SetCharacterDataHandler(p->parser, on_text);
    XML_SetStartDoctypeDeclHandler(p->parser, on_doctype);
    enum XML_Status ok  = XML_Parse(p->parser, t.p, (int)t.n, 1);
    const char     *why = p->too ? p->too : XML_ErrorString(XML_GetErrorCode(p->parser));
    XML_ParserFree(p->parser);
    bkt_buf_fini(&p->text);
    if (p->rc < 0 && !p->too)
        return p->rc; /* the callback's result */
    if (p->rc < 0 || ok != XML_STATUS_OK)
        BKT_FAIL(err, p->rc < 0 ? p->rc : BKT_EFORMAT, "S3's answer is not valid XML (%s)", why ? why : "?");
    return BKT_OK;
}

/* ---- errors ---- */

struct error_parse {
    struct bkt_s3_error *out;
    bool                 is_error, is_result;
};

static void error_start(struct parse *p, const char *name)
{
    struct error_parse *e = p->arg;
    if (p->depth == 1) {
        e->is_error  = strcmp(name, "Error") == 0 || strcmp(name, "ErrorResponse") == 0;
        e->is_result = strcmp(name, "CompleteMultipartUploadResult") == 0;
    }
}

/* Copy a server's text for a one-line message. */
static void take_text(struct parse *p, char *to, size_t room)
{
    const char *s = bkt_buf_str(&p->text);
    size_t      n = strlen(s), k = 0;
    for (size_t i = 0; i < n && k + 1 < room; i++)
        to[k++] = (unsigned char)s[i] < ' ' || s[i] == 127 ? ' ' : s[i];
    while (k && to[k - 1] == ' ')
        k--;
    to[k] = 0;
}

static void error_end(struct parse *p, const char *name)
{
    struct error_parse  *e      = p->arg;
    struct bkt_s3_error *o      = e->out;
    const struct {
        const char *name;
        char       *to;
        size_t      room;
    } fields[] = {{"Code", o->code, sizeof o->code},
                  {"Message", o->message, sizeof o->message},
                  {"Region", o->region, sizeof o->region},
                  {"RequestId", o->request_id, sizeof o->request_id}};
    for (size_t i = 0; p->depth > 1 && i < BKT_COUNT(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            take_text(p, fields[i].to, fields[i].room);
}

bool bkt_s3_parse_error(const void *xml, size_t n, struct bkt_s3_error *out)
{
    struct error_parse e = {.out = out};
    struct parse       p = {.start = error_start, .end = error_end, .arg = &e};
    *out                 = (struct bkt_s3_error){0};
    if (!n)
        return false;
    (void)parse(&p, xml, n, NULL); /* a cut document may still contain the code */
    return e.is_error && out->code[0];
}

bool bkt_s3_parse_complete(const void *xml, size_t n, struct bkt_s3_error *out)
{
    struct error_parse e = {.out = out};
    struct parse       p = {.start = error_start, .end = error_end, .arg = &e};
    *out                 = (struct bkt_s3_error){0};
    return n && parse(&p, xml, n, NULL) == BKT_OK && e.is_result;
}

/* Blanks, declarations and comments */
static struct text skip_head(struct text t)
{
    for (;;) {
        t                   = skip_blanks(t);
        bool        comment = t.n > 4 && memcmp(t.p, "<!--", 4) == 0;
        const char *end     = comment ? memmem(t.p, t.n, "-->", 3) : NULL;
        if (t.n > 2 && memcmp(t.p, "<?", 2) == 0)
            end = memchr(t.p, '>', t.n);
        if (!end)
            return t;
        end += comment ? 3 : 1;
        t.n -= (size_t)(end - t.p);
        t.p = end;
    }
}

bool bkt_s3_is_document(const void *xml, size_t n, const char *root)
{
    struct text t = skip_head((struct text){xml, n});
    while (t.n && strchr(" \t\r\n", t.p[t.n - 1]))
        t.n--;
    size_t k = strlen(root), name = 1;
    if (t.n < k + 3 || t.p[0] != '<' || t.p[t.n - 1] != '>')
        return false;
    while (name < t.n && !strchr(" \t\r\n/>", t.p[name]))
        name++;
    const char *end    = memrchr(t.p, '<', t.n);
    bool named =
        name > k && memcmp(t.p + name - k, root, k) == 0 && (name == k + 1 || t.p[name - k - 1] == ':');
    bool closed = end == t.p ? t.p[t.n - 2] == '/' : end[1] == '/' && (size_t)(t.p + t.n - end) >= k + 3;
    return named && closed && (end == t.p || memmem(end, (size_t)(t.p + t.n - end), root, k));
}

/* ---- lists ---- */

struct list_parse {
    int (*each)(const struct bkt_listed *entry, void *arg);
    void               *arg;
    struct bkt_s3_page *page;
    bool                is_list, in_contents, in_prefixes, encoded;
    struct bkt_buf      key;
    char                etag[BKT_ETAG_MAX];
    uint64_t            size;
    double              mtime;
};

static void list_start(struct parse *p, const char *name)
{
    struct list_parse *l = p->arg;
    if (p->depth == 1) {
        l->is_list = strcmp(name, "ListBucketResult") == 0;
        if (!l->is_list)
            stop(p, BKT_EFORMAT, "not a ListBucketResult");
    } else if (p->depth == 2) {
        l->in_contents = strcmp(name, "Contents") == 0;
        l->in_prefixes = strcmp(name, "CommonPrefixes") == 0;
        bkt_buf_clear(&l->key);
        l->etag[0] = 0;
        l->size    = 0;
        l->mtime   = 0;
    }
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* encoding-type=url: as in a form, '+' is a blank. */
static int decode(const char *s, bool encoded, struct bkt_buf *out)
{
    bkt_buf_clear(out);
    if (!encoded)
        return bkt_buf_add_str(out, s);
    for (; *s; s++) {
        char c = *s == '+' ? ' ' : *s;
        if (*s == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
            c = (char)(hex(s[1]) * 16 + hex(s[2]));
            s += 2;
        }
        BKT_PASS(bkt_buf_add(out, &c, 1));
    }
    return BKT_OK;
}

static double parse_time(const char *s) /* 2009-10-12T17:50:30.000Z */
{
    struct tm   tm  = {0};
    const char *end = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
    return end ? (double)timegm(&tm) : 0;
}

static void entry(struct parse *p, bool is_prefix)
{
    struct list_parse *l = p->arg;
    if (!l->key.len || strlen(bkt_buf_str(&l->key)) != l->key.len)
        return; /* keys of this library never contain a NUL */
    struct bkt_listed e  = {bkt_buf_str(&l->key), is_prefix, l->size, l->mtime, l->etag};
    int               rc = l->each(&e, l->arg);
    if (rc < 0)
        stop(p, rc, NULL);
}

static void list_field(struct parse *p, const char *name)
{
    struct list_parse *l = p->arg;
    const char        *s = bkt_buf_str(&p->text);
    bool               oom = false;
    if (p->depth == 2 && strcmp(name, "IsTruncated") == 0)
        l->page->truncated = strcmp(s, "true") == 0;
    else if (p->depth == 2 && strcmp(name, "NextContinuationToken") == 0)
        oom = decode(s, false, &l->page->token) < 0;
    else if (p->depth == 3 && ((l->in_contents && strcmp(name, "Key") == 0) ||
                               (l->in_prefixes && strcmp(name, "Prefix") == 0)))
        oom = decode(s, l->encoded, &l->key) < 0;
    else if (p->depth == 3 && l->in_contents && strcmp(name, "Size") == 0)
        l->size = strtoull(s, NULL, 10);
    else if (p->depth == 3 && l->in_contents && strcmp(name, "LastModified") == 0)
        l->mtime = parse_time(s);
    else if (p->depth == 3 && l->in_contents && strcmp(name, "ETag") == 0 && strlen(s) < sizeof l->etag)
        memcpy(l->etag, s, strlen(s) + 1);
    if (oom)
        stop(p, BKT_ENOMEM, "out of memory");
}

static void list_end(struct parse *p, const char *name)
{
    struct list_parse *l = p->arg;
    list_field(p, name);
    if (p->depth == 2 && l->in_contents)
        entry(p, false);
    else if (p->depth == 2 && l->in_prefixes)
        entry(p, true);
    if (p->depth == 2)
        l->in_contents = l->in_prefixes = false;
}

/* The encoding may be given after the keys to which it applies. */
static bool is_encoded(const void *xml, size_t n)
{
    static const char encoded[] = "<EncodingType>url<";
    return n && memmem(xml, n, encoded, strlen(encoded)) != NULL;
}

int bkt_s3_parse_list(const void *xml, size_t n, int (*each)(const struct bkt_listed *entry, void *arg),
                      void *arg, struct bkt_s3_page *page, struct bkt_err *err)
{
    struct list_parse l = {.each = each, .arg = arg, .page = page};
    struct parse      p = {.start = list_start, .end = list_end, .arg = &l};
    l.encoded           = is_encoded(xml, n);
    page->truncated     = false;
    bkt_buf_clear(&page->token);
    int rc = parse(&p, xml, n, err);
    bkt_buf_fini(&l.key);
    return rc;
}

/* ---- uploads under way ---- */

struct uploads_parse {
    int (*each)(const struct bkt_upload *upload, void *arg);
    void                       *arg;
    struct bkt_s3_uploads_page *page;
    bool                        in_upload, encoded;
    struct bkt_buf              key, id;
    double                      begun;
};

static void uploads_start(struct parse *p, const char *name)
{
    struct uploads_parse *u = p->arg;
    if (p->depth == 1 && strcmp(name, "ListMultipartUploadsResult") != 0)
        stop(p, BKT_EFORMAT, "not a ListMultipartUploadsResult");
    if (p->depth != 2)
        return;
    u->in_upload = strcmp(name, "Upload") == 0;
    u->begun     = 0;
    bkt_buf_clear(&u->key);
    bkt_buf_clear(&u->id);
}

static void uploads_end(struct parse *p, const char *name)
{
    struct uploads_parse *u   = p->arg;
    const char           *s   = bkt_buf_str(&p->text);
    bool                  oom = false;
    if (p->depth == 2 && strcmp(name, "IsTruncated") == 0)
        u->page->truncated = strcmp(s, "true") == 0;
    else if (p->depth == 2 && strcmp(name, "NextKeyMarker") == 0)
        oom = decode(s, u->encoded, &u->page->key) < 0;
    else if (p->depth == 2 && strcmp(name, "NextUploadIdMarker") == 0)
        oom = decode(s, false, &u->page->upload) < 0;
    else if (p->depth == 3 && u->in_upload && strcmp(name, "Key") == 0)
        oom = decode(s, u->encoded, &u->key) < 0;
    else if (p->depth == 3 && u->in_upload && strcmp(name, "UploadId") == 0)
        oom = decode(s, false, &u->id) < 0;
    else if (p->depth == 3 && u->in_upload && strcmp(name, "Initiated") == 0)
        u->begun = parse_time(s);
    if (oom)
        stop(p, BKT_ENOMEM, "out of memory");
    if (p->depth != 2 || !u->in_upload || !u->key.len || !u->id.len ||
        strlen(bkt_buf_str(&u->key)) != u->key.len)
        return;
    struct bkt_upload e  = {bkt_buf_str(&u->key), bkt_buf_str(&u->id), u->begun};
    int               rc = u->each(&e, u->arg);
    u->in_upload         = false;
    if (rc < 0)
        stop(p, rc, NULL);
}

int bkt_s3_parse_uploads(const void *xml, size_t n, int (*each)(const struct bkt_upload *upload, void *arg),
                         void *arg, struct bkt_s3_uploads_page *page, struct bkt_err *err)
{
    struct uploads_parse u = {.each = each, .arg = arg, .page = page, .encoded = is_encoded(xml, n)};
    struct parse         p = {.start = uploads_start, .end = uploads_end, .arg = &u};
    page->truncated        = false;
    bkt_buf_clear(&page->key);
    bkt_buf_clear(&page->upload);
    int rc = parse(&p, xml, n, err);
    bkt_buf_fini(&u.key);
    bkt_buf_fini(&u.id);
    return rc;
}

/* ---- many DELETEs ---- */

struct deleted_parse {
    int (*each)(const char *key, const struct bkt_s3_error *why, void *arg);
    void               *arg;
    bool                in_error;
    struct bkt_buf      key;
    struct bkt_s3_error why;
};

static void deleted_start(struct parse *p, const char *name)
{
    struct deleted_parse *d = p->arg;
    if (p->depth == 1 && strcmp(name, "DeleteResult") != 0)
        stop(p, BKT_EFORMAT, "not a DeleteResult");
    if (p->depth != 2)
        return;
    d->in_error = strcmp(name, "Error") == 0;
    d->why      = (struct bkt_s3_error){0};
    bkt_buf_clear(&d->key);
}

static void deleted_end(struct parse *p, const char *name)
{
    struct deleted_parse *d = p->arg;
    if (!d->in_error)
        return;
    if (p->depth == 3 && strcmp(name, "Key") == 0 && decode(bkt_buf_str(&p->text), false, &d->key) < 0)
        stop(p, BKT_ENOMEM, "out of memory");
    else if (p->depth == 3 && strcmp(name, "Code") == 0)
        take_text(p, d->why.code, sizeof d->why.code);
    else if (p->depth == 3 && strcmp(name, "Message") == 0)
        take_text(p, d->why.message, sizeof d->why.message);
    int rc = p->depth == 2 ? d->each(bkt_buf_str(&d->key), &d->why, d->arg) : BKT_OK;
    if (rc < 0)
        stop(p, rc, NULL);
}

int bkt_s3_parse_deleted(const void *xml, size_t n,
                         int (*each)(const char *key, const struct bkt_s3_error *why, void *arg), void *arg,
                         struct bkt_err *err)
{
    struct deleted_parse d  = {.each = each, .arg = arg};
    struct parse         p  = {.start = deleted_start, .end = deleted_end, .arg = &d};
    int                  rc = parse(&p, xml, n, err);
    bkt_buf_fini(&d.key);
    return rc;
}

/* ---- the begin of an upload ---- */

static void upload_start(struct parse *p, const char *name)
{
    if (p->depth == 1 && strcmp(name, "InitiateMultipartUploadResult") != 0)
        stop(p, BKT_EFORMAT, "not an InitiateMultipartUploadResult");
}

static void upload_end(struct parse *p, const char *name)
{
    if (p->depth == 2 && strcmp(name, "UploadId") == 0 && bkt_buf_add_str(p->arg, bkt_buf_str(&p->text)) < 0)
        stop(p, BKT_ENOMEM, "out of memory");
}

int bkt_s3_parse_upload(const void *xml, size_t n, struct bkt_buf *id, struct bkt_err *err)
{
    struct parse p = {.start = upload_start, .end = upload_end, .arg = id};
    bkt_buf_clear(id);
    BKT_PASS(parse(&p, xml, n, err));
    if (!id->len)
        BKT_FAIL(err, BKT_EFORMAT, "S3's answer has no UploadId");
    return BKT_OK;
}
