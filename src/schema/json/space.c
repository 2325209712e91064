/* Dataspaces: JSON <-> model.  Also key h5trim, the larger extent that a dataset had before. */
#include <stdlib.h>
#include <string.h>

#include "schema/json/schema_json.h"

/* Unlimited is 0 in HSDS 0.9 and the word H5S_UNLIMITED in the specification and 1.0. */
static int parse_maxdim(const json_t *j, uint64_t dim, uint64_t *out, struct bkt_err *err)
{
    uint64_t v = 0;
    if (!json_is_string(j) || !bkt_json_is_text(j))
        BKT_PASS(bkt_json_u64(j, "shape.maxdims", UINT64_MAX, &v, err));
    else if (strcmp(json_string_value(j), "H5S_UNLIMITED") != 0)
        BKT_FAIL(err, BKT_EFORMAT, "shape.maxdims: \"%.60s\"", json_string_value(j));
    *out = v ? v : BKT_UNLIMITED;
    BKT_FAIL_IF(err, *out < dim, BKT_EFORMAT, "shape.maxdims is less than shape.dims");
    return BKT_OK;
}

int bkt_dims_parse(const json_t *j, const char *what, uint64_t max, uint64_t *v, unsigned *n,
                   struct bkt_err *err)
{
    if (!json_is_array(j)) {
        *n = 1;
        return bkt_json_u64(j, what, max, v, err);
    }
    size_t count = json_array_size(j);
    BKT_FAIL_IF(err, count > BKT_MAX_RANK, BKT_EFORMAT, "%s has %zu entries, more than %d", what, count,
                BKT_MAX_RANK);
    for (size_t i = 0; i < count; i++)
        BKT_PASS(bkt_json_u64(json_array_get(j, i), what, max, &v[i], err));
    *n = (unsigned)count;
    return BKT_OK;
}

static int parse_simple(const json_t *j, struct bkt_space *s, struct bkt_err *err)
{
    const json_t *max = bkt_json_get(j, "maxdims");
    uint64_t      n;
    BKT_PASS(bkt_dims_parse(bkt_json_get(j, "dims"), "shape.dims", INT64_MAX, s->dims, &s->rank, err));
    s->cls = s->rank ? BKT_S_SIMPLE : BKT_S_SCALAR;
    BKT_FAIL_IF(err, max && json_is_array(max) && json_array_size(max) != s->rank, BKT_EFORMAT,
                "shape.maxdims has %zu entries for %u dims", json_array_size(max), s->rank);
    for (unsigned i = 0; i < s->rank; i++) {
        const json_t *one = json_is_array(max) ? json_array_get(max, i) : max;
        s->maxdims[i]     = s->dims[i];
        if (one && !json_is_null(one))
            BKT_PASS(parse_maxdim(one, s->dims[i], &s->maxdims[i], err));
    }
    return bkt_space_count(s, &n, err);
}

static const struct bkt_word classes[] = {
    {"H5S_NULL", BKT_S_NULL}, {"H5S_SCALAR", BKT_S_SCALAR}, {"H5S_SIMPLE", BKT_S_SIMPLE}};

int bkt_space_parse(const json_t *j, struct bkt_space *out, struct bkt_err *err)
{
    const char *cls  = bkt_json_word(j, "class");
    int         kind = bkt_word_find(classes, BKT_COUNT(classes), cls, -1);
    memset(out, 0, sizeof *out);
    BKT_FAIL_IF(err, !json_is_object(j), BKT_EFORMAT, "shape is %s", j ? "not an object" : "missing");
    BKT_FAIL_IF(err, kind < 0 && (cls || !bkt_json_get(j, "dims")), BKT_EFORMAT, "shape.class is %s%.40s",
                cls ? "unknown: " : "missing", cls ? cls : "");
    if (kind < 0 || kind == BKT_S_SIMPLE)
        return parse_simple(j, out, err);
    out->cls = (enum bkt_space_class)kind;
    return BKT_OK;
}

/* ---- model -> JSON ---- */

/* Unlimited as 0, as HSDS 0.9 wants it.  An extent of 0 that can't grow is null, since 0 would let it
 * grow. */
static json_t *emit_maxdim(const struct bkt_space *s, unsigned i)
{
    if (s->maxdims[i] == BKT_UNLIMITED)
        return json_integer(0);
    return s->maxdims[i] ? bkt_json_new_u64(s->maxdims[i]) : json_null();
}

static int emit_simple(const struct bkt_space *s, json_t *j)
{
    bool grows = false;
    BKT_PASS(bkt_json_set_dims(j, "dims", s->dims, s->rank));
    for (unsigned i = 0; i < s->rank; i++)
        grows |= s->maxdims[i] != s->dims[i];
    if (!grows)
        return BKT_OK;
    json_t *max = json_array();
    BKT_PASS(bkt_json_set(j, "maxdims", max));
    for (unsigned i = 0; i < s->rank; i++)
        BKT_PASS(bkt_json_push(max, emit_maxdim(s, i)));
    return BKT_OK;
}

int bkt_space_emit(const struct bkt_space *s, json_t **out, struct bkt_err *err)
{
    json_t *j = json_object();
    int rc = bkt_json_set(j, "class", json_string(bkt_word_of(classes, BKT_COUNT(classes), s->cls)));
    if (rc == BKT_OK && s->cls == BKT_S_SIMPLE)
        rc = emit_simple(s, j);
    BKT_PASS_MEM(err, bkt_json_give(j, rc, out));
    return BKT_OK;
}

/* ---- h5trim (schema/edit/extent.c) ---- */

int bkt_trim_parse(const json_t *j, struct bkt_dset *d, struct bkt_err *err)
{
    const json_t *list = bkt_json_get(j, "h5trim");
    uint64_t dims[BKT_MAX_RANK];
    unsigned n = 0;
    d->written = json_is_true(bkt_json_get(j, "h5written"));
    if (!list)
        return BKT_OK;
    BKT_PASS(bkt_dims_parse(list, "h5trim", INT64_MAX, dims, &n, err));
    BKT_FAIL_IF(err, n != d->space.rank, BKT_EFORMAT, "h5trim has %u entries for %u dims", n, d->space.rank);
    if (n && !(d->trim = malloc(n * sizeof *dims)))
        BKT_NOMEM(err);
    if (n)
        memcpy(d->trim, dims, n * sizeof *dims);
    return BKT_OK;
}

int bkt_trim_emit(const uint64_t *trim, unsigned rank, json_t *j)
{
    (void)json_object_del(j, "h5trim");
    return trim ? bkt_json_set_dims(j, "h5trim", trim, rank) : BKT_OK;
}
