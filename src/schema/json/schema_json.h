/* The parsers and emitters of the schema's JSON objects, below model.h's bkt_object_parse() and the like.  A
 * parser fills in a zeroed output; the caller frees the output, also after a failure.  An emitter gives a new
 * reference, in the form that HSDS 0.9 reads.  The connector's own keys hold what that form can't express.
 * HSDS ignores and keeps them:
 *   h5type         a type: base64 of H5Tencode, the exact HDF5 type
 *   h5plist        creationProperties: base64 of H5Pencode2, the exact creation list
 *   h5first, h5snapshot   .domain.json: members of a small root (hints); the domain's snapshot (snapshot.h)
 *   h5userblock    .domain.json: {"size", "bytes": base64 or "apart": true}, the user block (userblock.h)
 *   h5comment, h5refcount   an object's comment, and its references besides links (H5Oincr_refcount)
 *   h5uses         a committed type: the number of datasets and attributes of it
 *   h5refby, h5useby        [[id, n], ...]: the latest changes of h5refcount and h5uses, so that no change
 *                  is made twice
 *   h5links        a group's user-defined links: {name: {"type": 64.., "data": base64, "created": t}}
 *   h5order        a link or an attribute: its number in the order of creation; see entries.c
 *   h5nextlink, h5nextattr        the number of the next one
 *   h5null         an attribute, or creationProperties beside fillValue: which empty strings are NULL; see
 *                  null_strings.c.  Without fillValue: strings that were never written are NULL
 *   h5fill         creationProperties: base64 of the fill value's bytes, if JSON can't express them and
 *                  fillValue is only the nearest value
 *   h5trim         a dataset: its extent before a shrink whose clearing up may not have ended; chunks within
 *                  that extent, outside the present one, must be deleted or overwritten before the dataset
 *                  grows again
 *   h5written      a dataset without a fill value: true, if something was written before a shrink
 *   chunk_encoding a top-level layout: "hdf5" if chunk objects hold the output of HDF5's own filters
 *   h5chunkopts    creationProperties.layout: H5Pset_chunk_opts(), which is in no encoded list
 *   h5external     creationProperties.layout: the data are in raw files named by the creation list (h5plist)
 *   file_etag      a reference layout: the file's ETag (layout.c); a local file's size and change time
 *   segments       a reference layout without file_uri: [[file_uri or null, offset, size, ETag?], ...], the
 *                  segments of files in whose joined bytes offsets count
 *   chunks         of a reference layout: a third number is the chunk's filter mask
 *   charSet        an attribute or a link: character set declared for its name, if its bytes suggest another
 *   h5name         a filter's name in HDF5's files, if `name` is HSDS's or missing
 *   parameters, flags, optional   a filter's exact parameters (as the REST VOL spells them), and the word
 *                  of flags that HDF5 has for it
 *   linkCreationOrder   beside the REST VOL's attributeCreationOrder */
#pragma once

#include "schema/jansson/json.h"
#include "schema/json/documents.h"
#include "schema/model/name_list.h"

struct bkt_nulls; /* null_strings.c */

#define BKT_VALUE_MAX  (256u << 20) /* bytes of one attribute value or fill value in stored form */

/** A type in any of its forms: a predefined name or an object. */
BKT_NODISCARD int bkt_type_parse(const json_t *j, struct bkt_type **out, struct bkt_err *err);
/** A list of at most BKT_MAX_RANK integers in 0 .. @p max, or one integer in place of the list.
 *  @param what  names it in messages
 *  @param v     has BKT_MAX_RANK entries */
BKT_NODISCARD int bkt_dims_parse(const json_t *j, const char *what, uint64_t max, uint64_t *v, unsigned *n,
                                 struct bkt_err *err);
/** A dataspace.  BKT_EFORMAT.  A list of no dimensions is a scalar. */
BKT_NODISCARD int bkt_space_parse(const json_t *j, struct bkt_space *out, struct bkt_err *err);

/** A JSON value of @p type and @p space in stored form, appended to @p out.
 * @param encoding  "base64": @p value is the stored form itself; else NULL */
BKT_NODISCARD int bkt_value_parse(const struct bkt_type *type, const struct bkt_space *space,
                                  const json_t *value, const char *encoding, struct bkt_buf *out,
                                  struct bkt_err *err);

/** The attributes of an object, each with its value.  BKT_EFORMAT. */
BKT_NODISCARD int bkt_attrs_parse(const json_t *j, struct bkt_attrs *out, struct bkt_err *err);
/* Lists: out->next is the number declared as the next one, 0 if none is. */
/** The links of a group.
 *  @param user  the list of user-defined links; may be NULL
 *  @param out   may hold links from bkt_links_scan().  BKT_EEXIST, without a message: two links have one
 *              name, so the whole tree must be parsed; BKT_EFORMAT; BKT_ENOMEM */
BKT_NODISCARD int bkt_links_parse(const json_t *j, const json_t *user, struct bkt_links *out,
                                  struct bkt_err *err);
/** Fill in a link from @p j, except its name, which it has already.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_link_parse(const json_t *j, struct bkt_link *l);
/** The links of a group from the text (struct bkt_aside), in its order and not sorted, into an empty struct
 *  bkt_links. */
BKT_NODISCARD int bkt_links_scan(struct bkt_json_scan *s, void *links);

/** Layout and chunk grid of a dataset from its two layout objects.  @p d must have its type and space. */
BKT_NODISCARD int bkt_layout_parse(const json_t *top, const json_t *cpl, struct bkt_dset *d,
                                   struct bkt_err *err);
/** A chunk's key among others, "i_j_k", to @p rank grid indices.  False: another text. */
bool bkt_coord_parse(const char *key, unsigned rank, uint64_t *out);
/** Fill value, filters, initializer, times: the keys of creationProperties. */
BKT_NODISCARD int bkt_dcpl_parse(const json_t *cpl, struct bkt_dset *d, struct bkt_err *err);
/** Keys h5trim and h5written of a dataset whose space is known. */
BKT_NODISCARD int bkt_trim_parse(const json_t *j, struct bkt_dset *d, struct bkt_err *err);
BKT_NODISCARD int bkt_trim_emit(const uint64_t *trim, unsigned rank, json_t *j); /* NULL: the key goes */

/** As bkt_object_parse(), with the links read as a tree, too: the reference for link_scan.c, in tests. */
BKT_NODISCARD int bkt_object_parse_tree(const void *json, size_t n, const struct bkt_id *expect,
                                        struct bkt_object **out, struct bkt_err *err);
/** As bkt_object_parse().  @p whole: whether the text was JSON at all, though it failed. */
BKT_NODISCARD int bkt_object_load(const void *json, size_t n, const struct bkt_id *expect,
                                  struct bkt_object **out, bool *whole, struct bkt_err *err);

/* ---- model -> JSON ---- */

/** bkt_type_emit() and bkt_space_emit() give a type and a dataspace; @p out is the caller's.  BKT_EUNSUP: the
 * schema has no such type, or it nests deeper than BKT_TYPE_DEPTH; BKT_ENOMEM. */
BKT_NODISCARD int bkt_type_emit(const struct bkt_type *t, json_t **out, struct bkt_err *err);
BKT_NODISCARD int bkt_space_emit(const struct bkt_space *s, json_t **out, struct bkt_err *err);
/** A value as JSON, if parsing that JSON gives the very same bytes; else as base64 of them, and @p base64
 *  true.
 *  @param base64  in: use base64 in any case
 *  @param nulls   empty; receives which strings are NULL, which are "" in @p out; for bkt_nulls_emit() */
BKT_NODISCARD int bkt_value_emit(const struct bkt_type *type, const struct bkt_space *space,
                                 const struct bkt_buf *value, json_t **out, bool *base64,
                                 struct bkt_nulls *nulls, struct bkt_err *err);
/** A value as the nearest JSON, which needn't give the same bytes when it is parsed: HSDS's form of it.
 *  @return BKT_OK; BKT_EFORMAT: JSON has no form for it; BKT_ENOMEM */
BKT_NODISCARD int bkt_value_emit_near(const struct bkt_type *type, const struct bkt_space *space,
                                      const struct bkt_buf *value, json_t **out);
/** Put key h5null beside a value (null_strings.c).  BKT_ENOMEM. */
BKT_NODISCARD int bkt_nulls_emit(const struct bkt_nulls *x, json_t *beside);
/** Give strings of a value in stored form their NULLs, by key h5null beside it.  Without the key nothing is
 * changed. */
BKT_NODISCARD int bkt_nulls_parse(const json_t *beside, const struct bkt_type *t, struct bkt_buf *value,
                                  struct bkt_err *err);
/** An attribute's entry; @p out is the caller's.
 * @param all  else only its keys about the value: value, h5null, encoding */
BKT_NODISCARD int bkt_attr_emit(const struct bkt_attr *a, bool all, json_t **out, struct bkt_err *err);
/** A link's entry; @p out is the caller's.  BKT_EUNSUP: BKT_L_OTHER; BKT_ENOMEM. */
BKT_NODISCARD int bkt_link_emit(const struct bkt_link *l, json_t **out, struct bkt_err *err);
/** bkt_attrs_emit() and bkt_links_emit() put all entries into the object @p j, in the order of creation, if
 * @p numbered with numbers.  User-defined links go into @p user. */
BKT_NODISCARD int bkt_attrs_emit(const struct bkt_attrs *a, bool numbered, json_t *j, struct bkt_err *err);
BKT_NODISCARD int bkt_links_emit(const struct bkt_links *l, bool numbered, json_t *j, json_t *user,
                                 struct bkt_err *err);
/** A dataset's two layouts: @p top, NULL for a null space, and creationProperties.layout, which goes into
 *  @p cpl. */
BKT_NODISCARD int bkt_layout_emit(const struct bkt_dset *d, json_t **top, json_t *cpl, struct bkt_err *err);
/** Put the keys that bkt_dcpl_parse() reads into creationProperties. */
BKT_NODISCARD int bkt_dcpl_emit(const struct bkt_dset *d, json_t *cpl, struct bkt_err *err);
/** Put the hint about a snapshot into the document @p j. */
BKT_NODISCARD int bkt_snapshot_hint_emit(const struct bkt_snapshot_hint *h, json_t *j);
/** Whether HDF5 accepts a user block of that size: 0, or a power of two from 512 on. */
bool bkt_userblock_fits(uint64_t size);
/** Parse key h5userblock of .domain.json (NULL: missing) into the zeroed @p u.  A bad entry is not an error:
 * u->bad. */
void              bkt_userblock_parse(const json_t *j, struct bkt_userblock *u);
/** Put key h5userblock into the document @p doc.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_userblock_emit(const struct bkt_userblock *u, json_t *doc);

/* ---- numbers in the order of creation (entries.c) ---- */

/** The next number that @p key of an object declares; 0: the key is missing. */
uint32_t          bkt_order_next(const json_t *j, const char *key);
/** Key h5order of an entry.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_order_put(json_t *entry, uint32_t number);
/** Write numbers into all entries of the lists (each an object or NULL).
 *  @param next  in: the declared next number, or 0; out: the next free number */
BKT_NODISCARD int bkt_order_number_all(json_t *const *lists, size_t n_lists, uint32_t *next);
/** Remove needless numbers again, and put @p next into @p obj if it is needed. */
BKT_NODISCARD int bkt_order_drop_needless(json_t *const *lists, size_t n_lists, json_t *obj, const char *key,
                                          uint32_t next);

/** Whether a name is UTF-8: as "charSet" states (@p n bytes; NULL: it is absent), else
 * as its bytes suggest. */
bool bkt_name_is_utf8(const char *name, const char *set, size_t n);
