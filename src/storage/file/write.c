/* See file_impl.h: PUT and DELETE in a directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/os/clock.h"
#include "base/os/fork.h"
#include "base/random.h"
#include "storage/file/file_impl.h"
#include "storage/stats.h"

#define WRITE_TRIES 1000  /* a DELETE may remove the emptied directory between mkdir and rename; twice in a
                             row is rare */
#define STALE       86400 /* seconds after which a temporary file is abandoned: no PUT takes a day */

#define AHEAD_UNKNOWN INT64_MIN
#define TEMP_NAME     48

void bkt_dir_write_init(struct bkt_dir_store *st, const struct bkt_settings *set)
{
    st->fsync       = set->fsync;
    st->one_writer = strcmp(set->writers, "one") == 0;
    st->deadline_ms = set->deadline_ms;
    atomic_init(&st->ahead, AHEAD_UNKNOWN);
    atomic_init(&st->ahead_found, 0);
    atomic_init(&st->local, 0);
    (void)pthread_mutex_init(&st->sync_lock, NULL);
    (void)pthread_cond_init(&st->synced, NULL);
    bkt_forkguard_add(&st->sync_guard, &st->sync_lock, &st->synced);
    st->sync_generation = bkt_fork_generation();
}

void bkt_dir_write_fini(struct bkt_dir_store *st)
{
    bkt_forkguard_remove(&st->sync_guard);
    (void)pthread_cond_destroy(&st->synced);
    (void)pthread_mutex_destroy(&st->sync_lock);
}

unsigned bkt_dir_hash(const char *s)
{
    unsigned h = 2166136261U;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619U;
    return h;
}

/* ---- the file system's clock ---- */

/* Temporary files are created, renamed and removed in an open directory, so that another process cannot put
 * another directory in its place between these steps. */
struct temp {
    int      dir, fd;
    char     name[TEMP_NAME];
    uint32_t sum; /* of the bytes in it */
};

static void temp_name(char name[TEMP_NAME])
{
    (void)snprintf(name, TEMP_NAME, "%ld-%016llx", (long)getpid(), (unsigned long long)bkt_random());
}

static bool is_temp_name(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    size_t            n        = strspn(name, "0123456789");
    return n && name[n] == '-' && strspn(name + n + 1, digits) == 16 && !name[n + 17];
}

static int make_temp(int dir, const char *name)
{
    return openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* [F6]: create a file and compare its time with the local clock.  If the scratch directories do not exist,
 * they are not created: a program that only reads leaves no directories behind. */
static bool find_ahead(struct bkt_dir_store *st, int64_t *ahead)
{
    *ahead = atomic_load(&st->ahead);
    if (*ahead != AHEAD_UNKNOWN)
        return true;
    char        name[TEMP_NAME];
    struct stat sb;
    temp_name(name);
    BKT_CLEANUP(bkt_file_closep) int dir = bkt_dir_scratch(st, "tmp", false, NULL);
    BKT_CLEANUP(bkt_file_closep) int fd  = dir < 0 ? -1 : make_temp(dir, name);
    if (fd < 0)
        return false;
    bool known = fstat(fd, &sb) == 0;
    (void)unlinkat(dir, name, 0);
    if (!known)
        return false;
    *ahead = (int64_t)sb.st_ctim.tv_sec - (int64_t)time(NULL);
    atomic_store(&st->ahead, *ahead);
    return true;
}

/* Found again after a second, and if the local clock was set since.  A caller may ask for each of many
 * files. */
int64_t bkt_dir_ahead(struct bkt_store *base)
{
    struct bkt_dir_store *st = (struct bkt_dir_store *)base;
    double now = bkt_clock_always();
    int64_t ahead, local = (int64_t)time(NULL) - (int64_t)now;
    bool set = llabs(local - atomic_load(&st->local)) > 1; /* both are whole seconds */
    if (set || now - atomic_load(&st->ahead_found) >= 1) {
        atomic_store(&st->ahead, AHEAD_UNKNOWN);
        atomic_store(&st->ahead_found, now);
        atomic_store(&st->local, local);
    }
    return find_ahead(st, &ahead) ? ahead : 0;
}

/* ---- [F5] ----
 *
 * An object survives a power cut once the directory that has its name is on disk, and
 * the directories on the way to that directory.
 *
 * The directories above are checked, too, until one is met whose own name is known to be on disk.  Another
 * thread or process may have created such a directory a moment ago, and not have synchronised it yet.  A
 * directory is known by its inode and time of birth, so that a directory removed and created again counts as
 * another one.  Without a time of birth, the directories above are synchronised only if this PUT created
 * some. */

#define LEVELS 16 /* directories above an object that are remembered; the schema has 5.  The rest are
                     synchronised each time */

/* Synchronise one directory.  ENOENT: it has been removed. */
static int sync_one(struct bkt_dir_store *st, const char *dir)
{
    BKT_CLEANUP(bkt_file_closep) int fd = bkt_dir_at(st, dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return errno;
    return fsync(fd) < 0 && errno != EINVAL /* EINVAL: the file system does not support it */ ? errno : 0;
}

/* Make sure that the names in @p dir survive a power cut.  Threads that want the same directory share the
 * work: one round serves all threads that came before it began. */
static int sync_dir(struct bkt_dir_store *st, const char *dir)
{
    struct bkt_dir_sync *s = &st->syncs[bkt_dir_hash(dir) % BKT_FILE_SYNCS];
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
static uint64_t identity(struct bkt_dir_store *st, const char *dir)
{
    struct statx                     x;
    BKT_CLEANUP(bkt_file_closep) int fd = bkt_dir_at(st, dir, O_PATH | O_DIRECTORY);
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

static atomic_uint_least64_t *place_of(struct bkt_dir_store *st, uint64_t id)
{
    return &st->named[id % BKT_FILE_NAMED];
}

static int sync_path(struct bkt_dir_store *st, struct bkt_req *req, bool new_dirs)
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
    return error ? bkt_dir_fail(st, req, "fsync of the directory of") : BKT_OK;
}

/* ---- PUT ---- */

/* For callers without fsync: over a network, and with quotas, a failure to store may be reported only by
 * close(). */
static int try_close(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? -1 : close(copy);
}

static int open_temp(struct bkt_dir_store *st, struct bkt_req *req, struct temp *t)
{
    struct bkt_err why = {.n = 0};
    temp_name(t->name);
    for (int i = 0; i < 2 && t->fd < 0; i++) { /* again, if the directory was removed at this moment */
        bkt_file_closep(&t->dir);
        t->dir = bkt_dir_scratch_again(st, "tmp", &st->tmp, &why);
        t->fd  = t->dir < 0 ? -1 : make_temp(t->dir, t->name);
        if (t->fd < 0 && errno != ENOENT)
            break;
    }
    if (t->fd >= 0)
        return BKT_OK;
    return why.n ? (req->rc = bkt_err_copy(bkt_req_err(req), why.code, &why))
                 : bkt_dir_fail(st, req, "temporary file for");
}

static void drop_temp(const struct temp *t)
{
    if (t->fd >= 0)
        (void)unlinkat(t->dir, t->name, 0);
}

static void temp_fini(struct temp *t)
{
    bkt_file_closep(&t->fd);
    bkt_file_closep(&t->dir);
}

static int write_temp(struct bkt_dir_store *st, struct bkt_req *req, struct temp *t)
{
    BKT_PASS(open_temp(st, req, t));
    const int fd = t->fd;
    for (size_t done = 0; done < req->put_len;) {
        ssize_t k = write(fd, (const char *)req->put + done, req->put_len - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return bkt_dir_fail(st, req, "write");
        done += (size_t)k;
    }
    /* The kernel's file times tick in milliseconds; the ETag needs a time that no two versions share. */
    struct timespec now[2];
    struct stat     sb;
    (void)clock_gettime(CLOCK_REALTIME, &now[1]);
    now[0] = now[1];
    if (futimens(fd, now) < 0 || fstat(fd, &sb) < 0)
        return bkt_dir_fail(st, req, "write");
    bkt_dir_sum_set(st, fd, t->sum, &sb);
    if ((st->fsync ? fsync(fd) : try_close(fd)) < 0 || fstat(fd, &sb) < 0)
        return bkt_dir_fail(st, req, "write");
    bkt_dir_describe(req, &sb);
    return BKT_OK;
}

static bool later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* [F4]; the key is locked */
static int make_newer(struct bkt_dir_store *st, struct bkt_req *req, const struct temp *f,
                      const struct stat *old)
{
    /* ns; larger steps for file systems with coarser times */
    static const long steps[] = {1, 1000, 1000000, 20000000, 999999999};
    struct stat       sb;
    for (size_t i = 0; i <= BKT_COUNT(steps); i++) {
        if (fstat(f->fd, &sb) < 0)
            break;
        bkt_dir_describe(req, &sb);
        if (later(&sb.st_mtim, &old->st_mtim)) {
            if (i)
                bkt_dir_sum_set(st, f->fd, f->sum, &sb);
            return BKT_OK;
        }
        struct timespec t[2];
        t[1] = old->st_mtim;
        if (i < BKT_COUNT(steps))
            t[1].tv_nsec += steps[i];
        else
            t[1].tv_sec += 2;
        t[1].tv_sec += t[1].tv_nsec / 1000000000;
        t[1].tv_nsec %= 1000000000;
        t[0] = t[1];
        if (futimens(f->fd, t) < 0)
            break;
    }
    return bkt_dir_fail(st, req, "file time of");
}

/* The place of an object, existing or not: its directory, open, and its name in there.  -1: the directory
 * does not exist. */
struct object_place {
    int         dir;
    const char *leaf;
};

static void object_place_fini(struct object_place *s)
{
    bkt_file_closep(&s->dir);
}

/* Whether the file has its name already.  Over a network the answer to a rename may be lost.  The client then
 * repeats the request, and a server that does not remember it reports that the old name is missing, or that
 * the new one exists. */
static bool has_name(const struct temp *t, const struct object_place *to)
{
    struct stat ours, there;
    return fstat(t->fd, &ours) == 0 && fstatat(to->dir, to->leaf, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* Rename the temporary file without replacing an object, not even one that another program puts there
 * just before. */
static int rename_new(const struct temp *t, const struct object_place *to)
{
    if (renameat2(t->dir, t->name, to->dir, to->leaf, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(t->dir, t->name, to->dir, to->leaf, 0) == 0) {
        (void)unlinkat(t->dir, t->name, 0); /* the object is stored, even if the other name remains */
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
    return renameat(t->dir, t->name, to->dir, to->leaf);
}

static int give_name(const struct temp *t, const struct object_place *to, bool only_new)
{
    int rc = only_new ? rename_new(t, to) : renameat(t->dir, t->name, to->dir, to->leaf);
    int e = errno;
    if (rc < 0 && (e == ENOENT || e == EEXIST) && has_name(t, to)) {
        (void)unlinkat(t->dir, t->name, 0); /* the other name, after linkat() */
        return 0;
    }
    errno = e;
    return rc;
}

/* Only a refusal needs memory for its error. */
static int check_db(struct bkt_dir_store *st, struct bkt_req *req)
{
    if (bkt_dir_check_db(st, req->key, NULL) == BKT_OK)
        return BKT_OK;
    return bkt_dir_check_db(st, req->key, bkt_req_err(req));
}

/* Rename the temporary file to the object's name.  The directory is created if needed, and created again if a
 * DELETE removes it at this moment. */
static int publish(struct bkt_dir_store *st, struct bkt_req *req, const struct temp *t,
                   struct object_place *to, bool *new_dirs)
{
    bool only_new = req->if_none_match && strcmp(req->if_none_match, "*") == 0;
    int  rc       = -1;
    for (int i = 0; rc < 0 && i < WRITE_TRIES; i++) {
        if (to->dir < 0)
            to->dir = bkt_dir_make_holder(st, req->key, &to->leaf, new_dirs);
        if (to->dir >= 0 && (req->rc = check_db(st, req)) < 0)
            return req->rc;
        rc = to->dir < 0 ? -1 : give_name(t, to, only_new);
        if (rc == 0 || errno != ENOENT)
            break;
        bkt_file_closep(&to->dir);
        to->dir = -1;
    }
    if (rc == 0)
        return BKT_OK;
    if (only_new && errno == EEXIST)
        return BKT_REQ_FAIL(req, BKT_EPRECOND, "PUT %s: the object exists", req->key);
    if (errno == EXDEV)
        return BKT_REQ_FAIL(req, BKT_EIO, "PUT %s: it is on another file system than the bucket's directory",
                            req->key);
    if (bkt_dir_fail(st, req, "PUT") == BKT_ENOENT) /* ENOTDIR: part of the key names a file; this is not a
                                                        missing object */
        req->rc = BKT_EIO;
    return req->rc;
}

/* Whether a temporary file is abandoned.  Its mtime is compared with the local clock, its ctime with the file
 * system's. */
static bool is_stale(struct bkt_dir_store *st, const struct stat *sb)
{
    int64_t now = (int64_t)time(NULL), ahead;
    return sb->st_mtim.tv_sec < now - STALE && find_ahead(st, &ahead) &&
           sb->st_ctim.tv_sec < now + ahead - STALE;
}

/* Remove temporary files that killed writers left behind; once, when this store first writes. */
static void sweep(struct bkt_dir_store *st)
{
    if (atomic_exchange(&st->swept, true))
        return;
    BKT_CLEANUP(bkt_file_closep) int dir = bkt_dir_scratch(st, "tmp", false, NULL);
    int fd = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR                             *d   = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        bkt_file_closep(&fd);
        return;
    }
    struct dirent *e;
    while ((e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): a stream of this thread */
        struct stat sb;
        if (is_temp_name(e->d_name) && fstatat(fd, e->d_name, &sb, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(sb.st_mode) && sb.st_uid == geteuid() && is_stale(st, &sb))
            (void)unlinkat(fd, e->d_name, 0);
    }
    (void)closedir(d);
}

/* Get the present object, if there is one.  False with req->rc set: a link is in its place, or on the way to
 * it, or the object can't be examined. */
static bool current(struct bkt_dir_store *st, struct bkt_req *req, const struct object_place *at,
                    struct stat *sb, char etag[BKT_ETAG_MAX])
{
    bool follow = st->follow && req->op != BKT_DELETE;
    if (at->dir < 0)
        return false;
    if (fstatat(at->dir, at->leaf, sb, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != ENAMETOOLONG)
            (void)bkt_dir_fail(st, req, bkt_op_name(req->op));
        return false;
    }
    if (S_ISLNK(sb->st_mode) && req->op == BKT_PUT)
        req->rc = bkt_dir_say_link(st, "PUT", req->key, bkt_req_err(req));
    if (!S_ISREG(sb->st_mode))
        return false;
    bkt_dir_etag(sb, etag);
    return true;
}

/* Find the object's place.  False: the request has failed.  A missing directory is not a failure. */
static bool find_place(struct bkt_dir_store *st, struct bkt_req *req, struct object_place *at)
{
    at->dir = bkt_dir_holder(st, req->key, req->op == BKT_DELETE, &at->leaf);
    if (at->dir >= 0 || errno == ENOENT || errno == ENOTDIR) /* a PUT reports which part is a file */
        return true;
    (void)bkt_dir_fail(st, req, bkt_op_name(req->op));
    return false;
}

static void put_locked(struct bkt_dir_store *st, struct bkt_req *req, const struct temp *t, bool *new_dirs)
{
    char                           etag[BKT_ETAG_MAX];
    struct stat                    old;
    BKT_CLEANUP(object_place_fini) struct object_place to = {-1, NULL};
    if (!find_place(st, req, &to))
        return;
    bool exists = current(st, req, &to, &old, etag);
    (void)(req->rc < 0 || bkt_req_condition(req, exists ? etag : NULL) < 0 ||
           (exists && make_newer(st, req, t, &old) < 0) || publish(st, req, t, &to, new_dirs) < 0);
}

static void put_object(struct bkt_dir_store *st, struct bkt_req *req)
{
    BKT_CLEANUP(temp_fini)
    struct temp t = {.dir = -1, .fd = -1, .sum = bkt_crc32c(0, req->put, req->put_len)};
    bool                               new_dirs = false;
    sweep(st);
    if (write_temp(st, req, &t) == BKT_OK) {
        int lock = bkt_dir_lock(st, req);
        if (lock >= 0)
            put_locked(st, req, &t, &new_dirs);
        bkt_dir_unlock(lock);
    }
    if (req->rc < 0) {
        drop_temp(&t);
        return;
    }
    bkt_stats_add(BKT_STAT(bytes_out), req->put_len);
    if (st->fsync)
        (void)sync_path(st, req, new_dirs);
}

/* ---- DELETE ---- */

static bool below_db(const char *key) { return strncmp(key, "db/", 3) == 0; }

/* Remove an object's own directory with the last object in it, as S3 has no directories.  Below db/ all
 * directories belong to the schema.  Elsewhere the directories further up may be the user's. */
static void prune(struct bkt_dir_store *st, const char *key)
{
    char dir[PATH_MAX];
    bool all = below_db(key);
    (void)snprintf(dir, sizeof dir, "%s", key);
    for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
        BKT_CLEANUP(object_place_fini) struct object_place at = {-1, NULL};
        *slash                                = 0;
        if (strcmp(dir, "db") == 0 || (at.dir = bkt_dir_holder(st, dir, true, &at.leaf)) < 0 ||
            unlinkat(at.dir, at.leaf, AT_REMOVEDIR) < 0 || !all)
            return;
    }
}

static void unlockp(int *fd)
{
    bkt_dir_unlock(*fd);
}

/* A link in an object's place is removed itself; its target stays. */
static void delete_object(struct bkt_dir_store *st, struct bkt_req *req)
{
    struct stat                        old;
    char                               etag[BKT_ETAG_MAX];
    BKT_CLEANUP(object_place_fini) struct object_place at = {-1, NULL};
    BKT_CLEANUP(unlockp) int lock = bkt_dir_lock(st, req);
    if (lock < 0 || !find_place(st, req, &at))
        return;
    bool exists = current(st, req, &at, &old, etag);
    if (req->rc < 0 || bkt_req_condition(req, exists ? etag : NULL) < 0 || at.dir < 0)
        return; /* as in S3, deleting a missing object succeeds */
    if (unlinkat(at.dir, at.leaf, 0) == 0) {
        prune(st, req->key);
        if (st->fsync && !below_db(req->key))
            (void)sync_path(st, req, false);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        (void)bkt_dir_fail(st, req, "DELETE");
    }
}

void bkt_dir_write(struct bkt_dir_store *st, struct bkt_req *req)
{
    if (req->op == BKT_PUT)
        put_object(st, req);
    else
        delete_object(st, req);
}
