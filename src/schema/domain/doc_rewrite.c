#include "schema/domain/doc_rewrite.h"

#include <string.h>

#include "base/os/clock.h"
#include "base/random.h"
#include "schema/model/model.h"

#define TRIES      100 /* more than many writers of one document need */
#define SAME_TRIES 5   /* for one version; a cache may show an old one for a moment */

int bkt_doc_change(bkt_doc_change_once *once, void *arg, struct bkt_err *err)
{
    char was[BKT_ETAG_MAX] = "";
    for (unsigned losses = 0, same = 0;; losses++) {
        double from = bkt_clock_now();
        char now[BKT_ETAG_MAX] = "";
        int rc = once(arg, now, err);
        if (rc != BKT_EPRECOND || losses + 1 == TRIES)
            return rc;
        same = strcmp(was, now) == 0 ? same + 1 : 1;
        BKT_FAIL_IF(err, same == SAME_TRIES, rc,
                    "refused %u times, though the server shows no other version of the object: its "
                    "conditional PUT fails; set writers=one if this program is the only one that writes",
                    SAME_TRIES);
        memcpy(was, now, sizeof was);
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

static int rewrite_once(void *arg, char version[BKT_ETAG_MAX], struct bkt_err *err)
{
    const struct rewrite *r = arg;
    BKT_CLEANUP(bkt_req_fini) struct bkt_req req = {.op = BKT_GET, .key = r->key, .len = BKT_WHOLE};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf now = {0};
    BKT_PASS(bkt_store_perform(r->st, &req, 1, err));
    memcpy(version, req.etag, sizeof req.etag);
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
