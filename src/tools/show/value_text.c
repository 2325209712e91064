/* Attribute values, from their stored form, as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "tools/show/show.h"

/* Either sink: text with a bound, or JSON. */
struct sink {
    struct bkt_buf  *b;
    size_t           most;
    struct bkt_jout *j;
    const char      *key; /* of the next value in JSON */
};

static const char *take_key(struct sink *s)
{
    const char *key = s->key;
    s->key          = NULL;
    return key;
}

static bool full(const struct sink *s) { return s->b && s->b->len >= s->most; }

static void open_list(struct sink *s)
{
    if (s->j)
        bkt_jout_open(s->j, take_key(s), '[');
    else
        bkt_say_str(s->b, "[");
}
static void close_list(struct sink *s)
{
    if (s->j)
        bkt_jout_close(s->j);
    else
        bkt_say_str(s->b, "]");
}
static void comma(struct sink *s, uint64_t i)
{
    if (s->b && i)
        bkt_say_str(s->b, ", ");
}

static void put_text(struct sink *s, const unsigned char *p, size_t n)
{
    if (s->j) {
        bkt_jout_text(s->j, take_key(s), p, n);
        return;
    }
    char  *copy = n ? strndup((const char *)p, n) : NULL;
    size_t at   = s->b->len;
    bkt_say_str(s->b, "\"");
    if (copy)
        bkt_show_name(s->b, copy);
    bkt_freep(&copy);
    if (s->b->len > at + s->most) {
        bkt_buf_cut(s->b, at + s->most);
        while (s->b->len > at && (s->b->ptr[s->b->len - 1] & 0xc0) == 0x80) /* not within a character */
            bkt_buf_cut(s->b, s->b->len - 1);
        bkt_say_str(s->b, "…");
    }
    bkt_say_str(s->b, "\"");
}

static void put_float(struct sink *s, uint64_t bits, size_t size)
{
    double v = 0;
    (void)bkt_real_of(bits, size, &v);
    if (s->j)
        bkt_jout_real(s->j, take_key(s), v);
    else
        bkt_say(s->b, "%.*g", size == 8 ? 15 : 7, v);
}

static void put_int(struct sink *s, uint64_t bits, const struct bkt_type *t)
{
    unsigned shift = (unsigned)(64 - t->size * 8);
    int64_t  v     = (int64_t)(bits << shift) >> shift;
    if (s->j && t->is_signed)
        bkt_jout_i64(s->j, take_key(s), v);
    else if (s->j)
        bkt_jout_u64(s->j, take_key(s), bits);
    else if (t->is_signed)
        bkt_say(s->b, "%" PRId64, v);
    else
        bkt_say(s->b, "%" PRIu64, bits);
}

static void put_null(struct sink *s)
{
    if (s->j)
        bkt_jout_null(s->j, take_key(s));
    else
        bkt_say_str(s->b, "null");
}

static void put_hex(struct sink *s, const unsigned char *p, size_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf hex = {0};
    for (size_t i = 0; i < n && !(s->b && hex.len > s->most); i++)
        bkt_say(&hex, "%02x", p[i]);
    put_text(s, hex.ptr, hex.len);
}

static void put_one(struct sink *s, const struct bkt_type *t, struct bkt_rd *r, unsigned depth);

static void put_fields(struct sink *s, const struct bkt_type *t, struct bkt_rd *r, unsigned depth)
{
    open_list(s);
    for (size_t i = 0; i < t->n_fields; i++) {
        comma(s, i);
        put_one(s, t->fields[i].type, r, depth + 1);
    }
    close_list(s);
}

static void put_many(struct sink *s, const struct bkt_type *t, uint64_t n, struct bkt_rd *r, unsigned depth)
{
    open_list(s);
    for (uint64_t i = 0; i < n && r->ok && (t->is_var || t->size) && !full(s); i++) {
        comma(s, i);
        put_one(s, t, r, depth + 1);
    }
    if (full(s))
        bkt_say_str(s->b, ", …");
    close_list(s);
}

/* count (bytes), then the bytes */
static void put_var(struct sink *s, const struct bkt_type *t, struct bkt_rd *r, unsigned depth)
{
    size_t               n = (size_t)bkt_rd_le(r, 4);
    bool                 null = n == BKT_VAR_NULL && t->cls == BKT_T_STRING;
    const unsigned char *p    = null ? NULL : bkt_rd_take(r, n);
    if (null || (!p && n)) {
        put_null(s);
    } else if (t->cls == BKT_T_VLEN) {
        struct bkt_rd in = bkt_rd_of(p, n);
        open_list(s);
        for (uint64_t i = 0; in.ok && bkt_rd_left(&in) && (t->base->is_var || t->base->size) && !full(s);
             i++) {
            comma(s, i);
            put_one(s, t->base, &in, depth + 1);
        }
        close_list(s);
    } else {
        put_text(s, p, n);
    }
}

static void put_fixed(struct sink *s, const struct bkt_type *t, const unsigned char *p)
{
    size_t   n    = t->size;
    uint64_t bits =
        n >= 1 && n <= 8 ? t->big_endian ? bkt_get_be(p, (unsigned)n) : bkt_get_le(p, (unsigned)n) : 0;
    bool     num  = n >= 1 && n <= 8;
    if (t->cls == BKT_T_INTEGER && num)
        put_int(s, bits, t);
    else if (t->cls == BKT_T_FLOAT && (n == 2 || n == 4 || n == 8))
        put_float(s, bits, n);
    else if (t->cls == BKT_T_STRING || t->cls == BKT_T_OBJREF || t->cls == BKT_T_REGREF)
        put_text(s, p, strnlen((const char *)p, n));
    else
        put_hex(s, p, n);
}

static void put_one(struct sink *s, const struct bkt_type *t, struct bkt_rd *r, unsigned depth)
{
    if (!r->ok || depth > BKT_TYPE_DEPTH) {
        put_null(s);
    } else if (t->cls == BKT_T_COMPOUND) {
        put_fields(s, t, r, depth);
    } else if (t->cls == BKT_T_ARRAY) {
        put_many(s, t->base, t->n_elems, r, depth);
    } else if (t->cls == BKT_T_ENUM) {
        put_one(s, t->base, r, depth + 1);
    } else if (t->is_var) {
        put_var(s, t, r, depth);
    } else {
        const unsigned char *p = bkt_rd_take(r, t->size);
        if (p)
            put_fixed(s, t, p);
        else
            put_null(s);
    }
}

static void put_value(struct sink *s, const struct bkt_attr *a)
{
    uint64_t      n = 0;
    struct bkt_rd r = bkt_rd_of(a->value.ptr, a->value.len);
    if (a->bad || !a->has_value || bkt_space_count(&a->space, &n, NULL) < 0)
        put_null(s);
    else if (a->space.cls == BKT_S_SCALAR)
        put_one(s, a->type, &r, 0);
    else
        put_many(s, a->type, n, &r, 0); /* flat, in C order: the shape is printed beside */
}

void bkt_show_attr(struct bkt_buf *b, const struct bkt_attr *a, size_t most)
{
    bkt_show_name(b, a->name);
    bkt_say_str(b, ": ");
    bkt_show_type(b, a->type);
    bkt_say_str(b, " ");
    bkt_show_space(b, &a->space);
    bkt_say_str(b, " = ");
    struct sink s = {.b = b, .most = b->len + most};
    put_value(&s, a);
}

void bkt_jout_value(struct bkt_jout *j, const char *key, const struct bkt_attr *a)
{
    struct sink s = {.j = j, .key = key};
    put_value(&s, a);
}
