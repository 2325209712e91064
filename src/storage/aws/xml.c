/* Elements of a document whose texts are wanted are rows of a table: struct field.  Some are in items,
 * elements that may be repeated; at the end of each item a callback gets its fields. */
#include "storage/aws/xml.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <expat.h>

#include "base/bytes.h"
#include "base/text/utf8.h"

#define MAX_DEPTH 16 /* levels; S3's and STS's documents nest 4 deep */
/* Bytes of one element; keys are at most 1024 bytes, three times that when encoded. */
#define MAX_TEXT  16384U
#define ANYWHERE  "" /* below the root */

struct field {
    const char *in; /* the item that has it as a child; NULL: the root has it; or ANYWHERE */
    const char *name;
    enum { FLAG, COUNT, TIME, TAG, LINE, RAW, CODED, SECRET } kind;
    void  *to;
    size_t room; /* of TAG and LINE */
};

struct parse {
    const struct field *fields;
    size_t              n_fields;
    const char         *want; /* the root's name; NULL: any */
    bool                encoded;
    int (*item)(struct parse *p, const char *in); /* NULL: nothing happens at the end of an item */
    void          *arg;
    XML_Parser     parser;
    int            depth, inside; /* inside: that of the item */
    const char    *in;            /* the item's name; NULL: none */
    const char    *too;           /* why parsing was given up */
    char           root[48], note[64];
    struct bkt_buf text; /* it may be a secret */
    int            rc;
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

/* ---- texts ---- */

/* encoding-type=url: as in a form, '+' is a blank. */
static int decode(const char *s, bool encoded, struct bkt_buf *out)
{
    bkt_buf_clear(out);
    if (!encoded)
        return bkt_buf_add_str(out, s);
    for (; *s; s++) {
        char c = *s == '+' ? ' ' : *s;
        if (*s == '%' && bkt_hex_digit(s[1]) >= 0 && bkt_hex_digit(s[2]) >= 0) {
            c = (char)(bkt_hex_digit(s[1]) * 16 + bkt_hex_digit(s[2]));
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

static void take_field(struct parse *p, const struct field *f)
{
    const char *s  = bkt_buf_str(&p->text);
    int         rc = BKT_OK;
    switch (f->kind) {
        case FLAG:
            *(bool *)f->to = strcmp(s, "true") == 0;
            break;
        case COUNT:
            *(uint64_t *)f->to = strtoull(s, NULL, 10);
            break;
        case TIME:
            *(double *)f->to = parse_time(s);
            break;
        case TAG:
            if (strlen(s) < f->room)
                memcpy(f->to, s, strlen(s) + 1);
            break;
        case LINE:
            bkt_one_line(f->to, f->room, s, strlen(s));
            break;
        case SECRET:
            bkt_secret_fini(f->to);
            *(struct bkt_buf *)f->to = p->text;
            p->text                  = (struct bkt_buf){0};
            break;
        case RAW:
        case CODED:
        default:
            rc = decode(s, f->kind == CODED && p->encoded, f->to);
    }
    if (rc < 0)
        stop(p, rc, "out of memory");
}

static void clear_field(const struct field *f)
{
    if (f->kind == RAW || f->kind == CODED)
        bkt_buf_clear(f->to);
    else if (f->kind == COUNT)
        *(uint64_t *)f->to = 0;
    else if (f->kind == TIME)
        *(double *)f->to = 0;
    else if (f->kind == TAG || f->kind == LINE)
        *(char *)f->to = 0;
}

/* ---- elements ---- */

static bool in_item(const struct field *f) { return f->in && *f->in; }

static bool is_here(const struct parse *p, const struct field *f)
{
    if (in_item(f))
        return p->in && p->depth == p->inside + 1 && strcmp(p->in, f->in) == 0;
    return f->in ? p->depth > 1 : p->depth == 2;
}

static void begin_item(struct parse *p, const char *name)
{
    for (size_t i = 0; i < p->n_fields && !p->in; i++)
        if (in_item(&p->fields[i]) && strcmp(p->fields[i].in, name) == 0)
            p->in = p->fields[i].in;
    if (!p->in)
        return;
    p->inside = p->depth;
    for (size_t i = 0; i < p->n_fields; i++)
        if (in_item(&p->fields[i]))
            clear_field(&p->fields[i]);
}

static void XMLCALL on_start(void *arg, const char *name, const char **atts)
{
    struct parse *p = arg;
    (void)atts;
    name = local_name(name);
    bkt_buf_clear(&p->text);
    if (++p->depth > MAX_DEPTH) {
        stop(p, BKT_EFORMAT, "elements are nested too deep");
    } else if (p->depth == 1) {
        (void)snprintf(p->root, sizeof p->root, "%s", name);
        (void)snprintf(p->note, sizeof p->note, "not %s %s", p->want && *p->want == 'I' ? "an" : "a",
                       p->want);
        if (p->want && strcmp(name, p->want) != 0)
            stop(p, BKT_EFORMAT, p->note);
    } else if (!p->in && (p->depth == 2 || !p->want)) { /* STS's items lie deeper */
        begin_item(p, name);
    }
}

static void XMLCALL on_end(void *arg, const char *name)
{
    struct parse *p = arg;
    name            = local_name(name);
    for (size_t i = 0; i < p->n_fields; i++)
        if (strcmp(p->fields[i].name, name) == 0 && is_here(p, &p->fields[i]))
            take_field(p, &p->fields[i]);
    if (p->in && p->depth == p->inside) {
        int rc = p->item ? p->item(p, p->in) : BKT_OK;
        p->in  = NULL;
        if (rc < 0)
            stop(p, rc, NULL);
    }
    p->depth--;
    bkt_buf_clear(&p->text);
}

static void XMLCALL on_text(void *arg, const char *s, int n)
{
    struct parse *p = arg;
    if (n < 0 || p->text.len + (size_t)n > MAX_TEXT)
        stop(p, BKT_EFORMAT, "an element's text is too long");
    else if (bkt_secret_add(&p->text, s, (size_t)n) < 0)
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
    BKT_FAIL_IF(err, n > INT_MAX, BKT_EFORMAT, "S3's answer of %zu bytes is too long", n);
    p->parser = XML_ParserCreate(NULL);
    BKT_NEED(err, p->parser);
    XML_SetUserData(p->parser, p);
    XML_SetElementHandler(p->parser, on_start, on_end);
    XML_SetCharacterDataHandler(p->parser, on_text);
    XML_SetStartDoctypeDeclHandler(p->parser, on_doctype);
    enum XML_Status ok  = XML_Parse(p->parser, t.p, (int)t.n, 1);
    const char     *why = p->too ? p->too : XML_ErrorString(XML_GetErrorCode(p->parser));
    XML_ParserFree(p->parser);
    bkt_secret_fini(&p->text);
    if (p->rc < 0 && !p->too)
        return p->rc; /* the callback's result */
    BKT_FAIL_IF(err, p->rc < 0 || ok != XML_STATUS_OK, p->rc < 0 ? p->rc : BKT_EFORMAT,
                "S3's answer is not valid XML (%s)", why ? why : "?");
    return BKT_OK;
}

/* ---- errors ---- */

/* A cut document may still contain the code. */
static int parse_any(const void *xml, size_t n, struct bkt_s3_error *out, char root[48])
{
    const struct field fields[] = {{ANYWHERE, "Code", LINE, out->code, sizeof out->code},
                                   {ANYWHERE, "Message", LINE, out->message, sizeof out->message},
                                   {ANYWHERE, "Region", LINE, out->region, sizeof out->region},
                                   {ANYWHERE, "RequestId", LINE, out->request_id, sizeof out->request_id}};
    struct parse       p        = {.fields = fields, .n_fields = BKT_COUNT(fields)};
    *out                        = (struct bkt_s3_error){0};
    int rc                      = n ? parse(&p, xml, n, NULL) : BKT_EFORMAT;
    memcpy(root, p.root, sizeof p.root);
    return rc;
}

bool bkt_s3_parse_error(const void *xml, size_t n, struct bkt_s3_error *out)
{
    char root[48];
    (void)parse_any(xml, n, out, root);
    return out->code[0] && (strcmp(root, "Error") == 0 || strcmp(root, "ErrorResponse") == 0);
}

bool bkt_s3_parse_complete(const void *xml, size_t n, struct bkt_s3_error *out)
{
    char root[48];
    return parse_any(xml, n, out, root) == BKT_OK && strcmp(root, "CompleteMultipartUploadResult") == 0;
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

/* The encoding may be given after the keys to which it applies. */
static bool is_encoded(const void *xml, size_t n)
{
    static const char encoded[] = "<EncodingType>url<";
    return n && memmem(xml, n, encoded, strlen(encoded)) != NULL;
}

static bool is_key(const struct bkt_buf *key) /* keys of this library never contain a NUL */
{
    return key->len && strlen(bkt_buf_str(key)) == key->len;
}

struct list_parse {
    bkt_list_each_fn *each;
    void             *arg;
    struct bkt_buf    key;
    char              etag[BKT_ETAG_MAX];
    uint64_t          size;
    double            mtime;
};

static int list_item(struct parse *p, const char *in)
{
    const struct list_parse *l = p->arg;
    struct bkt_listed e = {.key = bkt_buf_str(&l->key),
                           .is_prefix = strcmp(in, "CommonPrefixes") == 0,
                           .size = l->size,
                           .mtime = l->mtime,
                           .etag = l->etag,
                           .stored = l->mtime};
    return is_key(&l->key) ? l->each(&e, l->arg) : BKT_OK;
}

int bkt_s3_parse_list(const void *xml, size_t n, bkt_list_each_fn *each, void *arg, struct bkt_s3_page *page,
                      struct bkt_err *err)
{
    struct list_parse  l        = {.each = each, .arg = arg};
    const struct field fields[] = {{NULL, "IsTruncated", FLAG, &page->truncated, 0},
                                   {NULL, "NextContinuationToken", RAW, &page->token, 0},
                                   {"Contents", "Key", CODED, &l.key, 0},
                                   {"Contents", "Size", COUNT, &l.size, 0},
                                   {"Contents", "LastModified", TIME, &l.mtime, 0},
                                   {"Contents", "ETag", TAG, l.etag, sizeof l.etag},
                                   {"CommonPrefixes", "Prefix", CODED, &l.key, 0}};
    struct parse       p        = {.fields   = fields,
                                   .n_fields = BKT_COUNT(fields),
                                   .want     = "ListBucketResult",
                                   .encoded  = is_encoded(xml, n),
                                   .item     = list_item,
                                   .arg      = &l};
    page->truncated             = false;
    bkt_buf_clear(&page->token);
    int rc = parse(&p, xml, n, err);
    bkt_buf_fini(&l.key);
    return rc;
}

struct uploads_parse {
    bkt_upload_each_fn *each;
    void          *arg;
    struct bkt_buf key, id;
    double         begun;
};

static int uploads_item(struct parse *p, const char *in)
{
    const struct uploads_parse *u = p->arg;
    struct bkt_upload           e = {bkt_buf_str(&u->key), bkt_buf_str(&u->id), u->begun};
    (void)in;
    return is_key(&u->key) && u->id.len ? u->each(&e, u->arg) : BKT_OK;
}

int bkt_s3_parse_uploads(const void *xml, size_t n, bkt_upload_each_fn *each, void *arg,
                         struct bkt_s3_uploads_page *page, struct bkt_err *err)
{
    struct uploads_parse u        = {.each = each, .arg = arg};
    const struct field   fields[] = {{NULL, "IsTruncated", FLAG, &page->truncated, 0},
                                     {NULL, "NextKeyMarker", CODED, &page->key, 0},
                                     {NULL, "NextUploadIdMarker", RAW, &page->upload, 0},
                                     {"Upload", "Key", CODED, &u.key, 0},
                                     {"Upload", "UploadId", RAW, &u.id, 0},
                                     {"Upload", "Initiated", TIME, &u.begun, 0}};
    struct parse         p        = {.fields   = fields,
                                     .n_fields = BKT_COUNT(fields),
                                     .want     = "ListMultipartUploadsResult",
                                     .encoded  = is_encoded(xml, n),
                                     .item     = uploads_item,
                                     .arg      = &u};
    page->truncated               = false;
    bkt_buf_clear(&page->key);
    bkt_buf_clear(&page->upload);
    int rc = parse(&p, xml, n, err);
    bkt_buf_fini(&u.key);
    bkt_buf_fini(&u.id);
    return rc;
}

/* ---- answers to changes ---- */

struct deleted_parse {
    int (*each)(const char *key, const struct bkt_s3_error *why, void *arg);
    void               *arg;
    struct bkt_buf      key;
    struct bkt_s3_error why;
};

static int deleted_item(struct parse *p, const char *in)
{
    const struct deleted_parse *d = p->arg;
    (void)in;
    return d->each(bkt_buf_str(&d->key), &d->why, d->arg);
}

int bkt_s3_parse_deleted(const void *xml, size_t n,
                         int (*each)(const char *key, const struct bkt_s3_error *why, void *arg), void *arg,
                         struct bkt_err *err)
{
    struct deleted_parse d        = {.each = each, .arg = arg};
    const struct field   fields[] = {{"Error", "Key", RAW, &d.key, 0},
                                     {"Error", "Code", LINE, d.why.code, sizeof d.why.code},
                                     {"Error", "Message", LINE, d.why.message, sizeof d.why.message}};
    struct parse         p        = {.fields   = fields,
                                     .n_fields = BKT_COUNT(fields),
                                     .want     = "DeleteResult",
                                     .item     = deleted_item,
                                     .arg      = &d};
    int                  rc       = parse(&p, xml, n, err);
    bkt_buf_fini(&d.key);
    return rc;
}

int bkt_s3_parse_upload(const void *xml, size_t n, struct bkt_buf *id, struct bkt_err *err)
{
    const struct field field = {NULL, "UploadId", RAW, id, 0};
    struct parse       p     = {.fields = &field, .n_fields = 1, .want = "InitiateMultipartUploadResult"};
    bkt_buf_clear(id);
    BKT_PASS(parse(&p, xml, n, err));
    BKT_FAIL_IF(err, !id->len, BKT_EFORMAT, "S3's answer has no UploadId");
    return BKT_OK;
}

int bkt_sts_parse(const void *xml, size_t n, struct bkt_sts_answer *out)
{
    const struct field fields[] = {{"Credentials", "AccessKeyId", SECRET, &out->id, 0},
                                   {"Credentials", "SecretAccessKey", SECRET, &out->secret, 0},
                                   {"Credentials", "SessionToken", SECRET, &out->token, 0},
                                   {"Credentials", "Expiration", SECRET, &out->expiration, 0}};
    struct parse       p        = {.fields = fields, .n_fields = BKT_COUNT(fields)};
    return parse(&p, xml, n, NULL);
}
