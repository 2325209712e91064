/* References into other files.  The file is opened beside the source (load) or beside the new file (get), to
 * find the object's name or its address there.  If the connector opens a file meanwhile, it is this one,
 * under the name in the reference. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "vol/open/file_calls.h"
#include "tools/tree/tree_impl.h"

/* Looks for each file once, also for a missing one. */
static int find(struct tree *t, const char *name, hid_t *out, struct bkt_err *err)
{
    for (size_t i = 0; i < t->n_outside; i++)
        if (strcmp(t->outside[i].name, name) == 0) {
            *out = t->outside[i].file;
            return *out >= 0 ? BKT_OK : BKT_ERR(err, BKT_ENOENT, "%s can't be opened", name);
        }
    struct tree_outside *v = reallocarray(t->outside, t->n_outside + 1, sizeof *v);
    if (!v)
        BKT_NOMEM(err);
    t->outside = v;
    v += t->n_outside;
    *v = (struct tree_outside){.name = strdup(name), .file = H5I_INVALID_HID};
    if (!v->name)
        BKT_NOMEM(err);
    t->n_outside++;
    int rc = t->o->hooks.open_beside ? t->o->hooks.open_beside(t->o->hooks.arg, name, &v->file, err)
                                     : BKT_ERR(err, BKT_EUNSUP, "%s isn't opened", name);
    *out   = v->file;
    return rc;
}

static int open_known(void *arg, const char *name, hid_t *out, struct bkt_err *err)
{
    BKT_PASS(find(arg, name, out, err));
    return H5Iinc_ref(*out) < 0 ? h5_fail(err, name) : BKT_OK;
}

void tree_outside_fini(struct tree *t)
{
    for (size_t i = 0; i < t->n_outside; i++) {
        h5_closep(&t->outside[i].file);
        free(t->outside[i].name);
    }
    free(t->outside);
    h5_closep(&t->ours);
}

/* Copies a reference that HDF5 has read but not followed: a request for its object's name makes HDF5 open the
 * file, through our connector. */
static int from_file(struct tree *t, const H5R_ref_t *from, H5R_ref_t *to, struct bkt_err *err)
{
    const struct bkt_file_opener opener = {open_known, t};
    if (H5Rcopy(from, to) < 0)
        return h5_fail(err, "copying a reference");
    bkt_file_opener = &opener;
    ssize_t n       = H5Rget_obj_name(to, t->ours, NULL, 0);
    bkt_file_opener = NULL;
    if (n > 0)
        return BKT_OK;
    int rc = n < 0 ? h5_fail(err, "asking for the object of a reference")
                   : BKT_ERR(err, BKT_ENOENT, "its object has no name in that file");
    (void)H5Rdestroy(to);
    return rc;
}

/* A domain's reference knows the name; the file knows the address. */
static int from_domain(struct tree *t, const H5R_ref_t *from, const char *file, H5R_ref_t *to, struct bkt_err *err)
{
    const struct bkt_file_opener opener = {open_known, t};
    H5R_ref_t                   *ref    = (H5R_ref_t *)(uintptr_t)from;
    ssize_t                      n      = H5Rget_obj_name(ref, H5P_DEFAULT, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *name   = n < 0 ? NULL : calloc(1, (size_t)n + 1);
    if (n < 0)
        return h5_fail(err, "asking for the object of a reference");
    if (!name)
        BKT_NOMEM(err);
    if (H5Rget_obj_name(ref, H5P_DEFAULT, name, (size_t)n + 1) < 0)
        return h5_fail(err, "asking for the object of a reference");
    bkt_file_opener                  = &opener;
    BKT_CLEANUP(h5_closep) hid_t loc = H5Fopen(file, H5F_ACC_RDONLY, t->ours);
    bkt_file_opener                  = NULL;
    if (loc < 0)
        return h5_fail(err, file);
    return tree_ref_again(loc, name, from, to) < 0 ? h5_fail(err, name) : BKT_OK;
}

int tree_outside(struct tree *t, const H5R_ref_t *from, const char *file, H5R_ref_t *to, struct bkt_err *err)
{
    hid_t there;
    if (t->ours <= 0)
        BKT_PASS(h5_start(NULL, &t->ours, err));
    BKT_PASS(find(t, file, &there, err));
    return t->o->dst_native ? from_domain(t, from, file, to, err) : from_file(t, from, to, err);
}
