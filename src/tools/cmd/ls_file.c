/* h5bucket ls of a plain HDF5 file: its objects, as those of a domain. */
#include "tools/bucket/plain_walk.h"
#include "tools/cmd/ls.h"
#include "tools/source/plain_name.h"
#include "tools/source/plain_object.h"

struct state {
    struct bkt_ls           *ls;
    const struct plain_file *p;
    hid_t                    dset; /* the object that is shown */
};

static int count_chunks(void *arg, const struct bkt_object *o, struct bkt_extent_use *out,
                        struct bkt_err *err)
{
    const struct state *s = arg;
    (void)o;
    return plain_where(s->dset, s->p->uri, out, err);
}

static int on_step(const struct plain_step *st, void *arg)
{
    struct state          *s     = arg;
    const struct bkt_where where = {.count = count_chunks, .arg = s, .id = "address"};
    s->dset                      = st->id;
    bkt_ls_step(s->ls, &st->s, &where);
    return BKT_OK;
}

void bkt_ls_file(struct bkt_ls *ls, struct plain_file *p)
{
    struct state   s   = {.ls = ls, .p = p, .dset = H5I_INVALID_HID};
    struct bkt_err err = {.n = 0};
    bkt_jout_open(&ls->j, NULL, '{');
    bkt_jout_str(&ls->j, "kind", "file");
    bkt_jout_url(&ls->j, "file", p->uri);
    bkt_jout_open(&ls->j, "objects", '[');
    if (plain_walk(p->file, p->inner, ls->recursive ? UINT32_MAX : 1, ls->attrs, on_step, &s, &err) < 0)
        ls->rc = bkt_tool_error(ls->t, p->uri, &err);
    bkt_jout_close(&ls->j);
    bkt_jout_close(&ls->j);
}
