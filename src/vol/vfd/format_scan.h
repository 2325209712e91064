/* A look at HDF5's own structures in the bytes of a file, for the addresses in them.  HDF5 may ask for these
 * addresses next.  libhdf5 stays the only reader of the format: a wrong find costs bytes, nothing else.
 *
 * The bytes are hostile.  Every length is checked against the given bytes, and every address against the
 * file's size.  The bytes of a structure bound the number of its finds.
 *
 * Source: HDF5 File Format Specification, version 3.0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bkt_h5scan_kind {
    BKT_H5SCAN_SUPER,       /* II.A: superblock of versions 0 to 3 */
    BKT_H5SCAN_HEADER,      /* IV.A.1: object header, both versions */
    BKT_H5SCAN_HEADER_REST, /* its continuation blocks, both versions */
    BKT_H5SCAN_LOCAL_HEAP,  /* III.D */
    BKT_H5SCAN_TREE,        /* III.A.1: version 1 B-tree; symbol table node (III.B) */
    BKT_H5SCAN_TREE2,       /* III.A.2: version 2 B-tree's header */
    BKT_H5SCAN_TREE2_NODE,  /* its nodes */
    BKT_H5SCAN_HEAP,        /* III.G: fractal heap's header */
    BKT_H5SCAN_HEAP_ROWS,   /* its indirect blocks */
    BKT_H5SCAN_HEAP_BLOCK,  /* its direct blocks */
    BKT_H5SCAN_ARRAY,       /* VII: header of a fixed or extensible array */
    BKT_H5SCAN_ARRAY_INDEX, /* index block of an extensible array */
    BKT_H5SCAN_ARRAY_SECONDARY,
    BKT_H5SCAN_LEAF, /* no addresses in it that are looked for */
    BKT_H5SCAN_KINDS
};

/** The relation of a structure to the structure that holds its address. */
enum bkt_h5scan_relation {
    BKT_H5SCAN_REL_PART,      /* always read with it */
    BKT_H5SCAN_REL_TYPE,      /* committed datatype of a dataset or attribute */
    BKT_H5SCAN_REL_LINKS,     /* a group's links */
    BKT_H5SCAN_REL_LINK_NODE, /* a node below */
    BKT_H5SCAN_REL_MEMBER,    /* a group's member: an object header */
    BKT_H5SCAN_REL_ATTRS,     /* attributes outside of the header */
    BKT_H5SCAN_REL_ATTR_NODE,
    BKT_H5SCAN_REL_INDEX, /* index of a dataset's chunks */
    BKT_H5SCAN_REL_INDEX_NODE,
    BKT_H5SCAN_REL_VALUES, /* global heap collections that an attribute's value names */
    BKT_H5SCAN_REL_COUNT
};

/** Values that a structure needs from the one above it. */
struct bkt_h5scan_context {
    uint64_t a, b; /* by kind, see format_scan.c */
};

struct bkt_h5scan_find {
    enum bkt_h5scan_kind kind;
    enum bkt_h5scan_relation rel;
    uint64_t addr, size; /* in the file; a guess of its size, or the size that the format gives */
    struct bkt_h5scan_context ctx;
};

/** Facts of one file. */
struct bkt_h5scan_file {
    uint64_t size;         /* bytes */
    uint64_t base;         /* of all addresses */
    uint64_t page;         /* page size of a paged file; 0: not paged, or not known */
    unsigned offset_bytes; /* 0: no superblock was seen */
    unsigned length_bytes;
    unsigned leaf_k, node_k, chunk_k; /* of version 1's B-trees */
};

typedef void bkt_h5scan_found(void *arg, const struct bkt_h5scan_find *f);

/** Look at a structure.
 * @param f     its facts; a superblock fills them in
 * @param what  the structure; `addr` and `size` as they were found
 * @param p     the file's bytes from what->addr on
 * @param n     the number of bytes at hand
 * @return 0: done, also if the bytes are not such a structure; else the number of needed bytes, more than
 *         @p n, and no find was reported */
uint64_t bkt_h5scan_look(struct bkt_h5scan_file *f, const struct bkt_h5scan_find *what,
                         const unsigned char *p, uint64_t n, bkt_h5scan_found *found, void *arg);

/** A guess, by its first bytes, for a structure that HDF5 asks for and whose address was not seen before.
 * @p is_header: HDF5 asks for an object header. */
enum bkt_h5scan_kind bkt_h5scan_kind_of(const unsigned char *p, uint64_t n, bool is_header);
