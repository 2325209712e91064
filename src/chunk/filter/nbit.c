/* N-bit (filter 5): of every number only the significant bits are stored, one after the other without gaps,
 * most significant first; other types as they are.  The client data describe the type (H5Znbit.c of HDF5):
 *   [0]    number of values
 *   [1]    1: nothing is packed
 *   [2]    elements in the chunk
 *   [3..]  a type:
 *            1 atomic    size, byte order (0: little), precision, offset (bits)
 *            2 array     size, type of the element
 *            3 compound  size, number of members, then offset and type of each member
 *            4 other     size
 * Data and description come from the file.  So the description is checked once, which also gives the number
 * of bits of one element.  The decoding that follows needs no more checks. */

#include "chunk/filter/filters_impl.h"
#include "base/num.h"

enum { CD_COUNT, CD_NOOP, CD_ELEMS, CD_TYPE };
enum { ATOMIC = 1, ARRAY = 2, COMPOUND = 3, OTHER = 4 };
#define DEPTH 32 /* more than any file has; bounds the recursion */

struct desc {
    const unsigned *cd;
    size_t          n, at;
};

static bool next(struct desc *d, unsigned *v)
{
    if (d->at >= d->n)
        return false;
    *v = d->cd[d->at++];
    return true;
}

static bool check(struct desc *d, unsigned depth, unsigned *size, uint64_t *bits);

static bool check_atomic(struct desc *d, unsigned size, uint64_t *bits)
{
    unsigned order, precision, offset;
    if (!next(d, &order) || !next(d, &precision) || !next(d, &offset))
        return false;
    *bits = precision;
    return order <= 1 && precision > 0 && (uint64_t)precision + offset <= (uint64_t)size * 8;
}

static bool check_array(struct desc *d, unsigned depth, unsigned size, uint64_t *bits)
{
    unsigned base;
    uint64_t base_bits;
    if (!check(d, depth, &base, &base_bits) || base == 0 || size % base)
        return false;
    return bkt_mul_u64(size / base, base_bits, bits);
}

static bool check_compound(struct desc *d, unsigned depth, unsigned size, uint64_t *bits)
{
    unsigned n, offset, member;
    uint64_t used = 0, member_bits;
    *bits         = 0;
    if (!next(d, &n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (!next(d, &offset) || !check(d, depth, &member, &member_bits))
            return false;
        used += member; /* HDF5 requires this too; it bounds the work by the size */
        if (used > size || (uint64_t)offset + member > size || !bkt_add_u64(*bits, member_bits, bits))
            return false;
    }
    return true;
}

static bool check(struct desc *d, unsigned depth, unsigned *size, uint64_t *bits)
{
    unsigned kind;
    if (depth == DEPTH || !next(d, &kind) || !next(d, size) || *size == 0)
        return false;
    switch (kind) {
    case ATOMIC:
        return check_atomic(d, *size, bits);
    case ARRAY:
        return check_array(d, depth + 1, *size, bits);
    case COMPOUND:
        return check_compound(d, depth + 1, *size, bits);
    case OTHER:
        *bits = (uint64_t)*size * 8;
        return true;
    default:
        return false;
    }
}

/* Moves packed bits to elements; or the other way, if `to` has memory. */
struct coder {
    struct bkt_bits      from;
    struct bkt_bits_sink to;
};

/* Numbers of more than 8 bytes: byte by byte from the most significant one. */
static void move_long(struct coder *c, unsigned char *elem, const unsigned *cd)
{
    unsigned size = cd[1], order = cd[2], offset = cd[4], top = cd[3] + offset;
    while (top > offset) { /* top: bit behind the most significant one */
        unsigned byte = (top - 1) / 8, low = byte * 8 > offset ? byte * 8 : offset;
        unsigned char *p = &elem[order ? size - 1 - byte : byte];
        if (c->to.p)
            bkt_bits_give(&c->to, *p >> (low - byte * 8), top - low);
        else
            *p = (unsigned char)(bkt_bits_take(&c->from, top - low) << (low - byte * 8));
        top = low;
    }
}

static void move_number(struct coder *c, unsigned char *elem, const unsigned *cd)
{
    unsigned size = cd[1], order = cd[2], precision = cd[3], offset = cd[4];
    if (c->to.p) {
        bkt_bits_give(&c->to, (order ? bkt_get_be(elem, size) : bkt_get_le(elem, size)) >> offset, precision);
        return;
    }
    uint64_t v = bkt_bits_take(&c->from, precision) << offset;
    v = order ? htobe64(v << (64 - 8 * size)) : htole64(v);
    memcpy(elem, &v, size);
}

/* Gives the description behind the type at cd.  Decoding, elem is zeroed: padding and insignificant bits are
 * not stored. */
static const unsigned *move(struct coder *c, unsigned char *elem, const unsigned *cd)
{
    unsigned        size = cd[1];
    const unsigned *end  = cd + 2;
    switch (cd[0]) {
    case ATOMIC:
        (size > 8 ? move_long : move_number)(c, elem, cd);
        return cd + 5;
    case ARRAY:
        for (unsigned at = 0; at < size; at += cd[3]) /* cd[3]: size of the element */
            end = move(c, elem + at, cd + 2);
        return end;
    case COMPOUND:
        end = cd + 3;
        for (unsigned i = 0; i < cd[2]; i++)
            end = move(c, elem + end[0], end + 1);
        return end;
    default:
        for (unsigned i = 0; i < size; i++)
            if (c->to.p)
                bkt_bits_give(&c->to, elem[i], 8);
            else
                elem[i] = (unsigned char)bkt_bits_take(&c->from, 8);
        return end;
    }
}

bool bkt_nbit_is_noop(const struct bkt_filter *f) { return f->n_cd > CD_NOOP && f->cd[CD_NOOP] != 0; }

/* Check N-bit's description of the type, and give bytes and stored bits of an element.  False: impossible
 *  client data. */
static bool nbit_shape(const struct bkt_filter *f, size_t *size, uint64_t *bits)
{
    struct desc d = {f->cd, f->n_cd, CD_TYPE};
    unsigned    n;
    if (f->n_cd <= CD_TYPE || f->cd[CD_COUNT] != f->n_cd || !check(&d, 0, &n, bits))
        return false;
    *size = n;
    return true;
}

#define SLACK 8 /* bytes behind the last bit */

bool bkt_nbit_fits(const struct bkt_filter *f, struct bkt_span head, size_t n)
{
    size_t   size;
    uint64_t bits;
    (void)head;
    if (!nbit_shape(f, &size, &bits) || !bkt_mul_u64(f->cd[CD_ELEMS], bits, &bits))
        return true;
    return n >= bkt_ceil_div(bits, 8) && n - bkt_ceil_div(bits, 8) <= SLACK;
}

int bkt_nbit_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out, struct bkt_err *err)
{
    size_t   size;
    uint64_t bits, all_bits, all_bytes;
    BKT_FAIL_IF(err, !nbit_shape(f, &size, &bits), BKT_EFORMAT, "nbit: impossible client data (%zu values)",
                f->n_cd);
    BKT_FAIL_IF(err,
                !bkt_mul_u64(f->cd[CD_ELEMS], size, &all_bytes) ||
                    !bkt_mul_u64(f->cd[CD_ELEMS], bits, &all_bits),
                BKT_EFORMAT, "nbit: %u elements of %zu bytes", f->cd[CD_ELEMS], size);
    BKT_FAIL_IF(err, all_bytes > out->cap, BKT_ERANGE, "nbit: %llu bytes, expected %zu",
                (unsigned long long)all_bytes, out->cap);
    BKT_FAIL_IF(err, bkt_ceil_div(all_bits, 8) > in.n, BKT_EFORMAT,
                "nbit: %zu bytes are too short for %u elements of %llu bits", in.n, f->cd[CD_ELEMS],
                (unsigned long long)bits);

    struct coder c = {.from = {in.p, in.n, 0}};
    memset(out->p, 0, (size_t)all_bytes);
    for (unsigned i = 0; i < f->cd[CD_ELEMS]; i++)
        move(&c, out->p + (size_t)i * size, f->cd + CD_TYPE);
    out->n = (size_t)all_bytes;
    return BKT_OK;
}

int bkt_nbit_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    size_t      size;
    uint64_t    bits, all;
    struct coder c = {.to = {NULL, 0}};
    BKT_FAIL_IF(err,
                !nbit_shape(f, &size, &bits) || !bkt_mul_u64(f->cd[2], bits, &all) ||
                    in.n / size != f->cd[2] || in.n % size,
                BKT_ERANGE, "nbit: impossible client data (%zu values) for %zu bytes", f->n_cd, in.n);
    if (!(c.to.p = bkt_buf_room(out, (size_t)(all / 8 + 1)))) /* the spare byte at the end is HDF5's */
        BKT_NOMEM(err);
    memset(c.to.p, 0, (size_t)(all / 8 + 1));
    for (unsigned i = 0; i < f->cd[2]; i++)
        move(&c, (unsigned char *)(uintptr_t)in.p + (size_t)i * size, f->cd + CD_TYPE); /* reads it only */
    return BKT_OK;
}
