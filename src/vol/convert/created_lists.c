#include "vol/convert/created_lists.h"

#include <stdbool.h>

#include "base/err.h"

struct created {
    hid_t dcpl, type, space, made; /* 0: the entry is free */
};
static struct created kept[8];
static size_t         next;

static bool is_open(hid_t id) { return id > 0 && H5Iis_valid(id) > 0; }

static void drop(struct created *c)
{
    const hid_t ids[] = {c->dcpl, c->type, c->space, c->made};
    for (size_t i = 0; i < BKT_COUNT(ids); i++)
        if (is_open(ids[i]))
            (void)H5Idec_ref(ids[i]);
    *c = (struct created){.made = 0};
}

/* Whether HDF5 alone decides about the list: its own filters always complete it in the same way. */
static bool is_lasting(hid_t dcpl)
{
    H5D_layout_t layout = H5Pget_layout(dcpl);
    int          n      = H5Pget_nfilters(dcpl);
    if ((layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) || H5Pget_external_count(dcpl) != 0 || n < 0)
        return false;
    for (unsigned i = 0; i < (unsigned)n; i++) {
        unsigned flags, config;
        size_t   none = 0;
        if (H5Pget_filter2(dcpl, i, &flags, &none, NULL, 0, NULL, &config) >= H5Z_FILTER_RESERVED)
            return false;
    }
    return true;
}

hid_t bkt_created_find(hid_t dcpl, hid_t type, hid_t space)
{
    for (size_t i = 0; i < BKT_COUNT(kept); i++) {
        const struct created *c = &kept[i];
        if (c->made > 0 && H5Sextent_equal(c->space, space) > 0 && H5Tequal(c->type, type) > 0 && H5Pequal(c->dcpl, dcpl) > 0)
            return H5Pcopy(c->made);
    }
    return H5I_INVALID_HID;
}

void bkt_created_keep(hid_t dcpl, hid_t type, hid_t space, hid_t made)
{
    if (!is_lasting(dcpl))
        return;
    struct created *c = &kept[next++ % BKT_COUNT(kept)];
    drop(c);
    *c = (struct created){H5Pcopy(dcpl), H5Tcopy(type), H5Scopy(space), H5Pcopy(made)};
    if (c->dcpl < 0 || c->type < 0 || c->space < 0 || c->made < 0)
        drop(c);
}

void bkt_created_term(void)
{
    hbool_t ending = true;
    bool    mine   = H5is_library_terminating(&ending) >= 0 && !ending; /* else HDF5 closes the ids itself */
    for (size_t i = 0; i < BKT_COUNT(kept); i++) {
        if (mine)
            drop(&kept[i]);
        kept[i] = (struct created){.made = 0};
    }
}
