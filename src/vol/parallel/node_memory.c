#include "vol/parallel/node_memory.h"

#include "base/os/shared_memory.h"
#include "base/trace.h"

static void *among(struct bkt_comm *node, size_t bytes)
{
    char name[BKT_SHARED_NAME] = "";
    bool first = bkt_comm_is_first(node);
    void *p = first ? bkt_shared_memory_make(bytes, name) : NULL;
    if (bkt_comm_bcast(node, name, sizeof name, NULL) == BKT_OK && !first)
        p = bkt_shared_memory_find(name, bytes);
    uint64_t all = p != NULL;
    int rc = bkt_comm_reduce(node, BKT_COMM_MIN, &all, 1, NULL);
    if (first)
        bkt_shared_memory_hide(name);
    if (rc == BKT_OK && all)
        return p;
    bkt_shared_memory_free(p, bytes);
    return NULL;
}

void *bkt_node_memory(struct bkt_comm *c, size_t bytes)
{
    struct bkt_comm *node = NULL;
    void *p = NULL;
    if (c->ops->split_node(c, &node, NULL) == BKT_OK && node->size > 1)
        p = among(node, bytes);
    bkt_trace(BKT_TRACE_VOL, "%u processes of this node share %s", node ? node->size : 1,
              p ? "memory" : "nothing");
    bkt_comm_close(node);
    return p;
}
