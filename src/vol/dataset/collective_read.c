#include "vol/dataset/collective_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/num.h"
#include "base/trace.h"
#include "chunk/dataset/dataset.h"
#include "chunk/list/handed_chunks.h"

/* Bytes of chunks that a call hands on, at most, in each process: the rest is read as without it. */
#define HAND_MAX (64u << 20)
/* Bytes that a process sends to the others in a call, at most: each of them gets a message of its own. */
#define SEND_MAX (256u << 20)

/* The chunks that the processes need, and who fetches those that several need. */
struct hand {
    struct bkt_comm *c;
    struct bkt_dsetio *io;
    struct bkt_buf lists;   /* struct bkt_needed of all processes, in the order of ranks */
    size_t *n;              /* of each process */
    size_t *at;             /* cursors */
    uint64_t *load;         /* bytes that each process sends */
    uint64_t *mine;         /* numbers of the chunks that this process fetches */
    unsigned char *wanted;  /* of these: a byte for each process that gets it */
    size_t n_mine, cap_mine, cap_wanted;
    size_t most; /* chunks that are handed on */
};

static void hand_fini(struct hand *h)
{
    bkt_buf_fini(&h->lists);
    free(h->n);
    free(h->at);
    free(h->load);
    free(h->mine);
    free(h->wanted);
}

/* All lists in all processes. */
static int gather(struct hand *h, const struct bkt_buf *mine, struct bkt_err *err)
{
    size_t at = 0;
    BKT_PASS(bkt_comm_gather(h->c, BKT_OK, mine, h->n, &h->lists, err));
    for (unsigned r = 0; r < h->c->size; at += h->n[r++]) {
        h->n[r] /= sizeof(struct bkt_needed);
        h->at[r] = at;
    }
    return BKT_OK;
}

/* The next chunk; @p want has a byte for each process that needs it.  UINT64_MAX: no process has
 * another. */
static uint64_t next(struct hand *h, const size_t *end, unsigned char *want, unsigned *n, uint64_t *elems)
{
    const struct bkt_needed *all = (const void *)h->lists.ptr;
    uint64_t chunk = UINT64_MAX;
    *n = 0, *elems = 0;
    for (unsigned r = 0; r < h->c->size; r++)
        if (h->at[r] < end[r])
            chunk = bkt_min_u64(chunk, all[h->at[r]].chunk);
    for (unsigned r = 0; r < h->c->size; r++) {
        want[r] = h->at[r] < end[r] && all[h->at[r]].chunk == chunk;
        if (want[r]) {
            *elems += all[h->at[r]++].elems;
            ++*n;
        }
    }
    return chunk;
}

/* The process that sends least, among those that need the chunk. */
static unsigned choose(const struct hand *h, const unsigned char *want)
{
    unsigned best = UINT32_MAX;
    for (unsigned r = 0; r < h->c->size; r++)
        if (want[r] && (best == UINT32_MAX || h->load[r] < h->load[best]))
            best = r;
    return best;
}

static int add_mine(struct hand *h, uint64_t chunk, const unsigned char *want)
{
    size_t n = h->c->size;
    BKT_PASS(bkt_list_room(&h->mine, h->n_mine, &h->cap_mine, sizeof *h->mine));
    BKT_PASS(bkt_list_room(&h->wanted, h->n_mine, &h->cap_wanted, n));
    memcpy(h->wanted + h->n_mine * n, want, n);
    h->mine[h->n_mine++] = chunk;
    return BKT_OK;
}

/* The same choice in all processes; each notes its own chunks. */
static int distribute(struct hand *h, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) size_t *end = calloc(h->c->size, sizeof *end);
    BKT_CLEANUP(bkt_freep) unsigned char *want = calloc(h->c->size, 1);
    unsigned n;
    uint64_t elems, chunk, bytes = bkt_chunk_handed_bytes(h->io) + sizeof chunk;
    if (!end || !want)
        BKT_NOMEM(err);
    for (unsigned r = 0; r < h->c->size; r++)
        end[r] = h->at[r] + h->n[r];
    for (size_t handed = 0; handed < h->most && (chunk = next(h, end, want, &n, &elems)) != UINT64_MAX;) {
        if (n < 2 || !bkt_chunk_is_worth_it(h->io, elems))
            continue;
        unsigned owner = choose(h, want);
        if (h->load[owner] + (n - 1) * bytes > SEND_MAX) /* too many need it: each reads it for itself */
            continue;
        h->load[owner] += (n - 1) * bytes;
        handed++;
        if (owner == h->c->rank && add_mine(h, chunk, want) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* A message: chunk number and decoded chunk, one after the other.  If a chunk can't be fetched, no message
 * has it. */
static int make_messages(struct hand *h, struct bkt_buf *send, size_t *send_n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf got = {0};
    size_t bytes = bkt_chunk_handed_bytes(h->io);
    if (h->n_mine && bkt_chunks_fetch(h->io, h->mine, h->n_mine, &got, NULL) < 0)
        h->n_mine = 0;
    for (size_t i = 0; i < h->n_mine; i++)
        bkt_chunk_take(h->io, h->mine[i], got.ptr + i * bytes);
    for (unsigned r = 0; r < h->c->size; r++) {
        size_t was = send->len;
        for (size_t i = 0; r != h->c->rank && i < h->n_mine; i++)
            if (h->wanted[i * h->c->size + r] && (bkt_buf_add(send, &h->mine[i], sizeof *h->mine) < 0 ||
                                                  bkt_buf_add(send, got.ptr + i * bytes, bytes) < 0))
                BKT_NOMEM(err);
        send_n[r] = send->len - was;
    }
    return BKT_OK;
}

static void take_messages(struct hand *h, const struct bkt_buf *got)
{
    size_t bytes = bkt_chunk_handed_bytes(h->io);
    struct bkt_rd rd = bkt_rd_of(got->ptr, got->len);
    while (bkt_rd_left(&rd) >= sizeof(uint64_t) + bytes) {
        uint64_t chunk;
        memcpy(&chunk, bkt_rd_take(&rd, sizeof chunk), sizeof chunk);
        bkt_chunk_take(h->io, chunk, bkt_rd_take(&rd, bytes));
    }
}

static int exchange(struct hand *h, int rc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf send = {0}, got = {0};
    BKT_CLEANUP(bkt_freep) size_t *send_n = calloc(h->c->size, sizeof *send_n);
    BKT_CLEANUP(bkt_freep) size_t *got_n = calloc(h->c->size, sizeof *got_n);
    if (rc == BKT_OK)
        rc = send_n && got_n ? make_messages(h, &send, send_n, err)
                             : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    BKT_PASS(bkt_comm_agree(h->c, rc, err));
    if (!send_n || !got_n)
        return BKT_OK;
    BKT_PASS(bkt_comm_exchange(h->c, &send, send_n, &got, got_n, err));
    take_messages(h, &got);
    bkt_trace(BKT_TRACE_CHUNK, "collective read: %zu chunks fetched for others, %zu bytes of others",
              h->n_mine, got.len);
    return BKT_OK;
}

/* Chunks have the same numbers in all processes only if the extent is the same: another program may have
 * changed it between their reads of the dataset. */
static int run(struct hand *h, const struct bkt_buf *mine, struct bkt_err *err)
{
    const struct bkt_space *s = &h->io->ds->space;
    uint64_t shape = bkt_digest(s->dims, s->rank * sizeof *s->dims, bkt_chunk_handed_bytes(h->io));
    uint64_t v[] = {mine->len, ~(uint64_t)h->most, shape, ~shape}; /* of a complement: the smallest number */
    BKT_PASS(bkt_comm_reduce(h->c, BKT_COMM_MAX, v, BKT_COUNT(v), err));
    h->most = (size_t)~v[1];
    if (!v[0] || !h->most || v[2] != ~v[3])
        return BKT_OK;
    BKT_PASS(gather(h, mine, err));
    return exchange(h, distribute(h, err), err);
}

int bkt_collective_read(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_sel *file,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf mine = {0};
    BKT_CLEANUP(hand_fini) struct hand h = {.c = c, .io = io};
    uint64_t bytes = bkt_chunk_handed_bytes(io), room = bkt_min_u64(HAND_MAX, io->set->chunk_cache / 2);
    h.n = calloc(c->size, sizeof *h.n);
    h.at = calloc(c->size, sizeof *h.at);
    h.load = calloc(c->size, sizeof *h.load);
    /* every process gets all lists */
    h.most = bytes ? (size_t)bkt_min_u64(room / bytes, HAND_MAX / sizeof(struct bkt_needed) / c->size) : 0;
    if (file && h.most && bkt_chunks_needed(io, file, h.most, &mine, NULL) < 0)
        bkt_buf_clear(&mine); /* the read reports it */
    int rc =
        bkt_comm_agree(c, h.n && h.at && h.load ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err);
    return rc < 0 || !h.n || !h.at || !h.load ? rc : run(&h, &mine, err);
}
