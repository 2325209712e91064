/* An entry has the digest of its key, its state, and the place of its data:
 *   key, NUL, head, text
 * Digest 0 is a free entry.  Processes of one program write here; lengths are checked nevertheless. */
#include "base/node_table.h"

#include <stdatomic.h>
#include <string.h>

#include "base/digest.h"

#define ENTRIES 8192u
#define PROBES  16u /* entries that a key may have */

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

void bkt_node_table_publish(struct bkt_node_table *t, uint32_t entry, const char *key, const void *head,
                            size_t n_head, const void *text, size_t n)
{
    struct node_entry *e = &t->entry[entry % ENTRIES];
    size_t k = strlen(key) + 1, all = k + n_head + n;
    uint64_t at = n <= BKT_NODE_TEXT_MAX ? atomic_fetch_add(&t->used, all) : ROOM;
    uint_least32_t claimed = CLAIMED;
    if (at > ROOM || all > ROOM - at) {
        bkt_node_table_give_up(t, entry);
        return;
    }
    memcpy(t->data + at, key, k);
    if (n_head)
        memcpy(t->data + at + k, head, n_head);
    if (n)
        memcpy(t->data + at + k + n_head, text, n);
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

bool bkt_node_table_copy(const struct bkt_node_table *t, uint32_t entry, const char *key, void *head,
                         size_t n_head, struct bkt_buf *out)
{
    const struct node_entry *e = &t->entry[entry % ENTRIES];
    uint32_t at = e->at, n = e->n;
    size_t k = strlen(key) + 1;
    if (at > ROOM || n > ROOM - at || k + n_head > n || memcmp(t->data + at, key, k) != 0)
        return false;
    if (n_head)
        memcpy(head, t->data + at + k, n_head);
    return bkt_buf_add(out, t->data + at + k + n_head, n - k - n_head) == BKT_OK;
}
