/* Exchanges that do not move, or take too long.  See engine_impl.h; all functions run on the I/O thread.
 *
 * An upload's bytes go to libcurl in pieces of 256 KiB, and to the system in pieces of megabytes.  This
 * happens long before the bytes are on a slow line.  So only bytes that the other side has confirmed count as
 * moved: those that libcurl has sent, less those still in the socket's queue. */
#include <stdio.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>

#include "storage/http/engine_impl.h"
#include "base/num.h"

static uint64_t queued(int fd)
{
    int n = 0;
    return fd >= 0 && ioctl(fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

void bkt_engine_moved(struct bkt_xfer *x)
{
    curl_off_t sent = 0;
    if (!x->put_len) {
        x->moved = x->body_bytes;
        return;
    }
    (void)curl_easy_getinfo(x->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    uint64_t n     = sent > 0 ? (uint64_t)sent : 0;
    uint64_t moved = n - bkt_min_u64(n, queued(x->fd));
    if (moved > x->moved) {
        x->moved   = moved;
        x->last_ms = bkt_max_u64(x->last_ms, x->engine->now);
    }
}

void bkt_engine_watch(struct engine *e)
{
    for (struct bkt_xfer *x = e->active, *next; x; x = next) {
        next = x->next;
        bkt_engine_moved(x);
        if (x->last_ms + x->net->stall_ms <= e->now) {
            (void)snprintf(x->why, sizeof x->why, "no byte for %llu ms",
                           (unsigned long long)x->net->stall_ms);
            bkt_engine_end(e, x, BKT_WIRE_STALL);
        } else if (x->begun_ms + x->timeout_ms + bkt_retry_allowance(x->moved) <= e->now) {
            (void)snprintf(x->why, sizeof x->why, "after %llu bytes", (unsigned long long)x->moved);
            bkt_engine_end(e, x, BKT_WIRE_DEADLINE);
        }
    }
}
