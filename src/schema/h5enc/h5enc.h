/* HDF5's own encodings, taken apart without HDF5: datatypes (H5Tencode), dataspaces with a selection
 * (H5Sencode2) and creation property lists (H5Pencode2).
 *
 * HDF5's decoders trust their input, so no stored bytes may reach them.  The parsers here check every bound:
 * an accepted encoding is whole, within the given bytes, and within HDF5's own limits.  vol/convert/rebuild.h
 * makes HDF5's values of the result, by the calls that a program has.  Parsers are pure.  A result is the
 * caller's, also after a failure; the _fini() and _free() functions accept a partly filled one.  BKT_EFORMAT:
 * the message names the problem; BKT_EUNSUP: a version, class or property that is unknown here. */
#pragma once

#include "schema/model/model.h"

/* ---- datatypes ---- */
/* H5T_class_t */
enum bkt_h5_class {
    BKT_H5_INTEGER,
    BKT_H5_FLOAT,
    BKT_H5_TIME,
    BKT_H5_STRING,
    BKT_H5_BITFIELD,
    BKT_H5_OPAQUE,
    BKT_H5_COMPOUND,
    BKT_H5_REFERENCE,
    BKT_H5_ENUM,
    BKT_H5_VLEN,
    BKT_H5_ARRAY
};
enum bkt_h5_order { BKT_H5_LE, BKT_H5_BE, BKT_H5_VAX };
/* H5R_type_t */
enum bkt_h5_ref {
    BKT_H5_REF_OLD_OBJECT,
    BKT_H5_REF_OLD_REGION,
    BKT_H5_REF_OBJECT,
    BKT_H5_REF_REGION,
    BKT_H5_REF_ATTR
};

struct bkt_h5type;
struct bkt_h5member {
    char *name;              /* not checked for UTF-8, as in HDF5 */
    size_t offset;           /* COMPOUND */
    struct bkt_h5type *type; /* COMPOUND */
    unsigned char *value;    /* ENUM: as many bytes as the base type has */
};
struct bkt_h5type {
    enum bkt_h5_class cls;
    size_t size;                       /* bytes of one element in memory, as encoded; not 0 */
    enum bkt_h5_order order;           /* numbers */
    bool is_signed;                    /* INTEGER */
    unsigned offset, prec;             /* numbers: bits */
    unsigned lsb_pad, msb_pad, in_pad; /* H5T_pad_t: 0 or 1; in_pad: FLOAT */
    unsigned norm; /* FLOAT: H5T_norm_t as encoded: 0 none, 1 the highest bit is set, 2 it is implied */
    unsigned spos, epos, esize, mpos, msize; /* FLOAT: bits */
    uint32_t ebias;                          /* FLOAT */
    bool var_string;                         /* VLEN: a string, not a sequence */
    enum bkt_strpad strpad;                  /* STRING, VLEN with var_string */
    enum bkt_cset cset;
    enum bkt_h5_ref ref;
    char *tag;     /* OPAQUE */
    unsigned rank; /* ARRAY */
    uint32_t dims[BKT_MAX_RANK];
    struct bkt_h5type *base;      /* ENUM, VLEN, ARRAY */
    struct bkt_h5member *members; /* COMPOUND, ENUM; in the order of the encoding */
    size_t n_members;
};

/* Bytes of a number: the fields of a float fill 32 at most. */
#define BKT_H5_NUMBER_MAX 255

/** Parse an encoded type.
 *  @param n  bytes available; bytes behind the type are ignored */
BKT_NODISCARD int bkt_h5type_parse(const void *p, size_t n, struct bkt_h5type **out, struct bkt_err *err);
void bkt_h5type_free(struct bkt_h5type *t); /* NULL is fine */
static inline void bkt_h5type_freep(struct bkt_h5type **t)
{
    bkt_h5type_free(*t);
}
/** Whether elements hold pointers in memory: references, sequences or strings of variable length anywhere in
 *  the type. */
bool bkt_h5type_has_pointers(const struct bkt_h5type *t);
/** The members of a compound in the order of their offsets; the caller's, free().  NULL: out of memory. */
const struct bkt_h5member **bkt_h5members_by_offset(const struct bkt_h5type *t);
/** Whether a value of the schema's type @p t can be of an encoded type: the same members in the same order,
 *  sizes, byte orders, lengths.  BKT_EFORMAT: the message names the difference. */
BKT_NODISCARD int bkt_h5type_match(const struct bkt_h5type *h, const struct bkt_type *t, struct bkt_err *err);

/* ---- dataspaces with a selection ---- */
enum bkt_h5_select { BKT_H5_SEL_NONE, BKT_H5_SEL_POINTS, BKT_H5_SEL_BLOCKS, BKT_H5_SEL_SLAB, BKT_H5_SEL_ALL };

struct bkt_h5space {
    struct bkt_space extent;
    enum bkt_h5_select select;
    uint64_t start[BKT_MAX_RANK], stride[BKT_MAX_RANK]; /* SLAB */
    uint64_t count[BKT_MAX_RANK], block[BKT_MAX_RANK];  /* BKT_UNLIMITED in one dimension at most */
    size_t n;                                           /* POINTS, BLOCKS: how many */
    uint64_t *coords; /* POINTS: n * rank; BLOCKS: n * 2 * rank, first and last corner */
};

/* Steps for a whole list, see bkt_h5blocks_check(). */
#define BKT_H5_BLOCKS_SPARE (UINT64_C(1) << 20)

/** Whether HDF5 can make the union of blocks without undue time and memory (blocks.c).
 *  @param coords  n * 2 * rank: first and last corner of each block
 *  @param spare   steps allowed beyond a few for each coordinate; receives the rest.  One variable for a
 *                whole list: it begins with BKT_H5_BLOCKS_SPARE
 *  @return BKT_OK; BKT_EFORMAT; BKT_ENOMEM */
BKT_NODISCARD int bkt_h5blocks_check(unsigned rank, size_t n, const uint64_t *coords, uint64_t *spare,
                                     struct bkt_err *err);

/** Parse an encoded dataspace.
 *  @param out  need not be initialised */
BKT_NODISCARD int bkt_h5space_parse(const void *p, size_t n, struct bkt_h5space *out, struct bkt_err *err);
/** As bkt_h5space_parse(), from a reader, whose place is behind the space afterwards.
 *  @param spare  as for bkt_h5blocks_check() */
BKT_NODISCARD int bkt_h5space_read(struct bkt_rd *r, struct bkt_h5space *out, uint64_t *spare,
                                   struct bkt_err *err);
void bkt_h5space_fini(struct bkt_h5space *s); /* a zeroed one is fine */

/* ---- creation property lists ---- */
/* H5P_plist_type_t */
enum bkt_h5_list {
    BKT_H5_OBJECT_LIST = 2,
    BKT_H5_FILE_LIST = 3,
    BKT_H5_DATASET_LIST = 5,
    BKT_H5_GROUP_LIST = 9,
    BKT_H5_DATATYPE_LIST = 11
};
/* properties that the encoding has; the others have HDF5's default */
enum bkt_h5_has {
    BKT_H5_HAS_MAX_COMPACT = 1 << 0,
    BKT_H5_HAS_MIN_DENSE = 1 << 1,
    BKT_H5_HAS_FLAGS = 1 << 2,
    BKT_H5_HAS_FILTERS = 1 << 3,
    BKT_H5_HAS_GROUP = 1 << 4,
    BKT_H5_HAS_ORDER = 1 << 5,
    BKT_H5_HAS_LAYOUT = 1 << 6,
    BKT_H5_HAS_FILL = 1 << 7,
    BKT_H5_HAS_UNASKED = 1 << 8,
    BKT_H5_HAS_FILES = 1 << 9,
    BKT_H5_HAS_MINIMIZE = 1 << 10,
    BKT_H5_HAS_USERBLOCK = 1 << 11,
    BKT_H5_HAS_LEAF = 1 << 12,
    BKT_H5_HAS_RANKS = 1 << 13,
    BKT_H5_HAS_ADDR = 1 << 14,
    BKT_H5_HAS_LENGTH = 1 << 15,
    BKT_H5_HAS_INDEXES = 1 << 16,
    BKT_H5_HAS_INDEX_TYPES = 1 << 17,
    BKT_H5_HAS_INDEX_SIZES = 1 << 18,
    BKT_H5_HAS_LIST_MAX = 1 << 19,
    BKT_H5_HAS_BTREE_MIN = 1 << 20,
    BKT_H5_HAS_STRATEGY = 1 << 21,
    BKT_H5_HAS_PERSIST = 1 << 22,
    BKT_H5_HAS_THRESHOLD = 1 << 23,
    BKT_H5_HAS_PAGE = 1 << 24
};
#define BKT_H5_FILTERS_MAX 32    /* H5Z_MAX_NFILTERS */
#define BKT_H5_CD_MAX      65535 /* parameters of a filter: as many as a file has room for */
#define BKT_H5_INDEXES_MAX 8     /* H5O_SHMESG_MAX_NINDEXES */
/* Half of the entries that a tree's node has room for (HDF5_BTREE_IK_MAX_ENTRIES) */
#define BKT_H5_BTREE_MAX 32767
#define BKT_H5_LEAF_MAX    65535 /* as many as a file has room for */
#define BKT_H5_FILES_MAX   65535 /* external files of a dataset: as many as a file has room for */
#define BKT_H5_GROUP_MAX   (16U << 20) /* bytes that a group reserves before its links are made */

struct bkt_h5filter {
    uint32_t id, flags; /* id: 0 to 65535 */
    uint32_t *cd;
    size_t n_cd;
};
struct bkt_h5mapping { /* of a virtual dataset */
    char *file, *dset;
    struct bkt_h5space source, target;
};
struct bkt_h5file { /* of H5Pset_external() */
    char *name;
    uint64_t offset, size; /* size: BKT_UNLIMITED */
};
struct bkt_h5fill {
    unsigned alloc_time, fill_time;
    bool undefined;          /* H5Pset_fill_value(NULL) */
    struct bkt_buf value;    /* as in memory; empty: the default */
    struct bkt_h5type *type; /* of a value; without pointers */
};
struct bkt_h5plist {
    enum bkt_h5_list cls;
    unsigned has;
    /* objects */
    uint32_t max_compact, min_dense;
    unsigned flags; /* object header: bit 2 attributes' order is tracked, 3 indexed, 5 times are tracked */
    struct bkt_h5filter *filters;
    size_t n_filters;
    /* groups */
    uint32_t heap_hint;
    unsigned link_max_compact, link_min_dense, est_entries, est_name;
    uint32_t link_order;
    /* datasets */
    enum bkt_layout_class layout; /* COMPACT, CONTIGUOUS, CHUNKED or VIRTUAL */
    unsigned rank;                /* CHUNKED */
    uint64_t dims[BKT_MAX_RANK];
    struct bkt_h5mapping *mappings;
    size_t n_mappings;
    struct bkt_h5fill fill;
    uint32_t unasked; /* 1: the program set no allocation time */
    struct bkt_h5file *files;
    size_t n_files;
    bool minimize;
    /* files */
    uint64_t userblock, threshold, page;
    uint32_t leaf, ranks[2], indexes, list_max, btree_min;
    uint32_t index_types[BKT_H5_INDEXES_MAX], index_sizes[BKT_H5_INDEXES_MAX];
    unsigned addr, length, strategy;
    bool persist;
};

/** Parse an encoded property list.
 *  @param out  need not be initialised */
BKT_NODISCARD int bkt_h5plist_parse(const void *p, size_t n, struct bkt_h5plist *out, struct bkt_err *err);
void bkt_h5plist_fini(struct bkt_h5plist *l); /* a zeroed one is fine */
/** The creation list of an object (`cpl`), which must be of the object's kind and, for a dataset, of its
 *  rank.  Zeroed if the object has no list.  @p found: whether it has one. */
BKT_NODISCARD int bkt_h5plist_of(const struct bkt_object *o, struct bkt_h5plist *out, bool *found,
                                 struct bkt_err *err);
