/* The JSON of a reference set, version 0 and 1 (ref_set.h). */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tools/kerchunk/ref_set.h"
#include "tools/kerchunk/templates.h"

#define GEN_REFS ((uint64_t)1 << 24) /* references that gen entries make in all */

struct reader {
    struct kerchunk_set *set;
    struct kerchunk_doc *templates, *gen; /* NULL: none */
    struct bkt_json_scan scan;
    struct bkt_buf key, url; /* of the entry being read */
    uint64_t n_gen;
    struct bkt_err *err;
};

static void reader_fini(struct reader *r)
{
    kerchunk_doc_free(r->templates);
    kerchunk_doc_free(r->gen);
    bkt_buf_fini(&r->scan.text);
    bkt_buf_fini(&r->key);
    bkt_buf_fini(&r->url);
}

static void begin_scan(struct reader *r, const void *p, size_t n)
{
    bkt_buf_fini(&r->scan.text);
    bkt_json_scan_init(&r->scan, p, n);
}

/* 0 and more: go on; the scanner's failure as an error. */
static int scanned(struct reader *r, int rc)
{
    return rc == BKT_EFORMAT || rc == BKT_ENOMEM ? bkt_json_scan_fail(&r->scan, rc, r->err) : rc;
}

/* The scanner marks a few strings that UTF-8 can't express (json_scan.h); a set's strings don't have them. */
static int unmark(struct reader *r, const struct bkt_json_scan_text *t, struct bkt_buf *out)
{
    static const char mark[] = BKT_JSON_RAW_MARK;
    const size_t n_mark = sizeof mark - 1;
    bkt_buf_clear(out);
    for (size_t i = !t->ready && t->n && t->p[0] == 1; i < t->n;) {
        const char *at = t->ready ? NULL : memmem(t->p + i, t->n - i, mark, n_mark);
        size_t part = at ? (size_t)(at - (t->p + i)) + n_mark : t->n - i;
        BKT_PASS_MEM(r->err, bkt_buf_add(out, t->p + i, part));
        i += part;
        BKT_FAIL_IF(r->err, at && (t->n - i < n_mark || memcmp(t->p + i, mark, n_mark) != 0), BKT_EFORMAT,
                    "half a surrogate pair in a string");
        i += at ? n_mark : 0;
    }
    return BKT_MADE(r->err, bkt_buf_reserve(out, 0) >= 0);
}

static int scan_text(struct reader *r, struct bkt_buf *out)
{
    struct bkt_json_scan_text t;
    BKT_PASS(scanned(r, bkt_json_scan_string(&r->scan, &t)));
    return unmark(r, &t, out);
}

/* All members of the object at the scanner's place. */
static int members(struct reader *r,
                   int (*take)(struct reader *r, const struct bkt_json_scan_text *key, void *arg), void *arg)
{
    bool more;
    BKT_PASS(scanned(r, bkt_json_scan_enter(&r->scan, '{')));
    for (bool first = true;; first = false) {
        struct bkt_json_scan_text key;
        BKT_PASS(scanned(r, bkt_json_scan_member(&r->scan, first, &key, &more)));
        if (!more)
            break;
        BKT_PASS(take(r, &key, arg));
    }
    bkt_json_scan_leave(&r->scan);
    return BKT_OK;
}

/* ---- templates and gen ---- */

/* Adds a reference for the key r->key.  @p range: its URL may be a template */
static int add_url(struct reader *r, const struct kerchunk_range *range, const struct kerchunk_var *vars)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf made = {0};
    struct kerchunk_range filled = *range;
    const char *key = bkt_buf_str(&r->key);
    if (!memmem(range->url, range->url_n, "{{", 2) || (!r->templates && !vars))
        return kerchunk_set_add_url(r->set, key, r->key.len, range, r->err);
    BKT_FAIL_IF(r->err, strlen(range->url) != range->url_n, BKT_EFORMAT, "%.200s: a NUL in its URL", key);
    BKT_TRY(r->err, kerchunk_template(range->url, r->templates, vars, &made, r->err), "%.200s", key);
    filled.url = bkt_buf_str(&made);
    filled.url_n = made.len;
    return kerchunk_set_add_url(r->set, key, r->key.len, &filled, r->err);
}

static int gen_number(struct reader *r, const struct kerchunk_doc *d, const struct kerchunk_var *vars,
                      uint64_t *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf made = {0};
    BKT_CLEANUP(kerchunk_doc_freep) struct kerchunk_doc *v = NULL;
    if (kerchunk_doc_size(d, out))
        return BKT_OK;
    BKT_FAIL_IF(r->err, !d || d->kind != KERCHUNK_TEXT, BKT_EFORMAT,
                "gen: an offset or length that is neither a number nor a template");
    BKT_PASS(kerchunk_template(d->text, r->templates, vars, &made, r->err));
    if (bkt_buf_add_str(&made, " ") < 0) /* the scanner wants something behind a number */
        BKT_NOMEM(r->err);
    BKT_FAIL_IF(r->err, kerchunk_doc_parse(made.ptr, made.len, &v, NULL) < 0 || !kerchunk_doc_size(v, out),
                BKT_EFORMAT, "gen: %.100s gives no offset or length", d->text);
    return BKT_OK;
}

static int gen_one(struct reader *r, const struct kerchunk_doc *g, const struct kerchunk_var *vars)
{
    const char *key = kerchunk_doc_text(g, "key"), *url = kerchunk_doc_text(g, "url");
    uint64_t off = 0, len = KERCHUNK_WHOLE;
    BKT_FAIL_IF(r->err, !key || !url, BKT_EFORMAT, "gen: an entry without key or url");
    BKT_FAIL_IF(r->err, ++r->n_gen > GEN_REFS, BKT_EFORMAT, "gen: more than %llu references",
                (unsigned long long)GEN_REFS);
    if (kerchunk_doc_get(g, "offset"))
        BKT_PASS(gen_number(r, kerchunk_doc_get(g, "offset"), vars, &off));
    if (kerchunk_doc_get(g, "length"))
        BKT_PASS(gen_number(r, kerchunk_doc_get(g, "length"), vars, &len));
    else if (off)
        BKT_FAIL(r->err, BKT_EFORMAT, "gen: an offset without a length");
    bkt_buf_clear(&r->key);
    BKT_PASS(kerchunk_template(key, r->templates, vars, &r->key, r->err));
    return add_url(r, &(struct kerchunk_range){url, strlen(url), off, len}, vars);
}

static int gen_range(const struct kerchunk_doc *d, int64_t *start, int64_t *stop, int64_t *step)
{
    const struct kerchunk_doc *a = kerchunk_doc_get(d, "start"), *b = kerchunk_doc_get(d, "stop"),
                              *c = kerchunk_doc_get(d, "step");
    *start = a ? a->i : 0, *stop = b ? b->i : 0, *step = c ? c->i : 1;
    return (!a || a->kind == KERCHUNK_INT) && b && b->kind == KERCHUNK_INT &&
                   (!c || c->kind == KERCHUNK_INT) && *step != 0
               ? BKT_OK
               : BKT_EFORMAT;
}

/* All values of the dimension @p d and of those behind it. */
static int gen_dims(struct reader *r, const struct kerchunk_doc *g, const struct kerchunk_doc *d,
                    const struct kerchunk_var *outer, unsigned depth)
{
    int64_t start = 0, stop = 0, step = 1;
    if (!d)
        return gen_one(r, g, outer);
    BKT_FAIL_IF(r->err, depth >= KERCHUNK_TEMPLATE_DEPTH, BKT_EFORMAT, "gen: more than %d dimensions",
                KERCHUNK_TEMPLATE_DEPTH);
    if (d->kind == KERCHUNK_LIST) {
        for (const struct kerchunk_doc *v = d->first; v; v = v->next) {
            const struct kerchunk_var var = {d->key, v->kind == KERCHUNK_TEXT, v->i, v->text, outer};
            BKT_FAIL_IF(r->err, v->kind != KERCHUNK_TEXT && v->kind != KERCHUNK_INT, BKT_EFORMAT,
                        "gen: dimension %.100s has a value that is neither number nor text", d->key);
            BKT_PASS(gen_dims(r, g, d->next, &var, depth + 1));
        }
        return BKT_OK;
    }
    BKT_FAIL_IF(r->err, gen_range(d, &start, &stop, &step) < 0, BKT_EFORMAT,
                "gen: dimension %.100s is neither a list nor a range", d->key);
    for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
        const struct kerchunk_var var = {d->key, false, i, NULL, outer};
        BKT_PASS(gen_dims(r, g, d->next, &var, depth + 1));
        if (++r->n_gen > 2 * GEN_REFS ||
            __builtin_add_overflow(i, step, &i)) /* also counts empty inner dimensions */
            break;
    }
    return r->n_gen > 2 * GEN_REFS ? BKT_ERR(r->err, BKT_EFORMAT, "gen: too many references") : BKT_OK;
}

static int gen_all(struct reader *r)
{
    for (const struct kerchunk_doc *g = r->gen ? r->gen->first : NULL; g; g = g->next) {
        const struct kerchunk_doc *dims = kerchunk_doc_get(g, "dimensions");
        BKT_FAIL_IF(r->err, g->kind != KERCHUNK_OBJECT || (dims && dims->kind != KERCHUNK_OBJECT),
                    BKT_EFORMAT, "gen: an entry is malformed");
        BKT_PASS(gen_dims(r, g, dims ? dims->first : NULL, NULL, 0));
    }
    return BKT_OK;
}

/* ---- refs ---- */

static int scan_size(struct reader *r, uint64_t *out)
{
    struct bkt_json_scan_number n;
    BKT_PASS(scanned(r, bkt_json_scan_number(&r->scan, &n)));
    BKT_FAIL_IF(r->err, n.kind != BKT_JSON_INT || n.i < 0, BKT_EFORMAT,
                "%.200s: an impossible offset or length", bkt_buf_str(&r->key));
    *out = (uint64_t)n.i;
    return BKT_OK;
}

/* [url] or [url, offset, length] */
static int read_place(struct reader *r)
{
    uint64_t v[2] = {0, KERCHUNK_WHOLE};
    unsigned n = 0;
    bool more;
    BKT_PASS(scanned(r, bkt_json_scan_enter(&r->scan, '[')));
    for (;; n++) {
        BKT_PASS(scanned(r, bkt_json_scan_entry(&r->scan, n == 0, &more)));
        if (!more)
            break;
        BKT_FAIL_IF(r->err, n == 0 ? bkt_json_scan_peek(&r->scan) != '"' : n > 2, BKT_EFORMAT,
                    "%.200s: not of the form [url] or [url, offset, length]", bkt_buf_str(&r->key));
        if (n == 0 || bkt_json_scan_peek(&r->scan) != 'n')
            BKT_PASS(n == 0 ? scan_text(r, &r->url) : scan_size(r, &v[n - 1]));
        else
            BKT_PASS(scanned(r, bkt_json_scan_word(&r->scan, "null")));
    }
    bkt_json_scan_leave(&r->scan);
    BKT_FAIL_IF(r->err, n == 0 || n == 2, BKT_EFORMAT,
                "%.200s: not of the form [url] or [url, offset, length]", bkt_buf_str(&r->key));
    struct kerchunk_range range = {bkt_buf_str(&r->url), r->url.len, v[0], v[1]};
    return add_url(r, &range, NULL);
}

static int read_ref(struct reader *r)
{
    int c = bkt_json_scan_peek(&r->scan);
    if (c == '[')
        return read_place(r);
    const unsigned char *from = r->scan.p;
    if (c == '{') { /* a document in place of its text */
        BKT_PASS(scanned(r, bkt_json_scan_skip(&r->scan)));
        return kerchunk_set_add_inline(r->set, bkt_buf_str(&r->key), r->key.len, from,
                                       (size_t)(r->scan.p - from), r->err);
    }
    BKT_FAIL_IF(r->err, c != '"', BKT_EFORMAT, "%.200s: neither data nor a reference", bkt_buf_str(&r->key));
    BKT_PASS(scan_text(r, &r->url));
    return kerchunk_set_add_data(r->set, bkt_buf_str(&r->key), r->key.len, bkt_buf_str(&r->url), r->url.len,
                                 r->err);
}

static int take_ref(struct reader *r, const struct bkt_json_scan_text *key, void *arg)
{
    (void)arg;
    BKT_PASS(unmark(r, key, &r->key));
    return read_ref(r);
}

static int read_refs(struct reader *r, const void *p, size_t n)
{
    begin_scan(r, p, n);
    return members(r, take_ref, NULL);
}

/* ---- the whole ---- */

enum { VERSION, TEMPLATES, GEN, REFS, N_PARTS }; /* of a version 1 set */
struct span {
    const unsigned char *p; /* NULL: the set lacks it */
    size_t n;
};

/* @p arg: N_PARTS spans */
static int take_span(struct reader *r, const struct bkt_json_scan_text *key, void *arg)
{
    static const char *const names[N_PARTS] = {"version", "templates", "gen", "refs"};
    struct span *parts = arg;
    (void)bkt_json_scan_peek(&r->scan);
    const unsigned char *from = r->scan.p;
    size_t k = 0;
    while (k < N_PARTS && (key->n != strlen(names[k]) || memcmp(key->p, names[k], key->n) != 0))
        k++;
    BKT_PASS(scanned(r, bkt_json_scan_skip(&r->scan))); /* the key isn't valid any longer */
    if (k < N_PARTS)
        parts[k] = (struct span){from, (size_t)(r->scan.p - from)};
    return BKT_OK;
}

static int find_spans(struct reader *r, const void *p, size_t n, struct span parts[N_PARTS])
{
    begin_scan(r, p, n);
    if (bkt_json_scan_peek(&r->scan) != '{')
        BKT_FAIL(r->err, BKT_EFORMAT, "not a reference set: it does not begin with {");
    BKT_PASS(members(r, take_span, parts));
    return scanned(r, bkt_json_scan_end(&r->scan));
}

static int read_version_1(struct reader *r, const struct span parts[N_PARTS])
{
    BKT_FAIL_IF(r->err, parts[VERSION].n != 1 || *parts[VERSION].p != '1', BKT_EUNSUP,
                "reference set of version %.*s: only versions 0 and 1 are known",
                (int)bkt_min_u64(parts[VERSION].n, 20), (const char *)parts[VERSION].p);
    if (parts[TEMPLATES].p)
        BKT_TRY(r->err, kerchunk_doc_parse(parts[TEMPLATES].p, parts[TEMPLATES].n, &r->templates, r->err),
                "templates");
    BKT_FAIL_IF(r->err, r->templates && r->templates->kind != KERCHUNK_OBJECT, BKT_EFORMAT,
                "templates: not an object");
    if (parts[GEN].p)
        BKT_TRY(r->err, kerchunk_doc_parse(parts[GEN].p, parts[GEN].n, &r->gen, r->err), "gen");
    BKT_FAIL_IF(r->err, r->gen && r->gen->kind != KERCHUNK_LIST, BKT_EFORMAT, "gen: not a list");
    BKT_FAIL_IF(r->err, !parts[REFS].p && !parts[GEN].p, BKT_EFORMAT,
                "not a reference set: it has neither refs nor gen");
    if (parts[REFS].p)
        BKT_PASS(read_refs(r, parts[REFS].p, parts[REFS].n));
    return gen_all(r);
}

int kerchunk_set_parse(const void *json, size_t n, struct kerchunk_set *out, struct bkt_err *err)
{
    BKT_CLEANUP(reader_fini) struct reader r = {.set = out, .err = err};
    struct span parts[N_PARTS] = {{NULL, 0}};
    BKT_PASS(find_spans(&r, json, n, parts));
    BKT_PASS(parts[VERSION].p ? read_version_1(&r, parts) : read_refs(&r, json, n));
    kerchunk_set_sort(out);
    return BKT_OK;
}
