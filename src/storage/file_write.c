/* See file_impl.h: PUT and DELETE in a directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "file_impl.h"
#include "file_list.h"
#include "stats.h"

#define SCRATCH     BKT_FILE_SCRATCH
/* Eight writers of one domain (test/h5tests/writers.c, 8 100 10): 0.8 to 0.9 s with TURN_PAUSE_NS from 0.2 to 20 ms; whether
 * N_LOCKS is 1, 16 or 256 can't be seen. */
#define N_LOCKS     256
#define TURN_PAUSE_NS 2000000
/* Both bound what others can do to us.  A turn takes some ms, no more than 11 with the 80 flushes of those eight, so that who has held it
 * for TURN_PATIENCE seconds is stopped or hangs on the disk; TURN_MOST is a thousand turns of ten times that. */
#define TURN_PATIENCE 5
#define TURN_MOST     120
/* How long between two looks at a key's lock, at first and at most: it is held for the time of a rename, well below 1 ms. */
#define LOCK_PAUSE_NS      50000
#define LOCK_PAUSE_MOST_NS 2000000
#define WRITE_TRIES 1000  /* a DELETE may remove the emptied directory between mkdir and rename; twice in a row is rare */
#define STALE       86400 /* seconds after which a temporary file has no writer any more; a PUT takes no day */

#define AHEAD_UNKNOWN INT64_MIN
#define TEMP_NAME     96

void bkt_file_write_init(struct bkt_file_store *st, const struct bkt_settings *set)
{
    st->fsync       = set->fsync;
    st->deadline_ms = set->deadline_ms;
    atomic_init(&st->ahead, AHEAD_UNKNOWN);
    bkt_file_sync_init(st);
}

void bkt_file_write_fini(struct bkt_file_store *st) { bkt_file_sync_fini(st); }

unsigned bkt_file_hash(const char *s)
{
    unsigned h = 2166136261U;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619U;
    return h;
}

static int make_dirs(struct bkt_file_store *st, const char *path, bool *made)
{
    char dir[PATH_MAX];
    if (strlen(path) >= sizeof dir) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        memcpy(dir, path, (size_t)(p - path));
        dir[p - path] = 0;
        if (mkdirat(st->root, dir, 0777) == 0)
            *made = true;
        else if (errno != EEXIST)
            return -1;
    }
    return 0;
}

static int open_scratch(struct bkt_file_store *st, const char *name, int flags)
{
    bool made;
    int  fd = openat(st->root, name, flags | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 && errno == ENOENT && make_dirs(st, name, &made) == 0)
        fd = openat(st->root, name, flags | O_CREAT | O_CLOEXEC, 0666);
    return fd;
}

/* Not by close() alone: a process that was forked meanwhile has the descriptor as well, for as long as it runs. */
void bkt_file_unlock(int fd)
{
    if (fd < 0)
        return;
    (void)flock(fd, LOCK_UN);
    (void)close(fd);
}

static void unlockp(int *fd) { bkt_file_unlock(*fd); }

/* When the turn was taken last: each who gets it leaves its mark. */
static struct timespec turn_taken(int fd)
{
    struct stat sb = {0};
    (void)fstat(fd, &sb);
    return sb.st_mtim;
}

static time_t seconds_now(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* Nobody can be passed over who is stopped while he holds a key's lock: he may go on any time, with what he has found. */
static bool wait_for_lock(struct bkt_file_store *st, struct bkt_req *req, int fd, const char *name)
{
    struct timespec pause  = {0, LOCK_PAUSE_NS};
    bool            waited = false;
    time_t          begun  = 0;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK) {
            (void)bkt_file_fail(req, "lock of");
            return false;
        }
        begun  = waited ? begun : seconds_now();
        waited = true;
        if ((uint64_t)(seconds_now() - begun) * 1000 > st->deadline_ms) {
            (void)BKT_REQ_FAIL(req, BKT_ETIME, "%s: somebody has kept %s/%s locked for %" PRIu64 " ms (deadline_ms): another writer "
                               "that is stopped?", req->key, st->base.uri, name, st->deadline_ms);
            return false;
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec * 2 < LOCK_PAUSE_MOST_NS ? pause.tv_nsec * 2 : LOCK_PAUSE_MOST_NS;
    }
    return true;
}

/* [F2]; the lock ends with the process, too.  Negative: the request has failed. */
static int lock_key(struct bkt_file_store *st, struct bkt_req *req)
{
    char name[64];
    (void)snprintf(name, sizeof name, SCRATCH "/lock/%02x", bkt_file_hash(req->key) % N_LOCKS);
    int fd = open_scratch(st, name, O_RDWR);
    if (fd < 0) {
        (void)bkt_file_fail(req, "lock of");
        return -1;
    }
    if (wait_for_lock(st, req, fd, name))
        return fd;
    bkt_file_closep(&fd);
    return -1;
}

/* Not for ever: one who is stopped in his turn must not stop the others, and it is right without a turn, too.  But as long as
 * others come and go there is nothing better than to wait: who goes without a turn then only loses, and does it all again. */
int bkt_file_turn(struct bkt_file_store *st, const char *key)
{
    char name[64];
    (void)snprintf(name, sizeof name, SCRATCH "/lock/t%02x", bkt_file_hash(key) % N_LOCKS);
    int             fd    = open_scratch(st, name, O_RDWR);
    struct timespec pause = {0, TURN_PAUSE_NS}, taken = {0, 0};
    time_t          begun = seconds_now(), since = begun;
    while (fd >= 0 && seconds_now() - since <= TURN_PATIENCE && seconds_now() - begun <= TURN_MOST) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)futimens(fd, NULL);
            return fd;
        }
        struct timespec last = turn_taken(fd);
        if (last.tv_sec != taken.tv_sec || last.tv_nsec != taken.tv_nsec)
            since = seconds_now();
        taken = last;
        (void)nanosleep(&pause, NULL);
    }
    bkt_file_closep(&fd);
    return -1;
}

/* ---- the file system's clock ---- */

static void temp_name(char name[TEMP_NAME])
{
    (void)snprintf(name, TEMP_NAME, SCRATCH "/tmp/%ld-%016llx", (long)getpid(), (unsigned long long)bkt_random());
}

/* [F6]: from a file that is made for it.  Not where that would make the scratch directories: who only looks leaves none behind. */
static bool find_ahead(struct bkt_file_store *st, int64_t *ahead)
{
    *ahead = atomic_load(&st->ahead);
    if (*ahead != AHEAD_UNKNOWN)
        return true;
    char        name[TEMP_NAME];
    struct stat sb;
    temp_name(name);
    BKT_CLEANUP(bkt_file_closep) int fd = openat(st->root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool known = fstat(fd, &sb) == 0;
    (void)unlinkat(st->root, name, 0);
    if (!known)
        return false;
    *ahead = (int64_t)sb.st_ctim.tv_sec - (int64_t)time(NULL);
    atomic_store(&st->ahead, *ahead);
    return true;
}

int64_t bkt_file_ahead(struct bkt_file_store *st)
{
    int64_t ahead;
    return find_ahead(st, &ahead) ? ahead : 0;
}

/* ---- PUT ---- */

/* Over a network, and where space is allotted, what could not be stored may show at close() only: for those who want no fsync. */
static int try_close(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? -1 : close(copy);
}

static int write_temp(struct bkt_file_store *st, struct bkt_req *req, const char *name, int *out)
{
    int fd = *out = open_scratch(st, name, O_WRONLY | O_EXCL);
    if (fd < 0)
        return bkt_file_fail(req, "temporary file for");
    for (size_t done = 0; done < req->put_len;) {
        ssize_t k = write(fd, (const char *)req->put + done, req->put_len - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return bkt_file_fail(req, "write");
        done += (size_t)k;
    }
    /* The kernel's file times tick in milliseconds; the ETag needs a time that no two versions share. */
    struct timespec now[2];
    struct stat     sb;
    (void)clock_gettime(CLOCK_REALTIME, &now[1]);
    now[0] = now[1];
    if (futimens(fd, now) < 0 || (st->fsync ? fsync(fd) : try_close(fd)) < 0 || fstat(fd, &sb) < 0)
        return bkt_file_fail(req, "write");
    bkt_file_describe(req, &sb);
    return BKT_OK;
}

static bool later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* [F4]; the key is locked */
static int make_newer(struct bkt_req *req, int fd, const struct stat *old)
{
    static const long steps[] = {1, 1000, 1000000, 20000000, 999999999}; /* ns; the coarser the file system's times */
    struct stat       sb;
    for (size_t i = 0; i <= BKT_COUNT(steps); i++) {
        if (fstat(fd, &sb) < 0)
            break;
        bkt_file_describe(req, &sb);
        if (later(&sb.st_mtim, &old->st_mtim))
            return BKT_OK;
        struct timespec t[2];
        t[1] = old->st_mtim;
        if (i < BKT_COUNT(steps))
            t[1].tv_nsec += steps[i];
        else
            t[1].tv_sec += 2;
        t[1].tv_sec += t[1].tv_nsec / 1000000000;
        t[1].tv_nsec %= 1000000000;
        t[0] = t[1];
        if (futimens(fd, t) < 0)
            break;
    }
    return bkt_file_fail(req, "file time of");
}

/* Where nothing is to be replaced, also nothing that another program puts there meanwhile. */
static int rename_new(struct bkt_file_store *st, const char *temp, const char *key)
{
    if (renameat2(st->root, temp, st->root, key, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(st->root, temp, st->root, key, 0) == 0) {
        (void)unlinkat(st->root, temp, 0); /* it is stored, whatever becomes of the other name */
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
    return renameat(st->root, temp, st->root, key);
}

static int publish(struct bkt_file_store *st, struct bkt_req *req, const char *temp, bool *new_dirs)
{
    bool only_new = req->if_none_match && strcmp(req->if_none_match, "*") == 0;
    int  rc       = -1;
    for (int i = 0; rc < 0 && i < WRITE_TRIES; i++) {
        rc = only_new ? rename_new(st, temp, req->key) : renameat(st->root, temp, st->root, req->key);
        if (rc == 0 || errno != ENOENT || (make_dirs(st, req->key, new_dirs) < 0 && errno != ENOENT))
            break;
    }
    if (rc == 0)
        return BKT_OK;
    if (only_new && errno == EEXIST)
        return BKT_REQ_FAIL(req, BKT_EPRECOND, "PUT %s: the object exists", req->key);
    if (errno == EXDEV)
        return BKT_REQ_FAIL(req, BKT_EIO, "PUT %s: it lies on another file system than the bucket's directory", req->key);
    if (bkt_file_fail(req, "PUT") == BKT_ENOENT) /* ENOTDIR: part of the key names a file; that is no absent object */
        req->rc = BKT_EIO;
    return req->rc;
}

/* Whether a temporary file has no writer any more: by our clock, which its mtime is compared with, and by the file system's. */
static bool is_stale(struct bkt_file_store *st, const struct stat *sb)
{
    int64_t now = (int64_t)time(NULL), ahead;
    return sb->st_mtim.tv_sec < now - STALE && find_ahead(st, &ahead) && sb->st_ctim.tv_sec < now + ahead - STALE;
}

/* What killed writers left behind: looked for once, when this store first writes. */
static void sweep(struct bkt_file_store *st)
{
    if (atomic_exchange(&st->swept, true))
        return;
    int  fd = openat(st->root, SCRATCH "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d  = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        bkt_file_closep(&fd);
        return;
    }
    struct dirent *e;
    while ((e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        struct stat sb;
        if (e->d_name[0] != '.' && fstatat(fd, e->d_name, &sb, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(sb.st_mode) &&
            is_stale(st, &sb))
            (void)unlinkat(fd, e->d_name, 0);
    }
    (void)closedir(d);
}

/* The object as it is, if it is one. */
static bool current(struct bkt_file_store *st, const char *key, struct stat *sb, char etag[BKT_ETAG_MAX])
{
    if (fstatat(st->root, key, sb, 0) < 0 || !S_ISREG(sb->st_mode))
        return false;
    bkt_file_etag(sb, etag);
    return true;
}

static void put_object(struct bkt_file_store *st, struct bkt_req *req)
{
    char                                temp[TEMP_NAME], etag[BKT_ETAG_MAX];
    struct stat                         old;
    bool                                new_dirs = false;
    BKT_CLEANUP(bkt_file_closep) int    fd       = -1;
    temp_name(temp);
    sweep(st);
    if (write_temp(st, req, temp, &fd) < 0) {
        (void)unlinkat(st->root, temp, 0);
        return;
    }
    int lock = lock_key(st, req);
    if (lock >= 0) {
        bool exists = current(st, req->key, &old, etag);
        (void)(bkt_req_condition(req, exists ? etag : NULL) < 0 || (exists && make_newer(req, fd, &old) < 0) ||
               publish(st, req, temp, &new_dirs) < 0);
        bkt_file_unlock(lock);
    }
    if (req->rc < 0) {
        (void)unlinkat(st->root, temp, 0);
        return;
    }
    bkt_stats_add(BKT_STAT(bytes_out), req->put_len);
    if (st->fsync)
        (void)bkt_file_sync_path(st, req, new_dirs);
}

/* ---- DELETE ---- */

static bool below_db(const char *key) { return strncmp(key, "db/", 3) == 0; }

/* An object's own directory goes with the last object in it, as in S3, where there are none.  Below db/ all directories
 * are the schema's; elsewhere those further up may be the user's. */
static void prune(struct bkt_file_store *st, const char *key)
{
    char dir[PATH_MAX];
    bool all = below_db(key);
    (void)snprintf(dir, sizeof dir, "%s", key);
    for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
        *slash = 0;
        if (strcmp(dir, "db") == 0 || unlinkat(st->root, dir, AT_REMOVEDIR) < 0 || !all)
            return;
    }
}

static void delete_object(struct bkt_file_store *st, struct bkt_req *req)
{
    struct stat              old;
    char                     etag[BKT_ETAG_MAX];
    BKT_CLEANUP(unlockp) int lock = lock_key(st, req);
    if (lock < 0)
        return;
    if (bkt_req_condition(req, current(st, req->key, &old, etag) ? etag : NULL) < 0)
        return;
    if (unlinkat(st->root, req->key, 0) == 0) {
        prune(st, req->key);
        if (st->fsync && !below_db(req->key))
            (void)bkt_file_sync_path(st, req, false);
    } else if (errno != ENOENT && errno != ENOTDIR) { /* as in S3, deleting what is not there succeeds */
        (void)bkt_file_fail(req, "DELETE");
    }
}

void bkt_file_write(struct bkt_file_store *st, struct bkt_req *req)
{
    if (req->op == BKT_PUT)
        put_object(st, req);
    else
        delete_object(st, req);
}
