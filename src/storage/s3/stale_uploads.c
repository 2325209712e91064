/* Uploads in parts that were not ended.  A writer that is killed during an upload, or never gets the answer
 * to its begin, leaves the upload behind. */
#include <stdlib.h>
#include <string.h>

#include "storage/s3/s3_impl.h"
#include "storage/aws/xml.h"

static int page_query(const char *prefix, const struct bkt_s3_uploads_page *page, struct bkt_buf *q)
{
    bkt_buf_clear(q); /* parameters in the order that signing requires */
    BKT_PASS(bkt_s3_add_query(q, "encoding-type", "url"));
    if (page->key.len)
        BKT_PASS(bkt_s3_add_query(q, "key-marker", bkt_buf_str(&page->key)));
    if (*prefix)
        BKT_PASS(bkt_s3_add_query(q, "prefix", prefix));
    if (page->upload.len)
        BKT_PASS(bkt_s3_add_query(q, "upload-id-marker", bkt_buf_str(&page->upload)));
    return bkt_s3_add_query(q, "uploads", "");
}

struct below { /* passes only keys below the prefix: callers may abort the listed uploads */
    const char *prefix;
    int (*each)(const struct bkt_upload *upload, void *arg);
    void *arg;
};

static int each_below(const struct bkt_upload *u, void *arg)
{
    const struct below *b = arg;
    return strncmp(u->key, b->prefix, strlen(b->prefix)) == 0 ? b->each(u, b->arg) : BKT_OK;
}

static void page_fini(struct bkt_s3_uploads_page *p)
{
    bkt_buf_fini(&p->key);
    bkt_buf_fini(&p->upload);
}

int bkt_s3_uploads(struct bkt_store *st, const char *prefix,
                   int (*each)(const struct bkt_upload *upload, void *arg), void *arg, struct bkt_err *err)
{
    struct bkt_s3                                    *s    = (struct bkt_s3 *)st;
    struct below                                      b    = {prefix, each, arg};
    BKT_CLEANUP(page_fini) struct bkt_s3_uploads_page page = {.truncated = true};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf          query = {0}, last = {0};
    while (page.truncated) {
        BKT_CLEANUP(bkt_s3_asked_fini) struct bkt_s3_asked a = {.req = {.op = BKT_GET}};
        if (page_query(prefix, &page, &query) < 0)
            BKT_NOMEM(err);
        bkt_s3_ask(s, &a, BKT_GET, prefix, bkt_buf_str(&query), true);
        int rc = bkt_s3_answer(&a);
        if (rc < 0) {
            rc = bkt_err_copy(err, rc == BKT_ENOENT ? BKT_EINVAL : rc, a.req.err);
            BKT_TRY(err, rc, "list of the uploads of %s/%.200s", st->uri, prefix);
        }
        BKT_PASS(bkt_s3_parse_uploads(a.req.body.ptr, a.req.body.len, each_below, &b, &page, err));
        if (page.truncated && (!page.key.len || strcmp(bkt_buf_str(&last), bkt_buf_str(&query)) == 0))
            BKT_FAIL(err, BKT_EFORMAT, "list of the uploads of %s/%.200s: the server reports more uploads, "
                     "but not where they begin", st->uri, prefix);
        bkt_buf_move(&last, &query);
    }
    return BKT_OK;
}

int bkt_s3_abort(struct bkt_store *st, const char *key, const char *id, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf           query = {0};
    BKT_CLEANUP(bkt_s3_asked_fini) struct bkt_s3_asked a     = {.req = {.op = BKT_DELETE}};
    if (bkt_s3_add_query(&query, "uploadId", id) < 0)
        BKT_NOMEM(err);
    bkt_s3_ask((struct bkt_s3 *)st, &a, BKT_DELETE, key, bkt_buf_str(&query), false);
    int rc = bkt_s3_answer(&a);
    if (rc == BKT_OK || rc == BKT_ENOENT)
        return BKT_OK;
    BKT_TRY(err, bkt_err_copy(err, rc, a.req.err), "upload of %s/%.200s", st->uri, key);
    return BKT_OK;
}
