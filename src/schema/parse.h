/* The parsers of the schema's JSON objects, below model.h's bkt_object_parse() and bkt_domain_doc_parse().
 * Each fills in a zeroed output; what it made is the caller's to free also after a failure. */
#ifndef BKT_PARSE_H
#define BKT_PARSE_H

#include "json.h"
#include "model.h"

#define BKT_TYPE_DEPTH 32           /* types within types; HDF5's own tools nest far less */
#define BKT_VALUE_MAX  (256u << 20) /* bytes of one attribute value or fill value in stored form */

/** A type in any of its forms: a predefined name or an object. */
BKT_NODISCARD int bkt_type_parse(const json_t *j, struct bkt_type **out, struct bkt_err *err);
BKT_NODISCARD int bkt_space_parse(const json_t *j, struct bkt_space *out, struct bkt_err *err);

/** A JSON value of @p type and @p space in stored form, appended to @p out.
 * @param encoding  "base64": @p value is the stored form itself; else NULL */
BKT_NODISCARD int bkt_value_parse(const struct bkt_type *type, const struct bkt_space *space, const json_t *value,
                                  const char *encoding, struct bkt_buf *out, struct bkt_err *err);

BKT_NODISCARD int bkt_attrs_parse(const json_t *j, struct bkt_attrs *out, struct bkt_err *err);
BKT_NODISCARD int bkt_links_parse(const json_t *j, struct bkt_links *out, struct bkt_err *err);
void              bkt_attrs_fini(struct bkt_attrs *a);
void              bkt_links_fini(struct bkt_links *l);

/** Layout and chunk grid of a dataset from its two layout objects; @p d has its type and space already. */
BKT_NODISCARD int bkt_layout_parse(const json_t *top, const json_t *cpl, struct bkt_dset *d, struct bkt_err *err);
/** Fill value, filters, initializer, times: the keys of creationProperties. */
BKT_NODISCARD int bkt_dcpl_parse(const json_t *cpl, struct bkt_dset *d, struct bkt_err *err);
void              bkt_dset_fini(struct bkt_dset *d);

/** As bkt_object_parse(), from JSON that is parsed already; @p bytes is its length. */
BKT_NODISCARD int bkt_object_from_json(const json_t *j, size_t bytes, const struct bkt_id *expect,
                                       struct bkt_object **out, struct bkt_err *err);
BKT_NODISCARD int bkt_domain_doc_from_json(const json_t *j, struct bkt_domain_doc *out, struct bkt_err *err);

/* Arrays of structs whose first member is `char *name`. */
/** Sort by name; order[] (caller's, free()): the places sorted by (created, place before the sort).
 * @param created  n times, in the sequence before the sort */
BKT_NODISCARD int bkt_named_sort(void *v, size_t n, size_t size, const double *created, uint32_t **order);
const void       *bkt_named_find(const void *v, size_t n, size_t size, const char *name);

#endif
