/* Same calls on a sample domain, through the connector, and on its native twin.  Both write down the results,
 * and the two texts must be equal.
 *
 *   static void links_by_name(hid_t file, struct out *o) { ... say(o, "%s", name); ... }
 *   static const struct test_case cases[] = {{"links come by name", "groups.h5", links_by_name}, ...};
 *   int main(void) { return compare_main(cases, BKT_COUNT(cases)); }
 *
 * $BKT_FIXTURES has the samples.  $BKT_H5_BASE is the place of the domains: a folder or s3://bucket/folder;
 * by default the sample bucket in the fixtures.  HDF5_PLUGIN_PATH must name the plugin's folder.  A test that
 * does not reach the connector fails: open_domain() asks HDF5 which connector serves the file. */
#ifndef BKT_H5_COMPARE_H
#define BKT_H5_COMPARE_H

#include <hdf5.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/check.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* The text that one side wrote down. */
struct out {
    char  *text;
    size_t len, room;
    bool   ours;        /* the connector's side; for calls that need another name there, never to excuse a difference */
    bool   uncounted;   /* say_objects(): not how many links there are */
    const char *domain; /* e.g. "groups.h5" */
};

struct test_case {
    const char *what;   /* a claim */
    const char *domain; /* below /home/test_user1/fx */
    void (*run)(hid_t file, struct out *o);
};

void say(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Bytes as hex, at most 4096 of them in full, more as a checksum. */
void say_bytes(struct out *o, const char *what, const void *p, size_t len);
/** A datatype, dataspace: everything that the public API returns. */
void say_type(struct out *o, hid_t type);
void say_space(struct out *o, hid_t space);

/** An access list with the connector (or the native one); invalid for a bad info string, with the reason in
 *  first_error. */
extern char first_error[8192];
hid_t fapl_ours(const char *info);
hid_t fapl_native(void);
/** Names; static buffers, overwritten by the next call. */
const char *domain_name(const char *domain);
const char *twin_name(const char *domain);
hid_t       open_domain(const char *domain);
hid_t       open_twin(const char *domain);

/** The first lines in which two texts differ, printed. */
void show_difference(const char *twin, const char *domain);

/** HDF5's error stack as one text, innermost entry first; static buffer.  Clears the stack. */
const char *error_text(void);
/** The call fails, and HDF5's stack has these words. */
#define FAILS(call, words)                                                                                   \
    do {                                                                                                     \
        bool        failed_ = (call) < 0;                                                                    \
        const char *said_   = error_text();                                                                  \
        CHECK(failed_ && strstr(said_, words), "%s: %s", #call, failed_ ? said_ : "succeeds");               \
    } while (0)
/** @p folder/@p leaf; four static buffers, used in turn. */
const char *in_folder(const char *folder, const char *leaf);
unsigned    open_fds(void);
/** The number of threads, once it is at most @p most, or a minute is over: a joined thread may be seen a
 *  moment longer. */
unsigned    live_threads(unsigned most);

/** Runs every case; 0 when all agree.  Leaves no HDF5 object open, or fails. */
int compare_main(const struct test_case *cases, size_t n);

#endif
