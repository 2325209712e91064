/* The copier: references into other files.  The file is opened beside the source (load) or beside the new
 * file (get), to find the object's name or its address there.  While HDF5 follows such a reference, the
 * connector opens this file in place of the name in the reference. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "vol/copy/copier_impl.h"
#include "vol/core/object_refs.h"
#include "vol/open/file_calls.h"

/* Looks for each file once, also for a missing one. */
static int find(struct bkt_copier *c, const char *name, hid_t *out, struct bkt_err *err)
{
    for (size_t i = 0; i < c->n_outside; i++)
        if (strcmp(c->outside[i].name, name) == 0) {
            *out = c->outside[i].file;
            return *out >= 0 ? BKT_OK : BKT_ERR(err, BKT_ENOENT, "%s can't be opened", name);
        }
    BKT_PASS_MEM(err, bkt_list_room(&c->outside, c->n_outside, &c->cap_outside, sizeof *c->outside));
    struct bkt_copy_outside *v = &c->outside[c->n_outside];
    *v = (struct bkt_copy_outside){.name = strdup(name), .file = H5I_INVALID_HID};
    BKT_NEED(err, v->name);
    c->n_outside++;
    int rc = c->o->hooks.open_beside ? c->o->hooks.open_beside(c->o->hooks.arg, name, &v->file, err)
                                     : BKT_ERR(err, BKT_EUNSUP, "%s: this copy opens no other files", name);
    *out = v->file;
    return rc;
}

static int open_known(void *arg, const char *name, hid_t *out, struct bkt_err *err)
{
    BKT_PASS(find(arg, name, out, err));
    return H5Iinc_ref(*out) < 0 ? bkt_h5err_capture(err, name) : BKT_OK;
}

void bkt_copy_outside_fini(struct bkt_copier *c)
{
    for (size_t i = 0; i < c->n_outside; i++) {
        bkt_hid_closep(&c->outside[i].file);
        free(c->outside[i].name);
    }
    free(c->outside);
    bkt_hid_closep(&c->ours);
}

/* Copies a reference that HDF5 has read but not followed: a request for its object's name makes HDF5 open the
 * file, through the connector. */
static int from_file(struct bkt_copier *c, const H5R_ref_t *from, H5R_ref_t *to, struct bkt_err *err)
{
    const struct bkt_file_opener opener = {open_known, c};
    if (H5Rcopy(from, to) < 0)
        return c->o->hooks.fail(err, "copying a reference");
    bkt_file_opener = &opener;
    ssize_t n = H5Rget_obj_name(to, c->ours, NULL, 0);
    bkt_file_opener = NULL;
    if (n > 0)
        return BKT_OK;
    int rc = n < 0 ? c->o->hooks.fail(err, "asking for the object of a reference")
                   : BKT_ERR(err, BKT_ENOENT, "its object has no name in that file");
    (void)H5Rdestroy(to);
    return rc;
}

/* A domain's reference knows the name; the file knows the address. */
static int from_domain(struct bkt_copier *c, const H5R_ref_t *from, const char *file, H5R_ref_t *to,
                       struct bkt_err *err)
{
    const struct bkt_file_opener opener = {open_known, c};
    ssize_t n = bkt_ref_object_name(from, NULL, 0);
    BKT_CLEANUP(bkt_freep) char *name = n < 0 ? NULL : calloc(1, (size_t)n + 1);
    if (n < 0)
        return c->o->hooks.fail(err, "asking for the object of a reference");
    BKT_NEED(err, name);
    if (bkt_ref_object_name(from, name, (size_t)n + 1) < 0)
        return c->o->hooks.fail(err, "asking for the object of a reference");
    bkt_file_opener = &opener;
    BKT_CLEANUP(bkt_hid_closep) hid_t loc = H5Fopen(file, H5F_ACC_RDONLY, c->ours);
    bkt_file_opener = NULL;
    if (loc < 0)
        return c->o->hooks.fail(err, file);
    return bkt_copy_ref_again(loc, name, from, to) < 0 ? c->o->hooks.fail(err, name) : BKT_OK;
}

int bkt_copy_outside(struct bkt_copier *c, const H5R_ref_t *from, const char *file, H5R_ref_t *to,
                     struct bkt_err *err)
{
    hid_t there;
    if (c->ours < 0)
        BKT_PASS(c->o->hooks.connector(NULL, &c->ours, err));
    BKT_PASS(find(c, file, &there, err));
    return !bkt_vobj_of_id(c->root) ? from_domain(c, from, file, to, err) : from_file(c, from, to, err);
}
