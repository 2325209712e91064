/* Iteration over links and objects.  The program's callback may do anything, even open and close files.
 * So everything that is used across a call is held by a reference.
 *
 * Members are fetched ahead in batches, so that a traversal waits once per batch and not once per object. */
#include "vol/path/iterate.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "vol/core/object_refs.h"
#include "vol/core/token.h"
#include "vol/core/vol.h"
#include "vol/path/path.h"

/* Members fetched together.  Two batches are under way at a time; larger batches gain little. */
#define PREFETCH 512

/* Place of the @p k-th of @p n named entries in an index order; H5_ITER_NATIVE is increasing. */
static size_t place_of(const uint32_t *by_creation, size_t n, H5_index_t idx, H5_iter_order_t order, size_t k)
{
    if (order == H5_ITER_DEC)
        k = n - 1 - k;
    return idx == H5_INDEX_CRT_ORDER ? by_creation[k] : k;
}

int bkt_iterate_nth_link(const struct bkt_vobj *group, H5_index_t idx, H5_iter_order_t order, hsize_t n,
                         const struct bkt_link **out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, group->type != H5I_GROUP && group->type != H5I_FILE, BKT_EINVAL,
                "%s: not a group, it has no links", group->path ? group->path : group->obj->id.text);
    const struct bkt_links *l = bkt_links_settle(&group->obj->group.links);
    BKT_FAIL_IF(err, n >= l->n, BKT_ERANGE, "link number %llu of a group with %zu links",
                (unsigned long long)n, l->n);
    *out = &l->v[place_of(l->order, l->n, idx, order, (size_t)n)];
    return BKT_OK;
}

void bkt_iterate_link_info(const struct bkt_object *group, const struct bkt_link *l, H5L_info2_t *out)
{
    static const H5L_type_t types[] = {[BKT_L_HARD]     = H5L_TYPE_HARD,
                                       [BKT_L_SOFT]     = H5L_TYPE_SOFT,
                                       [BKT_L_EXTERNAL] = H5L_TYPE_EXTERNAL,
                                       [BKT_L_USER]     = H5L_TYPE_MAX,
                                       [BKT_L_OTHER]    = H5L_TYPE_MAX};
    memset(out, 0, sizeof *out);
    if (group->track_order & 1) { /* numbers are right in a settled list only; settling moves links, but
                                     not their names */
        const char *name = l->name;
        l                = bkt_links_find(bkt_links_settle(&group->group.links), name);
        if (!l)
            return;
    }
    out->type         = l->cls == BKT_L_USER ? (H5L_type_t)l->ud_type : types[l->cls];
    out->corder_valid = group->track_order & 1;
    out->corder       = out->corder_valid ? (int64_t)l->seq : 0;
    out->cset         = l->name_utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII;
    if (l->cls == BKT_L_HARD)
        bkt_token_of(&l->id, &out->u.token);
    else if (l->cls == BKT_L_SOFT)
        out->u.val_size = strlen(l->path ? l->path : "") + 1;
    else if (l->cls == BKT_L_EXTERNAL) /* a flags byte, then both strings, as HDF5 packs them */
        out->u.val_size = 1 + strlen(l->file ? l->file : "") + 1 + strlen(l->path ? l->path : "") + 1;
    else if (l->cls == BKT_L_USER)
        out->u.val_size = l->ud.len;
}

/* ---- fetching ahead ---- */

static void prefetch(struct bkt_vobj *group, H5_index_t idx, H5_iter_order_t order, size_t from, size_t n)
{
    const struct bkt_links *l = bkt_links_settle(&group->obj->group.links);
    if (!bkt_domain_settings(group->file->dom)->read_ahead || from >= l->n)
        return;
    n                  = n < l->n - from ? n : l->n - from;
    struct bkt_id *ids = malloc(n * sizeof *ids);
    size_t         m   = 0;
    for (size_t i = 0; ids && i < n; i++) {
        const struct bkt_link *x = &l->v[place_of(l->order, l->n, idx, order, from + i)];
        if (x->cls == BKT_L_HARD)
            ids[m++] = x->id;
    }
    if (m)
        bkt_domain_prefetch(group->file->dom, ids, m);
    free(ids);
}

static void prefetch_at(struct bkt_vobj *group, H5_index_t idx, H5_iter_order_t order, size_t first, size_t i)
{
    if (i == first)
        prefetch(group, idx, order, i, 2 * (size_t)PREFETCH);
    else if ((i - first) % PREFETCH == 0)
        prefetch(group, idx, order, i + PREFETCH, PREFETCH);
}

/* ---- one walk for H5Literate, H5Lvisit and H5Ovisit ---- */

struct tour {
    hid_t            start_id;
    bool             recursive;
    H5_index_t       idx;
    H5_iter_order_t  order;
    struct bkt_map  *entered;  /* ids of groups */
    struct bkt_map  *reported; /* ids of objects; NULL under H5Lvisit */
    struct bkt_buf   path;     /* relative to the start */
    H5L_iterate2_t   link_op;  /* either */
    H5O_iterate2_t   object_op;
    unsigned         fields;
    void            *op_data;
    unsigned         depth;
    struct bkt_err  *err;
};

/* true once per id */
static bool first_time(struct bkt_map *seen, const struct bkt_id *id)
{
    static char yes;
    if (bkt_map_get(seen, id->text, BKT_ID_LEN))
        return false;
    return bkt_map_put(seen, id->text, BKT_ID_LEN, &yes, NULL) == BKT_OK;
}

/* The program's callback has failed with any negative value; the connector's are codes. */
static herr_t answer_of(herr_t program)
{
    return program < 0 ? -1 : program;
}

static herr_t report_object(struct tour *t, struct bkt_vobj *o, const char *path)
{
    H5O_info2_t info;
    int rc = bkt_vobj_info(o, t->fields, &info, t->err);
    return rc < 0 ? rc : answer_of(t->object_op(t->start_id, path, &info, t->op_data));
}

static herr_t tour_group(struct tour *t, struct bkt_vobj *group, hsize_t *idx_p);

/* Behind a hard link: report the object, enter the group. */
static herr_t tour_member(struct tour *t, struct bkt_vobj *group, const struct bkt_id *id, const char *name)
{
    bool report = t->object_op && first_time(t->reported, id);
    bool enter  = bkt_id_kind(id) == BKT_GROUP && first_time(t->entered, id);
    if (!report && !enter)
        return 0;
    struct bkt_vobj *o  = NULL;
    int              rc = bkt_path_open(group, name, H5P_DEFAULT, &o, t->err);
    if (rc < 0)
        return rc;
    herr_t ret = 0;
    if (report)
        ret = report_object(t, o, bkt_buf_str(&t->path));
    if (ret == 0 && enter && o->file && o->obj->kind == BKT_GROUP)
        ret = tour_group(t, o, NULL);
    bkt_vobj_free(o);
    return ret;
}

/* The program's callback may change the group, so only copies of the link's data are used after it. */
static herr_t tour_link(struct tour *t, struct bkt_vobj *group, const struct bkt_link *l)
{
    size_t        keep = t->path.len;
    bool          hard = l->cls == BKT_L_HARD;
    struct bkt_id id   = l->id;
    if ((keep && bkt_buf_add(&t->path, "/", 1) < 0) || bkt_buf_add_str(&t->path, l->name) < 0)
        return BKT_ERR(t->err, BKT_ENOMEM, "out of memory");
    size_t at  = keep ? keep + 1 : 0;
    herr_t ret = 0;
    if (t->link_op) {
        H5L_info2_t info;
        bkt_iterate_link_info(group->obj, l, &info);
        ret = answer_of(t->link_op(t->start_id, bkt_buf_str(&t->path), &info, t->op_data));
    }
    if (ret == 0 && t->recursive && hard &&
        bkt_links_find(&group->obj->group.links, bkt_buf_str(&t->path) + at))
        ret = tour_member(t, group, &id, bkt_buf_str(&t->path) + at);
    bkt_buf_cut(&t->path, keep);
    return ret;
}

/* The names of a group in the order of the walk, in a row, each with a NUL; used only if the names may
 * change on the way. */
static int names_now(const struct tour *t, const struct bkt_vobj *group, struct bkt_buf *out)
{
    const struct bkt_links *l = bkt_links_settle(&group->obj->group.links);
    for (size_t i = 0; i < l->n; i++) {
        const char *name = l->v[place_of(l->order, l->n, t->idx, t->order, i)].name;
        BKT_PASS(bkt_buf_add(out, name, strlen(name) + 1));
    }
    return BKT_OK;
}

static bool may_change(const struct bkt_domain *dom)
{
    for (const struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        if (f->dom == dom && f->flags & H5F_ACC_RDWR)
            return true;
    return false;
}

static herr_t tour_links(struct tour *t, struct bkt_vobj *group, hsize_t *idx_p, struct bkt_buf *names)
{
    const struct bkt_links *links = bkt_links_settle(&group->obj->group.links);
    size_t                  first = idx_p ? (size_t)*idx_p : 0, n = links->n;
    bool                    fixed = !may_change(group->file->dom);
    herr_t                  ret   = 0;
    if (!fixed && names_now(t, group, names) < 0)
        return BKT_ERR(t->err, BKT_ENOMEM, "out of memory");
    const char *name = fixed ? NULL : bkt_buf_str(names);
    for (size_t i = 0; i < n && ret == 0; i++, name += fixed ? 0 : strlen(name) + 1) {
        if (i < first)
            continue;
        if (fixed && bkt_links_settle(links)->n !=
                         n) /* H5Orefresh(), or opened for writing, in the program's callback */
            break;
        prefetch_at(group, t->idx, t->order, first, i);
        const struct bkt_link *l =
            fixed ? &links->v[place_of(links->order, n, t->idx, t->order, i)] : bkt_links_find(links, name);
        ret = l ? tour_link(t, group, l) : 0;
        if (idx_p)
            *idx_p = i + 1;
    }
    return ret;
}

static herr_t tour_group(struct tour *t, struct bkt_vobj *group, hsize_t *idx_p)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf names = {0};
    /* group cycles end at `entered`; this limit bounds the stack for absurdly deep trees: with 8 MiB of
     * stack HDF5 crashes at 20,000 levels of its own files */
    if (++t->depth > 10000)
        return BKT_ERR(t->err, BKT_EFORMAT, "%s: groups nested more than 10000 deep", group->file->name);
    herr_t ret = tour_links(t, group, idx_p, &names);
    t->depth--;
    return ret;
}

static herr_t tour_run(struct tour *t, struct bkt_vobj *start, hsize_t *idx_p)
{
    struct bkt_vobj *mine =
        bkt_vobj_new(start->file, bkt_vobj_type_of(start->obj), bkt_object_retain(start->obj), start->path);
    BKT_PASS(bkt_vobj_register(mine, &t->start_id, t->err));
    herr_t ret  = -1;
    t->entered  = bkt_map_new();
    t->reported = bkt_map_new();
    if (!t->entered || !t->reported)
        BKT_ERR(t->err, BKT_ENOMEM, "out of memory");
    else {
        uint64_t links = 1;
        if (t->recursive)
            bkt_domain_follow(mine->file->dom, mine->obj);
        (void)first_time(t->entered, &start->obj->id);
        /* H5Ovisit remembers the start only if more than one link leads to it */
        if (t->object_op &&
            (bkt_domain_link_count(start->file->dom, &start->obj->id, &links, NULL) < 0 || links > 1))
            (void)first_time(t->reported, &start->obj->id);
        ret = t->object_op ? report_object(t, start, ".") : 0;
        if (ret == 0 && start->obj->kind == BKT_GROUP)
            ret = tour_group(t, start, idx_p);
        if (t->recursive)
            bkt_domain_unfollow(mine->file->dom); /* the program may have closed its own handle */
    }
    bkt_map_free(t->entered, NULL);
    bkt_map_free(t->reported, NULL);
    bkt_buf_fini(&t->path);
    /* the error of the program's own callback must outlast the next call */
    hid_t said = ret < 0 && t->err->n == 0 ? H5Eget_current_stack() : H5I_INVALID_HID;
    (void)H5Idec_ref(t->start_id);
    if (said >= 0)
        (void)H5Eset_current_stack(said);
    return ret;
}

herr_t bkt_iterate_links(struct bkt_vobj *group, const H5VL_link_iterate_args_t *a, struct bkt_err *err)
{
    struct tour t = {.recursive = a->recursive,
                     .idx = a->idx_type,
                     .order = a->order,
                     .link_op = a->op,
                     .op_data = a->op_data,
                     .err = err};
    BKT_FAIL_IF(err, group->obj->kind != BKT_GROUP, BKT_EINVAL, "%s: not a group, it has no links",
                group->path ? group->path : group->obj->id.text);
    BKT_FAIL_IF(err, a->idx_p && *a->idx_p > 0 && *a->idx_p >= group->obj->group.links.n, BKT_ERANGE,
                "iteration starts at link %llu of %zu", (unsigned long long)*a->idx_p,
                group->obj->group.links.n);
    return tour_run(&t, group, a->recursive ? NULL : a->idx_p);
}

herr_t bkt_iterate_objects(struct bkt_vobj *start, const H5VL_object_visit_args_t *a, struct bkt_err *err)
{
    struct tour t = {.recursive = true,
                     .idx       = a->idx_type,
                     .order     = a->order,
                     .object_op = a->op,
                     .fields    = a->fields,
                     .op_data   = a->op_data,
                     .err       = err};
    return tour_run(&t, start, NULL);
}
