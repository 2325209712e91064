/* Documents of objects, parsed. */
#ifndef BKT_OBJECT_TESTING_H
#define BKT_OBJECT_TESTING_H

#include "unit/schema/json/json_testing.h"

static inline struct bkt_object *must(const char *id, const char *body)
{
    int rc;
    struct bkt_err err = {.n = 0};
    struct bkt_object *o = object_of(id, body, &rc, &err);
    CHECK(o, "%s: %d %s", body, rc, err.n ? err.frame[0].msg : "");
    if (!o)
        exit(1);
    return o;
}

#endif
