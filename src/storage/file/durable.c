/* See file_impl.h, [F5].  An object survives a power cut once the directory that has its name is on disk, and
 * the directories on the way to that directory.
 *
 * The directories above are checked, too, until one is met whose own name is known to be on disk.  Another
 * thread or process may have created such a directory a moment ago, and not have synchronised it yet.  A
 * directory is known by its inode and time of birth, so that a directory removed and created again counts as
 * another one.  Without a time of birth, the directories above are synchronised only if this PUT created
 * some. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/file/file_impl.h"

#define LEVELS 16 /* directories above an object that are remembered; the schema has 5.  The rest are
                     synchronised each time */

void bkt_file_sync_init(struct bkt_file_store *st)
{
    (void)pthread_mutex_init(&st->sync_lock, NULL);
    (void)pthread_cond_init(&st->synced, NULL);
    bkt_forkguard_add(&st->sync_guard, &st->sync_lock, &st->synced);
    st->sync_generation = bkt_fork_generation();
}

void bkt_file_sync_fini(struct bkt_file_store *st)
{
    bkt_forkguard_remove(&st->sync_guard);
    (void)pthread_cond_destroy(&st->synced);
    (void)pthread_mutex_destroy(&st->sync_lock);
}

/* Synchronise one directory.  ENOENT: it has been removed. */
static int sync_one(struct bkt_file_store *st, const char *dir)
{
    BKT_CLEANUP(bkt_file_closep) int fd = bkt_file_at(st, dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return errno;
    return fsync(fd) < 0 && errno != EINVAL /* EINVAL: the file system does not support it */ ? errno : 0;
}

/* Make sure that the names in @p dir survive a power cut.  Threads that want the same directory share the
 * work: one round serves all threads that came before it began. */
static int sync_dir(struct bkt_file_store *st, const char *dir)
{
    struct bkt_file_sync *s = &st->syncs[bkt_file_hash(dir) % BKT_FILE_SYNCS];
    (void)pthread_mutex_lock(&st->sync_lock);
    if (st->sync_generation !=
        bkt_fork_generation()) { /* the threads that synchronise stayed with the parent */
        memset(st->syncs, 0, sizeof st->syncs);
        st->sync_generation = bkt_fork_generation();
    }
    if (strlen(dir) >= sizeof s->dir || (s->users && strcmp(s->dir, dir) != 0)) {
        (void)pthread_mutex_unlock(&st->sync_lock);
        return sync_one(st, dir);
    }
    if (!s->users++) {
        memcpy(s->dir, dir, strlen(dir) + 1);
        s->error = 0;
    }
    uint64_t want = s->begun + 1; /* a round that is under way may have missed this name */
    while (s->ended < want) {
        if (s->running) {
            (void)pthread_cond_wait(&st->synced, &st->sync_lock);
            continue;
        }
        s->running = true;
        s->begun++;
        (void)pthread_mutex_unlock(&st->sync_lock);
        int error = sync_one(st, dir);
        (void)pthread_mutex_lock(&st->sync_lock);
        s->running = false;
        s->ended   = s->begun;
        s->error   = error ? error : s->error;
        (void)pthread_cond_broadcast(&st->synced);
    }
    int error = s->error;
    s->users--;
    (void)pthread_mutex_unlock(&st->sync_lock);
    return error;
}

/* ---- directories whose names are on disk ---- */

/* A number that distinguishes a directory from all others, also later ones; 0: not available. */
static uint64_t identity(struct bkt_file_store *st, const char *dir)
{
    struct statx                     x;
    BKT_CLEANUP(bkt_file_closep) int fd = bkt_file_at(st, dir, O_PATH | O_DIRECTORY);
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &x) < 0 ||
        !(x.stx_mask & STATX_BTIME))
        return 0;
    const uint64_t part[] = {x.stx_ino, ((uint64_t)x.stx_dev_major << 32) | x.stx_dev_minor,
                             (uint64_t)x.stx_btime.tv_sec, x.stx_btime.tv_nsec};
    uint64_t       h      = 0;
    for (size_t i = 0; i < BKT_COUNT(part); i++) {
        h = (h ^ part[i]) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h ? h : 1;
}

static atomic_uint_least64_t *place_of(struct bkt_file_store *st, uint64_t id)
{
    return &st->named[id % BKT_FILE_NAMED];
}

int bkt_file_sync_path(struct bkt_file_store *st, struct bkt_req *req, bool new_dirs)
{
    char     dir[PATH_MAX];
    uint64_t seen[LEVELS];
    size_t   n     = 0;
    int      error = 0;
    (void)snprintf(dir, sizeof dir, "%s", req->key);
    for (bool more = true; more && !error;) {
        char *slash             = strrchr(dir, '/');
        *(slash ? slash : dir)  = 0;
        uint64_t id             = identity(st, dir); /* taken before the next rounds store the directory's
                                                        name */
        error                   = sync_dir(st, dir);
        bool     gone           = error == ENOENT; /* another process emptied and deleted it: then the
                                                      directory above is to be synchronised */
        more  = *dir && (gone || (id ? atomic_load(place_of(st, id)) != id : new_dirs));
        error = gone ? 0 : error;
        if (id && n < LEVELS)
            seen[n++] = id;
    }
    if (!error)
        for (size_t i = 0; i < n; i++)
            atomic_store(place_of(st, seen[i]), seen[i]);
    errno = error;
    return error ? bkt_file_fail(st, req, "fsync of the directory of") : BKT_OK;
}
