/* Processes that act together: a group, and the few kinds of messages that the connector needs.
 *
 * The connector needs no MPI.  A small library beside it, the adapter (src/mpi), has the functions of
 * struct bkt_comm_ops for one MPI; vol/parallel loads it when a file access list names the mpio driver.  All
 * calls are collective: every process of the group makes them, in the same order.  They are made on the
 * thread that called HDF5, so MPI_THREAD_SINGLE is enough.  Messages from one process to another
 * (post, poll) are for the tool alone.
 *
 * A NULL group stands for one process alone; the functions below then do nothing, with success. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* The adapter and the connector must be built from the same form of this header and of struct bkt_err. */
#define BKT_COMM_VERSION 2
/* The function of the adapter that returns its operations: bkt_comm_adapter_fn. */
#define BKT_COMM_ENTRY "h5bucket_mpi_adapter"

struct bkt_comm_ops;

struct bkt_comm {
    const struct bkt_comm_ops *ops;
    unsigned rank, size;
};

enum bkt_comm_op { BKT_COMM_MIN, BKT_COMM_MAX, BKT_COMM_SUM };

struct bkt_comm_ops {
    unsigned version;    /* BKT_COMM_VERSION */
    const char *library; /* the MPI that it was made for: "Open MPI", "MPICH" */
    /** The group of a file access list.
     *  @param get_params  the program's H5Pget_mpi_params()
     *  @param fapl        a hid_t */
    int (*open)(void (*get_params)(void), int64_t fapl, struct bkt_comm **out, struct bkt_err *err);
    void (*close)(struct bkt_comm *c); /* collective */
    /** Take the group out of a list.  Copying the list is not a collective call then.
     *  @param set  the program's H5Pset() */
    int (*take_out)(void (*set)(void), int64_t fapl, struct bkt_err *err);
    /** Name driver and group in a list.  Collective.
     *  @param set_mpio  the program's H5Pset_fapl_mpio() */
    int (*put_in)(struct bkt_comm *c, void (*set_mpio)(void), int64_t fapl, struct bkt_err *err);
    /** Whether messages are possible: after MPI_Init and before MPI_Finalize. */
    bool (*alive)(void);
    /** Wait until all processes have called it.  Collective, as are the calls up to split_node and dup. */
    int (*barrier)(struct bkt_comm *c, struct bkt_err *err);
    /** The @p n bytes at @p p in process @p root replace those of the others; @p n is the same in all. */
    int (*bcast)(struct bkt_comm *c, unsigned root, void *p, uint64_t n, struct bkt_err *err);
    /** In all processes v[0..n) becomes the result of @p op over all processes, element by element. */
    int (*allreduce)(struct bkt_comm *c, enum bkt_comm_op op, uint64_t *v, size_t n, struct bkt_err *err);
    /** Each process gives @p n bytes.  All of them get everything, in the order of ranks: sizes[rank] bytes
     * each. */
    int (*allgatherv)(struct bkt_comm *c, const void *p, const size_t *sizes, void *all, struct bkt_err *err);
    /** send holds send_n[rank] bytes for each rank, one after the other; recv gets recv_n[rank] of each.  No
     * sum may exceed 2^31 - 1. */
    int (*alltoallv)(struct bkt_comm *c, const void *send, const size_t *send_n, void *recv,
                     const size_t *recv_n, struct bkt_err *err);
    /** A group of the processes of this node, the caller's; bkt_comm_close(). */
    int (*split_node)(struct bkt_comm *c, struct bkt_comm **out, struct bkt_err *err);
    /** A copy of the group, the caller's; its messages don't mix with those of @p c. */
    int (*dup)(struct bkt_comm *c, struct bkt_comm **out, struct bkt_err *err);
    /** Get hint @p number of MPI_Info as text.  A longer text is cut.  False: MPI_Info has fewer hints.
     *  @param key  gets its name */
    bool (*hint)(struct bkt_comm *c, unsigned number, char *key, size_t key_size, char *value,
                 size_t value_size);

    /* For a program that was started by mpirun and leaves MPI to the adapter (tools/share). */
    /** Begin MPI, unless that is done, and give all processes that were started together.  Collective. */
    int (*world)(struct bkt_comm **out, struct bkt_err *err);
    /** End MPI, after the groups are closed.  Collective. */
    void (*finish)(void);
    /** Send a message to one process, without waiting for it.  The bytes are copied.  At most 2^31 - 1.  This
     * call and the next ones are not collective. */
    int (*post)(struct bkt_comm *c, unsigned to, const void *p, size_t n, struct bkt_err *err);
    /** Receive a message of any process, in the order in which that process sent them.
     *  @param from  gets the sender
     *  @param b     its bytes replace the buffer's
     *  @return 1; 0: no message is here yet; or a failure */
    int (*poll)(struct bkt_comm *c, unsigned *from, struct bkt_buf *b, struct bkt_err *err);
    /** Whether all posted messages have left this process. */
    bool (*idle)(struct bkt_comm *c);
};
typedef const struct bkt_comm_ops *bkt_comm_adapter_fn(void);

/** Free the group.  Collective. */
void bkt_comm_close(struct bkt_comm *c);
static inline bool bkt_comm_is_first(const struct bkt_comm *c)
{
    return !c || c->rank == 0;
}
/** Whether messages are still possible; false for one process alone. */
bool bkt_comm_alive(const struct bkt_comm *c);
/** Collective: the @p n bytes at @p p in process 0 replace those of the others. */
BKT_NODISCARD int bkt_comm_bcast(struct bkt_comm *c, void *p, uint64_t n, struct bkt_err *err);
/** The buffer of process @p root replaces those of the others. */
BKT_NODISCARD int bkt_comm_bcast_buf(struct bkt_comm *c, unsigned root, struct bkt_buf *b,
                                     struct bkt_err *err);
/** Collective: v[0..n) becomes the result of @p op over all processes, in all of them. */
BKT_NODISCARD int bkt_comm_reduce(struct bkt_comm *c, enum bkt_comm_op op, uint64_t *v, size_t n,
                                  struct bkt_err *err);
/** Every process gets the bytes of all, in the order of ranks.
 *  @param rc  this process's outcome so far: if one has failed, all return its failure
 *  @param n   gets the lengths, c->size of them */
BKT_NODISCARD int bkt_comm_gather(struct bkt_comm *c, int rc, const struct bkt_buf *mine, size_t *n,
                                  struct bkt_buf *all, struct bkt_err *err);
/** Exchange messages of any length.
 *  @param send    for each rank, one after the other; send_n[rank] bytes each
 *  @param recv    gets the messages in the order of ranks
 *  @param recv_n  gets their lengths, c->size of them */
BKT_NODISCARD int bkt_comm_exchange(struct bkt_comm *c, const struct bkt_buf *send, const size_t *send_n,
                                    struct bkt_buf *recv, size_t *recv_n, struct bkt_err *err);

/** All processes get the same outcome: the failure of the lowest rank that has one, with its message.
 *  @param rc   this process's outcome; if it is negative, @p err has its frames
 *  @return the common outcome */
BKT_NODISCARD int bkt_comm_agree(struct bkt_comm *c, int rc, struct bkt_err *err);
