/* Open files, and the objects behind ids, of which each open file has a list. */
#include <H5VLconnector.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os/comm.h"
#include "bkt_config.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"

hid_t bkt_hid_hold(hid_t id) { return H5Iinc_ref(id) < 0 ? H5I_INVALID_HID : id; }

bool bkt_hid_is_ours(hid_t id)
{
    char name[16] = "";
    return H5VLget_connector_name(id, name, sizeof name) >= 0 && strcmp(name, BKT_CONNECTOR_NAME) == 0;
}

/* ---- open files ---- */

/* HDF5's global lock guards them. */
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
    if (f->drop_links)
        f->drop_links(f);
    forget(f);
    bkt_native_header_release();
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
    f->old_calls = bkt_native_header_is_wanted();
    bkt_native_header_acquire(f->old_calls);
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
    return BKT_MADE(err, *out);
}

/* ---- objects ---- */

H5I_type_t bkt_vobj_type_of(const struct bkt_object *obj)
{
    switch (obj->kind) {
        case BKT_DATASET:
            return H5I_DATASET;
        case BKT_DATATYPE:
            return H5I_DATATYPE;
        case BKT_GROUP:
        default:
            return H5I_GROUP;
    }
}

struct bkt_vobj *bkt_vobj_behind(hid_t *id)
{
    struct bkt_vobj *o = bkt_hid_is_ours(*id) ? H5VLobject(*id) : NULL;
    if (!o || o->native_id < 0)
        return o;
    *id = o->native_id;
    return NULL;
}

bool bkt_vobj_id_is_plain(hid_t id)
{
    const struct bkt_vobj *o = bkt_hid_is_ours(id) ? H5VLobject(id) : NULL;
    return o && o->native_id >= 0;
}

/* HDF5's global lock guards them */
static struct bkt_vobj *plain_objects;
static size_t n_unnumbered; /* of all open objects; if 0, as mostly, no search is needed */

struct bkt_vobj *bkt_vobj_plain(void) { return plain_objects; }

struct bkt_vobj *bkt_vobj_find(const void *obj)
{
    for (const struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        for (struct bkt_vobj *o = f->objects; o; o = o->next)
            if (o == obj)
                return o;
    for (struct bkt_vobj *o = plain_objects; o; o = o->next)
        if (o == obj)
            return o;
    return NULL;
}

bool bkt_vobj_is_in_file_of(const struct bkt_vobj *o, const void *obj)
{
    const struct bkt_vobj *other = bkt_vobj_find(obj);
    return other && !o->outside && !other->outside && other->ops == o->ops &&
           o->ops->is_same_file(o, other, false);
}

static struct bkt_vobj *make(const struct bkt_ops *ops, H5I_type_t type, bool old_calls,
                             struct bkt_vobj **list)
{
    struct bkt_vobj *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->has_native_header = bkt_native_header_put(o->native_header, type, old_calls);
    o->ops       = ops;
    o->type      = type;
    o->native_id = o->dapl = o->file_type = H5I_INVALID_HID;
    o->prev                               = list;
    o->next                               = *list;
    if (o->next)
        o->next->prev = &o->next;
    *list = o;
    return o;
}

struct bkt_vobj *bkt_vobj_new(struct bkt_file *file, H5I_type_t type, const struct bkt_object *obj,
                              const char *path)
{
    char            *p = path ? strdup(path) : NULL;
    struct bkt_vobj *o = path && !p ? NULL : make(&bkt_domain_ops, type, file->old_calls, &file->objects);
    if (!o) {
        free(p);
        bkt_object_release(obj);
        return NULL;
    }
    o->obj  = obj;
    o->path = p;
    o->file = file;
    file->refs++;
    return o;
}

struct bkt_vobj *bkt_vobj_new_plain(const struct bkt_ops *ops, H5I_type_t type)
{
    bool old_calls = bkt_native_header_is_wanted();
    bkt_native_header_acquire(old_calls); /* a domain's file holds the native headers of its objects */
    struct bkt_vobj *o = make(ops, type, old_calls, &plain_objects);
    if (!o)
        bkt_native_header_release();
    return o;
}

void bkt_vobj_drop_id(hid_t id)
{
    hbool_t ending = false;
    if (id >= 0 && H5is_library_terminating(&ending) >= 0 && !ending)
        (void)H5Idec_ref(id);
}

void bkt_vobj_keep_id(hid_t id)
{
    if (id >= 0)
        (void)H5Iinc_ref(id);
}

void bkt_vobj_forget_id(hid_t id)
{
    for (int i = 0; i < 2 && id >= 0 && H5Iis_valid(id) > 0; i++)
        bkt_vobj_drop_id(id);
}

/* Another handle on the object, through any handle of the domain; @p held: the one that keeps account. */
static struct bkt_vobj *other_handle(const struct bkt_vobj *o, bool held)
{
    for (struct bkt_file *f = o->file ? bkt_file_next(NULL) : NULL; f; f = bkt_file_next(f))
        for (struct bkt_vobj *x = f->dom == o->file->dom ? f->objects : NULL; x; x = x->next)
            if (x != o && x->type == o->type && x->mdc_held == held &&
                strcmp(x->obj->id.text, o->obj->id.text) == 0)
                return x;
    return NULL;
}

struct bkt_vobj *bkt_vobj_mdc_holder(struct bkt_vobj *o)
{
    return o->mdc_held ? o : other_handle(o, true);
}

void bkt_vobj_free(struct bkt_vobj *o)
{
    if (!o)
        return;
    struct bkt_vobj *heir = o->mdc_held ? other_handle(o, false) : NULL;
    if (heir)
        heir->mdc_held = true;
    /* The id is still in HDF5's table.  If this is the last object, the file behind the native headers is
     * closed. HDF5 then looks through all datasets for those that lie in that file. */
    memset(o->native_header, 0, sizeof o->native_header);
    if (o->plain_dataset)
        o->plain_dataset_free(o->plain_dataset);
    bkt_dsetio_close(o->io);
    bkt_buf_fini(&o->chunks);
    bkt_map_free(o->reported, NULL);
    bkt_vobj_drop_id(o->dapl);
    bkt_vobj_drop_id(o->file_type);
    bkt_buf_fini(&o->encoded_type);
    bkt_vobj_forget_id(o->native_id);
    n_unnumbered -= o->unnumbered;
    *o->prev = o->next;
    if (o->next)
        o->next->prev = o->prev;
    if (o->file) {
        if (o->file->handle == o)
            o->file->handle = NULL;
        bkt_file_release(o->file);
    } else
        bkt_native_header_release();
    bkt_object_release(o->obj);
    free(o->path);
    free(o->attr_name);
    if (o->attr_gone)
        bkt_attr_fini(o->attr_gone);
    free(o->attr_gone);
    free(o->outside);
    free(o->called);
    free(o);
}

void bkt_vobj_set_unnumbered(struct bkt_vobj *attr)
{
    n_unnumbered += !attr->unnumbered;
    attr->unnumbered = true;
}

bool bkt_attr_is_unnumbered(const struct bkt_domain *dom, const struct bkt_object *obj,
                            const struct bkt_attr *a)
{
    for (struct bkt_file *f = n_unnumbered ? bkt_file_next(NULL) : NULL; f; f = bkt_file_next(f))
        for (struct bkt_vobj *o = f->dom == dom ? f->objects : NULL; o; o = o->next)
            if (o->unnumbered && o->attr_created == a->created && strcmp(o->attr_name, a->name) == 0 &&
                strcmp(o->obj->id.text, obj->id.text) == 0)
                return true;
    return false;
}

int bkt_vobj_register(struct bkt_vobj *o, hid_t *out, struct bkt_err *err)
{
    BKT_NEED(err, o);
    *out = H5VLwrap_register(o, o->type);
    if (*out >= 0)
        return BKT_OK;
    int rc = bkt_h5err_capture(err, "making an id");
    bkt_vobj_free(o);
    return rc;
}
