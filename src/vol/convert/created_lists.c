#include "vol/convert/created_lists.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"

/* The type is kept as bytes (H5Tencode()): programs count the ids of datatypes. */
struct created {
    hid_t          dcpl, space, made; /* 0: the entry is free */
    struct bkt_buf type;
};
static struct created kept[8];
static size_t         next;

static bool is_open(hid_t id) { return id > 0 && H5Iis_valid(id) > 0; }

static void drop(struct created *c)
{
    const hid_t ids[] = {c->dcpl, c->space, c->made};
    for (size_t i = 0; i < BKT_COUNT(ids); i++)
        if (is_open(ids[i]))
            (void)H5Idec_ref(ids[i]);
    bkt_buf_fini(&c->type);
    *c = (struct created){.made = 0};
}

static bool encode(hid_t type, struct bkt_buf *out)
{
    size_t n = 0;
    if (H5Tencode(type, NULL, &n) < 0 || bkt_buf_reserve(out, n) < 0 || H5Tencode(type, out->ptr, &n) < 0)
        return false;
    out->len = n;
    return true;
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

/* Whether the type holds no object of a file, as committed types, references and sequences can. */
static bool is_by_itself(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    return (class == H5T_INTEGER || class == H5T_FLOAT || (class == H5T_STRING && H5Tis_variable_str(type) == 0)) &&
           H5Tcommitted(type) == 0;
}

hid_t bkt_created_find(hid_t dcpl, hid_t type, hid_t space)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf want = {0};
    if (!is_by_itself(type) || !encode(type, &want))
        return H5I_INVALID_HID;
    for (size_t i = 0; i < BKT_COUNT(kept); i++) {
        const struct created *c = &kept[i];
        if (c->made > 0 && c->type.len == want.len && memcmp(c->type.ptr, want.ptr, want.len) == 0 &&
            H5Sextent_equal(c->space, space) > 0 && H5Pequal(c->dcpl, dcpl) > 0)
            return H5Pcopy(c->made);
    }
    return H5I_INVALID_HID;
}

void bkt_created_keep(hid_t dcpl, hid_t type, hid_t space, hid_t made)
{
    if (!is_lasting(dcpl) || !is_by_itself(type))
        return;
    struct created *c = &kept[next++ % BKT_COUNT(kept)];
    drop(c);
    c->dcpl  = H5Pcopy(dcpl);
    c->space = H5Scopy(space);
    c->made  = H5Pcopy(made);
    if (!encode(type, &c->type) || c->dcpl < 0 || c->space < 0 || c->made < 0)
        drop(c);
}

void bkt_created_term(void)
{
    hbool_t ending = true;
    bool    mine   = H5is_library_terminating(&ending) >= 0 && !ending; /* else HDF5 closes the ids itself */
    for (size_t i = 0; i < BKT_COUNT(kept); i++) {
        if (mine)
            drop(&kept[i]);
        bkt_buf_fini(&kept[i].type);
        kept[i] = (struct created){.made = 0};
    }
}
