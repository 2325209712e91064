#define XXH_INLINE_ALL
#include "vol/core/foreign_ref.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "vol/core/file_handle.h"

/* ---- stored -> H5R_ref_t ---- */

static int stand_in(struct bkt_vobj *in_file, const struct bkt_regref *r, hid_t *out, struct bkt_err *err)
{
    struct bkt_vobj *o = NULL;
    BKT_PASS(bkt_file_root(in_file->file, H5I_FILE, &o, err));
    free(o->path);
    o->path    = strdup(r->name);
    o->outside = strdup(r->file);
    if (!o->path || !o->outside) {
        bkt_vobj_free(o);
        BKT_NOMEM(err);
    }
    *out = bkt_vobj_register(o, err);
    return *out < 0 ? BKT_EHDF5 : BKT_OK;
}

int bkt_outside_ref(struct bkt_vobj *in_file, const struct bkt_regref *r, hid_t region, H5R_ref_t *out,
                    struct bkt_err *err)
{
    hid_t  loc = H5I_INVALID_HID;
    herr_t rc;
    BKT_PASS(stand_in(in_file, r, &loc, err));
    if (r->kind == BKT_REGION_ATTR)
        rc = H5Rcreate_attr(loc, ".", r->attr, H5P_DEFAULT, out);
    else
        rc = region < 0 ? H5Rcreate_object(loc, ".", H5P_DEFAULT, out)
                        : H5Rcreate_region(loc, ".", region, H5P_DEFAULT, out);
    int code = rc < 0 ? bkt_h5err_capture(err, "making a reference into another file") : BKT_OK;
    (void)H5Idec_ref(loc); /* the reference holds it */
    return code;
}

void bkt_outside_token(const struct bkt_vobj *o, H5O_token_t *out)
{
    XXH64_hash_t h = XXH3_64bits(o->path, strlen(o->path));
    h              = XXH3_64bits_withSeed(o->outside, strlen(o->outside), h);
    memset(out, 0, sizeof *out);
    bkt_put_le(out->__data, sizeof h, h ? h : 1);
}

/* ---- H5R_ref_t -> stored ---- */

static int text_of(ssize_t (*ask)(const H5R_ref_t *ref, char *buf, size_t size), const H5R_ref_t *ref,
                   const char *what, char **out, struct bkt_err *err)
{
    ssize_t n = 0;
    BKT_PASS(PASS_ON(err, n = ask(ref, NULL, 0), what));
    *out = calloc(1, (size_t)n + 1);
    if (!*out)
        BKT_NOMEM(err);
    return PASS_ON(err, ask(ref, *out, (size_t)n + 1), what);
}

static ssize_t object_name(const H5R_ref_t *ref, char *buf, size_t size)
{
    return H5Rget_obj_name((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, buf, size);
}

int bkt_outside_describe(const H5R_ref_t *ref, struct bkt_regref *r, struct bkt_err *err)
{
    BKT_PASS(text_of(H5Rget_file_name, ref, "asking for the file of a reference", &r->file, err));
    BKT_PASS(text_of(object_name, ref, "asking for the object of a reference", &r->name, err));
    if (!*r->name)
        BKT_FAIL(err, BKT_EUNSUP, "a reference to an object in %s that has no name in that file", r->file);
    return BKT_OK;
}
