/* Structures that lead to others by tables: B-trees, fractal heaps, arrays of chunks (format_scan.h). */
#include "vol/vfd/scanner_impl.h"

#define MAX_DEPTH 32 /* of trees */

/* ---- groups of the old format, and version 1 B-trees ---- */

uint64_t bkt_look_tree_size(const struct bkt_h5scan_file *f, uint64_t dims)
{
    uint64_t o = f->offset_bytes, k = dims ? f->chunk_k : f->node_k;
    uint64_t key = dims ? 8 + 8 * dims : f->length_bytes;
    return 8 + 2 * o + 2 * k * o + (2 * k + 1) * key;
}

static uint64_t entry_size(const struct bkt_h5scan_file *f)
{
    return 2 * (uint64_t)f->offset_bytes + 24;
}

/* An entry of a symbol table node; a group's tree and heap may be cached in it. */
static void look_entry(struct bkt_look *l, struct bkt_rd *in)
{
    look_skip(in, l->f->offset_bytes);
    uint64_t header = look_address(l, in);
    look_skip(in, 24);
    if (in->ok)
        look_find_header(l, BKT_H5SCAN_REL_MEMBER, header);
}

static void look_symbols(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    look_skip(&in, 6);
    uint64_t count = bkt_rd_le(&in, 2);
    if (count > 2 * (uint64_t)l->f->leaf_k || !look_enough(l, 8 + count * entry_size(l->f), n))
        return;
    while (count-- && in.ok)
        look_entry(l, &in);
}

void bkt_look_tree(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    uint64_t dims = l->what->ctx.a;
    if (look_has_sign(p, n, "SNOD")) {
        look_symbols(l, p, n);
        return;
    }
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    look_skip(&in, 4);
    uint64_t type = bkt_rd_le(&in, 1), level = bkt_rd_le(&in, 1), used = bkt_rd_le(&in, 2);
    if (!in.ok || !look_has_sign(p, n, "TREE") || type > 1 || (type == 1) != (dims > 0) || level > MAX_DEPTH)
        return;
    uint64_t key = dims ? 8 + 8 * dims : l->f->length_bytes;
    if (!look_enough(l, 8 + 2 * (uint64_t)l->f->offset_bytes + used * (key + l->f->offset_bytes), n))
        return;
    look_skip(&in, 2 * (uint64_t)l->f->offset_bytes);
    while (used-- && in.ok && (level || !dims)) {
        look_skip(&in, key);
        uint64_t child = look_address(l, &in);
        uint64_t size =
            level ? bkt_look_tree_size(l->f, dims) : 8 + 2 * (uint64_t)l->f->leaf_k * entry_size(l->f);
        look_find(l, BKT_H5SCAN_TREE, dims ? BKT_H5SCAN_REL_INDEX_NODE : BKT_H5SCAN_REL_LINK_NODE, child,
                  size, l->what->ctx);
    }
}

void bkt_look_local_heap(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    look_skip(&in, 8);
    uint64_t size = look_length(l, &in);
    (void)look_length(l, &in);
    uint64_t data = look_address(l, &in);
    if (look_has_sign(p, n, "HEAP") && in.ok)
        look_find(l, BKT_H5SCAN_LEAF, BKT_H5SCAN_REL_PART, data, size, (struct bkt_h5scan_context){0, 0});
}

/* ---- fractal heaps ---- */

struct heap {
    unsigned width, rows, max_bits, attributes, filtered, checked;
    uint64_t start, max_direct; /* block sizes, powers of 2 */
};

static unsigned log2_of(uint64_t v)
{
    return v ? 63 - (unsigned)__builtin_clzll(v) : 0;
}

static struct bkt_h5scan_context heap_pack(const struct heap *h)
{
    return (struct bkt_h5scan_context){h->width | (uint64_t)h->rows << 16 | (uint64_t)h->max_bits << 32,
                                       h->attributes | (uint64_t)h->filtered << 1 |
                                           (uint64_t)h->checked << 2 | (uint64_t)log2_of(h->start) << 8 |
                                           (uint64_t)log2_of(h->max_direct) << 16};
}

static struct heap heap_unpack(struct bkt_h5scan_context c)
{
    return (struct heap){.width = c.a & 0xffff,
                         .rows = c.a >> 16 & 0xffff,
                         .max_bits = c.a >> 32 & 0xffff,
                         .attributes = c.b & 1,
                         .filtered = c.b >> 1 & 1,
                         .checked = c.b >> 2 & 1,
                         .start = UINT64_C(1) << (c.b >> 8 & 63),
                         .max_direct = UINT64_C(1) << (c.b >> 16 & 63)};
}

static enum bkt_h5scan_relation heap_relation(const struct heap *h)
{
    return h->attributes ? BKT_H5SCAN_REL_ATTR_NODE : BKT_H5SCAN_REL_LINK_NODE;
}

static unsigned direct_rows(const struct heap *h)
{
    return log2_of(h->max_direct) - log2_of(h->start) + 2;
}

static uint64_t row_size(const struct heap *h, unsigned row)
{
    return row < 2 ? h->start : row - 1 < 40 ? h->start << (row - 1) : 0;
}

static uint64_t rows_size(const struct bkt_look *l, const struct heap *h)
{
    uint64_t o = l->f->offset_bytes, direct = direct_rows(h);
    direct = direct < h->rows ? direct : h->rows;
    return 5 + o + (h->max_bits + 7) / 8 +
           direct * h->width * (h->filtered ? o + l->f->length_bytes + 4 : o) +
           (h->rows - direct) * h->width * o + 4;
}

static bool heap_is_sane(const struct heap *h)
{
    return h->width && h->width <= 1024 && h->rows <= 64 && h->max_bits && h->max_bits <= 64 && h->start &&
           !(h->start & (h->start - 1)) && h->max_direct >= h->start &&
           !(h->max_direct & (h->max_direct - 1)) && h->max_direct <= LOOK_STRUCT_MAX * UINT64_C(64);
}

void bkt_look_heap(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    struct heap h = {.attributes = l->what->ctx.a & 1};
    unsigned o = l->f->offset_bytes, len = l->f->length_bytes;
    look_skip(&in, 7);
    h.filtered = bkt_rd_le(&in, 2) != 0;
    h.checked = bkt_rd_le(&in, 1) >> 1 & 1;
    look_skip(&in, 4 + 2 * (uint64_t)o + 10 * (uint64_t)len);
    h.width = (unsigned)bkt_rd_le(&in, 2);
    h.start = look_length(l, &in);
    h.max_direct = look_length(l, &in);
    h.max_bits = (unsigned)bkt_rd_le(&in, 2);
    look_skip(&in, 2);
    uint64_t root = look_address(l, &in);
    h.rows = (unsigned)bkt_rd_le(&in, 2);
    uint64_t filtered = h.filtered ? look_length(l, &in) : 0;
    if (!look_has_sign(p, n, "FRHP") || !in.ok || !heap_is_sane(&h))
        return;
    if (h.rows)
        look_find(l, BKT_H5SCAN_HEAP_ROWS, heap_relation(&h), root, rows_size(l, &h), heap_pack(&h));
    else
        look_find(l, BKT_H5SCAN_HEAP_BLOCK, heap_relation(&h), root, h.filtered ? filtered : h.start,
                  heap_pack(&h));
}

/* The number of rows of an indirect block in row @p row: those whose blocks fill it. */
static unsigned rows_below(const struct heap *h, unsigned row)
{
    unsigned size = log2_of(row_size(h, row)), first = log2_of(h->start) + log2_of(h->width);
    return size > first ? size - first + 1 : 1;
}

void bkt_look_heap_rows(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct heap h = heap_unpack(l->what->ctx);
    if (!look_has_sign(p, n, "FHIB") || !heap_is_sane(&h) || !look_enough(l, rows_size(l, &h), n))
        return;
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    look_skip(&in, 5 + (uint64_t)l->f->offset_bytes + (h.max_bits + 7) / 8);
    for (unsigned row = 0; row < h.rows && in.ok; row++)
        for (unsigned i = 0; i < h.width && in.ok; i++) {
            bool direct = row < direct_rows(&h);
            uint64_t child = look_address(l, &in), size = row_size(&h, row);
            struct heap below = h;
            if (direct && h.filtered) {
                size = look_length(l, &in);
                look_skip(&in, 4);
            }
            if (!direct) {
                below.rows = rows_below(&h, row);
                size = rows_size(l, &below);
            }
            look_find(l, direct ? BKT_H5SCAN_HEAP_BLOCK : BKT_H5SCAN_HEAP_ROWS, heap_relation(&h), child,
                      size, heap_pack(&below));
        }
}

/* A direct block: its objects follow each other, until some were deleted. */
void bkt_look_heap_block(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct heap h = heap_unpack(l->what->ctx);
    if (!look_has_sign(p, n, "FHDB") || h.attributes || h.filtered)
        return;
    uint64_t size = l->what->size < LOOK_STRUCT_MAX ? l->what->size : LOOK_STRUCT_MAX;
    if (!look_enough(l, size, n))
        return;
    struct bkt_rd in = bkt_rd_of(p, (size_t)size);
    look_skip(&in, 5 + (uint64_t)l->f->offset_bytes + (h.max_bits + 7) / 8 + (h.checked ? 4 : 0));
    while (in.ok && bkt_rd_left(&in))
        bkt_look_link(l, &in);
}

/* ---- version 2 B-trees ---- */

struct tree2 {
    uint64_t record; /* bytes of one */
    unsigned depth, what;
};

static uint64_t tree2_pack(const struct tree2 *t)
{
    return t->record | (uint64_t)t->depth << 16 | (uint64_t)t->what << 32;
}

static enum bkt_h5scan_relation tree2_relation(unsigned what)
{
    return what == 2   ? BKT_H5SCAN_REL_INDEX_NODE
           : what == 1 ? BKT_H5SCAN_REL_ATTR_NODE
                       : BKT_H5SCAN_REL_LINK_NODE;
}

void bkt_look_tree2(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    struct tree2 t = {.what = (unsigned)l->what->ctx.a};
    look_skip(&in, 6);
    uint64_t node = bkt_rd_le(&in, 4);
    t.record = bkt_rd_le(&in, 2);
    t.depth = (unsigned)bkt_rd_le(&in, 2);
    look_skip(&in, 2);
    uint64_t root = look_address(l, &in), count = bkt_rd_le(&in, 2);
    if (look_has_sign(p, n, "BTHD") && in.ok && t.depth <= MAX_DEPTH && node <= LOOK_STRUCT_MAX)
        look_find(l, BKT_H5SCAN_TREE2_NODE, tree2_relation(t.what), root, node,
                  (struct bkt_h5scan_context){tree2_pack(&t), count});
}

static unsigned bytes_for(uint64_t v)
{
    return log2_of(v) / 8 + 1;
}

/* Sizes of the two counts in a pointer to a node of @p depth - 1 (H5B2's rules: the format's III.A.2). */
static bool pointer_sizes(const struct tree2 *t, uint64_t node, unsigned o, unsigned *count, unsigned *all)
{
    uint64_t most = t->record && node > 10 ? (node - 10) / t->record : 0, total = most;
    *count = bytes_for(most);
    *all = 0;
    for (unsigned u = 1; u < t->depth; u++) {
        uint64_t pointer = o + *count + *all, here = (node - 10 - pointer) / (t->record + pointer);
        if (node < 10 + pointer || __builtin_mul_overflow(here + 1, total, &total) ||
            __builtin_add_overflow(total, here, &total))
            return false;
        *all = bytes_for(total);
    }
    return most > 0;
}

void bkt_look_tree2_node(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct tree2 t = {l->what->ctx.a & 0xffff, l->what->ctx.a >> 16 & 0xffff,
                      (unsigned)(l->what->ctx.a >> 32) & 3};
    uint64_t node = l->what->size, count = l->what->ctx.b;
    unsigned n_count, n_all;
    if (!t.depth || !look_has_sign(p, n, "BTIN") ||
        !pointer_sizes(&t, node, l->f->offset_bytes, &n_count, &n_all))
        return; /* a leaf's records name no structures */
    if (count > node || !look_enough(l, node, n))
        return;
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    look_skip(&in, 6 + count * t.record);
    struct tree2 below = {t.record, t.depth - 1, t.what};
    for (uint64_t i = 0; i <= count && in.ok; i++) {
        uint64_t child = look_address(l, &in), records = bkt_rd_le(&in, n_count);
        look_skip(&in, t.depth > 1 ? n_all : 0);
        if (in.ok)
            look_find(l, BKT_H5SCAN_TREE2_NODE, tree2_relation(t.what), child, node,
                      (struct bkt_h5scan_context){tree2_pack(&below), records});
    }
}

/* ---- arrays of chunks ---- */

/* An extensible array's parameters, in the context of its blocks. */
struct array {
    unsigned element;   /* bytes of one */
    unsigned least;     /* elements of the smallest data block */
    unsigned secondary; /* addresses of data blocks in the smallest secondary block */
    unsigned bits;      /* of the number of elements */
    unsigned page;      /* log2 of the elements of a page */
};

static uint64_t array_pack(const struct array *a)
{
    return a->element | a->least << 8 | a->secondary << 16 | (uint64_t)a->bits << 24 |
           (uint64_t)a->page << 32;
}

static struct array array_unpack(uint64_t v)
{
    return (struct array){v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24 & 255, v >> 32 & 255};
}

/* Level @p u has 2^(u/2) data blocks of least * 2^((u+1)/2) elements each. */
static uint64_t blocks_of(unsigned u)
{
    return UINT64_C(1) << u / 2;
}

static uint64_t elements_of(const struct array *a, unsigned u)
{
    return (uint64_t)a->least << (u + 1) / 2;
}

static bool is_power(uint64_t v)
{
    return v && !(v & (v - 1));
}

static bool array_is_sane(const struct array *a)
{
    return a->element && is_power(a->least) && is_power(a->secondary) && a->bits <= 64 && a->page < 32 &&
           a->bits >= log2_of(a->least);
}

/* Levels whose data blocks the index block names itself; all levels. */
static unsigned first_levels(const struct array *a)
{
    return 2 * log2_of(a->secondary);
}

static unsigned all_levels(const struct array *a)
{
    return 1 + a->bits - log2_of(a->least);
}

static uint64_t data_block_size(const struct bkt_look *l, const struct array *a, unsigned u)
{
    uint64_t n = elements_of(a, u), page = UINT64_C(1) << a->page;
    return 10 + (uint64_t)l->f->offset_bytes + (a->bits + 7) / 8 + n * a->element +
           (n > page ? 4 * (n / page) : 0);
}

static void find_data_blocks(struct bkt_look *l, struct bkt_rd *in, const struct array *a, unsigned u)
{
    for (uint64_t i = blocks_of(u); i && in->ok; i--) {
        uint64_t block = look_address(l, in);
        if (in->ok && elements_of(a, u) <= LOOK_STRUCT_MAX)
            look_find(l, BKT_H5SCAN_LEAF, BKT_H5SCAN_REL_INDEX_NODE, block, data_block_size(l, a, u),
                      (struct bkt_h5scan_context){0, 0});
    }
}

/* Bytes before the addresses in a secondary block: a bit for each page of a data block that has pages. */
static uint64_t bits_before(const struct array *a, unsigned u)
{
    uint64_t n = elements_of(a, u), page = UINT64_C(1) << a->page;
    return n > page ? blocks_of(u) * ((n / page + 7) / 8) : 0;
}

static uint64_t secondary_size(const struct bkt_look *l, const struct array *a, unsigned u)
{
    uint64_t o = l->f->offset_bytes;
    return 10 + o + (a->bits + 7) / 8 + bits_before(a, u) + blocks_of(u) * o;
}

static uint64_t array_index_size(const struct bkt_look *l, const struct array *a, uint64_t in_index)
{
    uint64_t o = l->f->offset_bytes, first = first_levels(a), all = all_levels(a);
    return 10 + o + in_index * a->element + 2 * (uint64_t)(a->secondary - 1) * o +
           (all > first ? all - first : 0) * o;
}

static void look_fixed(struct bkt_look *l, struct bkt_rd *in, uint64_t element, uint64_t page_bits)
{
    uint64_t count = look_length(l, in), block = look_address(l, in), size;
    if (!in->ok || page_bits > 32 || __builtin_mul_overflow(count, element, &size) || size > l->f->size)
        return;
    uint64_t page = UINT64_C(1) << page_bits, pages = count > page ? (count + page - 1) / page : 0;
    size += 14 + (uint64_t)l->f->offset_bytes + (pages ? (pages + 7) / 8 + 4 * pages : 0);
    /* a block without pages is read whole, right after its header */
    look_find(l, BKT_H5SCAN_LEAF, pages ? BKT_H5SCAN_REL_INDEX_NODE : BKT_H5SCAN_REL_PART, block, size,
              (struct bkt_h5scan_context){0, 0});
}

void bkt_look_array(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    struct array a;
    look_skip(&in, 6);
    a.element = (unsigned)bkt_rd_le(&in, 1);
    a.bits = (unsigned)bkt_rd_le(&in, 1);
    if (look_has_sign(p, n, "FAHD")) {
        look_fixed(l, &in, a.element, a.bits);
        return;
    }
    uint64_t in_index = bkt_rd_le(&in, 1);
    a.least = (unsigned)bkt_rd_le(&in, 1);
    a.secondary = (unsigned)bkt_rd_le(&in, 1);
    a.page = (unsigned)bkt_rd_le(&in, 1);
    look_skip(&in, 6 * (uint64_t)l->f->length_bytes);
    uint64_t index = look_address(l, &in);
    if (look_has_sign(p, n, "EAHD") && in.ok && array_is_sane(&a))
        look_find(l, BKT_H5SCAN_ARRAY_INDEX, BKT_H5SCAN_REL_INDEX_NODE, index,
                  array_index_size(l, &a, in_index), (struct bkt_h5scan_context){in_index, array_pack(&a)});
}

void bkt_look_array_index(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct array a = array_unpack(l->what->ctx.b);
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    if (!look_has_sign(p, n, "EAIB") || !array_is_sane(&a) || !look_enough(l, l->what->size, n))
        return;
    look_skip(&in, 6 + (uint64_t)l->f->offset_bytes + l->what->ctx.a * a.element);
    for (unsigned u = 0; u < first_levels(&a) && u < all_levels(&a); u++)
        find_data_blocks(l, &in, &a, u);
    for (unsigned u = first_levels(&a); u < all_levels(&a) && u < 48 && in.ok; u++)
        look_find(l, BKT_H5SCAN_ARRAY_SECONDARY, BKT_H5SCAN_REL_INDEX_NODE, look_address(l, &in),
                  secondary_size(l, &a, u), (struct bkt_h5scan_context){u, l->what->ctx.b});
}

void bkt_look_array_secondary(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct array a = array_unpack(l->what->ctx.b);
    unsigned u = (unsigned)l->what->ctx.a;
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    if (!look_has_sign(p, n, "EASB") || !array_is_sane(&a) || u >= all_levels(&a) ||
        !look_enough(l, l->what->size, n))
        return;
    look_skip(&in, 6 + (uint64_t)l->f->offset_bytes + (a.bits + 7) / 8 + bits_before(&a, u));
    find_data_blocks(l, &in, &a, u);
}
