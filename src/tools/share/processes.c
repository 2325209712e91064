#include "tools/share/processes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/share/captured.h"
#include "tools/share/launcher.h"
#include "tools/share/share_impl.h"

static struct bkt_comm *comm;

struct bkt_comm *bkt_msg_comm(void)
{
    return comm;
}

bool bkt_processes_several(void)
{
    return comm != NULL;
}

bool bkt_processes_first(void)
{
    return bkt_comm_is_first(comm);
}

unsigned bkt_processes_rank(void)
{
    return comm ? comm->rank : 0;
}

unsigned bkt_processes_size(void)
{
    return comm ? comm->size : 1;
}

int bkt_processes_join(struct bkt_err *err)
{
    BKT_PASS(bkt_launcher_join(&comm, err));
    return bkt_processes_first() ? BKT_OK : bkt_captured_begin(err);
}

/* ---- messages ---- */

/* kind, code, lengths of both texts; then the texts, and the body */
#define HEAD 25

int bkt_msg_send(unsigned to, enum bkt_msg_kind kind, int64_t code, const void *body, size_t n,
                 struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf out = {0}, errors = {0}, all = {0};
    if (!bkt_processes_first())
        bkt_captured_take(&out, &errors);
    if (bkt_buf_add_le(&all, 1, (unsigned)kind) < 0 || bkt_buf_add_le(&all, 8, (uint64_t)code) < 0 ||
        bkt_buf_add_le(&all, 8, out.len) < 0 || bkt_buf_add_le(&all, 8, errors.len) < 0 ||
        bkt_buf_add(&all, out.ptr, out.len) < 0 || bkt_buf_add(&all, errors.ptr, errors.len) < 0 ||
        bkt_buf_add(&all, body, n) < 0)
        BKT_NOMEM(err);
    return comm->ops->post(comm, to, all.ptr, all.len, err);
}

static void print(FILE *to, struct bkt_rd *r, uint64_t n)
{
    const void *text = n <= SIZE_MAX ? bkt_rd_take(r, (size_t)n) : NULL;
    if (!text || !n)
        return;
    (void)fwrite(text, 1, (size_t)n, to);
    (void)fflush(to);
}

static int parse(struct bkt_msg *m, struct bkt_err *err)
{
    m->body = bkt_rd_of(m->bytes.ptr, m->bytes.len);
    uint64_t kind = bkt_rd_le(&m->body, 1);
    m->kind = kind < BKT_MSG_KINDS ? (enum bkt_msg_kind)kind : BKT_MSG_KINDS;
    m->code = (int64_t)bkt_rd_le(&m->body, 8);
    uint64_t n_out = bkt_rd_le(&m->body, 8), n_errors = bkt_rd_le(&m->body, 8);
    print(stdout, &m->body, n_out);
    print(stderr, &m->body, n_errors);
    if (!m->body.ok || m->kind == BKT_MSG_KINDS)
        BKT_FAIL(err, BKT_EFORMAT, "process %u sent a malformed message; all must be of one version",
                 m->from);
    return BKT_OK;
}

int bkt_msg_poll(struct bkt_msg *m, struct bkt_err *err)
{
    *m = (struct bkt_msg){.kind = BKT_MSG_KINDS};
    int rc = comm->ops->poll(comm, &m->from, &m->bytes, err);
    if (rc > 0 && parse(m, err) < 0)
        rc = BKT_EFORMAT;
    if (rc <= 0)
        bkt_msg_fini(m);
    return rc;
}

void bkt_msg_fini(struct bkt_msg *m)
{
    bkt_buf_fini(&m->bytes);
}

/* MPI's own waiting would take a whole processor. */
void bkt_msg_rest(unsigned tries)
{
    const long most = 2000000;
    struct timespec t = {.tv_nsec = tries < 100 ? 20000L * (tries + 1) : most};
    (void)nanosleep(&t, NULL);
}

int bkt_msg_wait(struct bkt_msg *m, struct bkt_err *err)
{
    int rc;
    for (unsigned tries = 0; (rc = bkt_msg_poll(m, err)) == 0; tries++)
        bkt_msg_rest(tries);
    return rc;
}

int bkt_msg_send_long_text(struct bkt_err *err)
{
    return bkt_captured_is_long() ? bkt_msg_send(0, BKT_MSG_TEXT, 0, NULL, 0, err) : BKT_OK;
}

/* ---- the end ---- */

static int to_all(enum bkt_msg_kind kind, int64_t code, struct bkt_err *err)
{
    for (unsigned r = 1; r < comm->size; r++)
        BKT_PASS(bkt_msg_send(r, kind, code, NULL, 0, err));
    return BKT_OK;
}

static int leave_first(int *rc, struct bkt_err *err)
{
    BKT_PASS(to_all(BKT_MSG_OVER, 0, err));
    for (unsigned left = comm->size - 1; left;) {
        struct bkt_msg m;
        BKT_PASS(bkt_msg_wait(&m, err));
        if (m.kind == BKT_MSG_BYE) {
            left--;
            *rc = *rc ? *rc : (int)m.code;
        }
        bkt_msg_fini(&m);
    }
    return to_all(BKT_MSG_LEAVE, *rc, err);
}

static int leave_other(int *rc, struct bkt_err *err)
{
    struct bkt_msg m;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf same = {0};
    BKT_PASS(bkt_serve_end(err));
    if (*rc != 1) /* help and wrong usage: the first process prints the same */
        bkt_captured_take(&same, &same);
    BKT_PASS(bkt_msg_send(0, BKT_MSG_BYE, *rc, NULL, 0, err));
    BKT_PASS(bkt_msg_wait(&m, err));
    if (m.kind == BKT_MSG_LEAVE)
        *rc = (int)m.code;
    bkt_msg_fini(&m);
    return BKT_OK;
}

int bkt_processes_leave(int rc)
{
    struct bkt_err err = {.n = 0};
    if (!comm)
        return rc;
    (void)fflush(stdout);
    int failed = comm->rank == 0 ? leave_first(&rc, &err) : leave_other(&rc, &err);
    if (comm->rank)
        bkt_captured_end();
    if (failed < 0) { /* the launcher ends the others, which may wait for this one */
        (void)fprintf(stderr, "h5bucket: process %u: %s\n", comm->rank,
                      err.n ? err.frame[0].msg : bkt_err_text(failed));
        return rc ? rc : 1;
    }
    for (unsigned tries = 0; !comm->ops->idle(comm); tries++)
        bkt_msg_rest(tries);
    const struct bkt_comm_ops *ops = comm->ops;
    bkt_comm_close(comm);
    comm = NULL;
    ops->finish();
    return rc;
}
