/* A directory as a store: key a/b is the file DIR/a/b.  file.c reads, file_list.c lists, file_write.c writes, file_place.c finds the
 * directories for all of them, file_lock.c has the locks.
 *
 * [F1] A reader sees a whole old or a whole new object: PUT writes a temporary file and renames it.
 * [F2] Read-compare-write is atomic among threads and processes: writers hold a lock file chosen by the key.  The lock is
 *      the kernel's (flock), so that it ends with its holder.
 * [F3] A key never names a file outside DIR: components "", "." and ".." are refused, and symbolic links below DIR aren't followed,
 *      whoever makes them, and when.  Setting links=follow allows them, but never for a DELETE, nor for scratch files.
 * [F4] An ETag names one version: an object's file time only ever grows, even where inodes are used again, the clock is
 *      set back or the file system's times are coarse.
 * [F5] With setting fsync, what a successful PUT stored outlives a power cut: data first, then its name.  So does a DELETE,
 *      except below db/: an object that comes back there has lost what led to it before, and is an orphan (or lies beside
 *      what the next PUT of the same directory stores: chunks that a smaller extent cut off).
 * [F6] What others are just writing is not taken for left behind, whatever our clock says, or theirs: a file's ctime is always by
 *      the file system's clock, over a network the server's, as is that of a file made to ask for it; its mtime is by its writer's.
 * [F7] Where everybody may write to DIR, DIR/db and the scratch directories must be ours, or of DIR's owner: somebody else's may have been
 *      put there to get what we write.  Where only some may, they share the bucket.
 * Scratch files live in DIR/.h5bucket, which no key can name and no list shows. */
#ifndef BKT_FILE_IMPL_H
#define BKT_FILE_IMPL_H

#include <sys/stat.h>

#include "forkguard.h"
#include "store_impl.h"

/* Sizes of two tables.  Any number is correct, and the size makes no visible difference. */
#define BKT_FILE_SYNCS 16
#define BKT_FILE_NAMED 1024

/** A directory that is being synchronised, in rounds: who comes while one is under way shares the next. */
struct bkt_file_sync {
    char     dir[160];
    unsigned users;        /* threads that want it; 0: the entry is free */
    uint64_t begun, ended; /* rounds */
    bool     running;
    int      error; /* errno of a round since there were users; 0 */
};

/** A directory for which [F7] was seen to hold: whatever has its place later is looked at anew.  ino 0: none yet */
struct bkt_file_seen {
    atomic_uint_least64_t dev, ino;
};

struct bkt_file_store {
    struct bkt_store     base;
    int                  root; /* open directory */
    uint64_t             max_object;
    bool                 fsync;
    bool                 follow;  /* setting links */
    struct bkt_file_seen db, lock, tmp; /* the latter two in the scratch directory */
    uint64_t             deadline_ms; /* how long a key's lock is waited for */
    atomic_bool          no_sums; /* the file system has no extended attributes */
    atomic_bool          swept; /* what killed writers left was looked for */
    _Atomic int64_t      ahead; /* as bkt_file_ahead(), once it was found */
    pthread_mutex_t      sync_lock; /* guards syncs */
    pthread_cond_t       synced;
    struct bkt_forkguard sync_guard;
    unsigned             sync_generation;       /* of the process, see bkt_fork_generation() */
    struct bkt_file_sync syncs[BKT_FILE_SYNCS]; /* by the directory's hash */
    /** Directories whose names, and those of all above, are on disk: identities, each at the place that it gives; 0: none. */
    atomic_uint_least64_t named[BKT_FILE_NAMED];
};

/** The part of a directory's store that writes; once at its opening, once at its end. */
void bkt_file_write_init(struct bkt_file_store *st, const struct bkt_settings *set);
void bkt_file_write_fini(struct bkt_file_store *st);
/** As bkt_store_turn(): a lock file beside those of [F2]. */
int bkt_file_turn(struct bkt_file_store *st, const char *key);
/** As bkt_store_ahead(): by how many seconds the file system's clock is ahead of ours.  0 where nobody has written yet. */
int64_t bkt_file_ahead(struct bkt_file_store *st);
/** PUT or DELETE; sets the request's outputs, does not finish it. */
void bkt_file_write(struct bkt_file_store *st, struct bkt_req *req);

/** FNV-1a of a text. */
unsigned bkt_file_hash(const char *s);

/* file_lock.c */
/** Wait for the lock of the request's key, [F2]; it ends with the process, too.  Negative: the request has failed. */
int  bkt_file_lock(struct bkt_file_store *st, struct bkt_req *req);
/** Give a lock of bkt_file_lock() or bkt_file_turn() back; -1 is fine. */
void bkt_file_unlock(int fd);

/* file_place.c: what [F3] and [F7] are made of.  Descriptors are the caller's; -1: errno, ELOOP where a link is in the way. */
/** Open the file or directory @p key, "" being the store's own.  As openat(). */
int bkt_file_at(const struct bkt_file_store *st, const char *key, int flags);
/** The directory that holds @p key's last component, which is @p leaf then; with @p remove past no link, whatever the setting. */
int bkt_file_holder(const struct bkt_file_store *st, const char *key, bool remove, const char **leaf);
/** The same; directories that aren't there are made.  @p made: set to true when one was, else left alone. */
int bkt_file_make_holder(const struct bkt_file_store *st, const char *key, const char **leaf, bool *made);
/** A directory in the scratch directory, "tmp" or "lock"; @p make: unless it is there.  A failure is recorded in @p err, ENOENT isn't. */
int bkt_file_scratch(struct bkt_file_store *st, const char *name, bool make, struct bkt_err *err);
/** The same, made unless it is there; one that was seen before (@p seen) is opened without a look at whose it is. */
int bkt_file_scratch_again(struct bkt_file_store *st, const char *name, struct bkt_file_seen *seen, struct bkt_err *err);
/** Whether [F7] holds for what is there, so that it may be written to.  BKT_OK; BKT_EACCES: the message says what to do. */
BKT_NODISCARD int bkt_file_check_scratch(struct bkt_file_store *st, struct bkt_err *err);
BKT_NODISCARD int bkt_file_check_db(struct bkt_file_store *st, const char *key, struct bkt_err *err);
/** Record that a symbolic link is in the way of @p what @p key, and what can be done.  BKT_EACCES. */
int bkt_file_say_link(const struct bkt_file_store *st, const char *what, const char *key, struct bkt_err *err);

/* file_sum.c */
/** Leave the CRC-32C of the bytes with an open file that is as @p sb says.  Where that can't be, there is none. */
void bkt_file_sum_set(struct bkt_file_store *st, int fd, uint32_t sum, const struct stat *sb);
/** False: none is known. */
bool bkt_file_sum_get(struct bkt_file_store *st, int fd, const struct stat *sb, uint32_t *sum);

/* file_sync.c */
/** Who brings directories on disk; once at the store's opening, once at its end. */
void bkt_file_sync_init(struct bkt_file_store *st);
void bkt_file_sync_fini(struct bkt_file_store *st);
/** Bring the directory of the request's key on disk, and those above as far as it is needed; the failure is the request's.
 *  @p new_dirs: the way to it was made for this request. */
int  bkt_file_sync_path(struct bkt_file_store *st, struct bkt_req *req, bool new_dirs);

/** Record the failure that errno says. */
int  bkt_file_fail(const struct bkt_file_store *st, struct bkt_req *req, const char *what);
/** ETag, size and time of the request from the file's. */
void bkt_file_describe(struct bkt_req *req, const struct stat *sb);
/** For BKT_CLEANUP. */
void bkt_file_closep(int *fd);

#endif
