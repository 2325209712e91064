/* The adapter: struct bkt_comm_ops by the functions of one MPI.  It is compiled by mpicc, once for each MPI
 * of the machine, and knows neither HDF5 nor the connector. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/comm.h"

/* Bytes of one MPI call, whose counts are ints. */
#define PART (1u << 30)

/* A message under way. */
struct posted {
    struct posted *next;
    MPI_Request req;
    char bytes[];
};

struct group {
    struct bkt_comm base; /* first */
    MPI_Comm comm;
    MPI_Info info;
    struct posted *posted;
};

static struct group *of(struct bkt_comm *c)
{
    return (struct group *)c;
}

static int check(int rc, const char *what, struct bkt_err *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (rc == MPI_SUCCESS)
        return BKT_OK;
    (void)MPI_Error_string(rc, text, &n);
    BKT_FAIL(err, BKT_ENET, "MPI: %s failed: %.300s; processes of the program may have ended", what, text);
}

/* A child of fork() has its parent's groups, but is not a process of the program for MPI. */
static bool alive(void)
{
    static pid_t process;
    int begun = 0, ended = 0;
    process = process ? process : getpid();
    return process == getpid() && MPI_Initialized(&begun) == MPI_SUCCESS &&
           MPI_Finalized(&ended) == MPI_SUCCESS && begun && !ended;
}

static void group_close(struct bkt_comm *c)
{
    struct group *g = of(c);
    if (alive()) {
        if (g->info != MPI_INFO_NULL)
            (void)MPI_Info_free(&g->info);
        if (g->comm != MPI_COMM_NULL)
            (void)MPI_Comm_free(&g->comm);
    }
    free(g);
}

static const struct bkt_comm_ops ops;

/* Takes over @p comm and @p info. */
static int make(MPI_Comm comm, MPI_Info info, struct bkt_comm **out, struct bkt_err *err)
{
    struct group *g = calloc(1, sizeof *g);
    int rank = 0, size = 0;
    BKT_NEED(err, g);
    g->base.ops = &ops;
    g->comm = comm;
    g->info = info;
    (void)MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int rc = check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", err);
    rc = rc < 0 ? rc : check(MPI_Comm_size(comm, &size), "MPI_Comm_size", err);
    if (rc < 0) {
        group_close(&g->base);
        return rc;
    }
    g->base.rank = (unsigned)rank;
    g->base.size = (unsigned)size;
    *out = &g->base;
    return BKT_OK;
}

static int group_open(void (*get_params)(void), int64_t fapl, struct bkt_comm **out, struct bkt_err *err)
{
    /* as H5Ppublic.h declares it; hid_t has 64 bits, herr_t is an int */
    int (*get)(int64_t, MPI_Comm *, MPI_Info *) = (int (*)(int64_t, MPI_Comm *, MPI_Info *))get_params;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    *out = NULL;
    BKT_FAIL_IF(err, !alive(), BKT_EINVAL,
                "the file access list names the mpio driver, but MPI is not running; call MPI_Init first");
    BKT_FAIL_IF(err, get(fapl, &comm, &info) < 0, BKT_EHDF5,
                "the file access list: H5Pget_mpi_params() can't read its communicator; pass a valid one");
    return comm == MPI_COMM_NULL ? BKT_OK : make(comm, info, out, err);
}

/* HDF5's names of the properties (H5Fprivate.h, 1.12 to 2.0).  Setting one makes a copy of the value. */
static int take_out(void (*set)(void), int64_t fapl, struct bkt_err *err)
{
    int (*h5pset)(int64_t, const char *, const void *) = (int (*)(int64_t, const char *, const void *))set;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    BKT_FAIL_IF(err, h5pset(fapl, "mpi_params_comm", &comm) < 0 || h5pset(fapl, "mpi_params_info", &info) < 0,
                BKT_EHDF5, "the communicator can't be taken out of a file access list");
    return BKT_OK;
}

static int put_in(struct bkt_comm *c, void (*set_mpio)(void), int64_t fapl, struct bkt_err *err)
{
    int (*set)(int64_t, MPI_Comm, MPI_Info) = (int (*)(int64_t, MPI_Comm, MPI_Info))set_mpio;
    BKT_FAIL_IF(err, set(fapl, of(c)->comm, of(c)->info) < 0, BKT_EHDF5,
                "the file access list: H5Pset_fapl_mpio() refuses the communicator");
    return BKT_OK;
}

static int group_dup(struct bkt_comm *c, struct bkt_comm **out, struct bkt_err *err)
{
    MPI_Comm comm = MPI_COMM_NULL;
    BKT_PASS(check(MPI_Comm_dup(of(c)->comm, &comm), "MPI_Comm_dup", err));
    return make(comm, MPI_INFO_NULL, out, err);
}

static int split_node(struct bkt_comm *c, struct bkt_comm **out, struct bkt_err *err)
{
    MPI_Comm comm = MPI_COMM_NULL;
    BKT_PASS(check(MPI_Comm_split_type(of(c)->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm),
                   "MPI_Comm_split_type", err));
    return make(comm, MPI_INFO_NULL, out, err);
}

static int barrier(struct bkt_comm *c, struct bkt_err *err)
{
    return check(MPI_Barrier(of(c)->comm), "MPI_Barrier", err);
}

static int bcast(struct bkt_comm *c, unsigned root, void *p, uint64_t n, struct bkt_err *err)
{
    for (uint64_t at = 0; at < n; at += PART) {
        int part = (int)(n - at < PART ? n - at : PART);
        BKT_PASS(check(MPI_Bcast((char *)p + at, part, MPI_BYTE, (int)root, of(c)->comm), "MPI_Bcast", err));
    }
    return BKT_OK;
}

/* A bijection that turns the order of unsigned numbers into that of signed ones: MPICH 4.0 compares unsigned
 * numbers as signed ones. */
static void flip(uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] ^= (uint64_t)1 << 63;
}

static int reduce(struct group *g, MPI_Op op, MPI_Datatype type, uint64_t *v, size_t n, struct bkt_err *err)
{
    for (size_t at = 0; at < n; at += PART / sizeof *v) {
        int part = (int)(n - at < PART / sizeof *v ? n - at : PART / sizeof *v);
        BKT_PASS(check(MPI_Allreduce(MPI_IN_PLACE, v + at, part, type, op, g->comm), "MPI_Allreduce", err));
    }
    return BKT_OK;
}

static int allreduce(struct bkt_comm *c, enum bkt_comm_op op, uint64_t *v, size_t n, struct bkt_err *err)
{
    if (op == BKT_COMM_SUM)
        return reduce(of(c), MPI_SUM, MPI_UINT64_T, v, n, err);
    flip(v, n);
    int rc = reduce(of(c), op == BKT_COMM_MIN ? MPI_MIN : MPI_MAX, MPI_INT64_T, v, n, err);
    flip(v, n);
    return rc;
}

/* Counts and places for MPI, which wants ints; free().  NULL: too many bytes, or out of memory. */
static int *counts(const size_t *n, unsigned size)
{
    int *v = malloc(2 * (size_t)size * sizeof *v);
    size_t sum = 0;
    for (unsigned r = 0; v && r < size; r++) {
        if (n[r] > INT32_MAX || sum > INT32_MAX - n[r]) {
            free(v);
            return NULL;
        }
        v[r] = (int)n[r];
        v[size + r] = (int)sum;
        sum += n[r];
    }
    return v;
}

static int allgatherv(struct bkt_comm *c, const void *p, const size_t *sizes, void *all, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) int *n = counts(sizes, c->size);
    BKT_FAIL_IF(err, !n, BKT_ENOMEM, "a message to all processes is too long");
    return check(MPI_Allgatherv(p, n[c->rank], MPI_BYTE, all, n, n + c->size, MPI_BYTE, of(c)->comm),
                 "MPI_Allgatherv", err);
}

static int alltoallv(struct bkt_comm *c, const void *send, const size_t *send_n, void *recv,
                     const size_t *recv_n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) int *s = counts(send_n, c->size);
    BKT_CLEANUP(bkt_freep) int *r = counts(recv_n, c->size);
    BKT_FAIL_IF(err, !s || !r, BKT_ENOMEM, "messages between processes are too long");
    return check(MPI_Alltoallv(send, s, s + c->size, MPI_BYTE, recv, r, r + c->size, MPI_BYTE, of(c)->comm),
                 "MPI_Alltoallv", err);
}

static bool hint(struct bkt_comm *c, unsigned number, char *key, size_t key_size, char *value,
                 size_t value_size)
{
    char name[MPI_MAX_INFO_KEY + 1] = "", text[MPI_MAX_INFO_VAL + 1] = "";
    int n = 0, found = 0;
    MPI_Info info = of(c)->info;
    if (info == MPI_INFO_NULL || MPI_Info_get_nkeys(info, &n) != MPI_SUCCESS || number >= (unsigned)n ||
        MPI_Info_get_nthkey(info, (int)number, name) != MPI_SUCCESS ||
        MPI_Info_get(info, name, MPI_MAX_INFO_VAL, text, &found) != MPI_SUCCESS)
        return false;
    (void)snprintf(key, key_size, "%s", name);
    (void)snprintf(value, value_size, "%s", found ? text : "");
    return true;
}

/* ---- the tool as a program under MPI ---- */

static int world(struct bkt_comm **out, struct bkt_err *err)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int begun = 0, level = 0;
    *out = NULL;
    BKT_PASS(check(MPI_Initialized(&begun), "MPI_Initialized", err));
    if (!begun) /* other threads of the program make no calls */
        BKT_PASS(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread", err));
    (void)alive(); /* notes the process */
    BKT_PASS(check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup", err));
    return make(comm, MPI_INFO_NULL, out, err);
}

static void finish(void)
{
    if (alive())
        (void)MPI_Finalize();
}

/* Drops messages that have left. */
static bool idle(struct bkt_comm *c)
{
    for (struct posted **at = &of(c)->posted; *at;) {
        struct posted *p = *at;
        int done = 0;
        if (MPI_Test(&p->req, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done) {
            *at = p->next;
            free(p);
        } else {
            at = &p->next;
        }
    }
    return !of(c)->posted;
}

static int post(struct bkt_comm *c, unsigned to, const void *bytes, size_t n, struct bkt_err *err)
{
    struct posted *p = n <= INT32_MAX ? malloc(sizeof *p + n) : NULL;
    BKT_FAIL_IF(err, !p, BKT_ENOMEM, "no memory for a message of %zu bytes to process %u", n, to);
    if (n)
        memcpy(p->bytes, bytes, n);
    int rc = check(MPI_Isend(p->bytes, (int)n, MPI_BYTE, (int)to, 0, of(c)->comm, &p->req), "MPI_Isend", err);
    if (rc < 0) {
        free(p);
        return rc;
    }
    p->next = of(c)->posted;
    of(c)->posted = p;
    return BKT_OK;
}

static int poll(struct bkt_comm *c, unsigned *from, struct bkt_buf *b, struct bkt_err *err)
{
    MPI_Status st;
    int here = 0, n = 0;
    (void)idle(c);
    BKT_PASS(check(MPI_Iprobe(MPI_ANY_SOURCE, 0, of(c)->comm, &here, &st), "MPI_Iprobe", err));
    if (!here)
        return 0;
    BKT_PASS(check(MPI_Get_count(&st, MPI_BYTE, &n), "MPI_Get_count", err));
    BKT_FAIL_IF(err, bkt_buf_resize(b, (size_t)n) < 0, BKT_ENOMEM,
                "no memory for a message of %d bytes from process %d", n, st.MPI_SOURCE);
    BKT_PASS(check(MPI_Recv(b->ptr, n, MPI_BYTE, st.MPI_SOURCE, 0, of(c)->comm, &st), "MPI_Recv", err));
    *from = (unsigned)st.MPI_SOURCE;
    return 1;
}

static const struct bkt_comm_ops ops = {
    .version = BKT_COMM_VERSION,
    .library = BKT_MPI_LIBRARY,
    .open = group_open,
    .close = group_close,
    .alive = alive,
    .take_out = take_out,
    .put_in = put_in,
    .barrier = barrier,
    .bcast = bcast,
    .allreduce = allreduce,
    .allgatherv = allgatherv,
    .alltoallv = alltoallv,
    .split_node = split_node,
    .dup = group_dup,
    .hint = hint,
    .world = world,
    .finish = finish,
    .post = post,
    .poll = poll,
    .idle = idle,
};

__attribute__((visibility("default"))) bkt_comm_adapter_fn h5bucket_mpi_adapter;
const struct bkt_comm_ops *h5bucket_mpi_adapter(void)
{
    return &ops;
}
