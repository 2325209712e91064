/* Lists of an S3 bucket: of its keys, page after page or in parts that are requested side by side; of its
 * uploads that were not ended.  A writer that is killed during an upload, or never gets the answer to its
 * begin, leaves the upload behind. */
#include <stdlib.h>
#include <string.h>

#include "storage/s3/s3_impl.h"
#include "storage/aws/xml.h"

/* Parts whose first page is under way; a page has 0.4 MB at most.  Fewer parts make a large list slower. */
#define PARTS_AHEAD 32
/* Lists of several prefixes that are under way at once.  Most lists have only the few keys of one dataset. */
#define EACH_AHEAD  128

/** A sequence of pages. */
struct part {
    const char         *prefix, *delimiter, *after; /* after: begin after this key; NULL: at the beginning */
    struct bkt_buf      query;
    struct bkt_s3_page  page;
    struct bkt_await asked;
};

/* Begin GET or DELETE of @p key, or, with @p bucket, of the bucket itself, for whose answer the store waits.
 * Both texts are borrowed until the answer. */
static void ask(struct bkt_s3 *s, struct bkt_await *a, enum bkt_op op, const char *key, const char *query,
                bool bucket)
{
    struct bkt_http_call call = {.query = query, .bucket = bucket};
    bkt_await_fini(a);
    a->req = (struct bkt_req){.op = op, .key = key, .len = BKT_WHOLE, .size = UINT64_MAX, .batch = &a->batch};
    bkt_req_batch_init(&a->batch, 1);
    bkt_http_start(&s->http, &a->req, &call);
}

/* Append "&name=value", percent-encoded; the first parameter has no '&'. */
static int add_query(struct bkt_buf *q, const char *name, const char *value)
{
    BKT_PASS(bkt_buf_addf(q, "%s%s=", q->len ? "&" : "", name));
    return bkt_percent_encode(q, value, strlen(value), "");
}

static int page_query(struct part *p)
{
    struct bkt_buf *q = &p->query;
    bkt_buf_clear(q); /* parameters in the order that signing requires */
    if (p->page.token.len)
        BKT_PASS(add_query(q, "continuation-token", bkt_buf_str(&p->page.token)));
    if (*p->delimiter)
        BKT_PASS(add_query(q, "delimiter", p->delimiter));
    BKT_PASS(add_query(q, "encoding-type", "url"));
    BKT_PASS(add_query(q, "list-type", "2"));
    if (*p->prefix)
        BKT_PASS(add_query(q, "prefix", p->prefix));
    return p->after && !p->page.token.len ? add_query(q, "start-after", p->after) : BKT_OK;
}

static int begin_page(struct bkt_s3 *s, struct part *p)
{
    BKT_PASS(page_query(p));
    ask(s, &p->asked, BKT_GET, p->prefix, bkt_buf_str(&p->query), true);
    return BKT_OK;
}

/* Wait for the answer to a list.  A 404: some servers report a missing bucket in this way. */
static int receive(struct bkt_await *a, const char *what, const char *uri, const char *prefix,
                   struct bkt_err *err)
{
    bkt_await(a);
    int rc = a->req.rc < 0 ? bkt_err_copy(err, a->req.rc, a->req.err) : BKT_OK;
    BKT_TRY(err, rc == BKT_ENOENT ? BKT_EINVAL : rc, "%s %s/%.200s", what, uri, prefix);
    return BKT_OK;
}

/* The entries of a part that the caller gets: those before the next part. */
struct wanted {
    struct bkt_s3 *s;
    const char *prefix, *last; /* last: NULL: all */
    bool past;
    bkt_list_each_fn *each;
    void *arg;
    struct bkt_err *err;
};

/* A key outside of the prefix is a failure: callers delete by lists. */
static int each_wanted(const struct bkt_listed *e, void *arg)
{
    struct wanted *w = arg;
    BKT_FAIL_IF(w->err, strncmp(e->key, w->prefix, strlen(w->prefix)) != 0, BKT_EFORMAT,
                "list of %s/%.150s: the server also lists '%.150s', which is outside it", w->s->http.base.uri,
                w->prefix, e->key);
    w->past = w->past || (w->last && strcmp(e->key, w->last) > 0);
    return w->past ? BKT_OK : w->each(e, w->arg);
}

/* Receive the page that is under way. */
static int end_page(struct wanted *w, struct part *p)
{
    const char *uri = w->s->http.base.uri;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf last = {0};
    BKT_PASS(receive(&p->asked, "list of", uri, p->prefix, w->err));
    bkt_buf_move(&last, &p->page.token);
    BKT_PASS(
        bkt_s3_parse_list(p->asked.req.body.ptr, p->asked.req.body.len, each_wanted, w, &p->page, w->err));
    BKT_FAIL_IF(w->err,
                p->page.truncated &&
                    (!p->page.token.len || strcmp(bkt_buf_str(&p->page.token), bkt_buf_str(&last)) == 0),
                BKT_EFORMAT, "list of %s/%.200s: the server reports more keys, but not where they begin", uri,
                p->prefix);
    return BKT_OK;
}

static void part_fini(struct part *p)
{
    bkt_await_fini(&p->asked);
    bkt_buf_fini(&p->query);
    bkt_buf_fini(&p->page.token);
}

static int run_parts(struct wanted *w, struct part *p, size_t n, size_t ahead)
{
    size_t begun = 0;
    for (size_t i = 0; i < n; i++) {
        for (; begun < n && begun < i + ahead; begun++)
            BKT_PASS_MEM(w->err, begin_page(w->s, &p[begun]));
        w->prefix = p[i].prefix;
        w->last = i + 1 < n ? p[i + 1].after : NULL;
        w->past = false;
        for (bool more = true; more;) {
            BKT_PASS(end_page(w, &p[i]));
            more = p[i].page.truncated && !w->past;
            if (more && begin_page(w->s, &p[i]) < 0)
                BKT_NOMEM(w->err);
        }
        bkt_buf_fini(&p[i].asked.req.body);
    }
    return BKT_OK;
}

int bkt_s3_list(struct bkt_store *st, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                struct bkt_err *err)
{
    size_t n = l->n + l->n_cuts;
    struct wanted w = {.s = (struct bkt_s3 *)st, .each = each, .arg = arg, .err = err};
    struct part *p = calloc(n, sizeof *p);
    BKT_NEED(err, p);
    for (size_t i = 0; i < n; i++) {
        p[i].prefix    = l->prefixes[l->n_cuts ? 0 : i];
        p[i].delimiter = l->delimiter;
        p[i].after     = l->n_cuts && i ? l->cuts[i - 1] : NULL;
    }
    int rc = run_parts(&w, p, n, l->n_cuts ? PARTS_AHEAD : EACH_AHEAD);
    for (size_t i = 0; i < n; i++)
        part_fini(&p[i]);
    free(p);
    return rc;
}

/* ---- uploads in parts that were not ended ---- */

static int uploads_query(const char *prefix, const struct bkt_s3_uploads_page *page, struct bkt_buf *q)
{
    bkt_buf_clear(q); /* parameters in the order that signing requires */
    BKT_PASS(add_query(q, "encoding-type", "url"));
    if (page->key.len)
        BKT_PASS(add_query(q, "key-marker", bkt_buf_str(&page->key)));
    if (*prefix)
        BKT_PASS(add_query(q, "prefix", prefix));
    if (page->upload.len)
        BKT_PASS(add_query(q, "upload-id-marker", bkt_buf_str(&page->upload)));
    return add_query(q, "uploads", "");
}

struct ours { /* passes only keys below the prefix: callers may abort the listed uploads */
    const char *prefix;
    bkt_upload_each_fn *each;
    void *arg;
};

static int each_ours(const struct bkt_upload *u, void *arg)
{
    const struct ours *b = arg;
    return strncmp(u->key, b->prefix, strlen(b->prefix)) == 0 ? b->each(u, b->arg) : BKT_OK;
}

static void page_fini(struct bkt_s3_uploads_page *p)
{
    bkt_buf_fini(&p->key);
    bkt_buf_fini(&p->upload);
}

int bkt_s3_uploads(struct bkt_store *st, const char *prefix, bkt_upload_each_fn *each, void *arg,
                   struct bkt_err *err)
{
    struct bkt_s3                                    *s    = (struct bkt_s3 *)st;
    struct ours                                      b    = {prefix, each, arg};
    BKT_CLEANUP(page_fini) struct bkt_s3_uploads_page page = {.truncated = true};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf          query = {0}, last = {0};
    while (page.truncated) {
        BKT_CLEANUP(bkt_await_fini) struct bkt_await a = {.req = {.op = BKT_GET}};
        BKT_PASS_MEM(err, uploads_query(prefix, &page, &query));
        ask(s, &a, BKT_GET, prefix, bkt_buf_str(&query), true);
        BKT_PASS(receive(&a, "list of the uploads of", st->uri, prefix, err));
        BKT_PASS(bkt_s3_parse_uploads(a.req.body.ptr, a.req.body.len, each_ours, &b, &page, err));
        BKT_FAIL_IF(err,
                    page.truncated && (!page.key.len || strcmp(bkt_buf_str(&last), bkt_buf_str(&query)) == 0),
                    BKT_EFORMAT,
                    "list of the uploads of %s/%.200s: the server reports more uploads, "
                    "but not where they begin",
                    st->uri, prefix);
        bkt_buf_move(&last, &query);
    }
    return BKT_OK;
}

int bkt_s3_abort(struct bkt_store *st, const char *key, const char *id, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           query = {0};
    BKT_CLEANUP(bkt_await_fini) struct bkt_await a     = {.req = {.op = BKT_DELETE}};
    BKT_PASS_MEM(err, add_query(&query, "uploadId", id));
    ask((struct bkt_s3 *)st, &a, BKT_DELETE, key, bkt_buf_str(&query), false);
    bkt_await(&a);
    int rc = a.req.rc;
    if (rc == BKT_OK || rc == BKT_ENOENT)
        return BKT_OK;
    BKT_TRY(err, bkt_err_copy(err, rc, a.req.err), "upload of %s/%.200s", st->uri, key);
    return BKT_OK;
}
