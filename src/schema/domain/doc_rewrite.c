#include "schema/domain/doc_rewrite.h"

#include "base/os/clock.h"
#include "base/random.h"
#include "schema/model/model.h"

#define TRIES 100 /* more than many writers of one document need */

int bkt_doc_change(int (*once)(void *arg, struct bkt_err *err), void *arg, struct bkt_err *err)
{
    for (unsigned losses = 0;; losses++) {
        double from = bkt_clock_now();
        int rc = once(arg, err);
        if (rc != BKT_EPRECOND || losses + 1 == TRIES)
            return rc;
        bkt_err_clear(err);
        bkt_random_pause(losses, bkt_clock_now() - from);
    }
}

struct rewrite {
    struct bkt_store *st;
    const char *key;
    bkt_doc_change_fn *change;
    void *arg;
};

static int rewrite_once(void *arg, struct bkt_err *err)
{
    const struct rewrite *r = arg;
    BKT_CLEANUP(bkt_req_fini) struct bkt_req req = {.op = BKT_GET, .key = r->key, .len = BKT_WHOLE};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf now = {0};
    BKT_PASS(bkt_store_perform(r->st, &req, 1, err));
    BKT_PASS(r->change(&req.body, &now, r->arg, err));
    if (!now.len)
        return BKT_OK;
    return bkt_store_put(r->st, r->key, now.ptr, now.len, req.etag[0] ? req.etag : NULL, NULL, NULL, err);
}

int bkt_doc_rewrite(struct bkt_store *st, const char *path, bkt_doc_change_fn *change, void *arg,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_domain_doc_key(path, &key));
    return bkt_doc_change(rewrite_once, &(struct rewrite){st, bkt_buf_str(&key), change, arg}, err);
}
