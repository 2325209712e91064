/* Chunks of which memory holds only what is sent: those that the program encoded.  However their PUTs end, and whatever the program
 * does meanwhile, nothing is lost or read wrongly. */
#include <pthread.h>
#include <unistd.h>

#include "dirty.h"
#include "pool.h"
#include "write_testing.h"

/* A chunk as the program's filters made it: the first filter left out when @p mask is 1. */
static int write_encoded(struct model *m, struct bkt_dsetio *io, uint64_t k, uint64_t elems, int32_t value, uint32_t mask,
                         struct bkt_err *err)
{
    uint64_t       at[] = {k * elems};
    size_t         n;
    int32_t       *v = need((size_t)elems * sizeof *v);
    for (uint64_t i = 0; i < elems; i++)
        v[i] = value + (int32_t)i;
    unsigned char *z  = deflate_of(v, (size_t)elems * sizeof *v, &n);
    int            rc = bkt_dataset_write_chunk(io, at, mask, z, n, err);
    for (uint64_t i = 0; rc == BKT_OK && i < elems && k * elems + i < m->dims[0]; i++)
        m->v[k * elems + i] = v[i];
    free(z);
    free(v);
    return rc;
}

static void *release_soon(void *arg)
{
    usleep(30000); /* whoever reads waits by then, or finds it failed: both are to work */
    bkt_fault_release(arg);
    return NULL;
}

/* Its PUT fails while a read waits for it: the read gets what was written, not the store's error. */
static void read_while_refused(void)
{
    const struct bkt_fault f = {.op = BKT_PUT, .times = 1, .hold = 2, .code = BKT_EACCES, .carry_out = true};
    struct world           w;
    struct model           m;
    struct bkt_err         err = {0};
    struct bkt_dsetio     *io  = faulty_begin(&w, &m, "refused", "", 1000, 2, GZIP, &f);
    pthread_t              thread;
    CHECK(write_encoded(&m, io, 0, 1000, 5, 0, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_flush_begin(w.dom);
    if (pthread_create(&thread, NULL, release_soon, w.dom->store) != 0)
        abort();
    model_check(&m, io, "refused meanwhile");
    (void)pthread_join(thread, NULL);
    CHECK(bkt_fault_hits(w.dom->store, 0) == 1, "the PUT was not refused");
    CHECK(bkt_chunks_flush_end(w.dom, &err) == BKT_OK || err.n, "the flush says why");
    bkt_err_clear(&err);
    faulty_end(&w, &m, io, "stored after all");
}

int main(void)
{
    read_while_refused();
    bkt_domain_shutdown();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    return failures != 0;
}
