#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/num.h"
#include "base/trace.h"
#include "chunk/dataset/dataset.h"
#include "chunk/list/collective_chunks.h"
#include "vol/dataset/shared_transfer.h"

/* Bytes of chunks that a call hands on, at most, in each process: the rest is read as without it. */
#define HAND_MAX (64u << 20)
/* Bytes that a process sends to the others in a call, at most: each of them gets a message of its own. */
#define SEND_MAX (256u << 20)

/* The chunks that the processes need, and who fetches those that several need. */
struct hand {
    struct bkt_comm *c;
    struct bkt_dsetio *io;
    struct bkt_buf lists;  /* struct bkt_chunk_part of all processes, in the order of ranks */
    size_t *n;             /* of each process */
    size_t *at;            /* cursors */
    uint64_t *load;        /* bytes that each process sends */
    size_t *fetched;       /* chunks that each process fetches */
    uint64_t *mine;        /* numbers of the chunks that this process fetches */
    unsigned char *wanted; /* of these: a byte for each process that gets it */
    size_t n_mine, cap_mine, cap_wanted;
    size_t most; /* chunks that are handed on */
};

static void hand_fini(struct hand *h)
{
    bkt_buf_fini(&h->lists);
    free(h->n);
    free(h->at);
    free(h->load);
    free(h->fetched);
    free(h->mine);
    free(h->wanted);
}

/* All lists in all processes. */
static int gather(struct hand *h, const struct bkt_buf *mine, struct bkt_err *err)
{
    BKT_PASS(bkt_comm_gather(h->c, BKT_OK, mine, h->n, &h->lists, err));
    for (unsigned r = 0; r < h->c->size; r++)
        h->n[r] /= sizeof(struct bkt_chunk_part);
    return BKT_OK;
}

/* The next chunk; @p want has a byte for each process that needs it.  UINT64_MAX: no process has
 * another. */
static uint64_t next(struct hand *h, const size_t *end, unsigned char *want, unsigned *n, uint64_t *elems)
{
    const struct bkt_chunk_part *all = (const void *)h->lists.ptr;
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

/* Among the processes that need the chunk: the owner of the chunk before, until it has its share, since
 * neighbours in a file are read by one request; else the process that fetches least. */
static unsigned choose(const struct hand *h, const unsigned char *want, unsigned before, size_t share)
{
    unsigned best = UINT32_MAX;
    if (before < h->c->size && want[before] && h->fetched[before] < share)
        return before;
    for (unsigned r = 0; r < h->c->size; r++)
        if (want[r] && (best == UINT32_MAX || h->fetched[r] < h->fetched[best]))
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

/* The next chunk that is handed on; @p want has a byte for each process that gets it.  UINT64_MAX: there is
 * none. */
static uint64_t next_handed(struct hand *h, const size_t *end, unsigned char *want, unsigned *n)
{
    uint64_t elems, chunk;
    while ((chunk = next(h, end, want, n, &elems)) != UINT64_MAX)
        if (*n > 1 && bkt_chunk_is_worth_it(h->io, elems))
            break;
    return chunk;
}

/* Begin with the first chunk (again). */
static void rewind_lists(struct hand *h, size_t *end)
{
    size_t at = 0;
    for (unsigned r = 0; r < h->c->size; r++) {
        h->at[r] = at;
        end[r] = at += h->n[r];
    }
}

/* The same choice in all processes; each notes its own chunks. */
static int distribute(struct hand *h, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) size_t *end = calloc(h->c->size, sizeof *end);
    BKT_CLEANUP(bkt_freep) unsigned char *want = calloc(h->c->size, 1);
    unsigned n, owner = UINT32_MAX;
    uint64_t chunk, bytes = bkt_chunk_handed_bytes(h->io) + sizeof chunk;
    size_t all = 0;
    BKT_NEED(err, end && want);
    rewind_lists(h, end);
    while (all < h->most && next_handed(h, end, want, &n) != UINT64_MAX)
        all++;
    size_t share = all / h->c->size + (all % h->c->size != 0);
    rewind_lists(h, end);
    for (size_t i = 0; i < all && (chunk = next_handed(h, end, want, &n)) != UINT64_MAX; i++) {
        owner = choose(h, want, owner, share);
        if (h->load[owner] + (n - 1) * bytes > SEND_MAX) /* too many need it: each reads it for itself */
            continue;
        h->load[owner] += (n - 1) * bytes;
        h->fetched[owner]++;
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
    h.fetched = calloc(c->size, sizeof *h.fetched);
    /* every process gets all lists */
    if (bytes)
        h.most = (size_t)bkt_min_u64(room / bytes, HAND_MAX / sizeof(struct bkt_chunk_part) / c->size);
    if (file && h.most && bkt_chunks_needed(io, file, h.most, &mine, NULL) < 0)
        bkt_buf_clear(&mine); /* the read reports it */
    bool have = h.n && h.at && h.load && h.fetched;
    int rc = bkt_comm_agree(c, have ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err);
    return rc < 0 || !have ? rc : run(&h, &mine, err);
}

/* Bytes that a process sends, and gets, in one round: short rounds reuse memory, and chunks are encoded
 * meanwhile. */
#define ROUND_MAX (8u << 20)
/* Bytes per element of variable size, for the length of a round. */
#define VAR_GUESS 256

struct together {
    struct bkt_comm *c;
    struct bkt_dsetio *io;
    struct bkt_wpieces *mine;
    uint64_t at; /* the first of my chunks that isn't sent yet */
    uint64_t elem_bytes, chunk_bytes, budget;
    uint64_t *load;           /* bytes that each process has got, as an owner */
    struct bkt_buf shares;    /* struct bkt_chunk_part of all processes in this round, by rank */
    size_t *n_shares;         /* of each process */
    size_t round;             /* number of my chunks in this round */
    struct bkt_buf send, got; /* messages; kept from round to round, since new memory takes time */
};

static uint64_t next_chunk(const struct together *t)
{
    struct bkt_chunk_part p;
    return t->mine && bkt_wpieces_at(t->mine, t->at, &p) ? p.chunk : UINT64_MAX;
}

/* The end of a round that begins at chunk @p from, as far as this process's memory goes: it takes a chunk at
 * least. */
static uint64_t my_end(const struct together *t, uint64_t from)
{
    struct bkt_chunk_part p;
    uint64_t bytes = 0, most = (uint64_t)t->c->size * bkt_max_u64(1, t->budget / t->chunk_bytes);
    uint64_t end = from > UINT64_MAX - most ? UINT64_MAX : from + most;
    for (uint64_t i = t->at; t->mine && bkt_wpieces_at(t->mine, i, &p) && p.chunk < end; i++) {
        bytes += p.elems * t->elem_bytes;
        bytes += t->c->size * sizeof p; /* all processes get the share */
        if (i > t->at && bytes > t->budget)
            end = p.chunk;
    }
    return end;
}

/* @p from: UINT64_MAX if no process has more. */
static int agree_round(const struct together *t, uint64_t *from, uint64_t *end, struct bkt_err *err)
{
    *from = next_chunk(t);
    BKT_PASS(bkt_comm_reduce(t->c, BKT_COMM_MIN, from, 1, err));
    if (*from == UINT64_MAX)
        return BKT_OK;
    *end = my_end(t, *from);
    return bkt_comm_reduce(t->c, BKT_COMM_MIN, end, 1, err);
}

/* Every process learns which chunks each of them writes in this round. */
static int gather_shares(struct together *t, uint64_t end, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf mine = {0};
    struct bkt_chunk_part p;
    int rc = BKT_OK;
    t->round = 0;
    for (uint64_t i = t->at; rc == BKT_OK && t->mine && bkt_wpieces_at(t->mine, i, &p) && p.chunk < end;
         i++, t->round++)
        rc = bkt_buf_add(&mine, &p, sizeof p);
    rc = rc < 0 ? BKT_ERR(err, rc, "out of memory") : BKT_OK;
    BKT_PASS(bkt_comm_gather(t->c, rc, &mine, t->n_shares, &t->shares, err));
    for (unsigned r = 0; r < t->c->size; r++)
        t->n_shares[r] /= sizeof p;
    return BKT_OK;
}

/* ---- owners ---- */

/* The shares of the round, as cursors that move through the chunks: each process's are in ascending order. */
struct owners {
    const struct bkt_chunk_part **at, **end; /* of each process */
};

static int owners_init(struct owners *o, const struct together *t)
{
    const struct bkt_chunk_part *s = (const void *)t->shares.ptr;
    o->at = calloc(t->c->size, sizeof(void *));
    o->end = calloc(t->c->size, sizeof(void *));
    for (unsigned r = 0; o->at && o->end && r < t->c->size; r++) {
        o->at[r] = s;
        o->end[r] = s += t->n_shares[r];
    }
    return o->at && o->end ? BKT_OK : BKT_ENOMEM;
}

static void owners_fini(struct owners *o)
{
    free(o->at);
    free(o->end);
}

/* The next chunk and its owner, the same in all processes.  False: no process has
 * another. */
static bool next_owner(struct owners *o, struct together *t, uint64_t *chunk, unsigned *owner)
{
    uint64_t most = 0;
    *chunk = UINT64_MAX;
    for (unsigned r = 0; r < t->c->size; r++)
        if (o->at[r] < o->end[r])
            *chunk = bkt_min_u64(*chunk, o->at[r]->chunk);
    for (unsigned r = 0; *chunk != UINT64_MAX && r < t->c->size; r++) {
        if (o->at[r] >= o->end[r] || o->at[r]->chunk != *chunk)
            continue;
        uint64_t n = o->at[r]++->elems;
        if (n > most || (n == most && t->load[r] < t->load[*owner])) {
            most = n;
            *owner = r;
        }
    }
    if (*chunk != UINT64_MAX)
        t->load[*owner] += t->chunk_bytes;
    return *chunk != UINT64_MAX;
}

/* The owner of each of my chunks in this round; the caller's, free().  NULL: out of memory */
static unsigned *owners_of_mine(struct together *t)
{
    struct owners o;
    unsigned *mine = calloc(t->round + 1, sizeof *mine), owner = 0;
    uint64_t chunk;
    struct bkt_chunk_part p;
    if (owners_init(&o, t) < 0) {
        free(mine);
        mine = NULL;
    }
    for (size_t k = 0; mine && next_owner(&o, t, &chunk, &owner);)
        if (t->mine && k < t->round && bkt_wpieces_at(t->mine, t->at + k, &p) && p.chunk == chunk)
            mine[k++] = owner;
    owners_fini(&o);
    return mine;
}

/* ---- the exchange_pieces ---- */

static int make_pieces(const struct together *t, const unsigned *owner, struct bkt_buf *send,
                         size_t *send_n, struct bkt_err *err)
{
    for (unsigned r = 0; r < t->c->size; r++) {
        size_t was = send->len;
        for (size_t k = 0; k < t->round; k++)
            if (owner[k] == r)
                BKT_PASS(bkt_wpieces_add(t->mine, t->at + k, send, err));
        send_n[r] = send->len - was;
    }
    return BKT_OK;
}

static int take_pieces(const struct together *t, const struct bkt_buf *got, const size_t *got_n,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_slice *msgs = calloc(t->c->size, sizeof *msgs);
    size_t at = 0;
    BKT_NEED(err, msgs);
    for (unsigned r = 0; r < t->c->size; at += got_n[r++])
        msgs[r] = (struct bkt_slice){got->len ? got->ptr + at : (const unsigned char *)"", got_n[r]};
    return bkt_wpieces_put(t->io, msgs, t->c->size, err);
}

/* @p rc: gets this process's failure, after which it goes on with the others, without elements */
static int exchange_pieces(struct together *t, int *rc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) size_t *send_n = calloc(t->c->size, sizeof *send_n);
    BKT_CLEANUP(bkt_freep) size_t *got_n = calloc(t->c->size, sizeof *got_n);
    BKT_CLEANUP(bkt_freep) unsigned *owner = owners_of_mine(t);
    struct bkt_err why = {.n = 0};
    bkt_buf_clear(&t->send);
    bkt_buf_clear(&t->got);
    int here = send_n && got_n && owner ? make_pieces(t, owner, &t->send, send_n, &why)
                                        : BKT_ERR(&why, BKT_ENOMEM, "out of memory");
    t->at += t->round;
    here = bkt_comm_agree(t->c, here, &why);
    if (here < 0 || !send_n || !got_n)
        return bkt_err_copy(err, here < 0 ? here : BKT_ENOMEM, &why);
    BKT_PASS(bkt_comm_exchange(t->c, &t->send, send_n, &t->got, got_n, err));
    if (*rc == BKT_OK)
        *rc = take_pieces(t, &t->got, got_n, err);
    return BKT_OK;
}

/* Chunks have the same numbers in all processes only if the extent is the same: another program may have
 * changed it between their reads of the dataset. */
static int check_extent(struct bkt_comm *c, const struct bkt_dsetio *io, struct bkt_err *err)
{
    const struct bkt_space *s = &io->ds->space;
    uint64_t shape = bkt_digest(s->dims, s->rank * sizeof *s->dims, 0), v[] = {shape, ~shape};
    BKT_PASS(bkt_comm_reduce(c, BKT_COMM_MAX, v, BKT_COUNT(v), err));
    BKT_FAIL_IF(err, v[0] != ~v[1], BKT_EINVAL,
                "dataset %s: the processes see different extents of it; call H5Drefresh in all of them",
                io->obj->id.text);
    return BKT_OK;
}

static int write_rounds(struct together *t, struct bkt_err *err)
{
    int rc = BKT_OK;
    uint64_t from, end, n = 0;
    BKT_PASS(check_extent(t->c, t->io, err));
    for (;; n++) {
        BKT_PASS(agree_round(t, &from, &end, err));
        if (from == UINT64_MAX)
            break;
        BKT_PASS(gather_shares(t, end, err));
        BKT_PASS(exchange_pieces(t, &rc, rc < 0 ? NULL : err));
    }
    bkt_trace(BKT_TRACE_CHUNK, "collective write of %u processes: %llu rounds", t->c->size,
              (unsigned long long)n);
    return rc;
}

int bkt_collective_write(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_write *w,
                         struct bkt_err *err)
{
    struct together t = {.c = c, .io = io, .elem_bytes = io->var ? VAR_GUESS : bkt_max_u64(1, io->elem_size)};
    struct bkt_err why = {.n = 0};
    if (!bkt_mul_u64(t.elem_bytes, io->chunk_elems, &t.chunk_bytes))
        t.chunk_bytes = UINT64_MAX;
    t.budget = bkt_min_u64(ROUND_MAX, bkt_settings_in_flight(io->set) / 2);
    t.load = calloc(c->size, sizeof *t.load);
    t.n_shares = calloc(c->size, sizeof *t.n_shares);
    int rc =
        t.load && t.n_shares ? bkt_wpieces_new(w, &t.mine, &why) : BKT_ERR(&why, BKT_ENOMEM, "out of memory");
    rc = bkt_comm_agree(c, rc, &why);
    if (rc < 0 || !t.load || !t.n_shares)
        rc = bkt_err_copy(err, rc < 0 ? rc : BKT_ENOMEM, &why);
    else /* an owner's failure must reach those who would wait for it in the next part */
        rc = bkt_comm_agree(c, write_rounds(&t, err), err);
    bkt_wpieces_free(t.mine);
    free(t.load);
    free(t.n_shares);
    bkt_buf_fini(&t.shares);
    bkt_buf_fini(&t.send);
    bkt_buf_fini(&t.got);
    return rc;
}
