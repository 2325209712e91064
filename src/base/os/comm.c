#include "base/os/comm.h"

#include <stdlib.h>

#include "base/num.h"

void bkt_comm_close(struct bkt_comm *c)
{
    if (c)
        c->ops->close(c);
}

bool bkt_comm_alive(const struct bkt_comm *c)
{
    return c && c->ops->alive();
}

int bkt_comm_bcast(struct bkt_comm *c, void *p, uint64_t n, struct bkt_err *err)
{
    return c && n ? c->ops->bcast(c, 0, p, n, err) : BKT_OK;
}

int bkt_comm_bcast_buf(struct bkt_comm *c, unsigned root, struct bkt_buf *b, struct bkt_err *err)
{
    uint64_t n = b->len;
    if (!c)
        return BKT_OK;
    BKT_PASS(c->ops->bcast(c, root, &n, sizeof n, err));
    /* a process without memory can't leave the others alone in the next call */
    uint64_t short_of = n > SIZE_MAX || (c->rank != root && bkt_buf_resize(b, (size_t)n) < 0);
    BKT_PASS(c->ops->allreduce(c, BKT_COMM_MAX, &short_of, 1, err));
    BKT_FAIL_IF(err, short_of, BKT_ENOMEM, "no memory in one of %u processes for a message of %llu bytes",
                c->size, (unsigned long long)n);
    return n ? c->ops->bcast(c, root, b->ptr, n, err) : BKT_OK;
}

int bkt_comm_reduce(struct bkt_comm *c, enum bkt_comm_op op, uint64_t *v, size_t n, struct bkt_err *err)
{
    return c && n ? c->ops->allreduce(c, op, v, n, err) : BKT_OK;
}

/* The sizes of messages that hold one length each; the caller's, free().  NULL: out of memory */
static size_t *sizes_of_lengths(const struct bkt_comm *c)
{
    size_t *each = calloc(c->size, sizeof *each);
    for (unsigned r = 0; each && r < c->size; r++)
        each[r] = sizeof *each;
    return each;
}

int bkt_comm_gather(struct bkt_comm *c, int rc, const struct bkt_buf *mine, size_t *n, struct bkt_buf *all,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) size_t *each = sizes_of_lengths(c);
    uint64_t total = 0;
    bool fits = true;
    if (rc == BKT_OK && !each)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    rc = bkt_comm_agree(c, rc, err);
    if (rc < 0 || !each)
        return rc;
    BKT_PASS(c->ops->allgatherv(c, &mine->len, each, n, err));
    for (unsigned r = 0; fits && r < c->size; r++)
        fits = bkt_add_u64(total, n[r], &total) && total <= SIZE_MAX;
    fits = fits && bkt_buf_resize(all, (size_t)total) == BKT_OK;
    BKT_PASS(bkt_comm_agree(c, fits ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err));
    return c->ops->allgatherv(c, mine->ptr, n, all->ptr, err);
}

static int lengths(struct bkt_comm *c, const size_t *send_n, size_t *recv_n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) size_t *each = sizes_of_lengths(c);
    uint64_t short_of = !each;
    BKT_PASS(c->ops->allreduce(c, BKT_COMM_MAX, &short_of, 1, err));
    if (short_of || !each)
        BKT_NOMEM(err);
    return c->ops->alltoallv(c, send_n, each, recv_n, each, err);
}

int bkt_comm_exchange(struct bkt_comm *c, const struct bkt_buf *send, const size_t *send_n,
                      struct bkt_buf *recv, size_t *recv_n, struct bkt_err *err)
{
    uint64_t total = 0;
    bool fits = true;
    BKT_PASS(lengths(c, send_n, recv_n, err));
    for (unsigned r = 0; fits && r < c->size; r++)
        fits = bkt_add_u64(total, recv_n[r], &total) && total <= INT32_MAX;
    uint64_t bad = !fits || send->len > INT32_MAX || bkt_buf_resize(recv, (size_t)total) < 0;
    BKT_PASS(c->ops->allreduce(c, BKT_COMM_MAX, &bad, 1, err));
    BKT_FAIL_IF(err, bad, BKT_ENOMEM,
                "the messages of %u processes to one of them exceed its memory, or 2 GiB; let fewer "
                "processes transfer the same elements, or use smaller chunks",
                c->size);
    return c->ops->alltoallv(c, send->ptr, send_n, recv->ptr, recv_n, err);
}

static void unpack(const struct bkt_buf *b, int code, unsigned rank, struct bkt_err *err)
{
    bkt_err_clear(err);
    bkt_err_unpack(err, code, bkt_buf_str(b), b->len);
    if (!b->len)
        (void)BKT_ERR(err, code, "%s", bkt_err_text(code));
    (void)BKT_ERR(err, code, "reported by process %u", rank);
}

int bkt_comm_agree(struct bkt_comm *c, int rc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (!c)
        return rc;
    uint64_t first = rc < 0 ? c->rank : c->size;
    BKT_PASS(c->ops->allreduce(c, BKT_COMM_MIN, &first, 1, err));
    if (first >= c->size)
        return rc;
    int64_t code = rc;
    BKT_PASS(c->ops->bcast(c, (unsigned)first, &code, sizeof code, err));
    if (c->rank == first && bkt_err_pack(err, &text) < 0)
        bkt_buf_clear(&text);
    BKT_PASS(bkt_comm_bcast_buf(c, (unsigned)first, &text, err));
    unpack(&text, (int)code, (unsigned)first, err);
    return (int)code;
}
