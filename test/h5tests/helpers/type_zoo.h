/* One datatype of every kind that HDF5 has, with values for it, for tests of round trips. */
#ifndef BKT_TYPE_ZOO_H
#define BKT_TYPE_ZOO_H

#include <hdf5.h>
#include <stdbool.h>

struct zoo_type {
    const char *name;
    hid_t (*make)(void);
    bool exact; /* the schema's keys express it wholly: HDF5's encoding must not be stored beside them */
};
extern const struct zoo_type zoo[];
extern const size_t          zoo_size;

/** A type of strings, of @p size bytes or H5T_VARIABLE. */
hid_t zoo_text(size_t size, H5T_str_t pad, H5T_cset_t set);

/** Fill @p n elements of @p type (in memory) with values that repeat for equal @p seed; references are null.
 *  H5Treclaim() when done. */
void zoo_fill(hid_t type, void *buf, size_t n, unsigned seed);
/** Equal values, pointers followed. */
bool zoo_same(hid_t type, const void *a, const void *b, size_t n);

#endif
