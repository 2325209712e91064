/* Shared by the files of the scanner (format_scan.h): checked reading of bytes, checked reports of finds. */
#pragma once

#include <string.h>

#include "base/bytes.h"
#include "vol/vfd/format_scan.h"

#define UNDEFINED   UINT64_MAX
#define HEADER_SIZE 512       /* a guess for object headers, HDF5's own first read */
#define STRUCT_MAX  (1 << 20) /* larger structures are not looked at */

struct look {
    struct scan_file *f;
    const struct scan_find *what;
    scan_found *found;
    void *arg;
    uint64_t need; /* bytes, if more are needed */
};

typedef void look_fn(struct look *l, const unsigned char *p, uint64_t n);

/* ---- reading ---- */

/* Lengths of the format may be larger than a size_t. */
static inline const void *take(struct bkt_rd *in, uint64_t n)
{
    return bkt_rd_take(in, n > SIZE_MAX ? SIZE_MAX : (size_t)n);
}

static inline void skip(struct bkt_rd *in, uint64_t n)
{
    (void)take(in, n);
}

static inline bool is_sign(const unsigned char *p, uint64_t n, const char *sign)
{
    return n >= 4 && memcmp(p, sign, 4) == 0;
}

/* The next @p n bytes, on their own. */
static inline struct bkt_rd part(struct bkt_rd *in, uint64_t n)
{
    const void *p = take(in, n);
    struct bkt_rd r = bkt_rd_of(p, p ? (size_t)n : 0);
    r.ok = in->ok;
    return r;
}

/* ---- finds ---- */

/* An address of the format: relative to the base, all ones if undefined. */
static inline uint64_t address(struct look *l, struct bkt_rd *in)
{
    unsigned n = l->f->offset_bytes;
    uint64_t a = bkt_rd_le(in, n);
    if (!in->ok || (n < 8 ? a == (UINT64_C(1) << 8 * n) - 1 : a == UNDEFINED))
        return UNDEFINED;
    return a > UINT64_MAX - l->f->base ? UNDEFINED : a + l->f->base;
}

static inline uint64_t length(const struct look *l, struct bkt_rd *in)
{
    return bkt_rd_le(in, l->f->length_bytes);
}

static inline void find(struct look *l, enum scan_kind kind, enum scan_relation rel, uint64_t addr,
                        uint64_t size, struct scan_context ctx)
{
    if (addr == UNDEFINED || addr >= l->f->size || !size)
        return;
    if (size > l->f->size - addr)
        size = l->f->size - addr;
    l->found(l->arg, &(struct scan_find){kind, rel, addr, size, ctx});
}

static inline void find_header(struct look *l, enum scan_relation rel, uint64_t addr)
{
    find(l, SCAN_HEADER, rel, addr, HEADER_SIZE, (struct scan_context){0, 0});
}

/* Whether @p size bytes from the structure's start are at hand, of @p n; else they are asked for. */
static inline bool enough(struct look *l, uint64_t size, uint64_t n)
{
    if (size <= n)
        return true;
    if (size <= STRUCT_MAX && size <= l->f->size - l->what->addr)
        l->need = size;
    return false;
}

/* ---- tables (format_tables.c) ---- */

look_fn look_tree, look_local_heap, look_heap, look_heap_rows, look_tree2, look_tree2_node, look_array,
    look_array_index, look_array_secondary;

/** Size of a node of a version 1 B-tree: of a group (@p dims 0), or of chunks with @p dims in their keys. */
uint64_t tree_size(const struct scan_file *f, uint64_t dims);

/* ---- messages (format_scan.c) ---- */

/** A fractal heap's direct block: the links in it. */
look_fn look_heap_block;
/** One link message; afterwards @p in is behind it. */
void look_link(struct look *l, struct bkt_rd *in);
