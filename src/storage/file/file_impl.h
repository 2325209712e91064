/* A directory as a store: key a/b is the file DIR/a/b.  file.c reads, storage/file/list.c lists,
 * storage/file/write.c writes, place.c finds the directories for all of them, and has the locks.
 *
 * [F1] A reader sees a whole old or a whole new object: PUT writes a temporary file and renames it.
 * [F2] Read-compare-write is atomic among threads and processes: writers hold a lock file chosen by the key.
 *      The lock is the kernel's (flock), so it ends with its holder.  On a file system without locks only a
 *      single writer writes (setting writers).
 * [F3] A key never names a file outside DIR: components "", "." and ".." are refused, and symbolic links
 *      below DIR are not followed, no matter who creates them and when.  Setting links=follow allows them,
 *      but never for a DELETE, nor for scratch files.
 * [F4] An ETag names one version: an object's file time only grows, even if inodes are used again, the clock
 *      is set back or the file system's times are coarse.
 * [F5] With setting fsync, an object stored by a successful PUT survives a power cut: data first, then its
 *      name.  A DELETE survives it, too, except below db/: an object that reappears there is no longer
 *      referenced, so it is an orphan (or it lies beside the objects that the next PUT of the same directory
 *      stores: chunks that a smaller extent cut off).
 * [F6] Files that other writers are writing are not taken for abandoned files, whatever the clocks are.  A
 *      file's ctime is always by the file system's clock (over a network the server's), as is that of a file
 *      created to ask for it.  Its mtime is by its writer's clock.  Lists have both (bkt_listed.stored).
 * [F7] If everybody may write to DIR, DIR/db and the scratch directories must belong to this user or to DIR's
 *      owner: another user may have put them there to get the data.  If only some users may write to DIR,
 *      they share the bucket.
 *
 * Scratch files live in DIR/.h5bucket, which no key can name and no list shows. */
#pragma once

#include <sys/stat.h>

#include "base/os/fork.h"
#include "storage/store_impl.h"

#define BKT_FILE_SCRATCH ".h5bucket"

/* Sizes of two tables.  Any number is correct, and the size makes no visible difference. */
#define BKT_FILE_SYNCS 16
#define BKT_FILE_NAMED 1024

/** A directory that is being synchronised, in rounds: threads that arrive during one round share the next. */
struct bkt_dir_sync {
    char     dir[160];
    unsigned users;        /* threads that want it; 0: the entry is free */
    uint64_t begun, ended; /* rounds */
    bool     running;
    int      error; /* errno of a round since the entry has users; 0: no error */
};

/** A directory for which [F7] was found to hold; another directory in its place is checked again.  ino 0:
 *  none yet */
struct bkt_dir_seen {
    atomic_uint_least64_t dev, ino;
};

struct bkt_dir_store {
    struct bkt_store     base;
    int                  root; /* open directory */
    uint64_t             max_object;
    bool                 fsync;
    bool one_writer;              /* setting writers */
    bool                 follow;  /* setting links */
    struct bkt_dir_seen db, lock, tmp; /* the latter two in the scratch directory */
    uint64_t             deadline_ms; /* limit of the wait for a key's lock */
    atomic_bool          no_sums; /* the file system has no extended attributes */
    atomic_bool          swept; /* files of killed writers were looked for */
    _Atomic int64_t ahead;      /* as bkt_dir_ahead(), once it is known */
    /* when that was asked for, by bkt_clock_always(), and what the local time less that clock was */
    _Atomic double ahead_found;
    _Atomic int64_t local;
    pthread_mutex_t      sync_lock; /* guards syncs */
    pthread_cond_t       synced;
    struct bkt_forkguard sync_guard;
    unsigned             sync_generation;       /* of the process, see bkt_fork_generation() */
    struct bkt_dir_sync syncs[BKT_FILE_SYNCS];  /* by the directory's hash */
    /** Directories whose names, and those of all directories above, are on disk: identities, each at the
     *  index that it gives; 0: none. */
    atomic_uint_least64_t named[BKT_FILE_NAMED];
};

/** Initialise and release the writing part of a directory's store. */
void bkt_dir_write_init(struct bkt_dir_store *st, const struct bkt_settings *set);
void bkt_dir_write_fini(struct bkt_dir_store *st);
/** As bkt_store_ahead(): the number of seconds by which the file system's clock is ahead of the local clock.
 *  0 if the directory was never written to. */
int64_t bkt_dir_ahead(struct bkt_store *st);
/** PUT or DELETE: sets the request's outputs, but does not finish it. */
void bkt_dir_write(struct bkt_dir_store *st, struct bkt_req *req);

/** FNV-1a of a text. */
unsigned bkt_dir_hash(const char *s);

/** Whether a key stays inside the directory and outside the scratch directory. */
bool bkt_dir_key_ok(const char *key);
/** The ETag of an object whose file has this state, [F4]: inode, size and mtime, in quotes. */
void bkt_dir_etag(const struct stat *sb, char etag[BKT_ETAG_MAX]);

/* list.c */
/** As bkt_store_list(), keys in binary order.  A symbolic link that is not followed is a key; files below it
 * are not keys. */
int bkt_dir_list(struct bkt_store *base, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                 struct bkt_err *err);

/** Wait for the lock of the request's key, [F2]; the lock ends with the process, too.  Negative: the request
 *  has failed. */
int bkt_dir_lock(struct bkt_dir_store *st, struct bkt_req *req);
/** As bkt_store_turn(): a lock file beside those of [F2]. */
int bkt_dir_turn(struct bkt_store *base, const char *key);
/** Release a lock of bkt_dir_lock() or bkt_dir_turn(); -1 is allowed. */
void bkt_dir_unlock(int fd);

/* place.c: the functions that implement [F3] and [F7].  Descriptors belong to the caller; -1: errno,
 * ELOOP if a link is in the way. */
/** Open the file or directory @p key, as openat(); "" is the store's directory itself. */
int bkt_dir_at(const struct bkt_dir_store *st, const char *key, int flags);
/** Open the directory that holds the last component of @p key, which becomes @p leaf.  With @p remove no link
 *  is followed, whatever the setting. */
int bkt_dir_holder(const struct bkt_dir_store *st, const char *key, bool remove, const char **leaf);
/** As bkt_dir_holder(); missing directories are created.
 * @param made  set to true if a directory was created, else left alone */
int bkt_dir_make_holder(const struct bkt_dir_store *st, const char *key, const char **leaf, bool *made);
/** Open a directory in the scratch directory, "tmp" or "lock"; with @p make it is created if needed.  A
 *  failure is recorded in @p err, except ENOENT. */
int bkt_dir_scratch(struct bkt_dir_store *st, const char *name, bool make, struct bkt_err *err);
/** As bkt_dir_scratch(), created if needed.  A directory that is in @p seen is opened without a check of its
 *  owner. */
int bkt_dir_scratch_again(struct bkt_dir_store *st, const char *name, struct bkt_dir_seen *seen,
                          struct bkt_err *err);
/** Check that [F7] holds for the scratch directories that exist, so that the directory may be written to.
 * BKT_OK; BKT_EACCES: the message names the remedy; BKT_EIO. */
BKT_NODISCARD int bkt_dir_check_scratch(struct bkt_dir_store *st, struct bkt_err *err);
/** Check that [F7] holds for DIR/db, if @p key lies below it and it exists.  BKT_OK; BKT_EACCES: as above. */
BKT_NODISCARD int bkt_dir_check_db(struct bkt_dir_store *st, const char *key, struct bkt_err *err);
/** Record that a symbolic link is in the way of @p what @p key, and the remedy.  BKT_EACCES. */
int bkt_dir_say_link(const struct bkt_dir_store *st, const char *what, const char *key, struct bkt_err *err);

/** Store the CRC-32C of the bytes with an open file whose state is @p sb.  If that is not possible, the file
 *  has no sum. */
void bkt_dir_sum_set(struct bkt_dir_store *st, int fd, uint32_t sum, const struct stat *sb);

/** Record the failure in errno. */
int bkt_dir_fail(const struct bkt_dir_store *st, struct bkt_req *req, const char *what);
/** Set the request's ETag, size and time from the file's. */
void bkt_dir_describe(struct bkt_req *req, const struct stat *sb);
/** For BKT_CLEANUP. */
void bkt_file_closep(int *fd);
