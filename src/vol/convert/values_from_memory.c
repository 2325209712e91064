/* The program's memory -> stored elements, a column at a time (see values_to_memory.h).
 *
 * Elements of fixed size go directly to their destination.  Elements with variable parts are made field by
 * field for all elements, and put together at the end. */
#include <stdlib.h>
#include <string.h>

#include "vol/convert/values_to_memory.h"
#include "base/num.h"
#include "vol/convert/region_shadow.h"
#include "vol/core/token.h"
#include "schema/json/reference_text.h"

static int store(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                 const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                 struct bkt_stored *out);

void bkt_stored_fini(struct bkt_stored *s)
{
    bkt_buf_fini(&s->bytes);
    free(s->end);
    s->end = NULL;
}

/* ---- tails: bytes behind the first NUL of fixed strings that end with one (H5T_STR_NULLTERM) ----
 *
 * They are not part of the value.  HSDS has no strings that end with a NUL: it serves all bytes, and JSON
 * shows them.  So tails are stored as zeros.  Strings padded with NULs or spaces keep their bytes, as in
 * HDF5: in these a NUL may be text. */

/* One string; false: the walk ends. */
typedef bool tail_fn(unsigned char *s, size_t size);

static bool clear(unsigned char *s, size_t size)
{
    unsigned char *end = memchr(s, 0, size);
    if (end)
        memset(end, 0, size - (size_t)(end - s));
    return true;
}

static bool is_zero(unsigned char *s, size_t size)
{
    unsigned char *end = memchr(s, 0, size);
    return !end || memcmp(end, end + 1, size - (size_t)(end - s) - 1) == 0;
}

static bool has_tail(const struct bkt_type *t)
{
    return t->cls == BKT_T_STRING && !t->is_var && t->strpad == BKT_STR_NULLTERM;
}

bool bkt_has_tails(const struct bkt_type *t)
{
    bool any = has_tail(t);
    if (t->cls == BKT_T_ARRAY || t->cls == BKT_T_VLEN)
        return bkt_has_tails(t->base);
    for (size_t f = 0; !any && t->cls == BKT_T_COMPOUND && f < t->n_fields; f++)
        any = bkt_has_tails(t->fields[f].type);
    return any;
}

/* Types of fixed size only */
static bool walk(const struct bkt_type *t, unsigned char *p, size_t stride, size_t n, tail_fn *fn)
{
    bool go = true;
    if (t->cls == BKT_T_ARRAY && stride == t->size)
        return walk(t->base, p, t->base->size, n * (size_t)t->n_elems, fn);
    if (t->cls == BKT_T_ARRAY)
        for (size_t i = 0; go && i < n; i++)
            go = walk(t->base, p + i * stride, t->base->size, (size_t)t->n_elems, fn);
    else if (t->cls == BKT_T_COMPOUND)
        for (size_t f = 0; go && f < t->n_fields; f++)
            go = walk(t->fields[f].type, p + t->fields[f].offset, stride, n, fn);
    else if (has_tail(t))
        for (size_t i = 0; go && i < n; i++)
            go = fn(p + i * stride, t->size);
    return go;
}

void bkt_tails_clear(const struct bkt_type *t, unsigned char *p, size_t stride, size_t n)
{
    (void)walk(t, p, stride, n, clear);
}

bool bkt_tails_are_zero(const struct bkt_type *t, const unsigned char *p, size_t n)
{
    return walk(t, (unsigned char *)p, t->size, n, is_zero); /* reads it only */
}

/* ---- fixed size ---- */

static int put_id(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c, const struct bkt_id *id,
                  unsigned char *dst)
{
    char text[48];
    bkt_ref_emit(id, text);
    BKT_FAIL_IF(r->err, c->src < sizeof text, BKT_EUNSUP, "references stored in %zu bytes", c->src);
    memcpy(dst, text, sizeof text);
    memset(dst + sizeof text, 0, c->src - sizeof text);
    return BKT_OK;
}

int bkt_value_tree_put_obj_ref(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                               const struct bkt_value_column *src, size_t n, unsigned char *dst,
                               size_t dstride)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_id id    = {""};
        H5O_token_t   token = {{0}};
        memcpy(token.__data, src->base + i * src->stride, H5R_OBJ_REF_BUF_SIZE);
        BKT_FAIL_IF(r->err,
                    bkt_get_le(token.__data, H5R_OBJ_REF_BUF_SIZE) &&
                        !bkt_token_id(r->in_file->file->dom, &token, &id),
                    BKT_EINVAL, "a reference leads to no object of the domain");
        BKT_PASS(put_id(r, c, &id, dst + i * dstride));
    }
    return BKT_OK;
}

static const H5R_ref_t *new_ref_at(const struct bkt_value_column *src, size_t i, H5R_ref_t *copy)
{
    return memcpy(copy, src->base + i * src->stride, sizeof *copy); /* the program's value may be unaligned */
}

int bkt_value_tree_put_new_ref(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                               const struct bkt_value_column *src, size_t n, unsigned char *dst,
                               size_t dstride)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_id id = {""};
        H5R_ref_t     ref;
        BKT_PASS(bkt_convert_from_obj_ref(r->in_file, new_ref_at(src, i, &ref), &id, r->err));
        BKT_PASS(put_id(r, c, &id, dst + i * dstride));
    }
    return BKT_OK;
}

/* ---- with variable parts ---- */

static int end_element(struct bkt_value_tree_pass *r, struct bkt_stored *out, size_t i, int rc)
{
    BKT_PASS_MEM(r->err, rc);
    out->end[i] = out->bytes.len;
    return BKT_OK;
}

/* A count of bytes, then the bytes */
static int put_counted(struct bkt_value_tree_pass *r, struct bkt_buf *out, const void *p, size_t n)
{
    unsigned char count[4];
    BKT_FAIL_IF(r->err, n > INT32_MAX, BKT_EUNSUP, "variable-length value of %zu bytes: the limit is 2 GiB",
                n);
    bkt_put_le(count, 4, n);
    BKT_NEED(r->err, bkt_buf_add(out, count, 4) >= 0 && bkt_buf_add(out, p, n) >= 0);
    return BKT_OK;
}

static int store_strings(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                         const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                         struct bkt_stored *out)
{
    (void)c, (void)old;
    for (size_t i = 0; i < n; i++) {
        unsigned char null[4];
        const char   *s;
        memcpy(&s, src->base + i * src->stride, sizeof s);
        if (s)
            BKT_PASS(put_counted(r, &out->bytes, s, strlen(s)));
        else
            bkt_put_le(null, 4, BKT_VAR_NULL);
        BKT_PASS(end_element(r, out, i, s ? BKT_OK : bkt_buf_add(&out->bytes, null, 4)));
    }
    return BKT_OK;
}

static int store_text_refs(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                           const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                           struct bkt_stored *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    (void)old;
    for (size_t i = 0; i < n; i++) {
        H5R_ref_t ref;
        bkt_buf_clear(&text);
        if (c->kind == BKT_TREE_NEW_REF)
            BKT_PASS(bkt_convert_from_ref(r->in_file, new_ref_at(src, i, &ref), &text, r->err));
        else
            BKT_PASS(bkt_region_shadow_text(r->in_file, src->base + i * src->stride, &text, r->err));
        BKT_PASS(put_counted(r, &out->bytes, text.ptr, text.len));
        out->end[i] = out->bytes.len;
    }
    return BKT_OK;
}

/* The contents of all sequences, side by side */
static int join(struct bkt_value_tree_pass *r, const struct bkt_value_tree *base,
                const struct bkt_value_column *src, size_t n, unsigned char **out, size_t *total)
{
    hvl_t v;
    *total = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&v, src->base + i * src->stride, sizeof v);
        BKT_FAIL_IF(r->err, v.len && !v.p, BKT_EINVAL, "sequence of %zu elements: its address is NULL",
                    v.len);
        BKT_FAIL_IF(r->err, __builtin_add_overflow(*total, v.len, total), BKT_EINVAL,
                    "too many elements in sequences");
    }
    *out = bkt_value_tree_room(*total, base->dst, r->err);
    if (!*out)
        return BKT_ENOMEM;
    for (size_t i = 0, at = 0; i < n; at += v.len, i++) {
        memcpy(&v, src->base + i * src->stride, sizeof v);
        if (v.len)
            memcpy(*out + at * base->dst, v.p, v.len * base->dst);
    }
    return BKT_OK;
}

static int store_sequences(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                           const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                           struct bkt_stored *out)
{
    const struct bkt_value_tree *base = &c->child[0];
    BKT_CLEANUP(bkt_freep) unsigned char *elems = NULL;
    BKT_CLEANUP(bkt_stored_fini) struct bkt_stored made = {0};
    size_t total, at = 0, from = 0;
    hvl_t  v;
    (void)old;
    BKT_PASS(join(r, base, src, n, &elems, &total));
    BKT_PASS(
        store(r, base, &(struct bkt_value_column){.base = elems, .stride = base->dst}, total, NULL, &made));
    for (size_t i = 0; i < n; i++) {
        memcpy(&v, src->base + i * src->stride, sizeof v);
        at += v.len;
        size_t to = at ? made.end[at - 1] : 0;
        BKT_PASS(put_counted(r, &out->bytes, made.bytes.ptr ? made.bytes.ptr + from : NULL, to - from));
        out->end[i] = out->bytes.len;
        from        = to;
    }
    return BKT_OK;
}

static int store_arrays(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                        const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                        struct bkt_stored *out)
{
    BKT_CLEANUP(bkt_freep) void             *owned = NULL;
    BKT_CLEANUP(bkt_freep) struct bkt_slice *parts = NULL;
    BKT_CLEANUP(bkt_stored_fini) struct bkt_stored made = {0};
    struct bkt_value_column elems;
    size_t total, each = (size_t)c->t->n_elems;
    BKT_PASS(bkt_value_tree_array_elements(r, c, src, n, &elems, &total, &owned));
    if (old && !(parts = bkt_value_tree_room(n, each * sizeof *parts, r->err)))
        return BKT_ENOMEM;
    if (old)
        BKT_PASS(bkt_value_column_cut_arrays(c->t, old, n, parts, r->err));
    BKT_PASS(store(r, &c->child[0], &elems, total, parts, &made));
    for (size_t i = 0; i < n; i++)
        out->end[i] = made.end[(i + 1) * each - 1];
    bkt_buf_move(&out->bytes, &made.bytes);
    return BKT_OK;
}

static int zero_element(const struct bkt_type *t, struct bkt_buf *out)
{
    size_t n = t->is_var ? 4 : t->size, at = out->len; /* a count of 0 bytes */
    if (t->is_var && (t->cls == BKT_T_COMPOUND || t->cls == BKT_T_ARRAY)) {
        size_t parts = t->cls == BKT_T_ARRAY ? (size_t)t->n_elems : t->n_fields;
        for (size_t i = 0; i < parts; i++)
            BKT_PASS(zero_element(t->cls == BKT_T_ARRAY ? t->base : t->fields[i].type, out));
        return BKT_OK;
    }
    BKT_PASS(bkt_buf_resize(out, at + n));
    memset(out->ptr + at, 0, n);
    if (t->is_var && t->cls == BKT_T_STRING)
        bkt_put_le(out->ptr + at, 4, BKT_VAR_NULL);
    return BKT_OK;
}

/* The content of a field that the program doesn't write */
static int keep_field(struct bkt_value_tree_pass *r, const struct bkt_type *t, size_t n,
                      const struct bkt_slice *old, struct bkt_stored *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf zero = {0};
    if (!old)
        BKT_TRY(r->err, zero_element(t, &zero), "out of memory");
    for (size_t i = 0; i < n; i++)
        BKT_PASS(end_element(r, out, i, old ? bkt_buf_add(&out->bytes, old[i].p, old[i].n)
                                            : bkt_buf_add(&out->bytes, zero.ptr, zero.len)));
    return BKT_OK;
}

static int stored_room(struct bkt_value_tree_pass *r, size_t n, struct bkt_stored *out)
{
    out->end = bkt_value_tree_room(n, sizeof *out->end, r->err);
    return out->end ? BKT_OK : BKT_ENOMEM;
}

static int store_fields(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                        const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                        struct bkt_stored *fields)
{
    BKT_CLEANUP(bkt_freep) struct bkt_slice *rest = NULL, *field = NULL;
    if (old) {
        rest = bkt_value_tree_room(n, sizeof *rest, r->err);
        field = bkt_value_tree_room(n, sizeof *field, r->err);
        if (!rest || !field)
            return BKT_ENOMEM;
        memcpy(rest, old, n * sizeof *rest);
    }
    for (size_t f = 0; f < c->n_child; f++) {
        struct bkt_value_column from = {.base = src->base + c->child[f].offset, .stride = src->stride};
        if (old)
            BKT_PASS(bkt_value_column_cut_field(c->t->fields[f].type, n, rest, field, r->err));
        if (c->child[f].kind != BKT_TREE_SKIP) {
            BKT_PASS(store(r, &c->child[f], &from, n, field, &fields[f]));
            continue;
        }
        BKT_PASS(stored_room(r, n, &fields[f]));
        BKT_PASS(keep_field(r, c->t->fields[f].type, n, field, &fields[f]));
    }
    return BKT_OK;
}

static int put_together(struct bkt_value_tree_pass *r, const struct bkt_stored *fields, size_t n_fields,
                        size_t n, struct bkt_stored *out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t f = 0; f < n_fields; f++) {
            size_t from = i ? fields[f].end[i - 1] : 0;
            BKT_PASS_MEM(r->err,
                         bkt_buf_add(&out->bytes, fields[f].bytes.ptr + from, fields[f].end[i] - from));
        }
        out->end[i] = out->bytes.len;
    }
    return BKT_OK;
}

static int store_compounds(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                           const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                           struct bkt_stored *out)
{
    struct bkt_stored *fields = bkt_value_tree_room(c->n_child, sizeof *fields, r->err);
    if (!fields)
        return BKT_ENOMEM;
    int rc = store_fields(r, c, src, n, old, fields);
    if (rc == BKT_OK)
        rc = put_together(r, fields, c->n_child, n, out);
    for (size_t f = 0; f < c->n_child; f++)
        bkt_stored_fini(&fields[f]);
    free(fields);
    return rc;
}

/* Elements of fixed size, stored beside variable ones */
static int store_fixed(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                       const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                       struct bkt_stored *out)
{
    size_t bytes;
    BKT_NEED(r->err, bkt_mul_size(n, c->src, &bytes) && bkt_buf_resize(&out->bytes, bytes) >= 0);
    if (c->partial && bytes)
        memset(out->bytes.ptr, 0, bytes);
    if (c->partial && old)
        bkt_value_column_copy(&(struct bkt_value_column){.slices = old}, 0, n, c->src, out->bytes.ptr,
                              c->src);
    for (size_t i = 0; i < n; i++)
        out->end[i] = (i + 1) * c->src;
    return bkt_value_tree_column(r, c, src, n, out->bytes.ptr, c->src);
}

typedef int store_fn(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                     const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                     struct bkt_stored *out);

/* Store n elements into an empty @p out. */
static int store(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                 const struct bkt_value_column *src, size_t n, const struct bkt_slice *old,
                 struct bkt_stored *out)
{
    static store_fn *const by_kind[] = {
        [BKT_TREE_STRING] = store_strings,     [BKT_TREE_VLEN] = store_sequences,
        [BKT_TREE_COMPOUND] = store_compounds, [BKT_TREE_ARRAY] = store_arrays,
        [BKT_TREE_NEW_REF] = store_text_refs,  [BKT_TREE_REG_REF] = store_text_refs};
    BKT_PASS(stored_room(r, n, out));
    if (n == 0)
        return BKT_OK;
    if (c->src)
        return store_fixed(r, c, src, n, old, out);
    BKT_FAIL_IF(r->err, (size_t)c->kind >= BKT_COUNT(by_kind) || !by_kind[c->kind], BKT_EUNSUP,
                "values of this type can't be written");
    return by_kind[c->kind](r, c, src, n, old, out);
}

/* ---- whole elements ---- */

int bkt_value_tree_store(const struct bkt_value_tree *c, const struct bkt_conversion *v, const void *src,
                         size_t n, const struct bkt_value_column *old, struct bkt_stored *out,
                         struct bkt_err *err)
{
    struct bkt_value_tree_pass r = {
        .in_file = v->in_file, .dxpl = v->dxpl, .err = err, .asks = bkt_value_tree_asks(v->dxpl)};
    struct bkt_value_column from = {.base = src, .stride = c->dst};
    if (!c->src)
        return store(&r, c, &from, n, old ? old->slices : NULL, out);
    if (c->partial && old)
        bkt_value_column_copy(old, 0, n, c->src, out->packed, c->src);
    else if (c->partial)
        memset(out->packed, 0, n * c->src);
    return bkt_value_tree_column(&r, c, &from, n, out->packed, c->src);
}

int bkt_convert_store(const struct bkt_conversion *v, const void *src, size_t n, const struct bkt_buf *old,
                      struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_value_tree_fini) struct bkt_value_tree c;
    BKT_CLEANUP(bkt_stored_fini) struct bkt_stored made = {0};
    BKT_CLEANUP(bkt_freep) struct bkt_slice *elems = NULL;
    struct bkt_value_column col;
    size_t bytes;
    BKT_PASS(bkt_value_tree_init_store(&c, v, err));
    bool keep = c.partial && old;
    if (keep)
        BKT_PASS(bkt_value_column_of(v->t, &(struct bkt_slice){old->ptr, old->len}, n, &col, &elems, err));
    if (c.src && (!bkt_mul_size(n, c.src, &bytes) || bkt_buf_resize(out, bytes) < 0))
        BKT_NOMEM(err);
    made.packed = c.src ? out->ptr : NULL;
    BKT_PASS(bkt_value_tree_store(&c, v, src, n, keep ? &col : NULL, &made, err));
    if (!c.src)
        bkt_buf_move(out, &made.bytes);
    return BKT_OK;
}
