/* Repositories: the names of their files, and the files that are open.
 *
 * A file lies at `<name>/data/<00 or 01>/<uid>.hdf5`, or below `<name>/.hangar`.  It is a plain HDF5 file or
 * a domain; the connector finds out.  A folder of this machine is looked at once.  Elsewhere, the first file
 * that can be opened decides between the two places. */
#pragma once

#include "base/bytes.h"
#include "base/map.h"
#include "samples/h5bucket_samples.h"
#include "vol/core/h5err.h"

/** The folders of a repository that may hold its files. */
#define BKT_SAMPLE_PLACES 2
extern const char *const bkt_sample_places[BKT_SAMPLE_PLACES];

/** The head of an item that stays open between calls (a file, a collection).  A failure counts for the call
 *  only. */
struct bkt_open_item {
    struct bkt_err *failed; /* NULL: it is open */
    uint64_t call;          /* that opened it: contents may be older than later records */
};
/** How items of a kind are opened, in zeroed memory of @p size bytes, and freed, also after a failure. */
struct bkt_open_item_kind {
    size_t size;
    int (*open)(void *item, const void *arg, struct bkt_err *err);
    void (*free)(void *item);
};
/** Get the item of a key in @p in.  It is opened with @p arg if call @p call has not tried that; borrowed. */
BKT_NODISCARD int bkt_open_item_get(struct bkt_map **in, const void *key, size_t n, uint64_t call,
                                    const struct bkt_open_item_kind *kind, const void *arg, void **out,
                                    struct bkt_err *err);

/** A collection that is open for reading, or that could not be opened. */
struct bkt_sample_dset {
    struct bkt_open_item head;
    hid_t    id, type, space;
    size_t   elem;                /* bytes of a stored element */
    int      rank;                /* 1 to H5S_MAX_RANK */
    hsize_t  dims[H5S_MAX_RANK];
};

/** A file that is open for reading, or that could not be opened. */
struct bkt_sample_file {
    struct bkt_open_item head;
    char           *name;
    hid_t           id;
    struct bkt_map *dsets;     /* struct bkt_sample_dset by uint32_t */
    uint64_t used;             /* the call that used it last */
};

struct h5bucket_repository {
    char           *name;      /* without slashes at its end */
    char           *info;      /* settings, for the connector; "": none */
    const char     *data;      /* one of bkt_sample_places; NULL: not known yet */
    hid_t           fapl;      /* with the connector */
    bool            local;     /* a folder of this machine */
    bool            plain;     /* setting `backend` is file: new files are plain HDF5 files */
    struct bkt_map *files;     /* struct bkt_sample_file by "00/uid" */
    uint64_t        calls;     /* number of the present call */
};

/** h5bucket_repository_open() without HDF5's error stack; to be released with bkt_repository_close().
 * BKT_EINVAL: a bad name or setting; BKT_EHDF5; BKT_ENOMEM. */
int bkt_repository_open(const char *name, const char *info, struct h5bucket_repository **out,
                        struct bkt_err *err);
void bkt_repository_close(struct h5bucket_repository *repo); /* NULL is allowed; its files are closed */

/** The name of a file, appended to @p out.
 * @param data  one of bkt_sample_places; NULL: the place of new files
 * @param uid   as bkt_uid_ok() wants it */
BKT_NODISCARD int bkt_repository_file_name(const struct h5bucket_repository *repo, const char *data,
                                           int format, const char *uid, struct bkt_buf *out,
                                           struct bkt_err *err);

/** The open file of a record, opened on first use; borrowed until bkt_repository_trim(). */
BKT_NODISCARD int bkt_repository_file(struct h5bucket_repository *repo, int format, const char *uid,
                                      struct bkt_sample_file **out, struct bkt_err *err);
/** Close a file and open it again on its next use. */
void bkt_repository_forget(struct h5bucket_repository *repo, int format, const char *uid);
/** Close files that were not used lately if too many are open. */
void bkt_repository_trim(struct h5bucket_repository *repo);

/** A collection of a file, opened on first use; borrowed as long as the file.  Its elements have a fixed
 * size, and no references. */
BKT_NODISCARD int bkt_sample_file_dset(struct bkt_sample_file *f, uint32_t number,
                                       struct bkt_sample_dset **out, struct bkt_err *err);
/** Get the integers of an attribute of the root group, which must be @p n.  False: the group has no such
 * attribute, or it can't be read. */
BKT_NODISCARD bool bkt_sample_file_numbers(const struct bkt_sample_file *f, const char *name, int64_t *out,
                                           hssize_t n);
/** Close a file.  NULL is allowed. */
void bkt_sample_file_free(void *f);
/** Open a file that is not open, whatever its name was; @p name is copied. */
BKT_NODISCARD int bkt_sample_file_open(struct bkt_sample_file *f, const char *name, hid_t fapl, bool local,
                                       struct bkt_err *err);

/* ---- public calls: their errors go to HDF5's stack once, after all cleanup ---- */

/** End a public call: a failure is published (h5err.h).
 *  @return non-negative, or -1 */
herr_t bkt_samples_done(int rc, const struct bkt_err *err);

/** The body of a public call: @p call may use `err`, a struct bkt_err, and HDF5 prints nothing during it. */
#define BKT_SAMPLES_CALL(call)                                                                               \
    __extension__({                                                                                          \
        struct bkt_err err;                                                                                  \
        struct bkt_h5err_print print_;                                                                       \
        bkt_err_clear(&err);                                                                                 \
        bkt_h5err_mute(&print_);                                                                             \
        int call_rc_ = (call);                                                                               \
        bkt_h5err_unmute(&print_);                                                                           \
        bkt_samples_done(call_rc_, &err);                                                                    \
    })
