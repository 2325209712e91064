/* Hash map from byte-string keys to pointers; insertion order is kept for iteration.
 * The map copies keys and borrows values.  Not locked: the owner guards it.
 * NULL is an empty map for all functions that don't add to it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"

struct bkt_map;

/** Create an empty map, to be released with bkt_map_free().  NULL: out of memory. */
struct bkt_map *bkt_map_new(void);
/** Free the map.  @p free_value (may be NULL) is called for each value left. */
void bkt_map_free(struct bkt_map *m, void (*free_value)(void *));

/** The value, or NULL. */
void *bkt_map_get(const struct bkt_map *m, const void *key, size_t n);
/** Add or replace a value.  @p old (may be NULL) gets the replaced value, or NULL.  BKT_ENOMEM: the map has
 * the same entries as before. */
BKT_NODISCARD int bkt_map_put(struct bkt_map *m, const void *key, size_t n, void *value, void **old);
/** As bkt_map_put(), for a map that is made when it gets its first key: *m is NULL before. */
BKT_NODISCARD int bkt_map_set(struct bkt_map **m, const void *key, size_t n, void *value, void **old);
/** The zeroed memory of @p size bytes that is the key's value, made with the key if it is new; free() frees
 *  it.  NULL: out of memory. */
void *bkt_map_make(struct bkt_map **m, const void *key, size_t n, size_t size);
/** For BKT_CLEANUP(), of a map whose values are borrowed. */
static inline void bkt_map_freep(struct bkt_map **m)
{
    bkt_map_free(*m, NULL);
}
/** Free the map as bkt_map_free(); *m is NULL afterwards. */
void bkt_map_clear(struct bkt_map **m, void (*free_value)(void *));
/** A map of numbers has only such values.  0 also stands for a missing key. */
intptr_t bkt_map_number(const struct bkt_map *m, const void *key, size_t n);
/** As bkt_map_put().  A replaced number is lost. */
BKT_NODISCARD int bkt_map_put_number(struct bkt_map *m, const void *key, size_t n, intptr_t number);
/** As bkt_map_set().  A replaced number is lost. */
BKT_NODISCARD int bkt_map_set_number(struct bkt_map **m, const void *key, size_t n, intptr_t number);
/** The place of a text in a list that has each text once; it is added if it is new.  BKT_ENOMEM.
 * @param by  a map of numbers, for this list only; made when it is needed */
BKT_NODISCARD int bkt_map_place(struct bkt_map **by, struct bkt_strs *list, const char *text, size_t n,
                                size_t *place);
/** Remove a key and return its value, or NULL. */
void *bkt_map_del(struct bkt_map *m, const void *key, size_t n);
size_t bkt_map_count(const struct bkt_map *m); /* the number of keys */

/** The place of a walk, zeroed at its begin.  The key has a NUL behind its n bytes. */
struct bkt_map_at {
    size_t pos, n;
    const char *key;
    void *value;
};
/** Go to the next entry; false at the end.  During a walk, values may be replaced and keys deleted. */
bool bkt_map_walk(const struct bkt_map *m, struct bkt_map_at *at);
