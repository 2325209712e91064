/* Open addressing over indices into an entry array.  Keys come from stored files, so they are hashed with a
 * per-process seed: the author of a hostile group cannot construct collisions. */
#include "base/map.h"
#include "base/random.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct entry {
    char *key; /* with a NUL; NULL: deleted */
    size_t   n;
    uint64_t hash;
    void    *value;
};
struct bkt_map {
    struct entry *e;
    size_t        n_used, n_alloc, n_live;
    uint32_t     *slot; /* entry index + 1; 0: empty; DEAD: deleted */
    size_t        n_slots;
    uint64_t      seed;
};
#define DEAD UINT32_MAX

static uint64_t       first_seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void make_seed(void) { first_seed = bkt_random(); }

struct bkt_map *bkt_map_new(void)
{
    struct bkt_map *m = calloc(1, sizeof *m);
    (void)pthread_once(&seeded, make_seed);
    if (m)
        m->seed = (uint64_t)(uintptr_t)m ^ first_seed;
    return m;
}

void bkt_map_free(struct bkt_map *m, void (*free_value)(void *))
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_used; i++)
        if (m->e[i].key) {
            if (free_value)
                free_value(m->e[i].value);
            free(m->e[i].key);
        }
    free(m->e);
    free(m->slot);
    free(m);
}

/* The entry of the key, or SIZE_MAX. */
static size_t find(const struct bkt_map *m, const void *key, size_t n, uint64_t h)
{
    if (!m->n_slots)
        return SIZE_MAX;
    for (size_t i = h & (m->n_slots - 1);; i = (i + 1) & (m->n_slots - 1)) {
        uint32_t s = m->slot[i];
        if (s == 0)
            return SIZE_MAX;
        if (s == DEAD)
            continue;
        const struct entry *e = &m->e[s - 1];
        if (e->hash == h && e->n == n && memcmp(e->key, key, n) == 0)
            return i;
    }
}

static void place(struct bkt_map *m, size_t entry)
{
    size_t i = m->e[entry].hash & (m->n_slots - 1);
    while (m->slot[i])
        i = (i + 1) & (m->n_slots - 1);
    m->slot[i] = (uint32_t)(entry + 1);
}

/* Drop deleted entries, keep order, make room for one more. */
static int rebuild(struct bkt_map *m)
{
    size_t want = 16;
    while (want < (m->n_live + 1) * 2)
        want *= 2;
    uint32_t *slot = calloc(want, sizeof *slot);
    if (!slot)
        return BKT_ENOMEM;
    size_t alloc = want; /* at least the number of entries that the slots allow */
    if (alloc > m->n_alloc) {
        struct entry *e = realloc(m->e, alloc * sizeof *e);
        if (!e) {
            free(slot);
            return BKT_ENOMEM;
        }
        m->e       = e;
        m->n_alloc = alloc;
    }
    size_t to = 0;
    for (size_t i = 0; i < m->n_used; i++)
        if (m->e[i].key)
            m->e[to++] = m->e[i];
    m->n_used = to;
    free(m->slot);
    m->slot    = slot;
    m->n_slots = want;
    for (size_t i = 0; i < to; i++)
        place(m, i);
    return BKT_OK;
}

void *bkt_map_get(const struct bkt_map *m, const void *key, size_t n)
{
    size_t i = m ? find(m, key, n, XXH3_64bits_withSeed(key, n, m->seed)) : SIZE_MAX;
    return i == SIZE_MAX ? NULL : m->e[m->slot[i] - 1].value;
}

int bkt_map_put(struct bkt_map *m, const void *key, size_t n, void *value, void **old)
{
    uint64_t h = XXH3_64bits_withSeed(key, n, m->seed);
    size_t   i = find(m, key, n, h);
    if (old)
        *old = NULL;
    if (i != SIZE_MAX) {
        struct entry *e = &m->e[m->slot[i] - 1];
        if (old)
            *old = e->value;
        e->value = value;
        return BKT_OK;
    }
    if (m->n_live >= UINT32_MAX / 4)
        return BKT_ENOMEM;
    if ((m->n_used + 1) * 2 > m->n_slots)
        BKT_PASS(rebuild(m));
    char *copy = malloc(n + 1);
    if (!copy)
        return BKT_ENOMEM;
    if (n)
        memcpy(copy, key, n);
    copy[n] = 0;
    m->e[m->n_used++] = (struct entry){copy, n, h, value};
    m->n_live++;
    place(m, m->n_used - 1);
    return BKT_OK;
}

int bkt_map_set(struct bkt_map **m, const void *key, size_t n, void *value, void **old)
{
    if (!*m && !(*m = bkt_map_new()))
        return BKT_ENOMEM;
    return bkt_map_put(*m, key, n, value, old);
}

void bkt_map_clear(struct bkt_map **m, void (*free_value)(void *))
{
    bkt_map_free(*m, free_value);
    *m = NULL;
}

intptr_t bkt_map_number(const struct bkt_map *m, const void *key, size_t n)
{
    return (intptr_t)bkt_map_get(m, key, n);
}

int bkt_map_put_number(struct bkt_map *m, const void *key, size_t n, intptr_t number)
{
    return bkt_map_put(m, key, n, (void *)number, NULL); /* NOLINT(performance-no-int-to-ptr) */
}

void *bkt_map_make(struct bkt_map **m, const void *key, size_t n, size_t size)
{
    void *value = bkt_map_get(*m, key, n);
    if (!value && (value = calloc(1, size)) && bkt_map_set(m, key, n, value, NULL) < 0) {
        free(value);
        value = NULL;
    }
    return value;
}

int bkt_map_set_number(struct bkt_map **m, const void *key, size_t n, intptr_t number)
{
    return bkt_map_set(m, key, n, (void *)number, NULL); /* NOLINT(performance-no-int-to-ptr) */
}

int bkt_map_place(struct bkt_map **by, struct bkt_strs *list, const char *text, size_t n, size_t *place)
{
    intptr_t at = bkt_map_number(*by, text, n); /* place + 1 */
    if (!at) {
        BKT_PASS(bkt_strs_take(list, strndup(text, n)));
        at = (intptr_t)list->n;
        BKT_PASS(bkt_map_set_number(by, text, n, at));
    }
    *place = (size_t)at - 1;
    return BKT_OK;
}

void *bkt_map_del(struct bkt_map *m, const void *key, size_t n)
{
    size_t i = m ? find(m, key, n, XXH3_64bits_withSeed(key, n, m->seed)) : SIZE_MAX;
    if (i == SIZE_MAX)
        return NULL;
    struct entry *e     = &m->e[m->slot[i] - 1];
    void         *value = e->value;
    free(e->key);
    e->key     = NULL;
    m->slot[i] = DEAD;
    m->n_live--;
    return value;
}

size_t bkt_map_count(const struct bkt_map *m)
{
    return m ? m->n_live : 0;
}

bool bkt_map_walk(const struct bkt_map *m, struct bkt_map_at *at)
{
    while (m && at->pos < m->n_used) {
        const struct entry *e = &m->e[at->pos++];
        if (!e->key)
            continue;
        at->key = e->key;
        at->n = e->n;
        at->value = e->value;
        return true;
    }
    return false;
}
