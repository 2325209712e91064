#include "vol/core/file_handle.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

/* HDF5's global lock guards them */
static struct bkt_file *open_files;
static unsigned long next_fileno = 1;

static void remember(struct bkt_file *f)
{
    f->fileno = 0;
    for (struct bkt_file *o = open_files; o; o = o->next)
        if (o->dom == f->dom)
            f->fileno = o->fileno;
    if (!f->fileno)
        f->fileno = next_fileno++;
    f->next = open_files;
    open_files = f;
}

struct bkt_file *bkt_file_next(const struct bkt_file *f)
{
    return f ? f->next : open_files;
}

static void forget(const struct bkt_file *f)
{
    struct bkt_file **p = &open_files;
    while (*p && *p != f)
        p = &(*p)->next;
    if (*p)
        *p = f->next;
}

static void file_free(struct bkt_file *f)
{
    bkt_file_drop_links(f);
    forget(f);
    bkt_face_release();
    bkt_vobj_drop_id(f->fapl);
    if (f->dom)
        bkt_ahead_stop(f->dom);
    if (f->shared_reads)
        bkt_domain_share(f->dom, NULL);
    bkt_node_reads_free(f->shared_reads);
    bkt_domain_close(f->dom);
    bkt_comm_close(f->comm);
    free(f->name);
    free(f);
}

void bkt_file_release(struct bkt_file *f)
{
    if (f && --f->refs == 0)
        file_free(f);
}

int bkt_file_new(struct bkt_domain *dom, const char *name, unsigned flags, hid_t fapl, struct bkt_file **out,
                 struct bkt_err *err)
{
    struct bkt_file *f = calloc(1, sizeof *f);
    if (!f || !(f->name = strdup(name))) {
        free(f);
        bkt_domain_close(dom);
        BKT_NOMEM(err);
    }
    f->old_calls = bkt_face_is_wanted();
    bkt_face_acquire(f->old_calls);
    f->dom = dom;
    f->refs = 1;
    f->flags = flags;
    f->fapl = fapl == H5P_DEFAULT ? H5Pcreate(H5P_FILE_ACCESS) : H5Pcopy(fapl);
    if (f->fapl < 0) {
        bkt_file_release(f);
        return bkt_h5err_capture(err, "copying the file access list");
    }
    remember(f);
    *out = f;
    return BKT_OK;
}

int bkt_file_root(struct bkt_file *f, H5I_type_t type, struct bkt_vobj **out, struct bkt_err *err)
{
    const struct bkt_object *root = NULL;
    BKT_TRY(err, bkt_domain_get(f->dom, bkt_domain_root(f->dom), &root, err),
            "%s: its root group can't be read", f->name);
    if (root->kind != BKT_GROUP) {
        bkt_object_release(root);
        BKT_FAIL(err, BKT_EFORMAT, "%s: the root %s is not a group", f->name, bkt_domain_root(f->dom)->text);
    }
    *out = bkt_vobj_new(f, type, root, "/");
    return *out ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}
