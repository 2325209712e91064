/* Shared by the files of the scanner (format_scan.h): checked reading of bytes, checked reports of finds. */
#pragma once

#include <string.h>

#include "base/bytes.h"
#include "vol/vfd/format_scan.h"

#define LOOK_UNDEFINED   UINT64_MAX
#define LOOK_HEADER_SIZE 512       /* a guess for object headers, HDF5's own first read */
#define LOOK_STRUCT_MAX  (1 << 20) /* larger structures are not looked at */

struct bkt_look {
    struct bkt_h5scan_file *f;
    const struct bkt_h5scan_find *what;
    bkt_h5scan_found *found;
    void *arg;
    uint64_t need; /* bytes, if more are needed */
};

typedef void bkt_look_fn(struct bkt_look *l, const unsigned char *p, uint64_t n);

/* ---- reading ---- */

/* Lengths of the format may be larger than a size_t. */
static inline const void *look_take(struct bkt_rd *in, uint64_t n)
{
    return bkt_rd_take(in, n > SIZE_MAX ? SIZE_MAX : (size_t)n);
}

static inline void look_skip(struct bkt_rd *in, uint64_t n)
{
    (void)look_take(in, n);
}

static inline bool look_has_sign(const unsigned char *p, uint64_t n, const char *sign)
{
    return n >= 4 && memcmp(p, sign, 4) == 0;
}

/* The next @p n bytes, on their own. */
static inline struct bkt_rd look_part(struct bkt_rd *in, uint64_t n)
{
    const void *p = look_take(in, n);
    struct bkt_rd r = bkt_rd_of(p, p ? (size_t)n : 0);
    r.ok = in->ok;
    return r;
}

/* ---- finds ---- */

/* An address of the format: relative to the base, all ones if undefined. */
static inline uint64_t look_address(struct bkt_look *l, struct bkt_rd *in)
{
    unsigned n = l->f->offset_bytes;
    uint64_t a = bkt_rd_le(in, n);
    if (!in->ok || (n < 8 ? a == (UINT64_C(1) << 8 * n) - 1 : a == LOOK_UNDEFINED))
        return LOOK_UNDEFINED;
    return a > UINT64_MAX - l->f->base ? LOOK_UNDEFINED : a + l->f->base;
}

static inline uint64_t look_length(const struct bkt_look *l, struct bkt_rd *in)
{
    return bkt_rd_le(in, l->f->length_bytes);
}

static inline void look_find(struct bkt_look *l, enum bkt_h5scan_kind kind, enum bkt_h5scan_relation rel,
                             uint64_t addr, uint64_t size, struct bkt_h5scan_context ctx)
{
    if (addr == LOOK_UNDEFINED || addr >= l->f->size || !size)
        return;
    if (size > l->f->size - addr)
        size = l->f->size - addr;
    l->found(l->arg, &(struct bkt_h5scan_find){kind, rel, addr, size, ctx});
}

static inline void look_find_header(struct bkt_look *l, enum bkt_h5scan_relation rel, uint64_t addr)
{
    look_find(l, BKT_H5SCAN_HEADER, rel, addr, LOOK_HEADER_SIZE, (struct bkt_h5scan_context){0, 0});
}

/* Whether @p size bytes from the structure's start are at hand, of @p n; else they are asked for. */
static inline bool look_enough(struct bkt_look *l, uint64_t size, uint64_t n)
{
    if (size <= n)
        return true;
    if (size <= LOOK_STRUCT_MAX && size <= l->f->size - l->what->addr)
        l->need = size;
    return false;
}

/* ---- tables (format_tables.c) ---- */

bkt_look_fn bkt_look_tree, bkt_look_local_heap, bkt_look_heap, bkt_look_heap_rows, bkt_look_tree2,
    bkt_look_tree2_node, bkt_look_array, bkt_look_array_index, bkt_look_array_secondary;

/** Size of a node of a version 1 B-tree: of a group (@p dims 0), or of chunks with @p dims in their keys. */
uint64_t bkt_look_tree_size(const struct bkt_h5scan_file *f, uint64_t dims);

/* ---- messages (format_scan.c) ---- */

/** A fractal heap's direct block: the links in it. */
bkt_look_fn bkt_look_heap_block;
/** One link message; afterwards @p in is behind it. */
void bkt_look_link(struct bkt_look *l, struct bkt_rd *in);
