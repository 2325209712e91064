/* Shared by the files of the random test of datasets (test_random_data.c).  Side 0 is a file of HDF5's own,
 * side 1 a domain; both get the same calls, with the same types, dataspaces and property lists. */
#ifndef BKT_H5_RANDOM_DATA_H
#define BKT_H5_RANDOM_DATA_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "h5tests/random/random_numbers.h"

#define SIDES  2
#define FILES  2
#define DSETS  8
#define RANK   4
#define LIMIT  1500 /* elements of most datasets, at most */
#define EACH(side) for (int side = 0; side < SIDES; side++)

enum { VIRTUALS = 4, VIRTUAL = 4000, SOURCES = 3 };

struct dset {
    char        name[16]; /* "" when no link leads to it any more */
    int         file;
    hid_t       id[SIDES];
    hid_t       type, dcpl;
    H5S_class_t cls;
    int         rank;
    hsize_t     dims[RANK], max[RANK], chunk[RANK];
    size_t      n, limit;  /* elements now, and at most */
    bool        exact;     /* its filters keep the bits that a type does not use, or it has no filter */
    bool        small;     /* its values have to be small: HDF5 1.14.5 can't decode its scaleoffset of all bits */
    bool        var;       /* values lie outside of the elements */
    bool        once;      /* sequences of sequences: HDF5 crashes when it writes over them */
    bool        full;      /* each element was written */
    bool        cached;    /* HDF5 may hold chunks that were read but never stored, */
    bool        more;      /* and a smaller extent made it store them */
    /* HDF5 leaves elements undefined that were never written (no fill value, or never filled): a byte for
     * each element, 1 where it was written.  NULL: all are defined. */
    unsigned char *known;
};

/* A virtual dataset of one dimension and VIRTUAL elements */
struct virt {
    char    name[16]; /* "": no name */
    int     file;
    hid_t   type;
    hsize_t n; /* elements up to the last that has a source */
    int     n_src, src_file[SOURCES];
    char    src[SOURCES][16];
    hsize_t src_dims[SOURCES][RANK]; /* when they were mapped */
};

struct run {
    uint64_t    seed, step;
    struct rnd  r;
    const char *info;                     /* settings of the domains */
    const char *self;                     /* this program */
    hid_t       file[FILES][SIDES];
    hid_t       twice[FILES][SIDES];      /* a second H5Fopen() of it, or invalid */
    struct dset d[DSETS];
    int         n;
    struct virt v[VIRTUALS];
    unsigned    n_virtual;
    char        text[4096];               /* the calls of this step, for a search for the reason */
    bool        differs;
};

/** Appends to the description of the step. */
void note(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Both sides did not do the same: printed with seed, step and calls. */
void differ(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Both succeeded (true), both failed (false), or it differs (false). */
bool both(struct run *run, const char *call, const long long rc[SIDES]);

/* ---- things to call with: data_arguments.c ---- */

/** A type for a dataset, any of type_zoo.h or an ordinary number. */
hid_t random_type(struct run *run);
/** One that values of @p type are converted from or to; mostly one for which that works. */
hid_t random_mem_type(struct run *run, hid_t type);
/** Values of a type for a dataset, the same for the same numbers. */
void random_values(struct run *run, const struct dset *d, hid_t type, void *buf, size_t n);
/** Sets rank, dims, max and limit. */
void random_shape(struct run *run, struct dset *d);
hid_t random_space(const struct dset *d);
hid_t random_dcpl(struct run *run, struct dset *d);
hid_t random_dapl(struct run *run);
/** For a transfer of elements of @p type, in memory. */
hid_t random_dxpl(struct run *run, const struct dset *d, hid_t type, bool reads);

/** Only its buffers and memory, for elements of @p size bytes, in several datasets. */
hid_t  random_buffers(struct run *run, size_t size, bool var);
size_t largest_element(const struct dset *d, hid_t type);

/* ---- data_filters.c ---- */

/** The program's own ones, once in each process. */
void filters_register(void);
void random_filters(struct run *run, hid_t dcpl, struct dset *d);
bool has_filter(hid_t dcpl, H5Z_filter_t id);
/** One that may fail for a chunk, which is then stored without it. */
bool leaves_some_out(hid_t dcpl);

/* ---- data_select.c ---- */

struct selection {
    hid_t  file, mem;     /* to call with: H5S_ALL and the like, or the spaces below */
    hid_t  fspace, mspace; /* what they mean */
    size_t n, mem_n;      /* elements selected; elements of the memory's extent */
    bool   moved;         /* H5Soffset_simple() */
    bool   ok;            /* a call that HDF5 has no reason to refuse */
};
void random_selection(struct run *run, const struct dset *d, struct selection *s);
void one_hyperslab(struct run *run, const struct dset *d, hid_t s, H5S_seloper_t op);
void selection_end(struct selection *s);

/* ---- values: data_arguments.c ---- */

/** Equal values, pointers followed; bytes between the fields of a compound don't count. */
bool same_values(hid_t type, const void *a, const void *b);
bool has_class(hid_t type, H5T_class_t cls);
/** Values outside of the elements: sequences and strings of variable length, references. */
bool is_var(hid_t type);
/** Sequences with such values in them. */
bool is_nested(hid_t type);

/* ---- calls: data_calls.c ---- */

struct call {
    const char *name;
    unsigned    weight;
    bool        needs_dset;
    void (*run)(struct run *run);
};
extern const struct call calls[];
extern const size_t      n_calls;

struct dset *any_dset(struct run *run);
void note_dset(struct run *run, const char *call, const struct dset *d);
void note_type(struct run *run, const char *word, hid_t type);
void dset_close(struct dset *d);
/** The type to create with, for each side, H5Tclose(): mostly @p type itself, sometimes committed now, or an
 *  earlier committed one, which takes its place. */
void some_type_ids(struct run *run, int file, hid_t *type, hid_t ids[SIDES]);
/** After a change of the extent. */
void resized(struct dset *d, const hsize_t *dims);
/** Static buffers, see new_name(). */
const char *file_name(const struct run *run, int file, int side);
/** Files and datasets; false after a difference. */
bool files_open(struct run *run, bool create, unsigned flags);
bool files_close(struct run *run);
bool dsets_open(struct run *run);

/* ---- data_transfer.c ---- */

/** A selection of one dataset, or of several in one call, into any type or from it. */
void read_some(struct run *run);
void read_several(struct run *run);
void write_some(struct run *run);
void write_several(struct run *run);
/** Everything of one dataset, compared. */
void compare_whole(struct run *run, struct dset *d);
/** The elements that HDF5 defines (struct dset, known). */
void now_known(struct dset *d, hid_t fspace, size_t n);
void all_unknown(struct dset *d);

/* ---- data_chunks.c ---- */

/** A chunk is written or read as it is stored, or information about it is requested. */
void chunk_call(struct run *run);

/* ---- data_attributes.c ---- */

/** A call on an attribute of a dataset. */
void attribute(struct run *run);
/** All attributes of one dataset. */
void compare_attributes(struct run *run, const struct dset *d);
/** HDF5 copies them correctly. */
bool attributes_copied(const struct dset *d);

/* ---- data_virtual.c ---- */

/** A virtual dataset over some of the datasets is made, or written; all are read. */
void use_virtual(struct run *run);
void compare_virtual(struct run *run);
void virtual_end(struct run *run);

/* ---- data_writers.c ---- */

/** Another process changes a dataset of the domain, and so does this one, before it has stored its changes. */
void two_writers(struct run *run);
/** That process; its arguments after --other.  Its exit status. */
int other_main(char **argv);

/* ---- data_contents.c ---- */

/** Files are flushed, and another process compares them. */
void look(struct run *run);
/** That process; @p list is a file.  Its exit status. */
int look_main(const char *list);

#endif
