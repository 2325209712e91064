/* Calls that processes make together, in the second of two processes: another process's malformed message ends
 * the call in all of them, with the remedy.  The group has one real process; the other one is its script. */
#include <string.h>

#include "helpers/check.h"
#include "storage/recorded_requests.h"
#include "vol/parallel/together.h"

static const char *script; /* bytes of the first process's next message */
static size_t script_len;
static bool length_sent;

static int bcast(struct bkt_comm *c, unsigned root, void *p, uint64_t n, struct bkt_err *err)
{
    (void)c, (void)err;
    uint64_t len = script_len;
    if (root == 0)
        memcpy(p, length_sent ? (const void *)script : &len, n);
    length_sent = true;
    return BKT_OK;
}

/* The first process has no failure of its own. */
static int allreduce(struct bkt_comm *c, enum bkt_comm_op op, uint64_t *v, size_t n, struct bkt_err *err)
{
    (void)c, (void)op, (void)v, (void)n, (void)err;
    return BKT_OK;
}

static const struct bkt_comm_ops ops = {.bcast = bcast, .allreduce = allreduce};
static struct bkt_comm second = {&ops, 1, 2};

static int count_call(void *calls, struct bkt_err *err)
{
    (void)err;
    ++*(int *)calls;
    return BKT_OK;
}

static int together_after(const char *message, size_t len, int *calls, struct bkt_err *err)
{
    script = message;
    script_len = len;
    length_sent = false;
    *calls = 0;
    return bkt_together(&second, count_call, calls, NULL, err);
}

int main(void)
{
    struct bkt_err err = {.n = 0};
    int calls;
    CHECK(together_after("", 0, &calls, &err) == BKT_OK && calls == 1, "no outcomes: %d calls", calls);
    int rc = together_after("another version", 15, &calls, &err);
    const char *why = bkt_err_reason(&err, rc);
    CHECK(rc == BKT_EFORMAT && strstr(why, "all processes must run the same version"), "%d, %s", rc, why);
    CHECK(calls == 0, "this process sends no requests of its own");
    CHECK(!bkt_recording_is_on(), "later requests are sent");
    return failures > 0;
}
