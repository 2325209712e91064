/* See file_impl.h, [F2]: lock files, each for the keys of one hash. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/os/beneath.h"
#include "base/os/clock.h"
#include "storage/file/file_impl.h"

#define LOCKS BKT_FILE_SCRATCH "/lock/"
/* Lock files, and ns between two attempts to get the turn.  Other values make no visible difference. */
#define N_LOCKS     256
#define TURN_PAUSE_NS 2000000
/* Both limits, in seconds, bound the harm that other processes can do.  A turn takes milliseconds.  A writer
 * that holds it for TURN_PATIENCE is stopped, or hangs on the disk.  TURN_MOST is longer than many slow turns
 * together. */
#define TURN_PATIENCE 5
#define TURN_MOST     120
/* ns between two attempts to get a key's lock, at first and at most.  The lock is held only for a rename. */
#define LOCK_PAUSE_NS      50000
#define LOCK_PAUSE_MOST_NS 2000000

/* Open a lock file.  A folder that another process deletes at this moment is created again. */
static int open_lock(struct bkt_file_store *st, const char *path, struct bkt_err *err)
{
    struct stat sb;
    int         fd = -1;
    for (int i = 0; i < 2 && fd < 0; i++) {
        BKT_CLEANUP(bkt_file_closep) int dir = bkt_file_scratch_again(st, "lock", &st->lock, err);
        fd = dir < 0 ? -1 : bkt_beneath_open(dir, path + strlen(LOCKS), O_RDWR | O_CREAT, 0666);
        if (dir >= 0 && fd < 0 && errno == ELOOP)
            (void)BKT_ERR(err, BKT_EACCES,
                          "%s/%s is a symbolic link, which can't be used as a lock; remove it",
                          st->base.uri + strlen("file://"), path);
        if (fd < 0 && errno != ENOENT)
            break;
    }
    if (fd >= 0 && (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode))) {
        (void)close(fd);
        (void)BKT_ERR(err, BKT_EIO, "%s/%s can't be used as a lock: it is not a regular file; remove it",
                      st->base.uri + strlen("file://"), path);
        return -1;
    }
    return fd;
}

/* close() alone is not enough: a process forked meanwhile also has the descriptor, for as long as it runs. */
void bkt_file_unlock(int fd)
{
    if (fd < 0)
        return;
    (void)flock(fd, LOCK_UN);
    (void)close(fd);
}

/* The time when the turn was last taken: each holder sets the lock file's time. */
static struct timespec turn_taken(int fd)
{
    struct stat sb = {0};
    (void)fstat(fd, &sb);
    return sb.st_mtim;
}

/* A stopped holder of a key's lock cannot be passed over: it may go on any time, with the state that it has
 * read. */
static bool wait_for_lock(struct bkt_file_store *st, struct bkt_req *req, int fd, const char *name)
{
    struct timespec pause  = {0, LOCK_PAUSE_NS};
    bool            waited = false;
    time_t          begun  = 0;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK) {
            (void)bkt_file_fail(st, req, "lock of");
            return false;
        }
        begun  = waited ? begun : bkt_seconds_now();
        waited = true;
        if ((uint64_t)(bkt_seconds_now() - begun) * 1000 > st->deadline_ms) {
            (void)BKT_REQ_FAIL(req, BKT_ETIME,
                               "%s: another writer has kept %s/%s locked for %" PRIu64
                               " ms (deadline_ms); end it "
                               "if it is stopped",
                               req->key, st->base.uri, name, st->deadline_ms);
            return false;
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec * 2 < LOCK_PAUSE_MOST_NS ? pause.tv_nsec * 2 : LOCK_PAUSE_MOST_NS;
    }
    return true;
}

int bkt_file_lock(struct bkt_file_store *st, struct bkt_req *req)
{
    char           name[64];
    struct bkt_err why = {.n = 0};
    (void)snprintf(name, sizeof name, LOCKS "%02x", bkt_file_hash(req->key) % N_LOCKS);
    int fd = open_lock(st, name, &why);
    if (fd < 0) {
        (void)(why.n ? (req->rc = bkt_err_copy(bkt_req_err(req), why.code, &why))
                     : bkt_file_fail(st, req, "lock of"));
        return -1;
    }
    if (wait_for_lock(st, req, fd, name))
        return fd;
    bkt_file_closep(&fd);
    return -1;
}

/* The wait is limited: a stopped holder must not stop the others, and a writer without a turn is correct,
 * too.  But as long as the turn changes hands, waiting is best: a writer without a turn only loses its race
 * and does its work again. */
int bkt_file_turn(struct bkt_store *base, const char *key)
{
    char name[64];
    (void)snprintf(name, sizeof name, LOCKS "t%02x", bkt_file_hash(key) % N_LOCKS);
    int             fd    = open_lock((struct bkt_file_store *)base, name, NULL);
    struct timespec pause = {0, TURN_PAUSE_NS}, taken = {0, 0};
    time_t          begun = bkt_seconds_now(), since = begun;
    while (fd >= 0 && bkt_seconds_now() - since <= TURN_PATIENCE && bkt_seconds_now() - begun <= TURN_MOST) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)futimens(fd, NULL);
            return fd;
        }
        struct timespec last = turn_taken(fd);
        if (last.tv_sec != taken.tv_sec || last.tv_nsec != taken.tv_nsec)
            since = bkt_seconds_now();
        taken = last;
        (void)nanosleep(&pause, NULL);
    }
    bkt_file_closep(&fd);
    return -1;
}
