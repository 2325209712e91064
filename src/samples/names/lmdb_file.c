#include "samples/names/lmdb_file.h"

#include <errno.h>
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "samples/names/lmdb_pages.h"

struct bkt_lmdb {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi  dbi;
    int      fd; /* the copy */
};

static int failed(struct bkt_err *err, int code, const char *what)
{
    if (code == ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL(err, code > 0 ? BKT_EIO : BKT_EFORMAT, "LMDB: %s: %s", what, mdb_strerror(code));
}

/* A file without a name, as long as the bytes. */
static int make_copy(const void *bytes, size_t n, unsigned char **map, struct bkt_err *err)
{
    int fd = memfd_create("h5bucket-lmdb", MFD_CLOEXEC);
    *map = fd < 0 || ftruncate(fd, (off_t)n) < 0 ? MAP_FAILED
                                                 : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*map == MAP_FAILED) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return failed(err, code, "a copy in memory");
    }
    memcpy(*map, bytes, n);
    return fd;
}

static int open_env(struct bkt_lmdb *l, size_t n, struct bkt_err *err)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", l->fd);
    int rc = mdb_env_create(&l->env);
    if (!rc)
        rc = mdb_env_set_mapsize(l->env, n);
    if (!rc)
        rc = mdb_env_open(l->env, name, MDB_RDONLY | MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS, 0600);
    if (!rc)
        rc = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &l->txn);
    if (!rc)
        rc = mdb_dbi_open(l->txn, NULL, 0, &l->dbi);
    return rc ? failed(err, rc, "opening a checked copy") : BKT_OK;
}

int bkt_lmdb_open(const void *bytes, size_t n, struct bkt_lmdb **out, struct bkt_err *err)
{
    unsigned char *map;
    if (!n)
        BKT_FAIL(err, BKT_EFORMAT, "not an LMDB file: it is empty");
    struct bkt_lmdb *l = calloc(1, sizeof *l);
    if (!l)
        BKT_NOMEM(err);
    int rc = l->fd = make_copy(bytes, n, &map, err);
    if (rc >= 0) {
        rc = bkt_lmdb_check(map, n, err);
        munmap(map, n);
    }
    if (rc >= 0)
        rc = open_env(l, n, err);
    if (rc < 0) {
        bkt_lmdb_close(l);
        return rc;
    }
    *out = l;
    return BKT_OK;
}

void bkt_lmdb_close(struct bkt_lmdb *l)
{
    if (!l)
        return;
    if (l->txn)
        mdb_txn_abort(l->txn);
    if (l->env)
        mdb_env_close(l->env);
    if (l->fd >= 0)
        close(l->fd);
    free(l);
}

int bkt_lmdb_get(struct bkt_lmdb *l, const void *key, size_t n, const void **value, size_t *n_value,
                 struct bkt_err *err)
{
    MDB_val k = {n, (void *)(uintptr_t)key}, v;
    if (!n || n > (size_t)mdb_env_get_maxkeysize(l->env))
        return BKT_ENOENT;
    int rc = mdb_get(l->txn, l->dbi, &k, &v);
    if (rc == MDB_NOTFOUND)
        return BKT_ENOENT;
    if (rc)
        return failed(err, rc, "looking up a key");
    *value = v.mv_data;
    *n_value = v.mv_size;
    return BKT_OK;
}

int bkt_lmdb_each(struct bkt_lmdb *l, const char *prefix,
                  int (*each)(void *arg, const char *key, size_t n, const void *value, size_t n_value),
                  void *arg, struct bkt_err *err)
{
    MDB_cursor *c;
    size_t n = strlen(prefix);
    MDB_val k = {n, (void *)(uintptr_t)prefix}, v;
    int rc = mdb_cursor_open(l->txn, l->dbi, &c), done = BKT_OK;
    if (rc)
        return failed(err, rc, "listing keys");
    for (rc = mdb_cursor_get(c, &k, &v, n ? MDB_SET_RANGE : MDB_FIRST); !rc && done >= 0;
         rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) {
        if (k.mv_size < n || memcmp(k.mv_data, prefix, n) != 0)
            break;
        done = each(arg, k.mv_data, k.mv_size, v.mv_data, v.mv_size);
    }
    mdb_cursor_close(c);
    return done < 0 ? done : rc && rc != MDB_NOTFOUND ? failed(err, rc, "listing keys") : BKT_OK;
}
