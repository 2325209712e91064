/* Object ids <-> HDF5's tokens, addresses and references of 8 bytes. */
#pragma once

#include "vol/core/vol.h"

/** The token that stands for an object in HDF5 (DESIGN.md, "Tokens"). */
void bkt_token_of(const struct bkt_id *id, H5O_token_t *out);
/** The id behind a token, or behind the first 8 bytes of a token (finding its kind may then cost a GET or
 *  two).  False: not a token of this domain. */
bool bkt_token_id(struct bkt_domain *dom, const H5O_token_t *token, struct bkt_id *out);
/** The 8 bytes of an old-style object reference (H5T_STD_REF_OBJ); zeros for none. */
void bkt_token_address(const struct bkt_id *id, unsigned char out[8]);
/** Another address that means the object (region_shadow.h); false: out of memory. */
bool bkt_token_alias(const unsigned char address[8], const struct bkt_id *id);
/** Forget an alias.  An address that is not an alias is ignored. */
void bkt_token_unalias(const unsigned char address[8]);
/** Forget all aliases, when the connector ends. */
void bkt_token_forget_all(void);

#define BKT_TOKEN_ADDRESS 8 /* the bytes of a token that always arrive */
