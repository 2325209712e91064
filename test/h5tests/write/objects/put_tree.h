/* A small tree to ask for. */
#ifndef BKT_PUT_TREE_H
#define BKT_PUT_TREE_H

#include "h5tests/helpers/put_scalar.h"

/** Make group g, with attribute a, dataset d, a soft link to d, and a group with another dataset and a hard
 * link to d. */
static inline void put_tree(hid_t f)
{
    hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          sub = H5Gcreate2(g, "sub", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_int_closed(g, "d", 1);
    put_int_closed(sub, "e", 2);
    put_int_attr(g, "a", 3);
    H5Lcreate_soft("d", g, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(g, "d", sub, "again", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(sub);
    H5Gclose(g);
}

#endif
