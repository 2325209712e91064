/* Object ids in HDF5's 16 bytes.
 *
 * v2: the id's first 64 bits are the domain's, so 7 zero bytes, the kind ('g', 'd', 't') and the last 64 bits are
 * enough.  v1: all 128 bits of a UUID, with the kind folded into the version nibble (1..5 -> 1..15), which keeps the two
 * forms apart: byte 6 of a v2 token is zero, of a v1 token it is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vol.h"

static const char kinds[] = "gdt";

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The 32 hex digits of an id as 16 bytes */
static void digits(const char *text, unsigned char b[16])
{
    unsigned n = 0;
    memset(b, 0, 16);
    for (const char *p = text + 2; *p && n < 32; p++) {
        int v = hex(*p);
        if (v < 0)
            continue;
        b[n / 2] = (unsigned char)(b[n / 2] | (n % 2 ? v : v << 4));
        n++;
    }
}

void bkt_token_of(const struct bkt_id *id, H5O_token_t *out)
{
    unsigned char b[16];
    const char   *k    = strchr(kinds, id->text[0]);
    unsigned      kind = k && *k ? (unsigned)(k - kinds) : 0;
    memset(out, 0, sizeof *out);
    if (!id->text[0])
        return;
    digits(id->text, b);
    if (bkt_id_is_v2(id)) {
        out->__data[7] = (uint8_t)kinds[kind];
        memcpy(out->__data + 8, b + 8, 8);
        return;
    }
    unsigned version = b[6] >> 4;
    memcpy(out->__data, b, 16);
    out->__data[6] = (uint8_t)((b[6] & 15) | ((version + 4) % 5 * 3 + kind + 1) << 4);
}

bool bkt_token_id(const struct bkt_domain *dom, const H5O_token_t *token, struct bkt_id *out)
{
    const uint8_t *t = token->__data;
    char           text[64];
    if (t[6] == 0) {
        const struct bkt_id *root = bkt_domain_root((struct bkt_domain *)(uintptr_t)dom);
        if (!strchr(kinds, t[7]) || !t[7])
            return false;
        (void)snprintf(text, sizeof text, "%c%.18s-%02x%02x-%02x%02x%02x-%02x%02x%02x", t[7], root->text + 1, t[8], t[9], t[10],
                       t[11], t[12], t[13], t[14], t[15]);
        return bkt_id_set(out, text);
    }
    unsigned code = (t[6] >> 4) - 1U;
    (void)snprintf(text, sizeof text, "%c-%02x%02x%02x%02x-%02x%02x-%x%x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", kinds[code % 3],
                   t[0], t[1], t[2], t[3], t[4], t[5], code / 3 + 1, t[6] & 15, t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14],
                   t[15]);
    return bkt_id_set(out, text);
}

herr_t bkt_vol_token_cmp(void *obj, const H5O_token_t *a, const H5O_token_t *b, int *cmp)
{
    const struct bkt_vobj *o = obj;
    if (o->native_id >= 0 && a && b)
        return H5Otoken_cmp(o->native_id, a, b, cmp);
    *cmp = a && b ? memcmp(a, b, sizeof *a) : a ? 1 : b ? -1 : 0;
    return 0;
}

/* Tokens print as the object's id, which is also what names it in the bucket. */
herr_t bkt_vol_token_to_str(void *obj, H5I_type_t type, const H5O_token_t *token, char **str)
{
    const struct bkt_vobj *o  = obj;
    struct bkt_id          id = {""};
    (void)type;
    if (o->native_id >= 0)
        return H5Otoken_to_str(o->native_id, token, str);
    if (!o->file || !bkt_token_id(o->file->dom, token, &id))
        memset(&id, 0, sizeof id);
    *str = strdup(id.text);
    return *str ? 0 : -1;
}

herr_t bkt_vol_token_from_str(void *obj, H5I_type_t type, const char *str, H5O_token_t *token)
{
    const struct bkt_vobj *o = obj;
    struct bkt_id          id;
    (void)type;
    if (o->native_id >= 0)
        return H5Otoken_from_str(o->native_id, str, token);
    if (!bkt_id_set(&id, str)) {
        struct bkt_err err = {.n = 0};
        BKT_ERR(&err, BKT_EINVAL, "'%.60s' is no object id", str);
        return bkt_h5err_publish(&err);
    }
    bkt_token_of(&id, token);
    return 0;
}
