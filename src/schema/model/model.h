/* The data model in plain C: what the schema's JSON objects say, without JSON and without HDF5.
 *
 * A parsed object is shared (see domain.h for ownership) and changed through edit.h only.  Everything that it
 * points to belongs to it.  Dimensions are in HDF5's order, slowest first.
 *
 * Stored form: a value is bytes as HSDS serialises them: elements in C order, each packed in the declared
 * byte order.  A part of variable length is `count i32le` = number of BYTES, then the bytes.  Attribute
 * values, fill values and variable-length chunks all have this form; for types without variable parts it is
 * simply the packed array.  In memory a string that is NULL has count BKT_VAR_NULL and no bytes.  HSDS knows
 * count 0 for it, so count 0 is stored, with a mark beside (null_strings.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "schema/model/name_list.h"

#define BKT_TYPE_DEPTH 32           /* types within types; HDF5's own tools nest far less */
#define BKT_MAX_RANK 32 /* H5S_MAX_RANK */
#define BKT_UNLIMITED UINT64_MAX
#define BKT_VAR_NULL  UINT32_MAX
#define BKT_ID_LEN 38
#define BKT_CHUNK_UNFILTERED_EDGES 2u /* H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS */

/** An object id, "g-…", "d-…" or "t-…"; "" for none. */
struct bkt_id {
    char text[BKT_ID_LEN + 2];
};

/* ---- types ---- */
enum bkt_type_class {
    BKT_T_INTEGER,
    BKT_T_FLOAT,
    BKT_T_STRING,
    BKT_T_VLEN,
    BKT_T_COMPOUND,
    BKT_T_ARRAY,
    BKT_T_ENUM,
    BKT_T_OPAQUE,
    BKT_T_OBJREF, /* H5T_STD_REF_OBJ: 48 bytes "datasets/d-…", NUL padded */
    BKT_T_REGREF  /* H5T_STD_REF_DSETREG: text of bkt_regref_parse() (reference_text.h), variable, or fixed
                     where it has a length */
};
enum bkt_strpad { BKT_STR_NULLTERM, BKT_STR_NULLPAD, BKT_STR_SPACEPAD };
enum bkt_cset { BKT_CSET_ASCII, BKT_CSET_UTF8 };

struct bkt_type;
struct bkt_field {
    char            *name;
    struct bkt_type *type;
    size_t           offset; /* in the packed element; meaningless when an earlier field is variable */
};
struct bkt_enum_member {
    char   *name;
    int64_t value; /* bit pattern of the base integer, sign- or zero-extended */
};
struct bkt_type {
    enum bkt_type_class cls;
    size_t              size;         /* bytes of one packed element; 0 when is_var */
    bool is_var; /* has a variable-length part somewhere (VLEN, var_string, REGREF without length) */
    bool                big_endian, is_signed;
    enum bkt_strpad     strpad;
    enum bkt_cset       cset;
    bool                var_string;   /* STRING of variable length */
    struct bkt_type    *base;         /* VLEN, ARRAY, ENUM */
    unsigned            rank;         /* ARRAY */
    uint64_t            dims[BKT_MAX_RANK];
    uint64_t            n_elems;      /* ARRAY: product of dims */
    struct bkt_field   *fields;       /* COMPOUND, in stored order */
    size_t              n_fields;
    struct bkt_enum_member *members;  /* ENUM, in stored order */
    size_t              n_members;
    char               *tag;          /* OPAQUE; may be "" */
    /* H5Tencode bytes of the exact HDF5 type, if the schema's keys say less than it (padded compound,
     * bitfield, …).  The class and all other members describe the stored bytes then.  Else empty */
    struct bkt_buf      encoded;
    /* why HDF5 can't have this type (the encoding is malformed, or disagrees with the other members); else
     * NULL */
    char               *bad;
    struct bkt_id       committed;    /* the committed type it is; "" when transient */
};

/* ---- dataspaces ---- */
enum bkt_space_class { BKT_S_NULL, BKT_S_SCALAR, BKT_S_SIMPLE };
struct bkt_space {
    enum bkt_space_class cls;
    unsigned             rank;
    uint64_t             dims[BKT_MAX_RANK];
    uint64_t             maxdims[BKT_MAX_RANK]; /* BKT_UNLIMITED; equal to dims when not extensible */
};

/* ---- attributes and links ---- */
/* The first four members of struct bkt_attr and struct bkt_link are those of struct bkt_named. */
struct bkt_attr {
    char            *name;
    double           created;
    uint32_t         seq;
    bool             name_utf8;
    struct bkt_type *type;
    struct bkt_space space;
    bool             has_value; /* false: null space, JSON null, or absent: reads as zeros/empty */
    bool             unwritten; /* made here, and never written */
    char            *bad;       /* why the stored value can't be read, for the error of a read; else NULL */
    struct bkt_buf   value;     /* stored form */
};
enum bkt_link_class {
    BKT_L_HARD, BKT_L_SOFT, BKT_L_EXTERNAL,
    BKT_L_USER, /* user-defined, kept for HDF5's sake (by one of the connector's keys) */
    BKT_L_OTHER /* another class: can be listed, not followed */
};
struct bkt_link {
    char               *name;
    double              created;
    uint32_t            seq;
    bool                name_utf8;
    enum bkt_link_class cls;
    struct bkt_id       id;     /* HARD */
    char               *path;   /* SOFT, EXTERNAL: h5path */
    char               *file;   /* EXTERNAL: file | h5domain | domain, as stored */
    int                 ud_type; /* USER: HDF5's number of the class */
    struct bkt_buf      ud;      /* USER: its data */
};
/** Named entries of one object: sorted by name (bytes, as strcmp); order[] sorts by (created, place in the
 *  JSON).  n and _find() are always right.  If the object may have been changed (edit.h), call
 *  bkt_attrs_settle() or bkt_links_settle() before using v and order. */
struct bkt_attrs {
    BKT_NAMED_LIST(struct bkt_attr);
};
struct bkt_links {
    BKT_NAMED_LIST(struct bkt_link);
};

/* ---- objects ---- */
enum bkt_kind { BKT_GROUP, BKT_DATASET, BKT_DATATYPE };

struct bkt_filter_desc { /* one entry of creationProperties.filters, in any of its spellings */
    int       id;        /* HDF5 filter id; -1 if neither id, class nor name is known */
    char      name[48];  /* as the schema has it */
    /* its name in HDF5's files, if that is known and differs; a longer name is cut */
    char      h5name[256];
    bool      has_level;
    unsigned  level;
    unsigned *cd;        /* "parameters", or the connector's exact cd values */
    size_t    n_cd;
    bool      optional;
    bool aside; /* hidden from HSDS: a shuffle without a compressor, which HSDS would undo but never do */
    int64_t   flags;     /* HDF5's flag word (0: mandatory, 1: optional); -1 if not given */
    /* szip and scaleoffset, as the REST VOL writes them; -1 when absent */
    int64_t   bits_per_pixel, coding, pixels_per_block, pixels_per_scanline, scale_type, scale_offset;
};
enum bkt_layout_class {
    BKT_D_COMPACT,
    BKT_D_CONTIGUOUS,
    BKT_D_CHUNKED,
    BKT_D_CONTIGUOUS_REF,
    BKT_D_CHUNKED_REF,
    BKT_D_CHUNKED_REF_INDIRECT,
    BKT_D_NONE,
    BKT_D_VIRTUAL /* only as user_cls, with cls NONE; the mappings are in the object's `cpl` */
};
/* H5D_CHUNKED_REF "chunks" entry: place of the chunk in the file; size 0: unallocated. */
struct bkt_chunk_ref {
    uint64_t offset, size;
    uint32_t mask; /* HDF5's filter mask: bit i set, filter i was left out */
};
/** The place of a chunk in a file. */
struct bkt_file_chunk {
    uint64_t index; /* row-major in the grid of the extent's chunks; first, for bkt_by_u64() */
    uint64_t offset, size;
    uint32_t mask; /* HDF5's filter mask */
};
/** A segment of a file.  Offsets of references count in the joined segments if their bytes are spread over
 *  several (the connector's own keys). */
struct bkt_segment {
    char    *file_uri; /* NULL: zeros, nothing is stored */
    char    *etag;     /* of the file when it was linked; NULL unknown */
    uint64_t offset, size;
};
struct bkt_layout {
    enum bkt_layout_class cls; /* how the data are stored: CHUNKED or a *_REF; NONE: null space */
    unsigned              rank;                  /* of dims: the space's rank, 1 for scalar */
    uint64_t dims[BKT_MAX_RANK]; /* chunk shape to address storage with, never 0 (hyper_dims where given;
                                    the whole extent for CONTIGUOUS_REF) */
    uint32_t              partition_count;       /* < 2: none */
    /* CHUNKED: chunk objects hold the output of HDF5's own filters (the connector's key chunk_encoding,
     * "hdf5"), not that of HSDS's reading of the filters */
    bool                  hdf5_chunks;
    /* CHUNKED: no chunk objects exist, the data are in the raw files that the creation list names
     * (the connector's key h5external) */
    bool                  external;
    bool may_change; /* segments: their files may be written while they are read; not stored */
    enum bkt_layout_class user_cls;              /* for H5Pget_layout */
    unsigned              user_rank;
    unsigned chunk_opts; /* H5Pset_chunk_opts(), when user_cls is CHUNKED (the connector's key h5chunkopts) */
    uint64_t              user_dims[BKT_MAX_RANK]; /* for H5Pget_chunk, when user_cls is CHUNKED (or REF) */
    char                 *file_uri;              /* *_REF; NULL when each chunk names its own */
    char *file_etag; /* file_uri's when it was linked, one of the connector's keys; NULL: unknown */
    /* *_REF whose bytes are spread over files: offsets count in these, joined in order, and file_uri is NULL;
     * the connector's own keys */
    struct bkt_segment   *segments;
    size_t                n_segments;
    uint64_t              offset, size;          /* CONTIGUOUS_REF */
    /* CHUNKED_REF, sorted by coord (slowest first); see bkt_layout_find_chunk() */
    struct bkt_chunk_ref *chunks;
    uint64_t             *chunk_coords;          /* n_chunks * rank grid indices, in the order of chunks */
    size_t                n_chunks;
    struct bkt_id         chunk_table;           /* CHUNKED_REF_INDIRECT */
};
/** Whether the data lie in files, which the layout refers to. */
static inline bool bkt_layout_is_linked(const struct bkt_layout *l)
{
    return l->cls == BKT_D_CONTIGUOUS_REF || l->cls == BKT_D_CHUNKED_REF ||
           l->cls == BKT_D_CHUNKED_REF_INDIRECT;
}
enum bkt_initializer { BKT_INIT_NONE, BKT_INIT_ARANGE, BKT_INIT_CHUNKLOCATOR, BKT_INIT_OTHER };
struct bkt_dset {
    struct bkt_type        *type;
    struct bkt_space        space;
    /* after a shrink: stored chunks within this extent (rank entries), outside the dataset's own, may hold
     * old values; NULL: none do */
    uint64_t               *trim;
    /* something was written, even if a shrink may have taken all of it (bkt_edit_written()) */
    bool                    written;
    struct bkt_layout       layout;
    struct bkt_filter_desc *filters; /* in list order */
    size_t                  n_filters;
    bool                    has_fill;
    struct bkt_buf          fill;    /* stored form of one element, when has_fill */
    /* !has_fill: strings that were never written are NULL, as in HDF5's files; in HSDS's they are "" */
    bool                    null_fill;
    enum bkt_initializer    init;
    double                  arange_start, arange_step;
    char                   *init_text; /* for messages: the initializer as stored; NULL */
    /* why the data can't be read (a reference to another type, an invalid fill value), for the error of a
     * read; else NULL */
    char                   *bad;
    /* creation properties; -1 when not given */
    int                     fill_time;  /* 0 ALLOC 1 NEVER 2 IFSET (H5D_fill_time_t) */
    int                     alloc_time; /* 0 DEFAULT 1 EARLY 2 LATE 3 INCR (H5D_alloc_time_t) */
};
struct bkt_group {
    struct bkt_links links;
};
struct bkt_object {
    enum bkt_kind    kind;
    struct bkt_id    id, root;
    double           created, modified;
    struct bkt_attrs attrs;
    /* bit 0 tracked, bit 1 indexed: links (groups); from CreateOrder, or from the creation list */
    int              track_order;
    int              attr_track_order;   /* the same for attributes */
    int              attr_max_compact, attr_min_dense; /* -1 not given */
    int              track_times;        /* 0, 1, -1 not given */
    /* H5Pencode2 bytes of the creation list, if the REST VOL (or this library) stored them; else empty */
    struct bkt_buf   cpl;
    char            *comment;            /* H5Oset_comment; NULL */
    uint32_t         extra_refs;         /* H5Oincr_refcount: counted as links */
    /* DATATYPE: datasets and attributes of the type, which HDF5 counts as links too; -1: unknown (made by
     * HSDS) */
    int64_t          uses;
    size_t           json_bytes;         /* size of the stored object */
    /* of the version that was read or written last; NULL: not stored yet, or unknown */
    char            *etag;
    struct bkt_buf   stored;             /* its JSON, if that is kept for the next change; else empty */
    bool             contended;          /* other writers changed it at the same time */
    union {
        struct bkt_group group;
        struct bkt_dset  dset;
        struct bkt_type *type;           /* DATATYPE: has .committed set */
    };
};
/** .domain.json */
struct bkt_acl_entry {
    char    *user;    /* "default", a user name, or "g:group" */
    unsigned allow;   /* bits below */
};
#define BKT_ACL_CREATE     (1u << 0)
#define BKT_ACL_READ       (1u << 1)
#define BKT_ACL_UPDATE     (1u << 2)
#define BKT_ACL_DELETE     (1u << 3)
#define BKT_ACL_READ_ACL   (1u << 4)
#define BKT_ACL_UPDATE_ACL (1u << 5)
/** A root with no more members than this names them in .domain.json ("h5first").  A program that opens the
 *  file and one of them waits for one answer less.  Each named member costs a request that may turn out to be
 *  in vain. */
#define BKT_FIRST_MAX 4
/* One cut for 900 keys: 64 cuts serve lists of 58,000 keys and take 4 KB in .domain.json.  Cuts of domains
 * with more keys are in their snapshots. */
#define BKT_CUTS_MAX 64
/** A domain's hint about its snapshot (snapshot.h). */
struct bkt_snapshot_hint {
    uint64_t objects, keys; /* when it was made; 0: no snapshot */
    char   **cuts;          /* where lists of the domain's keys are cut in parts, ascending; may be none */
    size_t   n_cuts;
};
/** A domain's entry about its user block (userblock.h). */
struct bkt_userblock {
    uint64_t       size;  /* 0: no user block; else 512, 1024, 2048, ... */
    struct bkt_buf bytes; /* the first of its bytes, zeros follow; empty if they are apart */
    bool           apart; /* the bytes are an object of their own */
    bool           bad;   /* the entry makes no sense: all else is empty */
};
struct bkt_domain_doc {
    struct bkt_id         root;  /* "" for a folder */
    char                 *owner; /* may be NULL */
    double                created, modified;
    struct bkt_acl_entry *acls;
    size_t                n_acls;
    /* members of the root that are fetched beside it; may be out of date */
    struct bkt_id first[BKT_FIRST_MAX];
    size_t                n_first;
    struct bkt_snapshot_hint snapshot;
    struct bkt_userblock     user;
};

/* ---- objects and types ---- */
/** An empty object of that kind for bkt_edit_add(), with everything "not given"; NULL if memory is short. */
struct bkt_object *bkt_object_make(enum bkt_kind kind);
/** Free an object that nobody else holds; others use bkt_object_release().  NULL is allowed. */
void              bkt_object_free(struct bkt_object *o);
/** Bytes of memory that the object takes, as the allocator rounds them: its cost in the cache. */
size_t            bkt_object_bytes(const struct bkt_object *o);
/** The committed types of a dataset and of the attributes of an object, one after the other, each as often as
 *  it is used; borrowed.  NULL: no more.
 *  @param pos  0 at the beginning */
const struct bkt_id *bkt_object_next_type(const struct bkt_object *o, size_t *pos);
/** The hard links of an object, if it is a group, in the same way. */
const struct bkt_link *bkt_object_next_hard(const struct bkt_object *o, size_t *pos);
void              bkt_domain_doc_fini(struct bkt_domain_doc *d); /* it is empty afterwards */
void              bkt_type_free(struct bkt_type *t); /* with its parts; NULL is allowed */
/** A copy of a type and of its parts, for bkt_type_free().  BKT_ENOMEM leaves *out alone. */
BKT_NODISCARD int bkt_type_copy(const struct bkt_type *t, struct bkt_type **out);
/** Whether values of a type name objects; not if it is NULL. */
bool bkt_type_has_refs(const struct bkt_type *t);

/** Number of elements: 0 for null, 1 for scalar; BKT_EFORMAT if the product does not fit. */
BKT_NODISCARD int bkt_space_count(const struct bkt_space *s, uint64_t *out, struct bkt_err *err);
/** Whether an extent can be stored and read again; BKT_EUNSUP: a dimension of 2^63 or more, or more than 2^64
 *  elements. */
BKT_NODISCARD int bkt_space_check(const struct bkt_space *s, struct bkt_err *err);
/** As memcmp(): grid indices of a chunk, slowest first. */
int bkt_coords_compare(const uint64_t *a, const uint64_t *b, unsigned rank);
/** CHUNKED_REF: the entry of the chunk at grid index @p coord (rank entries); NULL: unallocated. */
const struct bkt_chunk_ref *bkt_layout_find_chunk(const struct bkt_layout *l, const uint64_t *coord);
static inline const struct bkt_link *bkt_links_find(const struct bkt_links *l, const char *name)
{
    return bkt_named_find(&l->list, sizeof *l->v, name);
}
static inline const struct bkt_attr *bkt_attrs_find(const struct bkt_attrs *a, const char *name)
{
    return bkt_named_find(&a->list, sizeof *a->v, name);
}
/** bkt_attrs_*() and bkt_links_*() change the lists; the names are known to be new, or to exist (BKT_ENOENT).
 * Added entries are moved in, then zeroed; removed ones are the caller's (name_list.h).  BKT_ENOMEM. */
BKT_NODISCARD static inline int bkt_attrs_add(struct bkt_attrs *l, struct bkt_attr *one)
{
    return bkt_named_add(&l->list, sizeof *one, one);
}
BKT_NODISCARD static inline int bkt_attrs_remove(struct bkt_attrs *l, const char *name, struct bkt_attr *out)
{
    return bkt_named_remove(&l->list, sizeof *out, name, out);
}
BKT_NODISCARD static inline int bkt_links_add(struct bkt_links *l, struct bkt_link *one)
{
    return bkt_named_add(&l->list, sizeof *one, one);
}
BKT_NODISCARD static inline int bkt_links_remove(struct bkt_links *l, const char *name, struct bkt_link *out)
{
    return bkt_named_remove(&l->list, sizeof *out, name, out);
}
/** bkt_object_retain() and bkt_object_release() take and give back a reference; the last one frees the
 * object.  NULL is allowed. */
const struct bkt_object *bkt_object_retain(const struct bkt_object *o);
void                     bkt_object_release(const struct bkt_object *o);
static inline void       bkt_object_releasep(const struct bkt_object **o) { bkt_object_release(*o); }
/** Bring v and order up to date.  Returns the same pointer, for use in place. */
static inline const struct bkt_links *bkt_links_settle(const struct bkt_links *l)
{
    if (l->edit)
        bkt_named_settle(&l->list, sizeof *l->v);
    return l;
}
static inline const struct bkt_attrs *bkt_attrs_settle(const struct bkt_attrs *a)
{
    if (a->edit)
        bkt_named_settle(&a->list, sizeof *a->v);
    return a;
}
void bkt_links_fini(struct bkt_links *l); /* releases the members */
void                    bkt_attr_fini(struct bkt_attr *a); /* it is zeroed */
void                    bkt_link_fini(struct bkt_link *l); /* it is zeroed */
/** Append the path of a group's member.  @p group: the group's own path, "/" for the root. */
BKT_NODISCARD int bkt_link_path(const char *group, const char *name, struct bkt_buf *out);

/** Consume one element in stored form at @p r, and return its length in bytes; for walking variable-length
 *  buffers.  BKT_EFORMAT if it would pass the end.
 *  @param null  the count of a string that is NULL: BKT_VAR_NULL; 0 as it is in the store, without NULLs */
BKT_NODISCARD int bkt_value_skip(const struct bkt_type *t, struct bkt_rd *r, uint64_t null,
                                 struct bkt_err *err);

/* ---- ids and keys (id.c) ---- */
bool bkt_id_valid(const char *text); /* in either schema version */
/** Whether version 2 of the schema made a valid id. */
bool bkt_id_is_v2(const struct bkt_id *id);
bool bkt_id_set(struct bkt_id *id, const char *text);      /* false, id = "", when not valid */
/** The kind of a valid id. */
enum bkt_kind bkt_id_kind(const struct bkt_id *id);
/** v2: the domain's root group that an object belongs to; false for v1. */
bool bkt_id_root(const struct bkt_id *id, struct bkt_id *root);
/** Ids, each as often as it is added.  A zeroed list is empty. */
struct bkt_ids {
    struct bkt_id *v;
    size_t         n, cap;
};
struct bkt_map;
BKT_NODISCARD int bkt_ids_add(struct bkt_ids *l, const struct bkt_id *id); /* v may move */
/** Add the keys of a map of ids.  After BKT_ENOMEM some may be missing. */
BKT_NODISCARD int bkt_ids_add_keys(struct bkt_ids *l, const struct bkt_map *m);
/** Whether the list (may be NULL) has the id; compares with each. */
bool bkt_ids_have(const struct bkt_ids *l, const struct bkt_id *id);
void              bkt_ids_fini(struct bkt_ids *l); /* empty afterwards */
/** Append the storage key of the document of a domain or folder.  @p path: in the store, "" for the bucket's
 *  own. */
BKT_NODISCARD int bkt_domain_doc_key(const char *path, struct bkt_buf *out);
/** Numbers for ids that processes with the same seed draw alike. */
struct bkt_id_source {
    uint64_t seed[2], n; /* n: numbers drawn */
};
/** An id of a new root group.  BKT_EIO: no random numbers.
 * @param from  where its digits come from; NULL: random */
BKT_NODISCARD int bkt_id_new_root(bool v2, struct bkt_id_source *from, struct bkt_id *out);
/** As bkt_id_new_root(), of an object in the domain of @p root, in that root's version. */
BKT_NODISCARD int bkt_id_new(const struct bkt_id *root, enum bkt_kind kind, struct bkt_id_source *from,
                             struct bkt_id *out);

/** Append the storage key of an object to @p out. */
BKT_NODISCARD int bkt_id_key(const struct bkt_id *id, struct bkt_buf *out);
/** v2: the object of the domain with this root that a key belongs to.  Also gives the rest of the key behind
 *  the object's folder, borrowed from @p key: the name of its document, or a chunk's.  False: not a key of
 *  the domain's. */
bool bkt_id_split_key(const struct bkt_id *root, const char *key, struct bkt_id *id, const char **rest);
/** v2: the object of the domain with this root whose document has this key.  False: none. */
bool bkt_id_of_key(const struct bkt_id *root, const char *key, struct bkt_id *id);
/** Append the storage key of a native chunk.  @p coord has rank entries. */
BKT_NODISCARD int bkt_chunk_key(const struct bkt_id *dset, const struct bkt_layout *l, const uint64_t *coord,
                                struct bkt_buf *out);
/** The 48-byte stored reference ("datasets/d-…", or bare id) -> id; "" for null.  BKT_EFORMAT. */
BKT_NODISCARD int bkt_ref_parse(const void *p, size_t n, struct bkt_id *out, struct bkt_err *err);
/** The reverse, NUL padded; zeros for id "". */
void bkt_ref_emit(const struct bkt_id *id, char out[48]);

/* ---- a local file's stamp: stands for an ETag in references to it, since copies of a folder keep it ---- */
/** "stamp:size-mtime" of a file, with microseconds; @p out has room for BKT_ETAG_MAX bytes. */
void bkt_stamp(uint64_t size, double mtime, char *out);
/** Whether the ETag that a reference recorded is a stamp. */
bool bkt_is_stamp(const char *etag);
