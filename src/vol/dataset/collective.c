/* Collective transfers: each chunk is fetched or stored by one process, and its elements are exchanged. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/num.h"
#include "base/trace.h"
#include "chunk/dataset/dataset.h"
#include "chunk/list/collective_chunks.h"
#include "vol/dataset/dataset_calls.h"
#include "vol/dataset/shared_transfer.h"

/* Bytes of chunks that a call hands on, at most, in each process: the rest is read as without it. */
#define HAND_MAX (64u << 20)
/* Bytes that a process sends to the others in a call, at most: each of them gets a message of its own. */
#define SEND_MAX (256u << 20)

/* The chunks of all processes, by rank; each process's are in ascending order.  Cursors move through them,
 * alike in all processes. */
struct lists {
    struct bkt_comm *c;
    struct bkt_buf parts; /* struct bkt_chunk_share of all processes */
    struct process {
        size_t at, end; /* in `parts`: cursor, and behind the last one */
        uint64_t elems; /* in the chunk that the cursors have passed; 0: none */
        uint64_t load;  /* bytes that it sends, or gets */
        size_t fetched; /* chunks that it fetches */
    } * p;
    size_t *n;              /* chunks of each process */
    size_t *sent_n, *got_n; /* bytes of the messages to and from each process */
};

static bool lists_init(struct lists *l, struct bkt_comm *c)
{
    *l = (struct lists){.c = c,
                        .p = calloc(c->size, sizeof *l->p),
                        .n = calloc(c->size, sizeof *l->n),
                        .sent_n = calloc(c->size, sizeof *l->sent_n),
                        .got_n = calloc(c->size, sizeof *l->got_n)};
    return l->p && l->n && l->sent_n && l->got_n;
}

static void lists_fini(struct lists *l)
{
    bkt_buf_fini(&l->parts);
    free(l->p);
    free(l->n);
    free(l->sent_n);
    free(l->got_n);
}

/* Begin with the first chunk (again). */
static void lists_rewind(struct lists *l)
{
    size_t at = 0;
    for (unsigned r = 0; r < l->c->size; r++) {
        l->p[r].at = at;
        l->p[r].end = at += l->n[r];
    }
}

/* All lists in all processes. */
static int lists_gather(struct lists *l, int rc, const struct bkt_buf *mine, struct bkt_err *err)
{
    BKT_PASS(bkt_comm_gather(l->c, rc, mine, l->n, &l->parts, err));
    for (unsigned r = 0; r < l->c->size; r++)
        l->n[r] /= sizeof(struct bkt_chunk_share);
    lists_rewind(l);
    return BKT_OK;
}

/* The next chunk; `elems` has what each process needs of it.  UINT64_MAX: no process has another. */
static uint64_t lists_next(struct lists *l)
{
    const struct bkt_chunk_share *all = (const void *)l->parts.ptr;
    uint64_t chunk = UINT64_MAX;
    for (const struct process *p = l->p; p < l->p + l->c->size; p++)
        if (p->at < p->end)
            chunk = bkt_min_u64(chunk, all[p->at].chunk);
    for (struct process *p = l->p; p < l->p + l->c->size; p++)
        p->elems = p->at < p->end && all[p->at].chunk == chunk ? all[p->at++].elems : 0;
    return chunk;
}

/* The chunks that the processes need, and who fetches those that several need. */
struct hand {
    struct lists all;
    struct bkt_dsetio *io;
    uint64_t *mine;        /* numbers of the chunks that this process fetches */
    unsigned char *wanted; /* of these: a byte for each process that gets it */
    size_t n_mine, cap_mine, cap_wanted;
    size_t most; /* chunks that are handed on */
};

static void hand_fini(struct hand *h)
{
    lists_fini(&h->all);
    free(h->mine);
    free(h->wanted);
}

/* Choose one of the processes that need the chunk.  The owner of the chunk before is chosen until it has its
 * share, since neighbours in a file are read by one request.  After that it is the process that fetches
 * least. */
static unsigned choose(const struct hand *h, unsigned before, size_t share)
{
    const struct process *p = h->all.p;
    unsigned best = UINT32_MAX, n = h->all.c->size;
    if (before < n && p[before].elems && p[before].fetched < share)
        return before;
    for (unsigned r = 0; r < n; r++)
        if (p[r].elems && (best == UINT32_MAX || p[r].fetched < p[best].fetched))
            best = r;
    return best;
}

static int add_mine(struct hand *h, uint64_t chunk)
{
    size_t n = h->all.c->size;
    BKT_PASS(bkt_list_room(&h->mine, h->n_mine, &h->cap_mine, sizeof *h->mine));
    BKT_PASS(bkt_list_room(&h->wanted, h->n_mine, &h->cap_wanted, n));
    for (size_t r = 0; r < n; r++)
        h->wanted[h->n_mine * n + r] = h->all.p[r].elems > 0;
    h->mine[h->n_mine++] = chunk;
    return BKT_OK;
}

/* The next chunk that is handed on; @p n processes get it.  UINT64_MAX: no further chunk. */
static uint64_t next_handed(struct hand *h, unsigned *n)
{
    uint64_t chunk;
    while ((chunk = lists_next(&h->all)) != UINT64_MAX) {
        uint64_t elems = 0;
        *n = 0;
        for (unsigned r = 0; r < h->all.c->size; r++) {
            elems += h->all.p[r].elems;
            *n += h->all.p[r].elems > 0;
        }
        if (*n > 1 && bkt_chunk_is_worth_it(h->io, elems))
            break;
    }
    return chunk;
}

/* The same choice in all processes; each notes its own chunks. */
static int distribute(struct hand *h, struct bkt_err *err)
{
    const struct bkt_comm *c = h->all.c;
    unsigned n, owner = UINT32_MAX;
    uint64_t chunk, bytes = bkt_chunk_handed_bytes(h->io) + sizeof chunk;
    size_t all = 0;
    while (all < h->most && next_handed(h, &n) != UINT64_MAX)
        all++;
    size_t share = all / c->size + (all % c->size != 0);
    lists_rewind(&h->all);
    for (size_t i = 0; i < all && (chunk = next_handed(h, &n)) != UINT64_MAX; i++) {
        owner = choose(h, owner, share);
        struct process *p = &h->all.p[owner];
        if (p->load + (n - 1) * bytes > SEND_MAX) /* too many need it: each reads it for itself */
            continue;
        p->load += (n - 1) * bytes;
        p->fetched++;
        if (owner == c->rank && add_mine(h, chunk) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* A message: chunk number and decoded chunk, one after the other.  If a chunk can't be fetched, no message
 * has it. */
static int make_messages(struct hand *h, struct bkt_buf *send, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf got = {0};
    const struct bkt_comm *c = h->all.c;
    size_t bytes = bkt_chunk_handed_bytes(h->io);
    if (h->n_mine && bkt_chunks_fetch(h->io, h->mine, h->n_mine, &got, NULL) < 0)
        h->n_mine = 0;
    for (size_t i = 0; i < h->n_mine; i++)
        bkt_chunk_take(h->io, h->mine[i], got.ptr + i * bytes);
    for (unsigned r = 0; r < c->size; r++) {
        size_t was = send->len;
        for (size_t i = 0; r != c->rank && i < h->n_mine; i++)
            if (h->wanted[i * c->size + r] && (bkt_buf_add(send, &h->mine[i], sizeof *h->mine) < 0 ||
                                               bkt_buf_add(send, got.ptr + i * bytes, bytes) < 0))
                BKT_NOMEM(err);
        h->all.sent_n[r] = send->len - was;
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
    struct lists *l = &h->all;
    rc = rc < 0 ? rc : make_messages(h, &send, err);
    BKT_PASS(bkt_comm_agree(l->c, rc, err));
    BKT_PASS(bkt_comm_exchange(l->c, &send, l->sent_n, &got, l->got_n, err));
    take_messages(h, &got);
    bkt_trace(BKT_TRACE_CHUNK, "collective read: %zu chunks fetched for others, %zu bytes of others",
              h->n_mine, got.len);
    return BKT_OK;
}

/* Fetch each chunk that several processes need once, and hand it on.  Collective. */
static int hand_on(struct hand *h, const struct bkt_buf *mine, struct bkt_err *err)
{
    const struct bkt_space *s = &h->io->ds->space;
    /* chunks have the same numbers in all processes only if the extent is the same, see check_extent() */
    uint64_t shape = bkt_digest(s->dims, s->rank * sizeof *s->dims, bkt_chunk_handed_bytes(h->io));
    uint64_t v[] = {mine->len, ~(uint64_t)h->most, shape, ~shape}; /* of a complement: the smallest number */
    BKT_PASS(bkt_comm_reduce(h->all.c, BKT_COMM_MAX, v, BKT_COUNT(v), err));
    h->most = (size_t)~v[1];
    if (!v[0] || !h->most || v[2] != ~v[3])
        return BKT_OK;
    BKT_PASS(lists_gather(&h->all, BKT_OK, mine, err));
    return exchange(h, distribute(h, err), err);
}

int bkt_collective_read(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_sel *file,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf mine = {0};
    BKT_CLEANUP(hand_fini) struct hand h = {.io = io};
    uint64_t bytes = bkt_chunk_handed_bytes(io), room = bkt_min_u64(HAND_MAX, io->set->chunk_cache / 2);
    bool have = lists_init(&h.all, c);
    /* every process gets all lists */
    if (bytes)
        h.most = (size_t)bkt_min_u64(room / bytes, HAND_MAX / sizeof(struct bkt_chunk_share) / c->size);
    if (file && h.most && bkt_chunks_needed(io, file, h.most, &mine, NULL) < 0)
        bkt_buf_clear(&mine); /* the read reports it */
    int rc = bkt_comm_agree(c, have ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err);
    return rc < 0 || !have ? rc : hand_on(&h, &mine, err);
}

/* Bytes that a process sends, and gets, in one round: short rounds reuse memory, and chunks are encoded
 * during the next round. */
#define ROUND_MAX (8u << 20)

struct together {
    struct lists all; /* of this round */
    struct bkt_dsetio *io;
    struct bkt_collective_plan *mine;
    uint64_t at; /* the first of my chunks that isn't sent yet */
    uint64_t elem_bytes, chunk_bytes, budget;
    size_t round;             /* number of my chunks in this round */
    struct bkt_buf send, got; /* messages; kept from round to round, since new memory takes time */
};

static uint64_t next_chunk(const struct together *t)
{
    struct bkt_chunk_share p;
    return t->mine && bkt_collective_plan_at(t->mine, t->at, &p) ? p.chunk : UINT64_MAX;
}

/* The end of a round that begins at chunk @p from, as far as this process's memory goes: it takes a chunk at
 * least. */
static uint64_t my_end(const struct together *t, uint64_t from)
{
    struct bkt_chunk_share p;
    uint64_t bytes = 0, most = (uint64_t)t->all.c->size * bkt_max_u64(1, t->budget / t->chunk_bytes);
    uint64_t end = from > UINT64_MAX - most ? UINT64_MAX : from + most;
    for (uint64_t i = t->at; t->mine && bkt_collective_plan_at(t->mine, i, &p) && p.chunk < end; i++) {
        bytes += p.elems * t->elem_bytes;
        bytes += t->all.c->size * sizeof p; /* all processes get the share */
        if (i > t->at && bytes > t->budget)
            end = p.chunk;
    }
    return end;
}

/* @p from: UINT64_MAX if no process has more. */
static int agree_round(const struct together *t, uint64_t *from, uint64_t *end, struct bkt_err *err)
{
    *from = next_chunk(t);
    BKT_PASS(bkt_comm_reduce(t->all.c, BKT_COMM_MIN, from, 1, err));
    if (*from == UINT64_MAX)
        return BKT_OK;
    *end = my_end(t, *from);
    return bkt_comm_reduce(t->all.c, BKT_COMM_MIN, end, 1, err);
}

/* Every process learns which chunks each of them writes in this round. */
static int gather_shares(struct together *t, uint64_t end, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf mine = {0};
    struct bkt_chunk_share p;
    int rc = BKT_OK;
    t->round = 0;
    for (uint64_t i = t->at;
         rc == BKT_OK && t->mine && bkt_collective_plan_at(t->mine, i, &p) && p.chunk < end; i++, t->round++)
        rc = bkt_buf_add(&mine, &p, sizeof p);
    rc = rc < 0 ? BKT_ERR(err, rc, "out of memory") : BKT_OK;
    return lists_gather(&t->all, rc, &mine, err);
}

/* ---- owners ---- */

/* The next chunk and its owner, the same in all processes.  False: no process has
 * another. */
static bool next_owner(struct lists *l, uint64_t chunk_bytes, uint64_t *chunk, unsigned *owner)
{
    uint64_t most = 0;
    *chunk = lists_next(l);
    if (*chunk == UINT64_MAX)
        return false;
    for (unsigned r = 0; r < l->c->size; r++) {
        uint64_t n = l->p[r].elems;
        if (n > most || (n && n == most && l->p[r].load < l->p[*owner].load)) {
            most = n;
            *owner = r;
        }
    }
    l->p[*owner].load += chunk_bytes;
    return true;
}

/* The owner of each of my chunks in this round; the caller's, free().  NULL: out of memory */
static unsigned *owners_of_mine(struct together *t)
{
    unsigned *mine = calloc(t->round + 1, sizeof *mine), owner = 0;
    uint64_t chunk;
    struct bkt_chunk_share p;
    for (size_t k = 0; mine && next_owner(&t->all, t->chunk_bytes, &chunk, &owner);)
        if (t->mine && k < t->round && bkt_collective_plan_at(t->mine, t->at + k, &p) && p.chunk == chunk)
            mine[k++] = owner;
    return mine;
}

/* ---- the exchange ---- */

static int make_pieces(struct together *t, const unsigned *owner, struct bkt_err *err)
{
    bkt_buf_clear(&t->send);
    for (unsigned r = 0; r < t->all.c->size; r++) {
        size_t was = t->send.len;
        for (size_t k = 0; k < t->round; k++)
            if (owner[k] == r)
                BKT_PASS(bkt_collective_plan_add(t->mine, t->at + k, &t->send, err));
        t->all.sent_n[r] = t->send.len - was;
    }
    return BKT_OK;
}

static int take_pieces(const struct together *t, struct bkt_err *err)
{
    const struct lists *l = &t->all;
    BKT_CLEANUP(bkt_freep) struct bkt_slice *msgs = calloc(l->c->size, sizeof *msgs);
    size_t at = 0;
    BKT_NEED(err, msgs);
    for (unsigned r = 0; r < l->c->size; at += l->got_n[r++])
        msgs[r] = (struct bkt_slice){t->got.len ? t->got.ptr + at : (const unsigned char *)"", l->got_n[r]};
    return bkt_collective_plan_put(t->io, msgs, l->c->size, err);
}

/* @p rc: gets this process's failure, after which it goes on with the others, without elements */
static int exchange_pieces(struct together *t, int *rc, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) unsigned *owner = owners_of_mine(t);
    struct lists *l = &t->all;
    struct bkt_err why = {.n = 0};
    int here = owner ? make_pieces(t, owner, &why) : BKT_ERR(&why, BKT_ENOMEM, "out of memory");
    t->at += t->round;
    here = bkt_comm_agree(l->c, here, &why);
    if (here < 0)
        return bkt_err_copy(err, here, &why);
    bkt_buf_clear(&t->got);
    BKT_PASS(bkt_comm_exchange(l->c, &t->send, l->sent_n, &t->got, l->got_n, err));
    if (*rc == BKT_OK)
        *rc = take_pieces(t, err);
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
    BKT_PASS(check_extent(t->all.c, t->io, err));
    for (;; n++) {
        BKT_PASS(agree_round(t, &from, &end, err));
        if (from == UINT64_MAX)
            break;
        BKT_PASS(gather_shares(t, end, err));
        BKT_PASS(exchange_pieces(t, &rc, rc < 0 ? NULL : err));
    }
    bkt_trace(BKT_TRACE_CHUNK, "collective write of %u processes: %llu rounds", t->all.c->size,
              (unsigned long long)n);
    return rc;
}

int bkt_collective_write(struct bkt_comm *c, struct bkt_dsetio *io, const struct bkt_write *w,
                         struct bkt_err *err)
{
    struct together t = {.io = io,
                         .elem_bytes = io->var ? BKT_VAR_BYTES_WRITTEN : bkt_max_u64(1, io->elem_size)};
    struct bkt_err why = {.n = 0};
    if (!bkt_mul_u64(t.elem_bytes, io->chunk_elems, &t.chunk_bytes))
        t.chunk_bytes = UINT64_MAX;
    t.budget = bkt_min_u64(ROUND_MAX, bkt_settings_in_flight(io->set) / 2);
    bool have = lists_init(&t.all, c);
    int rc = have ? bkt_collective_plan_new(w, &t.mine, &why) : BKT_ERR(&why, BKT_ENOMEM, "out of memory");
    rc = bkt_comm_agree(c, rc, &why);
    if (rc < 0 || !have)
        rc = bkt_err_copy(err, rc < 0 ? rc : BKT_ENOMEM, &why);
    else /* an owner's failure must reach those who would wait for it in the next part */
        rc = bkt_comm_agree(c, write_rounds(&t, err), err);
    bkt_collective_plan_free(t.mine);
    lists_fini(&t.all);
    bkt_buf_fini(&t.send);
    bkt_buf_fini(&t.got);
    return rc;
}
