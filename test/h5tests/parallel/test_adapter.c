/* mpiexec -n N PROGRAM ADAPTER LIBRARY: the adapter of one MPI, function by function.  Compiled by that MPI's mpicc; needs
 * no HDF5. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/comm.h"

static int failures, rank, size;

static void check(int good, const char *what)
{
    if (!good) {
        printf("process %d of %d: %s FAILED\n", rank, size, what);
        failures++;
    }
}

/* In place of H5Pget_mpi_params(). */
static int get_params(int64_t fapl, MPI_Comm *comm, MPI_Info *info)
{
    if (fapl != 5 || MPI_Comm_dup(MPI_COMM_WORLD, comm) || MPI_Info_create(info))
        return -1;
    return MPI_Info_set(*info, "h5bucket_workers", "2") ? -1 : 0;
}

static void exchanges(const struct bkt_comm_ops *o, struct bkt_comm *c)
{
    uint64_t sums[2] = {(uint64_t)rank + 1, 7}, low = (uint64_t)rank + 3, high = (uint64_t)rank;
    char     send[64], recv[64], text[16] = "";
    size_t   n[8], ones[8];
    check(o->allreduce(c, BKT_COMM_SUM, sums, 2, NULL) == BKT_OK && sums[0] == (uint64_t)size * (size + 1) / 2 && sums[1] == 7u * size, "sum");
    check(o->allreduce(c, BKT_COMM_MIN, &low, 1, NULL) == BKT_OK && low == 3, "smallest");
    check(o->allreduce(c, BKT_COMM_MAX, &high, 1, NULL) == BKT_OK && high == (uint64_t)size - 1, "largest");
    if (rank == size - 1)
        strcpy(text, "from the last");
    /* the whole range, unsigned */
    uint64_t wide[2] = {rank == 0 ? UINT64_MAX : (uint64_t)rank + 8, rank == 0 ? 0 : UINT64_MAX - (uint64_t)rank}, top[2] = {wide[0], wide[1]};
    check(o->allreduce(c, BKT_COMM_MIN, wide, 2, NULL) == BKT_OK && wide[0] == 9 && wide[1] == 0, "smallest of all numbers");
    check(o->allreduce(c, BKT_COMM_MAX, top, 2, NULL) == BKT_OK && top[0] == UINT64_MAX && top[1] == UINT64_MAX - 1, "largest of all numbers");
    check(o->bcast(c, (unsigned)size - 1, text, sizeof text, NULL) == BKT_OK && strcmp(text, "from the last") == 0, "bcast");
    for (int r = 0; r < size; r++) {
        n[r]    = (size_t)r + 1; /* bytes that process r contributes */
        ones[r] = 1;
        send[r] = (char)('a' + 3 * rank + r);
    }
    memset(text, 'A' + rank, sizeof text);
    check(o->allgatherv(c, text, n, recv, NULL) == BKT_OK, "allgatherv");
    for (int r = 0, at = 0; r < size; at += ++r)
        check(recv[at] == 'A' + r && recv[at + r] == 'A' + r, "a part of allgatherv");
    check(o->alltoallv(c, send, ones, recv, ones, NULL) == BKT_OK, "alltoallv");
    for (int r = 0; r < size; r++)
        check(recv[r] == (char)('a' + 3 * r + rank), "a message of alltoallv");
    check(o->barrier(c, NULL) == BKT_OK, "barrier");
}

/* Each process sends two messages to the next one, a long one first, without waiting. */
static void posts(const struct bkt_comm_ops *o, struct bkt_comm *c)
{
    enum { LONG = 3 << 20 };
    struct bkt_buf b = {0};
    unsigned from = 99;
    char *text = calloc(1, LONG);
    if (!text)
        return;
    memset(text, 'a' + rank, LONG);
    unsigned to = (unsigned)(rank + 1) % (unsigned)size,
             before = (unsigned)(rank + size - 1) % (unsigned)size;
    check(o->post(c, to, text, LONG, NULL) == BKT_OK && o->post(c, to, NULL, 0, NULL) == BKT_OK, "posting");
    memset(text, 0, LONG); /* the bytes were copied */
    for (int got = 0; got < 2;) {
        int rc = o->poll(c, &from, &b, NULL);
        check(rc >= 0, "polling");
        if (rc <= 0)
            continue;
        check(from == before && b.len == (got ? 0 : LONG), "the sender's messages in their order");
        check(got || (b.ptr[0] == 'a' + (int)before && b.ptr[LONG - 1] == 'a' + (int)before),
              "the bytes of a message");
        got++;
    }
    while (!o->idle(c)) {
    }
    check(o->poll(c, &from, &b, NULL) == 0, "no third message");
    free(b.ptr);
    free(text);
}

int main(int argc, char **argv)
{
    struct bkt_comm *c = NULL, *node = NULL, *twin = NULL;
    char key[64] = "", value[64] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    void *lib = argc == 3 && size > 1 && size < 9 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *p   = lib ? dlsym(lib, BKT_COMM_ENTRY) : NULL;
    if (!p) {
        printf("no adapter: %s\n", lib ? argv[1] : dlerror());
        return 1;
    }
    bkt_comm_adapter_fn *entry;
    memcpy(&entry, &p, sizeof entry);
    const struct bkt_comm_ops *o = entry();
    check(o->version == BKT_COMM_VERSION && strcmp(o->library, argv[2]) == 0, "its name");
    check(o->alive(), "MPI runs");
    check(o->open((void (*)(void))get_params, 4, &c, NULL) < 0, "a list without a group");
    if (o->open((void (*)(void))get_params, 5, &c, NULL) < 0 || (int)c->rank != rank || (int)c->size != size) {
        printf("the group can't be opened\n");
        return 1;
    }
    exchanges(o, c);
    check(o->hint(c, 0, key, sizeof key, value, sizeof value) && strcmp(key, "h5bucket_workers") == 0 && strcmp(value, "2") == 0, "a hint");
    check(!o->hint(c, 1, key, sizeof key, value, sizeof value), "no second hint");
    check(o->split_node(c, &node, NULL) == BKT_OK && (int)node->size == size, "the processes of a node");
    check(o->dup(c, &twin, NULL) == BKT_OK && (int)twin->size == size, "another group of them");
    struct bkt_comm *all = NULL;
    check(o->world(&all, NULL) == BKT_OK && (int)all->size == size && (int)all->rank == rank,
          "all processes");
    if (all)
        posts(o, all), o->close(all);
    o->close(node);
    o->close(twin);
    o->close(c);
    if (rank == 0)
        printf("adapter for %s, %d processes: %s\n", o->library, size, failures ? "FAILED" : "ok");
    o->finish();
    check(!o->alive(), "MPI has ended");
    return failures != 0;
}
