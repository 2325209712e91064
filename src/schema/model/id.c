/* Object ids, the keys made of them, and stored references.
 *
 * Version 2: p-8-8-4-6-6 hex digits.  The first 16 name the domain's root, and db/<8>-<8>/ holds all its
 * objects.  A root group's other 16 digits are the first 16, each plus 8 modulo 16.
 * Version 1: p-8-4-4-4-12 (a UUID).  Keys are flat: <first 5 hex digits of the id's MD5>-<id>. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/map.h"
#include "base/random.h"
#include "schema/model/model.h"
#include "storage/md5.h"

static const struct kind_names {
    char          prefix;
    enum bkt_kind kind;
    const char   *file;       /* last part of a version 2 key */
    const char   *collection; /* its spelling in references */
} kinds[] = {
    {'g', BKT_GROUP, ".group.json", "groups/"},
    {'d', BKT_DATASET, ".dataset.json", "datasets/"},
    {'t', BKT_DATATYPE, ".datatype.json", "datatypes/"},
};

static const struct kind_names *kind_of_prefix(char c)
{
    for (size_t i = 0; i < BKT_COUNT(kinds); i++)
        if (kinds[i].prefix == c)
            return &kinds[i];
    return NULL;
}

/* Not isxdigit(): a call for each digit is noticeable where a group has many links. */
static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Whether text is hex digits, with '-' exactly at the places where pattern has one. */
static bool has_shape(const char *text, const char *pattern)
{
    size_t i = 0;
    for (; pattern[i]; i++)
        if (pattern[i] == '-' ? text[i] != '-' : !is_hex(text[i]))
            return false;
    return text[i] == 0;
}

static const char v1_shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
static const char v2_shape[] = "xxxxxxxx-xxxxxxxx-xxxx-xxxxxx-xxxxxx";

bool bkt_id_valid(const char *text)
{
    return kind_of_prefix(text[0]) && text[1] == '-' &&
           (has_shape(text + 2, v2_shape) || has_shape(text + 2, v1_shape));
}

bool bkt_id_is_v2(const struct bkt_id *id) { return id->text[0] && has_shape(id->text + 2, v2_shape); }

bool bkt_id_set(struct bkt_id *id, const char *text)
{
    memset(id, 0, sizeof *id);
    if (!bkt_id_valid(text))
        return false;
    memcpy(id->text, text, BKT_ID_LEN);
    return true;
}

enum bkt_kind bkt_id_kind(const struct bkt_id *id)
{
    const struct kind_names *k = kind_of_prefix(id->text[0]);
    return k ? k->kind : BKT_GROUP;
}

bool bkt_id_root(const struct bkt_id *id, struct bkt_id *root)
{
    static const unsigned char from[16] = {2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18};
    static const unsigned char to[16]   = {20, 21, 22, 23, 25, 26, 27, 28, 29, 30, 32, 33, 34, 35, 36, 37};
    if (!bkt_id_is_v2(id))
        return false;
    struct bkt_id r = *id;
    r.text[0]       = 'g';
    for (size_t i = 0; i < BKT_COUNT(from); i++)
        r.text[to[i]] = "0123456789abcdef"[((unsigned)bkt_hex_digit(id->text[from[i]]) + 8) % 16];
    r.text[24] = r.text[31] = '-';
    *root = r;
    return true;
}

int bkt_ids_add(struct bkt_ids *l, const struct bkt_id *id)
{
    BKT_PASS(bkt_list_room(&l->v, l->n, &l->cap, sizeof *l->v));
    l->v[l->n++] = *id;
    return BKT_OK;
}

int bkt_ids_add_keys(struct bkt_ids *l, const struct bkt_map *m)
{
    struct bkt_id id = {{0}};
    for (struct bkt_map_at at = {0}; bkt_map_walk(m, &at);) {
        memcpy(id.text, at.key, BKT_ID_LEN);
        BKT_PASS(bkt_ids_add(l, &id));
    }
    return BKT_OK;
}

bool bkt_ids_have(const struct bkt_ids *l, const struct bkt_id *id)
{
    for (size_t i = 0; l && i < l->n; i++)
        if (strcmp(l->v[i].text, id->text) == 0)
            return true;
    return false;
}

void bkt_ids_fini(struct bkt_ids *l)
{
    free(l->v);
    *l = (struct bkt_ids){NULL, 0, 0};
}

/* Append the flat key of a version 1 id: of an object or a chunk. */
static int add_v1_key(const char *id, size_t n, struct bkt_buf *out)
{
    unsigned char digest[16];
    BKT_PASS(bkt_md5(id, n, digest));
    BKT_PASS(bkt_buf_addf(out, "%02x%02x%x-", digest[0], digest[1], digest[2] >> 4));
    return bkt_buf_add(out, id, n);
}

int bkt_domain_doc_key(const char *path, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "%s%s.domain.json", path, *path ? "/" : "");
}

int bkt_id_key(const struct bkt_id *id, struct bkt_buf *out)
{
    const struct kind_names *k = kind_of_prefix(id->text[0]);
    struct bkt_id            root;
    if (!k)
        return BKT_EINVAL;
    if (!bkt_id_root(id, &root))
        return add_v1_key(id->text, strlen(id->text), out);
    if (strcmp(root.text, id->text) == 0)
        return bkt_buf_addf(out, "db/%.17s/%s", id->text + 2, k->file);
    return bkt_buf_addf(out, "db/%.17s/%c/%s/%s", id->text + 2, k->prefix, id->text + 20, k->file);
}

bool bkt_id_split_key(const struct bkt_id *root, const char *key, struct bkt_id *id, const char **rest)
{
    char text[BKT_ID_LEN + 1];
    if (strncmp(key, "db/", 3) != 0 || strncmp(key + 3, root->text + 2, 17) != 0 || key[20] != '/')
        return false;
    key += 21;
    if (strcmp(key, kinds[0].file) == 0) { /* the root group's */
        *id   = *root;
        *rest = key;
        return true;
    }
    if (strlen(key) <= 20 || !kind_of_prefix(key[0]) || key[1] != '/' || key[20] != '/')
        return false;
    (void)snprintf(text, sizeof text, "%c-%.17s-%.18s", key[0], root->text + 2, key + 2);
    *rest = key + 21;
    return bkt_id_set(id, text);
}

bool bkt_id_of_key(const struct bkt_id *root, const char *key, struct bkt_id *id)
{
    const char *rest;
    return bkt_id_split_key(root, key, id, &rest) && strcmp(rest, kind_of_prefix(id->text[0])->file) == 0;
}

static uint32_t partition_of(const struct bkt_layout *l, const uint64_t *coord)
{
    static const unsigned char primes[10] = {29, 31, 37, 41, 43, 47, 53, 59, 61, 67};
    uint64_t                   sum        = 0;
    for (unsigned d = 0; d < l->rank; d++)
        sum = (sum + coord[d] % l->partition_count * primes[d % 10]) % l->partition_count;
    return (uint32_t)sum;
}

/* By hand: snprintf() is noticeable in a small read of a known chunk. */
static int add_coords(const struct bkt_layout *l, const uint64_t *coord, struct bkt_buf *out)
{
    for (unsigned d = 0; d < l->rank; d++) {
        char     text[24], *p = text + sizeof text;
        uint64_t x = coord[d];
        do
            *--p = (char)('0' + x % 10);
        while ((x /= 10) != 0);
        if (d)
            *--p = '_';
        BKT_PASS(bkt_buf_add(out, p, (size_t)(text + sizeof text - p)));
    }
    return BKT_OK;
}

int bkt_chunk_key(const struct bkt_id *dset, const struct bkt_layout *l, const uint64_t *coord,
                  struct bkt_buf *out)
{
    bool partitioned = l->partition_count >= 2;
    if (bkt_id_is_v2(dset)) {
        BKT_PASS(bkt_buf_add_str(out, "db/"));
        BKT_PASS(bkt_buf_add(out, dset->text + 2, 17));
        BKT_PASS(bkt_buf_add_str(out, "/d/"));
        BKT_PASS(bkt_buf_add_str(out, dset->text + 20));
        BKT_PASS(bkt_buf_add_str(out, "/"));
        if (partitioned)
            BKT_PASS(bkt_buf_addf(out, "p%" PRIu32 "/", partition_of(l, coord)));
        return add_coords(l, coord, out);
    }
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf id = {0};
    BKT_PASS(bkt_buf_add_str(&id, "c"));
    if (partitioned)
        BKT_PASS(bkt_buf_addf(&id, "%" PRIu32, partition_of(l, coord)));
    BKT_PASS(bkt_buf_addf(&id, "%s_", dset->text + 1));
    BKT_PASS(add_coords(l, coord, &id));
    return add_v1_key(bkt_buf_str(&id), id.len, out);
}

int bkt_ref_parse(const void *p, size_t n, struct bkt_id *out, struct bkt_err *err)
{
    char   text[64] = {0};
    size_t len      = n ? strnlen(p, n) : 0;
    memset(out, 0, sizeof *out);
    if (len == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, len >= sizeof text, BKT_EFORMAT, "object reference of %zu bytes is longer than any id",
                len);
    memcpy(text, p, len);
    const char *id = text;
    for (size_t i = 0; i < BKT_COUNT(kinds); i++)
        if (strncmp(text, kinds[i].collection, strlen(kinds[i].collection)) == 0)
            id = text + strlen(kinds[i].collection);
    BKT_FAIL_IF(err, !bkt_id_set(out, id), BKT_EFORMAT, "object reference \"%s\" has no id%s", text,
                strlen(id) + 1 == BKT_ID_LEN
                    ? " (the REST VOL cuts references to committed types by one digit)"
                    : "");
    return BKT_OK;
}

void bkt_ref_emit(const struct bkt_id *id, char out[48])
{
    char text[64] = {0};
    if (id->text[0])
        (void)snprintf(text, sizeof text, "%s%s", kinds[bkt_id_kind(id)].collection, id->text);
    memcpy(out, text, 48); /* exactly as long as "datatypes/" and an id */
}

/* ---- new ones ---- */

static void draw(struct bkt_id_source *from, unsigned char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += sizeof(uint64_t)) {
        uint64_t number = bkt_digest(from, sizeof *from, 0);
        memcpy(bytes + at, &number, n - at < sizeof number ? n - at : sizeof number);
        from->n++;
    }
}

static int random_digits(struct bkt_id_source *from, char *out, size_t n)
{
    unsigned char bytes[16];
    if (n > 2 * sizeof bytes || (!from && !bkt_random_bytes(bytes, n / 2)))
        return BKT_EIO;
    if (from)
        draw(from, bytes, n / 2);
    for (size_t i = 0; i < n; i++)
        out[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
    return BKT_OK;
}

/* 32 digits in one of the two shapes */
static void set_digits(struct bkt_id *id, char prefix, const char *shape, const char *digits)
{
    id->text[0] = prefix;
    id->text[1] = '-';
    for (size_t i = 0; i <= strlen(shape); i++)
        id->text[i + 2] = shape[i] == 'x' ? *digits++ : shape[i];
}

int bkt_id_new_root(bool v2, struct bkt_id_source *from, struct bkt_id *out)
{
    char digits[32];
    BKT_PASS(random_digits(from, digits, 32));
    memset(out, 0, sizeof *out);
    if (v2) {
        for (size_t i = 0; i < 16; i++)
            digits[i + 16] = "0123456789abcdef"[((unsigned)bkt_hex_digit(digits[i]) + 8) % 16];
    } else { /* a UUID of version 4 */
        digits[12] = '4';
        digits[16] = "89ab"[bkt_hex_digit(digits[16]) & 3];
    }
    set_digits(out, 'g', v2 ? v2_shape : v1_shape, digits);
    return BKT_OK;
}

int bkt_id_new(const struct bkt_id *root, enum bkt_kind kind, struct bkt_id_source *from, struct bkt_id *out)
{
    struct bkt_id own;
    if (!bkt_id_is_v2(root)) {
        BKT_PASS(bkt_id_new_root(false, from, out));
        out->text[0] = kinds[kind].prefix;
        return BKT_OK;
    }
    do {
        *out = *root;
        char digits[16];
        BKT_PASS(random_digits(from, digits, 16));
        for (size_t i = 20, k = 0; i < BKT_ID_LEN; i++)
            if (root->text[i] != '-')
                out->text[i] = digits[k++];
        out->text[0] = 'g';
    } while (bkt_id_root(out, &own) && strcmp(own.text, out->text) == 0); /* one id of 2^64 is a root's */
    out->text[0] = kinds[kind].prefix;
    return BKT_OK;
}
