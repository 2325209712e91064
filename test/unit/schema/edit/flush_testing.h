/* For the tests of flushes: a domain to change, stores that fail, and the stored state as others see it. */
#ifndef BKT_FLUSH_TESTING_H
#define BKT_FLUSH_TESTING_H

#include "unit/schema/edit/edit_testing.h"
#include "helpers/fault_store.h"

static unsigned serial;
static char     name[64];

/* A domain of two groups and a dataset in a store of its own, flushed. */
static inline struct bkt_domain *sample(struct bkt_id *a, struct bkt_id *b, struct bkt_id *ds)
{
    (void)snprintf(name, sizeof name, "mem:flush%u/x.h5", ++serial);
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d);
    *a  = add_group(d);
    *b  = add_group(d);
    *ds = add_dset(d, 10);
    link_it(d, &root, "a", a);
    link_it(d, &root, "b", b);
    link_it(d, a, "data", ds);
    OK(bkt_domain_flush(d, err));
    return d;
}

/* All that the domain does from now on passes these rules. */
static inline void with_faults(struct bkt_domain *d, const struct bkt_fault *rules, size_t n)
{
    struct bkt_store *st = NULL;
    OK(bkt_fault_open(d->store, rules, n, &st, err));
    d->store = st;
}

static inline const struct bkt_object *fresh_look(const struct bkt_id *id, struct bkt_domain **other)
{
    *other = open_other(name);
    return get(*other, id);
}

/* Any of them may be NULL. */
static inline void close_all(struct bkt_domain *d, struct bkt_domain *e, struct bkt_domain *f)
{
    bkt_domain_close(f);
    bkt_domain_close(e);
    bkt_domain_close(d);
}

static inline bool is_in_store(struct bkt_domain *d, const struct bkt_id *id)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, body = {0};
    CHECK(bkt_id_key(id, &key) == BKT_OK, "no key");
    return bkt_store_get(d->store, bkt_buf_str(&key), 0, BKT_WHOLE, &body, NULL) == BKT_OK;
}

static inline void unlink_it(struct bkt_domain *d, const struct bkt_id *group, const char *of)
{
    release_all();
    OK(bkt_edit_unlink(d, group, of, err));
}

#endif
