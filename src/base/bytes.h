/* One growable byte buffer and one bounds-checked reader, for all layers.
 *
 * A zeroed `struct bkt_buf` is an empty buffer.  ptr[len] is NUL whenever ptr is not NULL, so that a
 * text can be used as a C string; len does not count it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bkt_buf {
    unsigned char *ptr;
    size_t         len, cap;
};

/** Make room for @p more bytes behind len (plus the NUL).  BKT_ENOMEM leaves the buffer as it was. */
BKT_NODISCARD int bkt_buf_reserve(struct bkt_buf *b, size_t more);
/** bkt_buf_add*() append @p n bytes, a little-endian integer, a text, or formatted text.  BKT_ENOMEM leaves
 * the buffer as it was. */
BKT_NODISCARD int bkt_buf_add(struct bkt_buf *b, const void *p, size_t n);
/* bytes: 1 to 8 */
BKT_NODISCARD int bkt_buf_add_le(struct bkt_buf *b, unsigned bytes, uint64_t v);
BKT_NODISCARD int bkt_buf_add_str(struct bkt_buf *b, const char *s);
/** Append formatted text.  No argument may point into @p b.  BKT_EINVAL: an argument cannot be formatted. */
BKT_NODISCARD int bkt_buf_addf(struct bkt_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Append @p n bytes behind their length, in 8 bytes.  After BKT_ENOMEM the length may be there alone. */
BKT_NODISCARD int bkt_buf_add_sized(struct bkt_buf *b, const void *p, size_t n);

/** Append the shortest of 15 to 17 digits that gives the same double again, in the thread's locale. */
BKT_NODISCARD int bkt_buf_add_real(struct bkt_buf *b, double v);

/** A formatted text in memory of its own; free().  BKT_ENOMEM: *out is NULL. */
BKT_NODISCARD int bkt_text(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Make the length exactly @p n; new bytes are not initialised. */
BKT_NODISCARD int bkt_buf_resize(struct bkt_buf *b, size_t n);

/** Shorten to @p n bytes (at most the present length). */
void bkt_buf_cut(struct bkt_buf *b, size_t n);

/** The contents as a C string, "" for an empty buffer; borrowed until the next change. */
const char *bkt_buf_str(const struct bkt_buf *b);

/** Hand the bytes to the caller (free()); the buffer is empty afterwards.  NULL: it never had memory. */
void *bkt_buf_steal(struct bkt_buf *b);
void  bkt_buf_clear(struct bkt_buf *b);  /* keeps the memory */
void  bkt_buf_fini(struct bkt_buf *b);   /* frees the memory; NULL and empty buffers are allowed */
/** Free the contents of @p to, and move those of @p from there; @p from is empty afterwards. */
void  bkt_buf_move(struct bkt_buf *to, struct bkt_buf *from);

/** Reader over borrowed bytes.  After a read past the end, all further reads fail: check `ok` once at the
 *  end, or each result. */
struct bkt_rd {
    const unsigned char *p, *end;
    bool                 ok;
};
struct bkt_rd bkt_rd_of(const void *p, size_t n);      /* p is borrowed; NULL: no bytes, whatever n is */
size_t        bkt_rd_left(const struct bkt_rd *r);     /* bytes not read yet */
const void   *bkt_rd_take(struct bkt_rd *r, size_t n); /* the next n bytes, borrowed; NULL past the end */
/** bkt_rd_le() and bkt_rd_be() read the next integer, of 1 to 8 bytes.  Past the end: 0. */
uint64_t bkt_rd_le(struct bkt_rd *r, unsigned bytes);
uint64_t bkt_rd_be(struct bkt_rd *r, unsigned bytes);
/** The bytes that bkt_buf_add_sized() added, borrowed; @p n gets their number.  Past the end: "", none. */
const void *bkt_rd_take_sized(struct bkt_rd *r, size_t *n);

/** bkt_get_*() and bkt_put_*() read or write little- and big-endian integers of 1 to 8 bytes at @p p. */
uint64_t bkt_get_le(const void *p, unsigned bytes);
uint64_t bkt_get_be(const void *p, unsigned bytes);
void     bkt_put_le(void *p, unsigned bytes, uint64_t v);
void     bkt_put_be(void *p, unsigned bytes, uint64_t v);

/** The value of an IEEE 754 number of 2, 4 or 8 bytes.  False: another size. */
bool bkt_real_of(uint64_t bits, size_t bytes, double *out);
/** IEEE 754 binary16, rounded to nearest, ties to even. */
uint16_t bkt_half_of(double v);
/** The inverse of bkt_real_of(), rounded to nearest.  A number too large for @p bytes (2, 4 or 8) becomes an
 *  infinity. */
uint64_t bkt_bits_of_real(double v, size_t bytes);

/** Base64 (RFC 4648 section 4; white space is skipped, padding may be absent).  Appends to @p out, also a
 * part before a failure.  BKT_EFORMAT: not Base64; BKT_ENOMEM. */
BKT_NODISCARD int bkt_base64_decode(const char *text, size_t n, struct bkt_buf *out);
/** Append Base64 with padding, in one line.  BKT_ENOMEM: a part may have been appended. */
BKT_NODISCARD int bkt_base64_encode(const void *p, size_t n, struct bkt_buf *out);

int bkt_hex_digit(char c); /* its value, 0 to 15; -1: not a hexadecimal digit */
/** Print @p n bytes as small hexadecimal digits and a NUL: @p out has 2 n + 1 bytes. */
void bkt_hex(const void *p, size_t n, char *out);
/** Append @p n bytes, percent-encoded except RFC 3986's unreserved characters and those in @p also.
 * BKT_ENOMEM: a part may have been appended. */
BKT_NODISCARD int bkt_percent_encode(struct bkt_buf *out, const char *p, size_t n, const char *also);

/** A digest for comparing values in memory, also between processes of one program.  It isn't stored,
 * and isn't collision resistant.
 *  @param before  the digest of what comes before; 0: nothing */
uint64_t bkt_digest(const void *p, size_t n, uint64_t before);

/** Buffers for secrets: growing and freeing leave no copies behind.  bkt_secret_add*() append; BKT_ENOMEM
 * leaves the buffer as it was. */
BKT_NODISCARD int bkt_secret_add(struct bkt_buf *b, const void *p, size_t n);
BKT_NODISCARD int bkt_secret_addf(struct bkt_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void              bkt_secret_fini(struct bkt_buf *b); /* wipes and frees the memory */
void              bkt_secret_free(char *text); /* wipes up to the NUL, and frees; NULL is allowed */

/** For BKT_CLEANUP on a malloc'ed pointer of any type. */
void bkt_freep(void *pp);
