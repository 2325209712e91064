/* The copier: places of the copies that exist already, and committed types.  A committed type is copied once,
 * also if many objects use it. */
#include <stdlib.h>
#include <string.h>

#include "vol/copy/copier_impl.h"
#include "vol/core/object_refs.h"

/* The place of the copy of an object */
struct place {
    hid_t base; /* held: the root, a copy that was made without a name, or a committed type without links */
    char *path; /* from base; ".": base itself */
};

static void place_free(void *arg)
{
    struct place *p = arg;
    bkt_hid_closep(&p->base);
    free(p->path);
    free(p);
}

void bkt_copy_places_fini(struct bkt_copier *c)
{
    bkt_map_free(c->places, place_free);
}

static int identify(const struct bkt_copier *c, hid_t obj, struct bkt_copied *what)
{
    memset(what, 0, sizeof *what); /* the map compares it as bytes */
    return bkt_copy_source_rc(c, bkt_vobj_identify(obj, &what->fileno, &what->token, c->err));
}

int bkt_copy_find(const struct bkt_copier *c, hid_t from, hid_t *loc, const char **name)
{
    struct bkt_copied what;
    BKT_PASS(identify(c, from, &what));
    const struct place *p = bkt_map_get(c->places, &what, sizeof what);
    *loc = p ? p->base : H5I_INVALID_HID;
    *name = p ? p->path : NULL;
    return BKT_OK;
}

int bkt_copy_remember(struct bkt_copier *c, hid_t from, hid_t self)
{
    struct bkt_copied what;
    BKT_PASS(identify(c, from, &what));
    struct place *p = calloc(1, sizeof *p);
    hid_t base = self < 0 ? c->base : self;
    if (!p || !(p->path = strdup(self < 0 ? bkt_buf_str(&c->path) : ".")) ||
        bkt_map_put(c->places, &what, sizeof what, p, NULL) < 0) {
        if (p)
            free(p->path);
        free(p);
        BKT_NOMEM(c->err);
    }
    p->base = bkt_hid_hold(base);
    return p->base < 0 ? bkt_copy_failed(c, "holding an object") : BKT_OK;
}

void bkt_copy_forget(struct bkt_copier *c, hid_t from)
{
    struct bkt_copied what;
    struct place *p = identify(c, from, &what) < 0 ? NULL : bkt_map_del(c->places, &what, sizeof what);
    if (p)
        place_free(p);
}

int bkt_copy_link_again(const struct bkt_copier *c, hid_t loc, const char *path, hid_t dst, const char *name,
                        hid_t lcpl)
{
    herr_t rc = strcmp(path, ".") == 0 ? H5Olink(loc, dst, name, lcpl, H5P_DEFAULT)
                                       : H5Lcreate_hard(loc, path, dst, name, lcpl, H5P_DEFAULT);
    return rc < 0 ? bkt_copy_failed(c, "making a hard link") : BKT_OK;
}

/* ---- committed types ---- */

static int commit(const struct bkt_copier *c, hid_t from, hid_t tcpl, hid_t dst, const char *name, hid_t lcpl,
                  hid_t *out)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(from);
    if (type < 0)
        return bkt_copy_unreadable(c, "reading a committed datatype");
    herr_t rc = name ? H5Tcommit2(dst, name, type, lcpl, tcpl, H5P_DEFAULT)
                     : H5Tcommit_anon(dst, type, tcpl, H5P_DEFAULT);
    if (rc < 0)
        return bkt_copy_failed(c, "committing a datatype");
    return bkt_hid_give(&type, out);
}

int bkt_copy_committed(struct bkt_copier *c, hid_t from, hid_t dst, const char *name, hid_t lcpl, hid_t *out)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t to = H5I_INVALID_HID, tcpl = H5Tget_create_plist(from);
    if (tcpl < 0)
        return bkt_copy_unreadable(c, "reading a committed datatype");
    BKT_PASS(bkt_copy_merged(c, from, &to));
    bool fresh = to < 0;
    if (fresh)
        BKT_PASS(commit(c, from, tcpl, dst, name, lcpl, &to));
    else if (name)
        BKT_PASS(bkt_copy_link_again(c, to, ".", dst, name, lcpl));
    /* before its attributes: one may have this very type */
    BKT_PASS(bkt_copy_remember(c, from, name ? H5I_INVALID_HID : to));
    if (fresh)
        BKT_PASS(bkt_copy_attributes(c, from, to, tcpl, name != NULL));
    return bkt_hid_give(&to, out);
}

int bkt_copy_type(struct bkt_copier *c, hid_t type, hid_t *out)
{
    hid_t loc;
    const char *path;
    *out = H5I_INVALID_HID;
    if (H5Tcommitted(type) <= 0) {
        *out = bkt_hid_hold(type);
        return *out < 0 ? bkt_copy_failed(c, "copying a datatype") : BKT_OK;
    }
    BKT_PASS(bkt_copy_find(c, type, &loc, &path));
    if (!path) /* its link comes later, or never */
        return bkt_copy_committed(c, type, c->root, NULL, H5P_DEFAULT, out);
    *out = strcmp(path, ".") == 0 ? bkt_hid_hold(loc) : H5Topen2(loc, path, H5P_DEFAULT);
    return *out < 0 ? bkt_copy_failed(c, "finding the copy of a committed datatype") : BKT_OK;
}
