/* Stored elements -> the program's memory, a column at a time (see values_to_memory.h). */
#include "vol/convert/values_to_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "vol/convert/region_shadow.h"
#include "vol/core/token.h"
#include "vol/core/object_refs.h"

static const unsigned char *element(const struct bkt_value_column *col, size_t i)
{
    return col->slices ? col->slices[i].p : col->base + i * col->stride;
}

void *bkt_value_tree_room(size_t n, size_t size, struct bkt_err *err)
{
    size_t bytes;
    void  *p = bkt_mul_size(n, size, &bytes) ? calloc(1, bytes ? bytes : 1) : NULL;
    if (!p)
        (void)BKT_ERR(err, BKT_ENOMEM, "no memory to convert %zu elements of %zu bytes", n, size);
    return p;
}

/* Allocate memory that the program will own. */
static void *give(struct bkt_value_tree_pass *r, size_t bytes)
{
    if (bkt_buf_reserve(&r->blocks, sizeof(void *)) < 0) {
        (void)BKT_ERR(r->err, BKT_ENOMEM, "out of memory");
        return NULL;
    }
    void *p = r->alloc ? r->alloc(bytes, r->alloc_info) : malloc(bytes);
    if (!p)
        (void)BKT_ERR(r->err, BKT_ENOMEM, "no memory for a variable-length value of %zu bytes", bytes);
    else
        (void)!bkt_buf_add(&r->blocks, &p, sizeof p);
    return p;
}

static void take_back(struct bkt_value_tree_pass *r)
{
    void *p;
    for (size_t at = 0; at < r->blocks.len; at += sizeof p) {
        memcpy(&p, r->blocks.ptr + at, sizeof p);
        if (!r->alloc)
            free(p);
        else if (r->release)
            r->release(p, r->release_info);
    }
    for (size_t at = 0; at < r->refs.len; at += sizeof(H5R_ref_t))
        (void)H5Rdestroy((H5R_ref_t *)(void *)(r->refs.ptr + at));
}

void bkt_value_column_copy(const struct bkt_value_column *col, size_t first, size_t n, size_t size,
                           unsigned char *dst, size_t dstride)
{
    if (!col->slices && col->stride == size && dstride == size) {
        memcpy(dst, col->base + first * size, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(dst + i * dstride, element(col, first + i), size);
}

/* Bytes of an element before the conversion and afterwards; 0: variable. */
static size_t size_in(const struct bkt_value_tree *c)
{
    return c->store ? c->dst : c->src;
}

static size_t size_out(const struct bkt_value_tree *c)
{
    return c->store ? c->src : c->dst;
}

static int copy(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    (void)r;
    bkt_value_column_copy(col, 0, n, c->src, dst, dstride);
    if (c->tails)
        bkt_tails_clear(c->t, dst, dstride, n);
    return BKT_OK;
}

/* Convert numbers that don't need H5Tconvert. */
static void numbers(const struct bkt_value_tree *c, const struct bkt_value_column *col, size_t n,
                    unsigned char *dst, size_t dstride)
{
    if (!col->slices)
        bkt_recast_step(&c->number, col->base, col->stride, dst, dstride, n);
    for (size_t i = 0; col->slices && i < n; i++)
        bkt_recast_step(&c->number, col->slices[i].p, c->src, dst + i * dstride, c->dst, 1);
}

static int leaf(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    if (c->has_number && !r->asks) {
        numbers(c, col, n, dst, dstride);
        return BKT_OK;
    }
    size_t in = size_in(c), out = size_out(c), wide = in > out ? in : out,
           batch = n < BKT_CONVERT_BATCH ? n : BKT_CONVERT_BATCH;
    const hid_t from = c->store ? c->mem : c->file, to_type = c->store ? c->file : c->mem;
    /* Convert in the result's place if nothing lies between the elements, or in the column's own memory. */
    bool in_result = dstride == out && out == wide;
    bool in_column = !in_result && col->scratch && col->stride == in && in == wide && !col->slices;
    bool apart = !in_result && !in_column;
    BKT_CLEANUP(bkt_freep) unsigned char *tmp = apart ? bkt_value_tree_room(batch, wide, r->err) : NULL;
    BKT_CLEANUP(bkt_freep) unsigned char *bkg = c->partial ? bkt_value_tree_room(batch, out, r->err) : NULL;

    if ((apart && !tmp) || (c->partial && !bkg))
        return BKT_ENOMEM;
    for (size_t i = 0; i < n; i += batch) {
        size_t k = n - i < batch ? n - i : batch;
        unsigned char *to = in_result   ? dst + i * dstride
                            : in_column ? (unsigned char *)col->base + i * wide
                                        : tmp;
        const struct bkt_value_column old = {.base = dst + i * dstride, .stride = dstride};
        if (bkg)
            bkt_value_column_copy(&old, 0, k, out, bkg, out);
        if (!in_column)
            bkt_value_column_copy(col, i, k, in, to, in);
        BKT_NEED_H5(r->err, H5Tconvert(from, to_type, k, to, bkg, r->dxpl) >= 0, "converting values");
        if (!in_result)
            bkt_value_column_copy(&(struct bkt_value_column){.base = to, .stride = out}, 0, k, out,
                                  dst + i * dstride, dstride);
    }
    if (c->tails)
        bkt_tails_clear(c->t, dst, dstride, n);
    return BKT_OK;
}

/* The bytes behind a stored value's length word */
static int payload(struct bkt_value_tree_pass *r, const struct bkt_value_column *col, size_t i,
                   struct bkt_slice *out)
{
    const struct bkt_slice *s = &col->slices[i];
    if (s->n == 4 && bkt_get_le(s->p, 4) == BKT_VAR_NULL) { /* a string */
        *out = (struct bkt_slice){NULL, 0};
        return BKT_OK;
    }
    BKT_FAIL_IF(r->err, s->n < 4 || bkt_get_le(s->p, 4) > s->n - 4, BKT_EFORMAT,
                "a variable-length value is cut off (%zu bytes stored)", s->n);
    out->p = s->p + 4;
    out->n = (size_t)bkt_get_le(s->p, 4);
    return BKT_OK;
}

static int string(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                  const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        struct bkt_slice s;
        BKT_PASS(payload(r, col, i, &s));
        char *p = s.p ? give(r, s.n + 1) : NULL;
        if (s.p && !p)
            return BKT_ENOMEM;
        if (p) {
            memcpy(p, s.p, s.n);
            p[s.n] = '\0';
        }
        memcpy(dst + i * dstride, &p, sizeof p);
    }
    return BKT_OK;
}

/* Elements of the sequences of a column, in a row */
struct sequences {
    size_t           *len;
    struct bkt_slice *slices; /* base type variable */
    unsigned char    *packed; /* base type fixed */
    size_t            total;
};

static void sequences_fini(struct sequences *q)
{
    free(q->len);
    free(q->slices);
    free(q->packed);
}

static int count_elements(struct bkt_value_tree_pass *r, const struct bkt_value_tree *base,
                          const struct bkt_slice *s, size_t *out)
{
    if (base->src) {
        BKT_FAIL_IF(r->err, s->n % base->src, BKT_EFORMAT,
                    "sequence of %zu bytes: its elements have %zu bytes", s->n, base->src);
        *out = s->n / base->src;
        return BKT_OK;
    }
    struct bkt_rd rd = bkt_rd_of(s->p, s->n);
    for (*out = 0; bkt_rd_left(&rd) > 0; ++*out) {
        size_t before = bkt_rd_left(&rd);
        BKT_PASS(bkt_value_skip(base->t, &rd, BKT_VAR_NULL, r->err));
        BKT_FAIL_IF(r->err, bkt_rd_left(&rd) == before, BKT_EFORMAT, "sequence: its elements have 0 bytes");
    }
    return BKT_OK;
}

int bkt_value_column_cut(const struct bkt_type *t, struct bkt_rd *rd, size_t count, struct bkt_slice *out,
                         struct bkt_err *err)
{
    for (size_t i = 0; i < count; i++) {
        out[i].p = rd->p;
        BKT_PASS(bkt_value_skip(t, rd, BKT_VAR_NULL, err));
        out[i].n = (size_t)(rd->p - out[i].p);
    }
    return BKT_OK;
}

int bkt_value_column_cut_arrays(const struct bkt_type *t, const struct bkt_slice *arrays, size_t n,
                                struct bkt_slice *out, struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_rd rd = bkt_rd_of(arrays[i].p, arrays[i].n);
        BKT_PASS(bkt_value_column_cut(t->base, &rd, (size_t)t->n_elems, out + i * (size_t)t->n_elems, err));
    }
    return BKT_OK;
}

int bkt_value_column_cut_field(const struct bkt_type *t, size_t n, struct bkt_slice *rest,
                               struct bkt_slice *field, struct bkt_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_rd rd = bkt_rd_of(rest[i].p, rest[i].n);
        BKT_PASS(bkt_value_column_cut(t, &rd, 1, &field[i], err));
        rest[i].p = rd.p;
        rest[i].n -= field[i].n;
    }
    return BKT_OK;
}

static int flatten(struct bkt_value_tree_pass *r, const struct bkt_value_tree *base,
                   const struct bkt_value_column *col, size_t n, struct sequences *q)
{
    struct bkt_slice s;
    q->len = bkt_value_tree_room(n, sizeof *q->len, r->err);
    if (!q->len)
        return BKT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        BKT_PASS(payload(r, col, i, &s));
        BKT_PASS(count_elements(r, base, &s, &q->len[i]));
        q->total += q->len[i]; /* at most the number of bytes in the column */
    }
    if (base->src)
        q->packed = bkt_value_tree_room(q->total, base->src, r->err);
    else
        q->slices = bkt_value_tree_room(q->total, sizeof *q->slices, r->err);
    if (!q->packed && !q->slices)
        return BKT_ENOMEM;
    for (size_t i = 0, at = 0; i < n; at += q->len[i++]) {
        BKT_PASS(payload(r, col, i, &s));
        struct bkt_rd rd = bkt_rd_of(s.p, s.n);
        if (base->src && s.n)
            memcpy(q->packed + at * base->src, s.p, s.n);
        else if (!base->src)
            BKT_PASS(bkt_value_column_cut(base->t, &rd, q->len[i], q->slices + at, r->err));
    }
    return BKT_OK;
}

static int vlen(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    const struct bkt_value_tree *base = &c->child[0];
    BKT_CLEANUP(sequences_fini) struct sequences q = {0};
    BKT_PASS(flatten(r, base, col, n, &q));
    BKT_CLEANUP(bkt_freep) unsigned char *elems = bkt_value_tree_room(q.total, base->dst, r->err);
    if (!elems)
        return BKT_ENOMEM;
    struct bkt_value_column all = {.slices = q.slices, .base = q.packed, .stride = base->src};
    BKT_PASS(bkt_value_tree_column(r, base, &all, q.total, elems, base->dst));
    for (size_t i = 0, at = 0; i < n; at += q.len[i++]) {
        hvl_t  v     = {.len = q.len[i], .p = NULL};
        size_t bytes = v.len * base->dst;
        if (bytes) {
            v.p = give(r, bytes);
            if (!v.p)
                return BKT_ENOMEM;
            memcpy(v.p, elems + at * base->dst, bytes);
        }
        memcpy(dst + i * dstride, &v, sizeof v);
    }
    return BKT_OK;
}

int bkt_value_tree_array_elements(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                                  const struct bkt_value_column *col, size_t n, struct bkt_value_column *out,
                                  size_t *total, void **owned)
{
    size_t each = (size_t)c->t->n_elems, in = size_in(c);
    bool fits = bkt_mul_size(n, each, total) && each <= SIZE_MAX / sizeof(struct bkt_slice);
    BKT_FAIL_IF(r->err, !fits && c->store, BKT_EINVAL, "array type: too many elements");
    BKT_FAIL_IF(r->err, !fits, BKT_EFORMAT, "array type of %zu elements: larger than memory can hold", each);
    *out = *col;
    if (in && !col->slices && col->stride == in) {
        out->stride = size_in(&c->child[0]);
        return BKT_OK;
    }
    if (in) {
        unsigned char *packed = bkt_value_tree_room(n, in, r->err);
        if (!packed)
            return BKT_ENOMEM;
        bkt_value_column_copy(col, 0, n, in, packed, in);
        *owned = packed;
        *out = (struct bkt_value_column){.base = packed, .stride = size_in(&c->child[0])};
        return BKT_OK;
    }
    struct bkt_slice *slices = bkt_value_tree_room(n, each * sizeof *slices, r->err);
    *owned = slices;
    if (!slices)
        return BKT_ENOMEM;
    *out = (struct bkt_value_column){.slices = slices};
    return bkt_value_column_cut_arrays(c->t, col->slices, n, slices, r->err);
}

static int array(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                 const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    const struct bkt_value_tree *base = &c->child[0];
    const struct bkt_value_column old = {.base = dst, .stride = dstride};
    BKT_CLEANUP(bkt_freep) void *owned = NULL;
    BKT_CLEANUP(bkt_freep) unsigned char *tmp = NULL;
    struct bkt_value_column all;
    size_t total, out = size_out(c);

    BKT_PASS(bkt_value_tree_array_elements(r, c, col, n, &all, &total, &owned));
    if (dstride == out)
        return bkt_value_tree_column(r, base, &all, total, dst, size_out(base));
    tmp = bkt_value_tree_room(n, out, r->err);
    if (!tmp)
        return BKT_ENOMEM;
    bkt_value_column_copy(&old, 0, n, out, tmp, out);
    BKT_PASS(bkt_value_tree_column(r, base, &all, total, tmp, size_out(base)));
    bkt_value_column_copy(&(struct bkt_value_column){.base = tmp, .stride = out}, 0, n, out, dst, dstride);
    return BKT_OK;
}

static int fixed_fields(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                        const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    BKT_CLEANUP(bkt_freep) unsigned char *packed = NULL;
    struct bkt_value_column from = *col;
    if (col->slices) {
        packed = bkt_value_tree_room(n, c->src, r->err);
        if (!packed)
            return BKT_ENOMEM;
        bkt_value_column_copy(col, 0, n, c->src, packed, c->src);
        from = (struct bkt_value_column){.base = packed, .stride = c->src};
    }
    for (size_t i = 0; i < c->n_child; i++) {
        size_t stored = c->t->fields[i].offset, mem = c->child[i].offset;
        struct bkt_value_column field = {.base = from.base + (c->store ? mem : stored),
                                         .stride = from.stride};
        if (c->child[i].kind != BKT_TREE_SKIP)
            BKT_PASS(
                bkt_value_tree_column(r, &c->child[i], &field, n, dst + (c->store ? stored : mem), dstride));
    }
    return BKT_OK;
}

/* The beginning of a field depends on the fields before it, so fields are cut off in sequence. */
static int compound(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                    const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    if (c->src)
        return fixed_fields(r, c, col, n, dst, dstride);
    BKT_CLEANUP(bkt_freep) struct bkt_slice *rest = bkt_value_tree_room(n, sizeof *rest, r->err);
    BKT_CLEANUP(bkt_freep) struct bkt_slice *field = bkt_value_tree_room(n, sizeof *field, r->err);
    if (!rest || !field)
        return BKT_ENOMEM;
    memcpy(rest, col->slices, n * sizeof *rest);
    for (size_t f = 0; f < c->n_child; f++) {
        BKT_PASS(bkt_value_column_cut_field(c->t->fields[f].type, n, rest, field, r->err));
        if (c->child[f].kind != BKT_TREE_SKIP)
            BKT_PASS(bkt_value_tree_column(r, &c->child[f], &(struct bkt_value_column){.slices = field}, n,
                                           dst + c->child[f].offset, dstride));
    }
    return BKT_OK;
}

static int obj_ref(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                   const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_id id;
        BKT_PASS(bkt_ref_parse(element(col, i), c->src, &id, r->err));
        bkt_token_address(&id, dst + i * dstride);
    }
    return BKT_OK;
}

static int region_text(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                       const struct bkt_value_column *col, size_t i, struct bkt_slice *out)
{
    if (c->src == 0)
        return payload(r, col, i, out);
    *out = (struct bkt_slice){element(col, i), c->src};
    return BKT_OK;
}

static int one_ref(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                   const struct bkt_value_column *col, size_t i, H5R_ref_t *out, bool *made)
{
    struct bkt_slice text;
    struct bkt_id    id;
    if (c->t->cls != BKT_T_OBJREF) {
        BKT_PASS(region_text(r, c, col, i, &text));
        return bkt_convert_region(r->in_file, &text, out, made, r->err);
    }
    BKT_PASS(bkt_ref_parse(element(col, i), c->src, &id, r->err));
    *made = id.text[0] != '\0';
    return *made ? bkt_vobj_ref_make(r->in_file, &id, H5I_INVALID_HID, NULL, out, r->err) : BKT_OK;
}

static int new_ref(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                   const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    static const H5R_ref_t null;
    for (size_t i = 0; i < n; i++) {
        H5R_ref_t ref  = null;
        bool      made = false;
        BKT_PASS_MEM(r->err, bkt_buf_reserve(&r->refs, sizeof ref));
        BKT_PASS(one_ref(r, c, col, i, &ref, &made));
        if (made)
            (void)!bkt_buf_add(&r->refs, &ref, sizeof ref);
        memcpy(dst + i * dstride, &ref, sizeof ref);
    }
    return BKT_OK;
}

static int reg_ref(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                   const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    for (size_t i = 0; i < n; i++) {
        struct bkt_slice text;
        unsigned char    handle[H5R_DSET_REG_REF_BUF_SIZE];
        BKT_PASS(region_text(r, c, col, i, &text));
        BKT_PASS(bkt_region_shadow_handle(r->in_file, &text, handle, r->err));
        memcpy(dst + i * dstride, handle, sizeof handle);
    }
    return BKT_OK;
}

int bkt_value_tree_column(struct bkt_value_tree_pass *r, const struct bkt_value_tree *c,
                          const struct bkt_value_column *col, size_t n, unsigned char *dst, size_t dstride)
{
    static bkt_value_tree_fn *const converters[2][BKT_TREE_REG_REF + 1] = {
        {[BKT_TREE_COPY] = copy,
         [BKT_TREE_LEAF] = leaf,
         [BKT_TREE_STRING] = string,
         [BKT_TREE_VLEN] = vlen,
         [BKT_TREE_ARRAY] = array,
         [BKT_TREE_COMPOUND] = compound,
         [BKT_TREE_OBJ_REF] = obj_ref,
         [BKT_TREE_NEW_REF] = new_ref,
         [BKT_TREE_REG_REF] = reg_ref},
        {[BKT_TREE_COPY] = copy,
         [BKT_TREE_LEAF] = leaf,
         [BKT_TREE_ARRAY] = array,
         [BKT_TREE_COMPOUND] = compound,
         [BKT_TREE_OBJ_REF] = bkt_value_tree_put_obj_ref,
         [BKT_TREE_NEW_REF] = bkt_value_tree_put_new_ref}};
    bkt_value_tree_fn *fn = converters[c->store][c->kind];
    if (n == 0)
        return BKT_OK;
    BKT_FAIL_IF(r->err, !fn, BKT_EUNSUP, "values of this type can't be written");
    BKT_FAIL_IF(r->err, !col->slices && c->t->is_var, BKT_EFORMAT,
                "variable-length values without their lengths");
    return fn(r, c, col, n, dst, dstride);
}

static int check_slices(const struct bkt_value_tree *c, const struct bkt_value_column *col, size_t n,
                        struct bkt_err *err)
{
    for (size_t i = 0; col->slices && c->src && i < n; i++)
        BKT_FAIL_IF(err, col->slices[i].n < c->src, BKT_EFORMAT, "%zu bytes stored for a value of %zu",
                    col->slices[i].n, c->src);
    return BKT_OK;
}

int bkt_value_tree_apply(const struct bkt_value_tree *c, const struct bkt_conversion *v,
                         const struct bkt_value_column *col, size_t n, void *dst, struct bkt_err *err)
{
    struct bkt_value_tree_pass r = {
        .in_file = v->in_file, .dxpl = v->dxpl, .err = err, .asks = bkt_value_tree_asks(v->dxpl)};
    BKT_PASS(check_slices(c, col, n, err));
    if (v->dxpl != H5P_DEFAULT &&
        H5Pget_vlen_mem_manager(v->dxpl, &r.alloc, &r.alloc_info, &r.release, &r.release_info) < 0)
        return bkt_h5err_capture(err, "asking for the memory manager of variable-length data");
    int rc = bkt_value_tree_column(&r, c, col, n, dst, c->dst);
    if (rc < 0)
        take_back(&r);
    bkt_buf_fini(&r.blocks);
    bkt_buf_fini(&r.refs);
    return rc;
}

int bkt_value_column_of(const struct bkt_type *t, const struct bkt_slice *stored, size_t n,
                        struct bkt_value_column *out, struct bkt_slice **elems, struct bkt_err *err)
{
    struct bkt_rd rd = bkt_rd_of(stored->p, stored->n);
    *out = (struct bkt_value_column){.base = stored->p, .stride = t->size};
    BKT_FAIL_IF(err, !t->is_var && (t->size == 0 || stored->n / t->size < n), BKT_EFORMAT,
                "%zu bytes stored for %zu elements of %zu", stored->n, n, t->size);
    if (!t->is_var)
        return BKT_OK;
    out->slices = *elems = bkt_value_tree_room(n, sizeof **elems, err);
    return *elems ? bkt_value_column_cut(t, &rd, n, *elems, err) : BKT_ENOMEM;
}

int bkt_convert_values(const struct bkt_conversion *v, const struct bkt_slice *stored, size_t n, void *buf,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_value_tree_fini) struct bkt_value_tree c;
    BKT_CLEANUP(bkt_freep) struct bkt_slice *elems = NULL;
    struct bkt_value_column col;
    BKT_PASS(bkt_value_tree_init(&c, v, err));
    BKT_PASS(bkt_value_column_of(v->t, stored, n, &col, &elems, err));
    return bkt_value_tree_apply(&c, v, &col, n, buf, err);
}
