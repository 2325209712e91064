/* Filtered chunks that come in one range: each is received into memory of its own and decoded while the rest
 * is on its way.
 *
 * So the compressed bytes of all requests are never in memory together, and decoding begins before a request
 * is complete.  The memory of one chunk, and its place in the processor's cache, serve for the next chunk.
 *
 * A request that is sent again may bring a chunk's bytes a second time, perhaps of a newer version of the
 * file.  They wait until the first bytes have been decoded and the request has ended, and then replace the
 * result of the first ones.  In the same way a chunk that could not be decoded is decoded once more at the
 * end, since only then the bytes are certain to be the file's. */
#include <string.h>

#include "base/num.h"
#include "base/os/scratch_pool.h"
#include "chunk/read/fetch_task.h"

#define ROUND (UINT64_C(64) << 10) /* bytes; rounded up, so that the memory of one chunk serves for the next,
                                      slightly longer one */

bool bkt_stream_fits(const struct bkt_seg *segs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!segs[i].filtered || !segs[i].len || (i && segs[i].off < segs[i - 1].off + segs[i - 1].len))
            return false;
    return n > 1;
}

void bkt_stream_begin(struct bkt_task *k)
{
    k->streamed     = true;
    k->stream.at    = k->off;
    for (size_t i = 0; i < k->n_segs; i++) {
        k->pieces[i].task = k;
        k->pieces[i].seg  = &k->segs[i];
        atomic_store(&k->pieces[i].users, 2);
    }
    atomic_store(&k->users, k->n_segs + 1);
}

/* The job or the request has finished with the piece.  After the second of them nobody uses it any more. */
void bkt_stream_leave(struct bkt_task_piece *p)
{
    struct bkt_task *k = p->task;
    if (atomic_fetch_sub(&p->users, 1) != 1)
        return;
    if (p->again) {
        bkt_scratch_give(p->in);
        p->in    = p->again;
        p->again = NULL;
    }
    if (p->in && !atomic_load(k->run->cancel)) {
        atomic_store(&p->users, 1);
        p->last = true;
        bkt_window_submit(&k->run->window, p->seg->t->io->pipe.by_caller, &p->job);
        return;
    }
    bkt_scratch_give(p->in);
    bkt_task_leave(k);
}

static void complete(struct bkt_task *k)
{
    struct bkt_stream     *c = &k->stream;
    struct bkt_task_piece *p = &k->pieces[c->at_seg++];
    unsigned char         *b = c->buf;
    c->buf                   = NULL;
    if (p->given) {
        bkt_scratch_give(p->again);
        p->again = b;
        return;
    }
    p->given = true;
    p->in    = b;
    bkt_work_piece(p);
}

/* Bytes come again.  A store begins again at the beginning, or goes on where it was.  If one ever began
 * elsewhere, the chunks around that place would be incomplete, which bkt_stream_check() reports. */
static void start_over(struct bkt_task *k, uint64_t at)
{
    struct bkt_stream *c = &k->stream;
    bkt_scratch_give(c->buf);
    c->buf    = NULL;
    c->at_seg = 0;
    c->lost   = at > 0;
    c->at     = c->lost ? UINT64_MAX : k->off;
}

void bkt_stream(void *arg, uint64_t at, const void *data, size_t n)
{
    struct bkt_task     *k = arg;
    struct bkt_stream   *c = &k->stream;
    const unsigned char *p = data;
    if (k->off + at != c->at)
        start_over(k, at);
    if (c->lost)
        return;
    while (n && c->at_seg < k->n_segs && !c->no_memory) {
        const struct bkt_seg *s    = &k->segs[c->at_seg];
        uint64_t              skip = s->off - bkt_min_u64(c->at, s->off), m;
        if (!skip && !c->buf && !(c->buf = bkt_scratch_take((size_t)((s->len + ROUND - 1) / ROUND * ROUND)))) {
            c->no_memory = true;
            break;
        }
        m = bkt_min_u64(n, skip ? skip : s->off + s->len - c->at);
        if (!skip)
            memcpy(c->buf + (size_t)(c->at - s->off), p, (size_t)m);
        c->at += m;
        p += m;
        n -= (size_t)m;
        if (!skip && c->at == s->off + s->len)
            complete(k);
    }
    c->at += n;
}

int bkt_stream_check(const struct bkt_task *k, struct bkt_err *err)
{
    if (k->stream.no_memory)
        BKT_FAIL(err, BKT_ENOMEM, "out of memory for a chunk's stored bytes");
    for (size_t i = 0; i < k->n_segs; i++)
        if (!k->pieces[i].given || k->stream.lost)
            BKT_FAIL(err, BKT_EFORMAT, "the answer lacks bytes %llu+%llu", (unsigned long long)k->segs[i].off,
                     (unsigned long long)k->segs[i].len);
    return BKT_OK;
}

void bkt_stream_end(struct bkt_task *k)
{
    bkt_scratch_give(k->stream.buf);
    k->stream.buf = NULL;
    for (size_t i = 0, n = k->n_segs; i < n; i++)
        if (k->pieces[i].given)
            bkt_stream_leave(&k->pieces[i]);
        else
            bkt_task_leave(k);
    bkt_task_leave(k);
}
