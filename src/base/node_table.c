/* An entry has the digest of its key, its state, and the place of its data:
 *   key, NUL, ETag, NUL, text
 * Digest 0 is a free entry.  Processes of one program write here; lengths are checked nevertheless. */
#include "base/node_table.h"

#include <stdatomic.h>
#include <string.h>

#include "base/digest.h"

#define ENTRIES  8192u
#define PROBES   16u        /* entries that a key may have */
#define TEXT_MAX (1u << 20) /* bytes; a larger object would take the room of many */

struct node_entry {
    atomic_uint_least64_t digest;
    atomic_uint_least32_t state; /* of enum stored */
    uint32_t at, n;              /* valid while state is READY */
};
enum stored { CLAIMED, READY, NEVER };

struct bkt_node_table {
    atomic_uint_least64_t used; /* bytes of data, also those that were refused */
    struct node_entry entry[ENTRIES];
    char data[];
};

#define ROOM (BKT_NODE_TABLE_BYTES - sizeof(struct bkt_node_table))

static uint64_t digest_of(const char *key)
{
    uint64_t d = bkt_digest(key, strlen(key), 0);
    return d ? d : 1;
}

enum bkt_node_table_state bkt_node_table_look(const struct bkt_node_table *t, uint32_t entry)
{
    static const enum bkt_node_table_state states[] = {
        [CLAIMED] = BKT_ENTRY_WAIT, [READY] = BKT_ENTRY_READY, [NEVER] = BKT_ENTRY_NEVER};
    uint32_t s = atomic_load(&t->entry[entry % ENTRIES].state);
    return s <= NEVER ? states[s] : BKT_ENTRY_NEVER;
}

enum bkt_node_table_state bkt_node_table_ask(struct bkt_node_table *t, const char *key, uint32_t *entry)
{
    uint64_t d = digest_of(key);
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (uint32_t)((d + i) % ENTRIES);
        uint64_t there = 0;
        *entry = at;
        if (atomic_compare_exchange_strong(&t->entry[at].digest, &there, d))
            return BKT_ENTRY_MINE;
        if (there == d)
            return bkt_node_table_look(t, at);
    }
    return BKT_ENTRY_NEVER;
}

void bkt_node_table_give_up(struct bkt_node_table *t, uint32_t entry)
{
    atomic_store(&t->entry[entry % ENTRIES].state, NEVER);
}

void bkt_node_table_publish(struct bkt_node_table *t, uint32_t entry, const char *key, const char *etag,
                            const void *text, size_t n)
{
    struct node_entry *e = &t->entry[entry % ENTRIES];
    size_t k = strlen(key) + 1, g = strlen(etag) + 1, all = k + g + n;
    uint64_t at = n <= TEXT_MAX ? atomic_fetch_add(&t->used, all) : ROOM;
    uint_least32_t claimed = CLAIMED;
    if (at > ROOM || all > ROOM - at) {
        bkt_node_table_give_up(t, entry);
        return;
    }
    memcpy(t->data + at, key, k);
    memcpy(t->data + at + k, etag, g);
    if (n)
        memcpy(t->data + at + k + g, text, n);
    e->at = (uint32_t)at;
    e->n = (uint32_t)all;
    (void)atomic_compare_exchange_strong(&e->state, &claimed, READY); /* unless it was forgotten meanwhile */
}

void bkt_node_table_forget(struct bkt_node_table *t, const char *key)
{
    uint32_t entry;
    if (bkt_node_table_ask(t, key, &entry) != BKT_ENTRY_NEVER)
        bkt_node_table_give_up(t, entry);
}

bool bkt_node_table_copy(const struct bkt_node_table *t, uint32_t entry, const char *key, char *etag,
                         size_t etag_size, struct bkt_buf *out)
{
    const struct node_entry *e = &t->entry[entry % ENTRIES];
    uint32_t at = e->at, n = e->n;
    if (at > ROOM || n > ROOM - at)
        return false;
    const char *p = t->data + at, *end = p + n;
    const char *tag = memchr(p, 0, n), *text = tag ? memchr(tag + 1, 0, (size_t)(end - tag - 1)) : NULL;
    if (!text || strcmp(p, key) != 0 || (size_t)(text - tag) > etag_size)
        return false;
    memcpy(etag, tag + 1, (size_t)(text - tag));
    return bkt_buf_add(out, text + 1, (size_t)(end - text - 1)) == BKT_OK;
}
