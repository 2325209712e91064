/* A domain x.h5 that a scripted server makes up: datasets d-…-000000 and so on in the root group.  Their JSON
 * and data are the test's own. */
#ifndef BKT_SERVED_DOMAIN_H
#define BKT_SERVED_DOMAIN_H

#include "helpers/store_testing.h"

#include "chunk/chunk.h"
#include "schema/domain/domain.h"

#define ROOT "g-00000001-00000002-8888-888988-88888a"
#define DB   "/db/00000001-00000002"

static inline void id_of(unsigned n, struct bkt_id *id)
{
    memset(id, 0, sizeof *id);
    (void)snprintf(id->text, sizeof id->text, "d-00000001-00000002-0000-%06x-abcdef", n);
}

static inline char *domain_json(void)
{
    return strdup("{\"root\":\"" ROOT "\",\"owner\":\"me\",\"acls\":{},\"created\":1,\"lastModified\":1}");
}

/** With @p n datasets, which are called @p first (NULL: t0000), t0001, ... */
static inline char *root_json(unsigned n, const char *first)
{
    size_t at = 0, cap = 200 + (size_t)n * 120;
    char  *s  = malloc(cap), name[20];
    at += (size_t)snprintf(s, cap, "{\"id\":\"" ROOT "\",\"root\":\"" ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},"
                           "\"links\":{");
    for (unsigned i = 0; i < n; i++) {
        struct bkt_id id;
        id_of(i, &id);
        (void)snprintf(name, sizeof name, "t%04u", i);
        at += (size_t)snprintf(s + at, cap - at, "%s\"%s\":{\"id\":\"%s\",\"class\":\"H5L_TYPE_HARD\",\"created\":%u}", i ? "," : "",
                               !i && first ? first : name, id.text, i + 1);
    }
    (void)snprintf(s + at, cap - at, "}}");
    return s;
}

static inline struct bkt_domain *open_domain(const char *url, struct bkt_settings *set, const char *info)
{
    struct bkt_err     err = {0};
    struct bkt_domain *d   = NULL;
    char               name[100];
    (void)snprintf(name, sizeof name, "%s/x.h5", url);
    if (bkt_settings_init(set, info, &err) < 0 || bkt_settings_set(set, "test.hedge", "0", "this test", &err) < 0 ||
        bkt_domain_open(name, set, &d, &err) < 0) {
        printf("%s: %s\n", name, first_line(&err));
        exit(1);
    }
    return d;
}

static inline struct bkt_dsetio *open_io(struct bkt_domain *d, unsigned n)
{
    const struct bkt_object *o  = NULL;
    struct bkt_dsetio       *io = NULL;
    struct bkt_id            id;
    id_of(n, &id);
    if (bkt_domain_get(d, &id, &o, NULL) < 0 || bkt_dsetio_open(d, o, NULL, &io, NULL) < 0) {
        printf("dataset %u can't be opened\n", n);
        exit(1);
    }
    bkt_object_release(o);
    return io;
}

#endif
