/* Object ids in HDF5's tokens.
 *
 * HDF5's older calls, object references and H5Oopen_by_addr carry only 8 bytes of a token, as a file
 * address.  So the first 8 bytes must identify the object: they are the last 64 bits of a v2 id (the first
 * 64 are the domain's), or a hash of a v1 id.  Byte 8 holds the kind if there is room.  Without it the
 * kinds are tried.  Ids seen in references, and all v1 ids, are remembered. */
#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "schema/edit/edit.h"
#include "base/map.h"
#include "vol/core/token.h"
#include "vol/core/vol.h"

#define ADDRESS BKT_TOKEN_ADDRESS
#define DOMAIN_DIGITS 19 /* "-xxxxxxxx-xxxxxxxx-", behind the kind */

static const char      kinds[] = "dgt";
static struct bkt_map *known; /* address -> id; HDF5's global lock guards it */

static uint64_t address_of(const struct bkt_id *id)
{
    uint64_t v = 0;
    if (!bkt_id_is_v2(id))
        return XXH3_64bits(id->text, BKT_ID_LEN);
    for (const char *p = id->text + 1 + DOMAIN_DIGITS; *p; p++)
        if (*p != '-')
            v = v << 4 | (uint64_t)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);
    return v;
}

/* If memory is short and an id is lost, its kind has to be tried out, or a v1 reference can't be followed. */
static void remember(const struct bkt_id *id, const H5O_token_t *t)
{
    if (!known && !(known = bkt_map_new()))
        return;
    if (bkt_map_get(known, t->__data, ADDRESS))
        return;
    char *copy = strdup(id->text);
    if (copy && bkt_map_put(known, t->__data, ADDRESS, copy, NULL) < 0)
        free(copy);
}

void bkt_token_of(const struct bkt_id *id, H5O_token_t *out)
{
    memset(out, 0, sizeof *out);
    if (!id->text[0])
        return;
    bkt_put_le(out->__data, ADDRESS, address_of(id));
    out->__data[ADDRESS] = (uint8_t)id->text[0];
    if (!bkt_id_is_v2(id))
        remember(id, out);
}

void bkt_token_address(const struct bkt_id *id, unsigned char out[8])
{
    H5O_token_t t;
    bkt_token_of(id, &t);
    if (id->text[0])
        remember(id, &t);
    memcpy(out, t.__data, ADDRESS);
}

bool bkt_token_alias(const unsigned char address[ADDRESS], const struct bkt_id *id)
{
    H5O_token_t t = {{0}};
    memcpy(t.__data, address, ADDRESS);
    remember(id, &t);
    return known && bkt_map_get(known, address, ADDRESS);
}

void bkt_token_unalias(const unsigned char address[ADDRESS])
{
    if (known)
        free(bkt_map_del(known, address, ADDRESS));
}

void bkt_token_forget_all(void)
{
    bkt_map_free(known, free);
    known = NULL;
}

static bool v2_id(struct bkt_domain *dom, char kind, uint64_t address, struct bkt_id *out)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%c%.*s%04x-%06x-%06x", kind, DOMAIN_DIGITS,
                   bkt_domain_root(dom)->text + 1, (unsigned)(address >> 48),
                   (unsigned)(address >> 24 & 0xffffff), (unsigned)(address & 0xffffff));
    return bkt_id_set(out, text);
}

/* Whether the id belongs to the domain.  True also for ids of version 1, which don't show their domain. */
static bool of_domain(struct bkt_domain *dom, const struct bkt_id *id)
{
    const struct bkt_id *root = bkt_domain_root(dom);
    return !bkt_id_is_v2(id) || !bkt_id_is_v2(root) ||
           strncmp(id->text + 1, root->text + 1, DOMAIN_DIGITS) == 0;
}

static bool exists(struct bkt_domain *dom, const struct bkt_id *id)
{
    const struct bkt_object *o = NULL;
    if (bkt_domain_get(dom, id, &o, NULL) < 0)
        return false;
    bkt_object_release(o);
    return true;
}

static bool id_of(struct bkt_domain *dom, const H5O_token_t *token, struct bkt_id *out)
{
    uint64_t    address = bkt_get_le(token->__data, ADDRESS);
    char        kind    = (char)token->__data[ADDRESS];
    const char *text    = known ? bkt_map_get(known, token->__data, ADDRESS) : NULL;
    if (!address)
        return false;
    if (text) {
        if (!bkt_id_set(out, text))
            return false;
        /* a copy of the domain has the same digits behind the domain's, and may be open too */
        return address_of(out) != address || of_domain(dom, out) || v2_id(dom, text[0], address, out);
    }
    if (!bkt_id_is_v2(bkt_domain_root(dom)))
        return false;
    if (kind)
        return strchr(kinds, kind) && v2_id(dom, kind, address, out);
    for (const char *k = kinds; *k; k++)
        if (v2_id(dom, *k, address, out) && exists(dom, out))
            return true;
    return false;
}

bool bkt_token_id(struct bkt_domain *dom, const H5O_token_t *token, struct bkt_id *out)
{
    if (!id_of(dom, token, out))
        return false;
    bkt_edit_stand_in(dom, out); /* an object that another writer made as well may have been replaced by
                                    that writer's */
    return true;
}

/* A token prints as the object's id, which also names it in the bucket. */
static int to_str(struct bkt_vobj *o, const H5O_token_t *token, char **out, struct bkt_err *err)
{
    struct bkt_id id = {""};
    if (!bkt_token_id(o->file->dom, token, &id))
        memset(&id, 0, sizeof id);
    *out = strdup(id.text);
    return BKT_MADE(err, *out);
}

static int from_str(struct bkt_vobj *o, const char *text, H5O_token_t *out, struct bkt_err *err)
{
    struct bkt_id id;
    (void)o;
    BKT_FAIL_IF(err, !bkt_id_set(&id, text), BKT_EINVAL, "'%.60s' is not an object id", text);
    bkt_token_of(&id, out);
    return BKT_OK;
}

const struct bkt_token_ops bkt_domain_token_ops = {.to_str = to_str, .from_str = from_str};
