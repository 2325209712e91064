/* The form in which HDF5 stores elements with variable-length parts.
 *
 * H5Dget_type() returns the form in memory, where these parts have another size.  HDF5 moves the members of a
 * compound by the difference, in the order of their offsets. */
#include <stdlib.h>

#include "base/list.h"
#include "vol/dataset/plain/plain_heaps.h"

#define LEVELS 4 /* of sequences in sequences */

struct walk {
    unsigned               addr;
    struct bkt_heap_spots *out;
    unsigned               level;
};

static bool note(struct walk *w, size_t at)
{
    if (bkt_list_room(&w->out->at, w->out->n, &w->out->cap, sizeof *w->out->at) < 0)
        return false;
    w->out->at[w->out->n++] = at;
    return true;
}

static bool stored(struct walk *w, hid_t type, size_t at, size_t *size);

/* Sequences: a length, an address, an index.  Their elements lie in the heap. */
static bool sequence(struct walk *w, hid_t type, size_t at, size_t *size)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t base = H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : H5I_INVALID_HID;
    *size = 4 + w->addr + 4;
    if (!note(w, at + 4))
        return false;
    if (base < 0 || w->level == LEVELS)
        return true;
    struct bkt_heap_spots inner = {.n = 0};
    struct walk           deeper = {w->addr, &inner, w->level + 1};
    bool ok = stored(&deeper, base, 0, &inner.size);
    if (!ok || (!inner.n && !inner.n_inner) ||
        bkt_list_room(&w->out->inner, w->out->n_inner, &w->out->cap_inner, sizeof inner) < 0) {
        bkt_heap_spots_fini(&inner);
        return true; /* only this level is fetched */
    }
    w->out->inner[w->out->n_inner++] = inner;
    return true;
}

static bool array(struct walk *w, hid_t type, size_t at, size_t *size)
{
    hsize_t  dims[H5S_MAX_RANK];
    size_t   n = 1, one = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t base = H5Tget_super(type);
    int rank = H5Tget_array_dims2(type, dims);
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    if (rank < 0 || n > 4096) /* too many to note each */
        return false;
    for (size_t i = 0; i < n; i++)
        if (!stored(w, base, at + i * one, &one))
            return false;
    *size = n * one;
    return true;
}

struct member {
    size_t   offset;
    unsigned number;
};

static int by_offset(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool compound(struct walk *w, hid_t type, size_t at, size_t *size)
{
    int n = H5Tget_nmembers(type);
    BKT_CLEANUP(bkt_freep) struct member *m = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *m);
    size_t shrunk = 0, one = 0;
    for (unsigned i = 0; m && i < (unsigned)n; i++)
        m[i] = (struct member){H5Tget_member_offset(type, i), i};
    if (!m)
        return false;
    qsort(m, (size_t)n, sizeof *m, by_offset);
    for (int i = 0; i < n; i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t t = H5Tget_member_type(type, m[i].number);
        if (t < 0 || !stored(w, t, at + m[i].offset - shrunk, &one))
            return false;
        shrunk += H5Tget_size(t) - one; /* modulo 2^64: strings grow */
    }
    *size = H5Tget_size(type) - shrunk;
    return true;
}

static bool stored(struct walk *w, hid_t type, size_t at, size_t *size)
{
    H5T_class_t cls = H5Tget_class(type);
    *size           = H5Tget_size(type);
    if (cls == H5T_VLEN || H5Tis_variable_str(type) > 0)
        return sequence(w, type, at, size);
    if (cls == H5T_ARRAY)
        return array(w, type, at, size);
    if (cls == H5T_COMPOUND)
        return compound(w, type, at, size);
    if (cls != H5T_REFERENCE)
        return cls != H5T_NO_CLASS;
    if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) {
        *size = w->addr;
        return true;
    }
    *size = w->addr + 4;
    return H5Tequal(type, H5T_STD_REF_DSETREG) > 0 && note(w, at);
}

bool bkt_heap_spots_of(hid_t type, unsigned addr, struct bkt_heap_spots *out)
{
    struct walk w = {addr, out, 1};
    *out          = (struct bkt_heap_spots){.n = 0};
    bool ok       = addr >= 2 && addr <= 8 && stored(&w, type, 0, &out->size) && out->size;
    if (!ok)
        bkt_heap_spots_fini(out);
    return ok;
}

void bkt_heap_spots_fini(struct bkt_heap_spots *s)
{
    for (size_t i = 0; i < s->n_inner; i++)
        bkt_heap_spots_fini(&s->inner[i]);
    free(s->inner);
    free(s->at);
    *s = (struct bkt_heap_spots){.n = 0};
}
