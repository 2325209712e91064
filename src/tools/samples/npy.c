#include "tools/samples/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "samples/names/literal.h"
#include "samples/numpy_type.h"
#include "vol/core/hid.h"

/* numpy's letters for a type ("<f4", "|b1"); false: it has none, or no sample can have it. */
static bool descr_of(hid_t type, char out[16])
{
    char letter;
    size_t size;
    if (!bkt_numpy_letter(type, &letter, &size) || letter == 'c')
        return false;
    char order = size == 1 ? '|' : H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<';
    (void)snprintf(out, 16, "%c%c%zu", order, letter, size);
    return true;
}

void npy_name(hid_t type, char out[16])
{
    static const char *const words[] = {['i'] = "int", ['u'] = "uint", ['f'] = "float"};
    char letter;
    size_t size;
    bool known = bkt_numpy_letter(type, &letter, &size) && letter != 'c';
    if (known && letter != 'b')
        (void)snprintf(out, 16, "%s%zu", words[(unsigned char)letter], 8 * size);
    else
        (void)snprintf(out, 16, "%s", known ? "bool" : "?");
}

hid_t npy_type(const char *descr)
{
    const char *p    = descr + (*descr && strchr("<>|=", *descr) != NULL);
    char       *end  = NULL;
    size_t      size = *p ? strtoul(p + 1, &end, 10) : 0;
    bool big = *descr == '>' && size > 1;
    if (strcmp(p, "?") == 0)
        return bkt_numpy_bool();
    return !size || *end || *p == 'c'
               ? H5I_INVALID_HID
               : bkt_numpy_of_letter(*p, size, big ? H5T_ORDER_BE : H5Tget_order(H5T_NATIVE_INT));
}

int npy_head(hid_t type, int rank, const hsize_t *shape, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf dict = {0};
    char descr[16];
    BKT_FAIL_IF(err, !descr_of(type, descr), BKT_EUNSUP, "numpy has no letters for the type; use raw");
    int rc = bkt_buf_addf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank && rc == BKT_OK; i++)
        rc = bkt_buf_addf(&dict, "%llu%s", (unsigned long long)shape[i],
                          i + 1 < rank ? ", "
                          : rank == 1  ? ","
                                       : "");
    rc = rc ? rc : bkt_buf_add_str(&dict, "), }");
    while (rc == BKT_OK && (10 + dict.len + 1) % 64)
        rc = bkt_buf_add_str(&dict, " ");
    unsigned char head[10] = "\x93NUMPY\x01";
    bkt_put_le(head + 8, 2, dict.len + 1);
    BKT_NEED(err, rc >= 0 && bkt_buf_add(out, head, sizeof head) >= 0 &&
                      bkt_buf_add(out, dict.ptr, dict.len) >= 0 && bkt_buf_add_str(out, "\n") >= 0);
    return BKT_OK;
}

static int measure(struct npy *n, size_t file_size, struct bkt_err *err)
{
    size_t all = n->elem;
    for (int i = 0; i < n->rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_size(all, n->shape[i], &all), BKT_EFORMAT, "its shape is impossible");
    BKT_FAIL_IF(err, all > file_size - n->at, BKT_EFORMAT, "it is cut: %zu bytes of elements of %zu",
                file_size - n->at, all);
    n->bytes = all;
    return BKT_OK;
}

int npy_parse(const struct bkt_buf *file, struct npy *out, struct bkt_err *err)
{
    struct bkt_literal descr, order, shape;
    char letters[16] = "";
    memset(out, 0, sizeof *out);
    out->type = H5I_INVALID_HID;
    BKT_FAIL_IF(err, file->len < 12 || memcmp(file->ptr, "\x93NUMPY", 6) != 0, BKT_EFORMAT,
                "not an .npy file; raw bytes need --type and --shape");
    unsigned wide = file->ptr[6] > 1 ? 4 : 2;
    size_t   n    = (size_t)bkt_get_le(file->ptr + 8, wide);
    out->at = 8 + wide + n;
    BKT_FAIL_IF(err, out->at < n || out->at > file->len, BKT_EFORMAT, "its header is cut");
    struct bkt_literal dict = {(const char *)file->ptr + 8 + wide, n};
    BKT_PASS(bkt_literal_check(dict, err));
    BKT_FAIL_IF(
        err,
        !bkt_literal_find(dict, "descr", &descr) || !bkt_literal_find(dict, "fortran_order", &order) ||
            !bkt_literal_find(dict, "shape", &shape) || !bkt_literal_shape(shape, &out->rank, out->shape),
        BKT_EFORMAT, "its header lacks a type, an order or a shape");
    BKT_FAIL_IF(err, strncmp(order.p, "False", 5) != 0 && out->rank > 1, BKT_EUNSUP,
                "it is in Fortran order; samples are in C order");
    (void)bkt_literal_text(descr, letters, sizeof letters);
    hid_t type = npy_type(letters);
    BKT_FAIL_IF(err, type < 0, BKT_EUNSUP, "samples can't have its type %s",
                *letters ? letters : "(a compound)");
    out->elem = H5Tget_size(type);
    int rc = measure(out, file->len, err);
    if (rc < 0)
        bkt_hid_closep(&type);
    out->type = type;
    return rc;
}
