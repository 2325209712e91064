/* The life of parsed objects, inside src/schema. */
#ifndef BKT_OBJECT_H
#define BKT_OBJECT_H

#include "model.h"

/** A zeroed object with one reference; NULL when memory is short. */
struct bkt_object *bkt_object_new(void);

#endif
