/* See format_scan.h.  Here: the superblock and object headers' messages.
 *
 * Contexts: BKT_H5SCAN_HEADER_REST a: flags of the header, REST_V1 for version 1.  BKT_H5SCAN_TREE a:
 * dimensions of a chunk's key, 0 for a group.  BKT_H5SCAN_TREE2 a: 1 attributes, 2 chunks, 0 links.
 * BKT_H5SCAN_TREE2_NODE a: the header's fields, packed; b: the number of records.  BKT_H5SCAN_HEAP a: 1
 * attributes.  BKT_H5SCAN_HEAP_ROWS and _BLOCK a, b: struct heap, packed.  BKT_H5SCAN_ARRAY_INDEX a: elements
 * in it; b: struct array, packed; BKT_H5SCAN_ARRAY_SECONDARY a: its level. */
#include "vol/vfd/scanner_impl.h"

#define REST_V1 0x100

/* ---- messages of object headers ---- */

void bkt_look_link(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t version = bkt_rd_le(in, 1), flags = bkt_rd_le(in, 1);
    uint64_t type = flags & 8 ? bkt_rd_le(in, 1) : 0;
    look_skip(in, (flags & 4 ? 8u : 0u) + (flags & 16 ? 1u : 0u));
    uint64_t name = bkt_rd_le(in, 1u << (flags & 3));
    if (version != 1) {
        in->ok = false;
        return;
    }
    look_skip(in, name);
    if (type == 0) {
        uint64_t header = look_address(l, in);
        if (in->ok)
            look_find_header(l, BKT_H5SCAN_REL_MEMBER, header);
    } else
        look_skip(in, bkt_rd_le(in, 2)); /* soft, external and user-defined links: a length, and bytes */
}

static void find_group(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t tree = look_address(l, in), heap = look_address(l, in);
    if (!in->ok)
        return;
    look_find(l, BKT_H5SCAN_TREE, BKT_H5SCAN_REL_LINKS, tree, bkt_look_tree_size(l->f, 0),
              (struct bkt_h5scan_context){0, 0});
    look_find(l, BKT_H5SCAN_LOCAL_HEAP, BKT_H5SCAN_REL_LINKS, heap,
              8 + 2 * (uint64_t)l->f->length_bytes + l->f->offset_bytes, (struct bkt_h5scan_context){0, 0});
}

/* Message "link info" (2) or "attribute info" (21): a heap, and one or two trees by name and order. */
static void look_dense(struct bkt_look *l, struct bkt_rd *in, bool attributes)
{
    enum bkt_h5scan_relation rel = attributes ? BKT_H5SCAN_REL_ATTRS : BKT_H5SCAN_REL_LINKS;
    struct bkt_h5scan_context ctx = {attributes, 0};
    uint64_t heap_size = 22 + 3 * (uint64_t)l->f->offset_bytes + 12 * (uint64_t)l->f->length_bytes + 64;
    uint64_t tree_header = 22 + (uint64_t)l->f->offset_bytes + l->f->length_bytes;
    look_skip(in, 1);
    uint64_t flags = bkt_rd_le(in, 1);
    look_skip(in, flags & 1 ? (attributes ? 2 : 8) : 0);
    uint64_t heap = look_address(l, in), by_name = look_address(l, in);
    uint64_t by_order = flags & 2 ? look_address(l, in) : LOOK_UNDEFINED;
    if (!in->ok)
        return;
    look_find(l, BKT_H5SCAN_HEAP, rel, heap, heap_size, ctx);
    look_find(l, BKT_H5SCAN_TREE2, rel, by_name, tree_header, ctx);
    look_find(l, BKT_H5SCAN_TREE2, rel, by_order, tree_header, ctx);
}

/* Layouts of version 4: the index's own parameters lie before its address. */
static void look_layout_4(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t flags = bkt_rd_le(in, 1), dims = bkt_rd_le(in, 1), bytes = bkt_rd_le(in, 1);
    look_skip(in, dims * bytes);
    uint64_t type = bkt_rd_le(in, 1);
    static const unsigned char parameters[] = {0, 0, 0, 1, 5, 6};
    if (type >= sizeof parameters || type < 3 || !in->ok)
        return; /* single chunk, implicit: no index */
    look_skip(in, parameters[type]);
    uint64_t addr = look_address(l, in);
    (void)flags;
    if (!in->ok)
        return;
    uint64_t o = l->f->offset_bytes, len = l->f->length_bytes;
    if (type == 5)
        look_find(l, BKT_H5SCAN_TREE2, BKT_H5SCAN_REL_INDEX, addr, 22 + o + len,
                  (struct bkt_h5scan_context){2, 0});
    else
        look_find(l, BKT_H5SCAN_ARRAY, BKT_H5SCAN_REL_INDEX, addr, 16 + o + (type == 3 ? len : 6 * len),
                  (struct bkt_h5scan_context){0, 0});
}

static void look_layout(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t version = bkt_rd_le(in, 1), class, dims;
    if (version >= 4) {
        if (bkt_rd_le(in, 1) == 2)
            look_layout_4(l, in);
        return;
    }
    if (version == 3) {
        class = bkt_rd_le(in, 1);
        dims = bkt_rd_le(in, 1);
    } else {
        dims = bkt_rd_le(in, 1);
        class = bkt_rd_le(in, 1);
        look_skip(in, 5);
    }
    if (class != 2 || version < 1 || dims < 2 || dims > 33)
        return;
    uint64_t tree = look_address(l, in);
    if (in->ok)
        look_find(l, BKT_H5SCAN_TREE, BKT_H5SCAN_REL_INDEX, tree, bkt_look_tree_size(l->f, dims),
                  (struct bkt_h5scan_context){dims, 0});
}

/* A message that is stored elsewhere (IV.A.2: shared); one of an object header counts. */
static void look_shared(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t version = bkt_rd_le(in, 1), type = bkt_rd_le(in, 1);
    if (version == 1)
        look_skip(in, 6);
    if (version == 3 && type != 2)
        return; /* in a heap of shared messages */
    uint64_t header = look_address(l, in);
    if (in->ok)
        look_find_header(l, BKT_H5SCAN_REL_TYPE, header);
}

/* The values of a variable-length attribute name collections of the global heap. */
static void look_values(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t last = LOOK_UNDEFINED, each = 8 + (uint64_t)l->f->offset_bytes;
    for (unsigned i = 0; i < 64 && bkt_rd_left(in) >= each && in->ok; i++) {
        look_skip(in, 4);
        uint64_t heap = look_address(l, in);
        look_skip(in, 4);
        if (heap != last && heap != l->f->base)
            look_find(l, BKT_H5SCAN_LEAF, BKT_H5SCAN_REL_VALUES, heap, 4096,
                      (struct bkt_h5scan_context){0, 0});
        last = heap;
    }
}

static uint64_t padded(uint64_t n, uint64_t version)
{
    return version == 1 ? (n + 7) / 8 * 8 : n;
}

static void look_attribute(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t version = bkt_rd_le(in, 1), flags = bkt_rd_le(in, 1);
    uint64_t name = bkt_rd_le(in, 2), type = bkt_rd_le(in, 2), space = bkt_rd_le(in, 2);
    look_skip(in, (version == 3 ? 1 : 0) + padded(name, version));
    struct bkt_rd t = look_part(in, padded(type, version));
    look_skip(in, padded(space, version));
    if (!in->ok || version < 1 || version > 3)
        return;
    if (version > 1 && flags & 1)
        look_shared(l, &t);
    else if (bkt_rd_le(&t, 1) % 16 == 9)
        look_values(l, in);
}

static void look_continuation(struct bkt_look *l, struct bkt_rd *in, uint64_t flags)
{
    uint64_t addr = look_address(l, in), size = look_length(l, in);
    if (in->ok && size <= LOOK_STRUCT_MAX)
        look_find(l, BKT_H5SCAN_HEADER_REST, BKT_H5SCAN_REL_PART, addr, size,
                  (struct bkt_h5scan_context){flags, 0});
}

/* Page size of a paged file; the message lies in the superblock's extension. */
static void look_file_space(struct bkt_look *l, struct bkt_rd *in)
{
    uint64_t version = bkt_rd_le(in, 1), strategy = bkt_rd_le(in, 1);
    look_skip(in, 1);
    (void)look_length(l, in);
    uint64_t page = look_length(l, in);
    if (in->ok && version == 1 && strategy == 1 && page >= 512 && page <= LOOK_STRUCT_MAX * UINT64_C(64))
        l->f->page = page;
}

static void look_message(struct bkt_look *l, uint64_t type, uint64_t message_flags, struct bkt_rd body,
                         uint64_t flags)
{
    if (message_flags & 2 && type != 16) {
        if (type == 3)
            look_shared(l, &body);
        return;
    }
    switch (type) {
    case 2:
        look_dense(l, &body, false);
        break;
    case 6:
        bkt_look_link(l, &body);
        break;
    case 8:
        look_layout(l, &body);
        break;
    case 12:
        look_attribute(l, &body);
        break;
    case 16:
        look_continuation(l, &body, flags);
        break;
    case 17:
        find_group(l, &body);
        break;
    case 21:
        look_dense(l, &body, true);
        break;
    case 23:
        look_file_space(l, &body);
        break;
    default:
        break;
    }
}

/* @p flags: of the header; REST_V1: version 1. */
static void look_messages(struct bkt_look *l, struct bkt_rd in, uint64_t flags)
{
    while (bkt_rd_left(&in) >= 4 && in.ok) {
        bool v1 = flags & REST_V1;
        uint64_t type = bkt_rd_le(&in, v1 ? 2 : 1), size = bkt_rd_le(&in, 2), mine = bkt_rd_le(&in, 1);
        look_skip(&in, v1 ? 3 : flags & 4 ? 2 : 0);
        struct bkt_rd body = look_part(&in, size);
        if (body.ok)
            look_message(l, type, mine, body, flags);
    }
}

static void look_header_1(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    uint64_t version = bkt_rd_le(&in, 1);
    look_skip(&in, 7);
    uint64_t size = bkt_rd_le(&in, 4);
    look_skip(&in, 4);
    if (version == 1 && in.ok && look_enough(l, 16 + size, n))
        look_messages(l, look_part(&in, size), REST_V1);
}

static void look_header(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    if (!look_has_sign(p, n, "OHDR")) {
        look_header_1(l, p, n);
        return;
    }
    look_skip(&in, 4);
    uint64_t version = bkt_rd_le(&in, 1), flags = bkt_rd_le(&in, 1);
    look_skip(&in, (flags & 32 ? 16u : 0u) + (flags & 16 ? 4u : 0u));
    uint64_t size = bkt_rd_le(&in, 1u << (flags & 3)), head = n - bkt_rd_left(&in);
    if (version == 2 && in.ok && size <= LOOK_STRUCT_MAX && look_enough(l, head + size + 4, n))
        look_messages(l, look_part(&in, size), flags & 0xff);
}

static void look_header_rest(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    uint64_t flags = l->what->ctx.a, size = l->what->size, head = flags & REST_V1 ? 0 : 4;
    if (!look_enough(l, size, n) || size < 2 * head || (head && !look_has_sign(p, n, "OCHK")))
        return;
    look_messages(l, bkt_rd_of(p + head, (size_t)(size - 2 * head)), flags);
}

/* ---- the superblock ---- */

static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

static bool are_sizes(unsigned o, unsigned len)
{
    return (o == 2 || o == 4 || o == 8) && (len == 2 || len == 4 || len == 8);
}

/* A superblock of version 2 or 3. */
static void look_super_2(struct bkt_look *l, struct bkt_rd *in)
{
    l->f->offset_bytes = (unsigned)bkt_rd_le(in, 1);
    l->f->length_bytes = (unsigned)bkt_rd_le(in, 1);
    look_skip(in, 1);
    if (!in->ok || !are_sizes(l->f->offset_bytes, l->f->length_bytes)) {
        l->f->offset_bytes = 0;
        return;
    }
    l->f->base = l->what->addr; /* as in HDF5, which ignores the field */
    (void)look_address(l, in);
    uint64_t extension = look_address(l, in);
    (void)look_address(l, in);
    uint64_t root = look_address(l, in);
    if (!in->ok)
        return;
    look_find_header(l, BKT_H5SCAN_REL_PART, extension);
    look_find_header(l, BKT_H5SCAN_REL_PART, root);
}

static void look_super_0(struct bkt_look *l, struct bkt_rd *in, uint64_t version)
{
    look_skip(in, 4);
    l->f->offset_bytes = (unsigned)bkt_rd_le(in, 1);
    l->f->length_bytes = (unsigned)bkt_rd_le(in, 1);
    look_skip(in, 1);
    l->f->leaf_k = (unsigned)bkt_rd_le(in, 2);
    l->f->node_k = (unsigned)bkt_rd_le(in, 2);
    look_skip(in, 4);
    l->f->chunk_k = version == 1 ? (unsigned)bkt_rd_le(in, 2) : 32;
    look_skip(in, version == 1 ? 2 : 0);
    if (!in->ok || !are_sizes(l->f->offset_bytes, l->f->length_bytes)) {
        l->f->offset_bytes = 0;
        return;
    }
    l->f->base = l->what->addr;
    (void)look_address(l, in);
    look_skip(in, 3 * (uint64_t)l->f->offset_bytes + l->f->offset_bytes);
    uint64_t root = look_address(l, in);
    if (in->ok)
        look_find_header(l, BKT_H5SCAN_REL_PART, root);
}

static void look_super(struct bkt_look *l, const unsigned char *p, uint64_t n)
{
    struct bkt_rd in = bkt_rd_of(p, (size_t)n);
    if (n < 16 || memcmp(p, signature, sizeof signature) != 0 || !look_enough(l, 128, n))
        return;
    look_skip(&in, 8);
    uint64_t version = bkt_rd_le(&in, 1);
    l->f->leaf_k = 4, l->f->node_k = 16, l->f->chunk_k = 32; /* HDF5's defaults, for a file without these */
    if (version >= 2)
        look_super_2(l, &in);
    else
        look_super_0(l, &in, version);
}

/* ---- interface ---- */

static bkt_look_fn *const looks[BKT_H5SCAN_KINDS] = {
    [BKT_H5SCAN_SUPER] = look_super,
    [BKT_H5SCAN_HEADER] = look_header,
    [BKT_H5SCAN_HEADER_REST] = look_header_rest,
    [BKT_H5SCAN_LOCAL_HEAP] = bkt_look_local_heap,
    [BKT_H5SCAN_TREE] = bkt_look_tree,
    [BKT_H5SCAN_TREE2] = bkt_look_tree2,
    [BKT_H5SCAN_TREE2_NODE] = bkt_look_tree2_node,
    [BKT_H5SCAN_HEAP] = bkt_look_heap,
    [BKT_H5SCAN_HEAP_ROWS] = bkt_look_heap_rows,
    [BKT_H5SCAN_HEAP_BLOCK] = bkt_look_heap_block,
    [BKT_H5SCAN_ARRAY] = bkt_look_array,
    [BKT_H5SCAN_ARRAY_INDEX] = bkt_look_array_index,
    [BKT_H5SCAN_ARRAY_SECONDARY] = bkt_look_array_secondary,
};

uint64_t bkt_h5scan_look(struct bkt_h5scan_file *f, const struct bkt_h5scan_find *what,
                         const unsigned char *p, uint64_t n, bkt_h5scan_found *found, void *arg)
{
    struct bkt_look l = {f, what, found, arg, 0};
    if (what->addr >= f->size || !looks[what->kind] || (!f->offset_bytes && what->kind != BKT_H5SCAN_SUPER))
        return 0;
    looks[what->kind](&l, p, n);
    return l.need;
}

enum bkt_h5scan_kind bkt_h5scan_kind_of(const unsigned char *p, uint64_t n, bool is_header)
{
    static const struct {
        char sign[5];
        enum bkt_h5scan_kind kind;
    } known[] = {{"OHDR", BKT_H5SCAN_HEADER},
                 {"TREE", BKT_H5SCAN_LEAF},
                 {"SNOD", BKT_H5SCAN_TREE},
                 {"HEAP", BKT_H5SCAN_LOCAL_HEAP},
                 {"\211HDF", BKT_H5SCAN_SUPER}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (look_has_sign(p, n, known[i].sign))
            return known[i].kind;
    return is_header && n && p[0] == 1 ? BKT_H5SCAN_HEADER : BKT_H5SCAN_LEAF;
}
