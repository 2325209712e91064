#include "change.h"

#include <stdio.h>

#include "file.h"
#include "native.h"
#include "write.h"

int bkt_change_may(struct bkt_file *f, unsigned need, const char *what, struct bkt_err *err)
{
    if (!(f->flags & H5F_ACC_RDWR))
        BKT_FAIL(err, BKT_EACCES, "%s: %s: the file was opened read-only", f->name, what);
    BKT_TRY(err, bkt_domain_may_write(f->dom, need, err), "%s: %s", f->name, what);
    return BKT_OK;
}

/* Of all that fails the first is told; the rest is tried all the same. */
int bkt_change_flush(struct bkt_file *f, struct bkt_err *err)
{
    struct bkt_err also = {.n = 0};
    int            rc   = bkt_chunks_flush(f->dom, err);
    if (rc == BKT_OK)
        rc = bkt_domain_flush(f->dom, err);
    if (rc < 0)
        (void)BKT_ERR(err, rc, "%s: not everything could be stored", f->name);
    int inner = bkt_file_each_inner(f, bkt_change_flush, rc < 0 ? &also : err);
    return rc < 0 ? rc : inner;
}

int bkt_change_flush_object(struct bkt_vobj *o, struct bkt_err *err)
{
    if (o->native_id >= 0)
        return PASS_ON(err, H5Oflush(o->native_id), "H5Oflush");
    return bkt_change_flush(o->file, err);
}

int bkt_change_refresh(struct bkt_vobj *o, struct bkt_err *err)
{
    if (o->native_id >= 0)
        return PASS_ON(err, H5Orefresh(o->native_id), "H5Orefresh");
    bkt_chunk_cache_drop(o->file->dom);
    o->has_chunks = false;
    return bkt_domain_refresh(o->file->dom, &o->obj->id, err);
}

static bool is_ending(void)
{
    hbool_t ending = false;
    return H5is_library_terminating(&ending) >= 0 && ending;
}

herr_t bkt_change_close(struct bkt_vobj *o)
{
    struct bkt_err   err = {.n = 0};
    struct bkt_file *f   = o->file;
    if (f && (o->type == H5I_FILE || f->refs == 1)) {
        int rc = bkt_change_flush(f, &err);
        if (rc < 0 && !is_ending())
            return bkt_h5err_publish(&err);
        if (rc < 0)
            (void)fprintf(stderr, "vol-bucket: %s: changes are lost: %s\n", f->name, err.n ? err.frame[0].msg : bkt_err_text(rc));
    }
    bkt_vobj_free(o);
    return 0;
}
