/* Ids of open objects: their number, the list of them, and closing them with their file.  HDF5 knows the
 * ids, and this file knows the connector's objects. */
#include "vol/open/file_calls.h"

#include <H5VLconnector.h>
#include <stdlib.h>

struct listing {
    const struct bkt_vobj *of;    /* an object of the file */
    bool                   local; /* only objects that were opened through this handle of the file */
    hid_t                 *ids;
    size_t                 max, n;
};

bool bkt_file_is_same(const struct bkt_vobj *a, const struct bkt_vobj *b, bool local)
{
    return local ? a->file == b->file : a->file->dom == b->file->dom;
}

static bool is_in(const struct listing *l, const void *obj)
{
    const struct bkt_vobj *o = bkt_vobj_find(obj);
    return o && !o->outside && o->ops == l->of->ops && o->ops->is_same_file(o, l->of, l->local);
}

static herr_t list_id(hid_t id, void *arg)
{
    struct listing *l = arg;
    if (H5Iget_type(id) == H5I_DATATYPE && H5Tcommitted(id) <= 0)
        return 0;
    if (!is_in(l, H5VLobject(id)))
        return 0;
    if (l->ids && l->n < l->max)
        l->ids[l->n] = id;
    l->n++;
    return l->ids && l->n >= l->max ? 1 : 0;
}

static void list_ids(struct listing *l, unsigned types)
{
    static const struct {
        unsigned   flag;
        H5I_type_t type;
    } kinds[] = {{H5F_OBJ_FILE, H5I_FILE},
                 {H5F_OBJ_DATASET, H5I_DATASET},
                 {H5F_OBJ_GROUP, H5I_GROUP},
                 {H5F_OBJ_DATATYPE, H5I_DATATYPE},
                 {H5F_OBJ_ATTR, H5I_ATTR}};
    for (size_t i = 0; i < BKT_COUNT(kinds); i++)
        if (types & kinds[i].flag && !(l->ids && l->n >= l->max))
            (void)H5Iiterate(kinds[i].type, list_id, l);
}

int bkt_file_settle_degree(struct bkt_file *f, struct bkt_err *err)
{
    H5F_close_degree_t want = H5F_CLOSE_DEFAULT, has = H5F_CLOSE_DEFAULT;
    BKT_NEED_H5(err, H5Pget_fclose_degree(f->fapl, &want) >= 0, "asking for the file close degree");
    if (want == H5F_CLOSE_DEFAULT)
        want = H5F_CLOSE_WEAK;
    for (const struct bkt_file *other = bkt_file_next(NULL); other; other = bkt_file_next(other)) {
        if (other == f || other->dom != f->dom || !other->asked_for)
            continue;
        BKT_NEED_H5(err, H5Pget_fclose_degree(other->fapl, &has) >= 0, "asking for the file close degree");
        BKT_FAIL_IF(err, has != want, BKT_EINVAL, "%s is open already, with another file close degree",
                    f->name);
    }
    return BKT_PASS_H5(err, H5Pset_fclose_degree(f->fapl, want), "H5Pset_fclose_degree");
}

/* H5Pset_fclose_degree is left to the connector.  Objects still open keep the file open (weak, the
 * default), or are an error (semi), or are closed with it (strong). */
int bkt_file_close_others(struct bkt_vobj *o, struct bkt_err *err)
{
    H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;
    hbool_t            ending = false;
    struct listing     l      = {o, true, NULL, 0, 0};
    const unsigned     types  = H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_DATATYPE | H5F_OBJ_ATTR;
    if (H5is_library_terminating(&ending) < 0 || ending || H5Pget_fclose_degree(o->file->fapl, &degree) < 0 ||
        (degree != H5F_CLOSE_SEMI && degree != H5F_CLOSE_STRONG))
        return BKT_OK;
    list_ids(&l, types);
    if (l.n == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, degree == H5F_CLOSE_SEMI, BKT_EINVAL, "%s: %zu objects of the file are still open",
                o->file->name, l.n);
    BKT_CLEANUP(bkt_freep) hid_t *ids = calloc(l.n, sizeof *ids);
    BKT_NEED(err, ids);
    l = (struct listing){o, true, ids, l.n, 0};
    list_ids(&l, types);
    for (size_t i = 0; i < l.n; i++)
        while (H5Iis_valid(ids[i]) > 0 && H5Idec_ref(ids[i]) > 0)
            ;
    return BKT_OK;
}

int bkt_file_obj_count(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    unsigned       types = args->args.get_obj_count.types;
    struct listing l     = {o, (types & H5F_OBJ_LOCAL) != 0, NULL, 0, 0};
    (void)err;
    list_ids(&l, types);
    *args->args.get_obj_count.count = l.n;
    return BKT_OK;
}

int bkt_file_obj_ids(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err)
{
    H5VL_file_get_obj_ids_args_t *a = &args->args.get_obj_ids;
    struct listing                l = {o, (a->types & H5F_OBJ_LOCAL) != 0, a->oid_list, a->max_objs, 0};
    (void)err;
    list_ids(&l, a->types);
    *a->count = l.n;
    return BKT_OK;
}
