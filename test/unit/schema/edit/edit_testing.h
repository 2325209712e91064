/* For the tests of changing domains: objects made with a line each, and errors that show. */
#ifndef BKT_EDIT_TESTING_H
#define BKT_EDIT_TESTING_H

#include "unit/schema/json/json_testing.h"
#include "schema/domain/domain_impl.h"
#include "unit/schema/domain/domains_end.h"
#include "schema/edit/edit.h"
#include "schema/edit/edit_impl.h"
#include "storage/stats.h"

/* A call must succeed; its error is shown when it doesn't. */
#define OK(call)                                                                                             \
    do {                                                                                                     \
        struct bkt_err err_ = {.n = 0};                                                                      \
        struct bkt_err *err = &err_;                                                                         \
        int rc_             = (call);                                                                        \
        CHECK(rc_ == BKT_OK, "%d %s", rc_, err_.n ? err_.frame[0].msg : "");                                 \
    } while (0)
/* It must fail with this code, and its message must have these words. */
#define FAILS(code_, words, call)                                                                            \
    do {                                                                                                     \
        struct bkt_err err_ = {.n = 0};                                                                      \
        struct bkt_err *err = &err_;                                                                         \
        int rc_             = (call);                                                                        \
        bool said           = false;                                                                         \
        for (unsigned i_ = 0; i_ < err_.n; i_++)                                                             \
            said |= strstr(err_.frame[i_].msg, words) != NULL;                                               \
        CHECK(rc_ == (code_) && said, "%d %s", rc_, err_.n ? err_.frame[0].msg : "");                        \
    } while (0)

static inline struct bkt_type *int_type(size_t size)
{
    struct bkt_type *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    *t = (struct bkt_type){.cls = BKT_T_INTEGER, .size = size, .is_signed = true};
    return t;
}

static inline struct bkt_link hard(const char *name, const struct bkt_id *id)
{
    return (struct bkt_link){.name = strdup(name), .cls = BKT_L_HARD, .id = *id};
}

static inline struct bkt_attr int_attr(const char *name, int64_t v)
{
    struct bkt_attr a = {.name = strdup(name), .type = int_type(8), .space = {.cls = BKT_S_SCALAR}, .has_value = true};
    unsigned char bytes[8];
    bkt_put_le(bytes, 8, (uint64_t)v);
    if (bkt_buf_add(&a.value, bytes, 8) < 0)
        abort();
    return a;
}

static inline struct bkt_id add_group(struct bkt_domain *d)
{
    struct bkt_id id = {{0}};
    OK(bkt_edit_add(d, bkt_object_make(BKT_GROUP), &id, err));
    return id;
}

static inline struct bkt_id add_dset(struct bkt_domain *d, uint64_t n)
{
    struct bkt_id id = {{0}};
    struct bkt_object *o = bkt_object_make(BKT_DATASET);
    o->dset.type   = int_type(4);
    o->dset.space  = (struct bkt_space){.cls = BKT_S_SIMPLE, .rank = 1, .dims = {n}, .maxdims = {BKT_UNLIMITED}};
    o->dset.layout = (struct bkt_layout){
        .cls = BKT_D_CHUNKED, .rank = 1, .dims = {10}, .user_cls = BKT_D_CHUNKED, .user_rank = 1, .user_dims = {10}};
    OK(bkt_edit_add(d, o, &id, err));
    return id;
}

static inline void link_it(struct bkt_domain *d, const struct bkt_id *group, const char *name, const struct bkt_id *id)
{
    struct bkt_link l = hard(name, id);
    OK(bkt_edit_link(d, group, &l, err));
}

/* How an attribute gets its value: made, or changed. */
enum attr_how { ATTR_CREATE, ATTR_REPLACE };
static inline void set_attr(struct bkt_domain *d, const struct bkt_id *obj, const char *name, int64_t v, enum attr_how how)
{
    struct bkt_attr a = int_attr(name, v);
    if (how == ATTR_CREATE) {
        OK(bkt_edit_attr(d, obj, &a, err));
        return;
    }
    OK(bkt_edit_attr_value(d, obj, name, &a.value, err));
    bkt_attr_fini(&a);
}

/* Objects from get(): held, as a cache may evict an object that has no holder whenever another comes in. */
static struct {
    const struct bkt_object *of[4];
    unsigned                 next;
} in_hand;

/* To look at until three more are got. */
static inline const struct bkt_object *get(struct bkt_domain *d, const struct bkt_id *id)
{
    struct bkt_id             own = *id; /* it may lie in the one that is given back */
    const struct bkt_object **o   = &in_hand.of[in_hand.next++ % BKT_COUNT(in_hand.of)];
    bkt_object_release(*o);
    *o = NULL;
    OK(bkt_domain_get(d, &own, o, err));
    return *o;
}

/* Release all held objects: a removed object is deleted when it has no holder. */
static inline void release_all(void)
{
    for (size_t i = 0; i < BKT_COUNT(in_hand.of); i++) {
        bkt_object_release(in_hand.of[i]);
        in_hand.of[i] = NULL;
    }
}

static inline uint64_t count(struct bkt_domain *d, const struct bkt_id *id)
{
    uint64_t n = 0;
    OK(bkt_domain_link_count(d, id, &n, err));
    return n;
}

static inline int64_t attr_value(const struct bkt_object *o, const char *name)
{
    const struct bkt_attr *a = bkt_attrs_find(&o->attrs, name);
    return a && a->value.len == 8 ? (int64_t)bkt_get_le(a->value.ptr, 8) : -1;
}

static inline struct bkt_domain *create(const char *name, bool truncate)
{
    struct bkt_domain *d = NULL;
    OK(bkt_domain_create(name, &set, &(struct bkt_new_domain){.truncate = truncate}, &d, err));
    if (!d)
        abort();
    return d;
}

static inline struct bkt_domain *open_it(const char *name)
{
    struct bkt_domain *d = NULL;
    OK(bkt_domain_open(name, &set, &d, err));
    if (!d)
        abort();
    return d;
}

/* Another view of the same domain in this process, as another process would have it: by a setting that
 * differs. */
static inline struct bkt_domain *open_other(const char *name)
{
    struct bkt_settings other = {0};
    struct bkt_domain  *d     = NULL;
    OK(bkt_settings_copy(&other, &set, err));
    static uint64_t differs;
    other.max_object -= ++differs;
    OK(bkt_domain_open(name, &other, &d, err));
    bkt_settings_fini(&other);
    if (!d)
        abort();
    return d;
}

#endif
