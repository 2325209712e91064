/* A directory as a store: key a/b is the file DIR/a/b.
 *
 * [F1] A reader sees a whole old or a whole new object: PUT writes a temporary file and renames it.
 * [F2] Read-compare-write is atomic among threads and processes: writers hold a lock file chosen by the key.  The lock is
 *      the kernel's (flock), so that it ends with its holder.
 * [F3] A key never names a file outside DIR: components "", "." and ".." are refused.
 * [F4] An ETag names one version: an object's file time only ever grows, even where inodes are used again, the clock is
 *      set back or the file system's times are coarse.
 * [F5] With setting fsync, what a successful PUT stored outlives a power cut: data first, then its name.
 * Scratch files live in DIR/.h5bucket, which no key can name and no list shows. */
#ifndef BKT_FILE_IMPL_H
#define BKT_FILE_IMPL_H

#include <sys/stat.h>

#include "store_impl.h"

#define BKT_FILE_SYNCS 16

/** A directory that is being synchronised, in rounds: who comes while one is under way shares the next. */
struct bkt_file_sync {
    char     dir[160];
    unsigned users;        /* threads that want it; 0: the entry is free */
    uint64_t begun, ended; /* rounds */
    bool     running;
    int      error; /* errno of a round since there were users; 0 */
};

struct bkt_file_store {
    struct bkt_store     base;
    int                  root; /* open directory */
    uint64_t             max_object;
    bool                 fsync;
    atomic_bool          swept; /* what killed writers left was looked for */
    pthread_mutex_t      sync_lock; /* guards syncs */
    pthread_cond_t       synced;
    struct bkt_file_sync syncs[BKT_FILE_SYNCS]; /* by the directory's hash */
};

void bkt_file_write_init(struct bkt_file_store *st, const struct bkt_settings *set);
void bkt_file_write_fini(struct bkt_file_store *st);
/** As bkt_store_turn(): a lock file beside those of [F2]. */
int bkt_file_turn(struct bkt_file_store *st, const char *key);
/** PUT or DELETE; sets the request's outputs, does not finish it. */
void bkt_file_write(struct bkt_file_store *st, struct bkt_req *req);

/** Record the failure that errno says. */
int  bkt_file_fail(struct bkt_req *req, const char *what);
/** ETag, size and time of the request from the file's. */
void bkt_file_describe(struct bkt_req *req, const struct stat *sb);
/** For BKT_CLEANUP. */
void bkt_file_closep(int *fd);

#endif
