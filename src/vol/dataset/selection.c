/* The selections of a read or a write, in the file and in memory.  Also moves elements between selected
 * memory and our own. */
#include <stdlib.h>
#include <string.h>

#include "vol/dataset/dataset_calls.h"
#include "vol/plain/plain_file.h"
#include "vol/core/transfer_list.h"

void bkt_dsel_fini(struct bkt_dsel *s)
{
    free(s->file_runs);
    free(s->mem_runs);
}

/* Whether a selection is one stretch of memory, and its beginning. */
static bool is_flat(const struct bkt_sel *s, uint64_t *at)
{
    uint64_t size = 1;
    bool     open = true; /* all faster dimensions are selected whole */
    *at = 0;
    if (s->kind == BKT_SEL_ALL)
        return true;
    if (s->kind == BKT_SEL_RUNS) {
        *at = s->n_runs == 1 ? s->runs[0].off : 0;
        return s->n_runs == 1;
    }
    for (unsigned i = s->rank; i-- > 0;) {
        if (s->count[i] > 1 && (s->stride[i] != 1 || !open))
            return false;
        if (s->block[i] != 1)
            return false;
        open = open && s->start[i] == 0 && s->count[i] == s->dims[i];
        *at += s->start[i] * size;
        size *= s->dims[i];
    }
    return true;
}

static int memory_selection(struct bkt_dsel *s, hid_t mem_space, hid_t file_space, struct bkt_err *err)
{
    if (mem_space == H5S_ALL)
        mem_space = file_space;
    s->mem_space = mem_space;
    if (mem_space == H5S_ALL || mem_space == H5S_BLOCK) {
        s->flat        = true;
        s->mem.n_elems = s->file.n_elems;
        return BKT_OK;
    }
    BKT_TRY(err, bkt_convert_selection(mem_space, NULL, &s->mem, &s->mem_runs, err), "memory selection");
    s->flat = s->mem.n_elems > 0 && is_flat(&s->mem, &s->flat_at);
    return BKT_OK;
}

int bkt_dsel_init(struct bkt_dsel *s, const struct bkt_vobj *dset, hid_t mem_space, hid_t file_space,
                  struct bkt_err *err)
{
    if (file_space == H5S_PLIST)
        BKT_FAIL(err, BKT_EUNSUP, "a selection from the transfer property list (H5S_PLIST)");
    BKT_TRY(err, bkt_convert_selection(file_space, &dset->obj->dset.space, &s->file, &s->file_runs, err),
            "file selection");
    BKT_PASS(memory_selection(s, mem_space, file_space, err));
    if (s->mem.n_elems != s->file.n_elems)
        BKT_FAIL(err, BKT_EINVAL, "%llu elements selected in the file, %llu in memory",
                 (unsigned long long)s->file.n_elems, (unsigned long long)s->mem.n_elems);
    return BKT_OK;
}

int bkt_dsel_move(hid_t iter, unsigned char *buf, unsigned char *packed, size_t n, bool out,
                  struct bkt_err *err)
{
    hsize_t off[512];
    size_t  len[512], n_seq, n_elems;
    while (n > 0) {
        if (H5Ssel_iter_get_seq_list(iter, BKT_COUNT(len), n, &n_seq, &n_elems, off, len) < 0)
            return bkt_h5err_capture(err, "iterating over the memory selection");
        if (n_elems == 0)
            BKT_FAIL(err, BKT_EHDF5, "the memory selection ended before its last element");
        for (size_t i = 0; i < n_seq; i++) {
            memcpy(out ? buf + off[i] : packed, out ? packed : buf + off[i], len[i]);
            packed += len[i];
        }
        n -= n_elems;
    }
    return BKT_OK;
}

bool bkt_dsel_has_transform(hid_t dxpl)
{
    ssize_t n;
    if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT)
        return false;
    H5E_BEGIN_TRY
    {
        n = H5Pget_data_transform(dxpl, NULL, 0);
    }
    H5E_END_TRY
    return n > 0;
}

static hid_t dataset_in_memory(hid_t file, hid_t type, size_t n)
{
    hsize_t                           dim   = n;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(1, &dim, NULL);
    return space < 0 ? space : H5Dcreate_anon(file, type, space, H5P_DEFAULT, H5P_DEFAULT);
}

/* No public call evaluates the expression, so HDF5 writes the elements with it to a file in memory. */
int bkt_dsel_transform(hid_t dxpl, hid_t mem_type, void *elems, size_t n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5I_INVALID_HID;
    BKT_PASS(bkt_xfer_alone(dxpl, &list, err));
    BKT_CLEANUP(bkt_hid_closep) hid_t file = bkt_native_in_memory(1 << 20);
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = file < 0 ? file : dataset_in_memory(file, mem_type, n);
    if (dset < 0 || H5Dwrite(dset, mem_type, H5S_ALL, H5S_ALL, list, elems) < 0 ||
        H5Dread(dset, mem_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elems) < 0)
        return bkt_h5err_capture(err, "the data transform");
    return BKT_OK;
}
