/* Tails: bytes behind the first NUL of fixed strings that end with one (H5T_STR_NULLTERM).
 *
 * They are not part of the value.  HSDS has no strings that end with a NUL: it serves all bytes, and JSON
 * shows them.  So tails are stored as zeros.  Strings padded with NULs or spaces keep their bytes, as in
 * HDF5: in these a NUL may be text. */
#include <string.h>

#include "vol/convert/values_to_memory.h"

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
