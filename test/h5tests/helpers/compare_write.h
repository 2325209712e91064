/* Same calls on a new file of HDF5's own and on a new domain: both write down the results of the calls.  Both
 * are closed and opened again, and everything in them is written down, too.  The texts must be equal.
 *
 * $BKT_H5_WRITE is the place of the domains: a folder or s3://bucket/folder; by default a temporary folder.
 * $BKT_H5_KEEP is a folder that afterwards gets domains written to a folder, as keptN.h5 for each case. */
#ifndef BKT_H5_COMPARE_WRITE_H
#define BKT_H5_COMPARE_WRITE_H

#include "h5tests/helpers/compare.h"

struct write_case {
    const char *what; /* a claim */
    void (*write)(hid_t file, struct out *o);
    void (*read)(hid_t file, struct out *o); /* besides say_file(); may be NULL */
};

/** A name for a file of this test's on the side of @p o: in a new folder, removed at the end.  Eight static
 *  buffers, used in turn. */
const char *new_name(const struct out *o, const char *leaf);
/** An access list for that side; H5Pclose(). */
hid_t new_fapl(const struct out *o);

/** The key of the one chunk object of a dataset, which is as good a file of other bytes as any. */
void chunk_key(hid_t d, char *out, size_t n);

/** How a call that should fail did: its name and "fails" or "succeeds"; HDF5's error stack is cleared. */
void say_result(struct out *o, const char *call, long long result);
/** All links, objects, attributes and values. */
void say_file(hid_t file, struct out *o);
/** The same without the links. */
void say_objects(hid_t file, struct out *o);

/** Before compare_write_main(): something that is not compared; it uses CHECK(). */
void compare_write_extra(void (*run)(const struct out *o), const struct out *o);
/** At the end of a program that only makes such calls: nothing is open any more, and the folders go. */
void compare_write_end(void);
int  compare_write_main(const struct write_case *cases, size_t n);

#endif
