#include "samples/names/lmdb_file.h"

#include <errno.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"

/* ---- pages, checked before liblmdb sees them: it trusts each number in them ---- */

/* The layout is LMDB 0.9's on machines of 64 bits.  All numbers are little-endian; in a file of another byte
 * order the mark is wrong. */
#define HEAD          16 /* bytes of a page's header: number 8, 2, kind 2, ends of the free room 2 + 2 */
#define META_MARK     0xBEEFC0DEu
#define META_MIN      (16 + 136)
#define NONE          UINT64_MAX
#define DEPTH_MAX     32
#define KEY_MAX       511
#define KIND_BRANCH   1u
#define KIND_LEAF     2u
#define KIND_OVERFLOW 4u
#define KIND_META     8u
#define NODE_BIG      1u /* the value lies in pages of its own */
/* Offsets in a meta page */
enum {
    MARK = 16,
    VERSION = 20,
    ADDRESS = 24,
    MAP_SIZE = 32,
    FREE_DB = 40,
    MAIN_DB = 88,
    LAST_PAGE = 136,
    TXN = 144
};
/* Offsets in a database's description, 48 bytes */
enum { DB_PAD, DB_FLAGS = 4, DB_DEPTH = 6, DB_ROOT = 40, DB_SIZE = 48 };

struct walk {
    const unsigned char *file;
    uint64_t n;  /* pages */
    size_t size; /* bytes of a page */
    unsigned depth;
    unsigned char *seen; /* a byte for each page */
    struct bkt_err *err;
};

static int bad(const struct walk *w, uint64_t page, const char *what)
{
    BKT_FAIL(w->err, BKT_EFORMAT, "LMDB page %" PRIu64 ": %s", page, what);
}

static int take_pages(struct walk *w, uint64_t first, uint64_t n)
{
    if (first < 2 || n == 0 || first >= w->n || n > w->n - first)
        return bad(w, first, "it lies outside the file");
    for (uint64_t i = 0; i < n; i++) {
        if (w->seen[first + i])
            return bad(w, first + i, "it is used twice");
        w->seen[first + i] = 1;
    }
    return BKT_OK;
}

static int check_value_pages(struct walk *w, uint64_t page, uint64_t size)
{
    if (page >= w->n)
        return bad(w, page, "it lies outside the file");
    const unsigned char *p = w->file + page * w->size;
    uint64_t pages = bkt_get_le(p + 12, 4);
    if (bkt_get_le(p, 8) != page || bkt_get_le(p + 10, 2) != KIND_OVERFLOW)
        return bad(w, page, "it does not begin a long value");
    BKT_PASS(take_pages(w, page, pages));
    return HEAD + size <= pages * w->size ? BKT_OK : bad(w, page, "a value is longer than its pages");
}

struct node {
    const unsigned char *key;
    size_t n_key;
    uint64_t below; /* of a branch: the page */
};

static int check_leaf_value(struct walk *w, uint64_t page, const unsigned char *node, size_t room,
                            size_t n_key)
{
    uint64_t size = bkt_get_le(node, 4), flags = bkt_get_le(node + 4, 2);
    if (flags & ~(uint64_t)NODE_BIG)
        return bad(w, page, "it holds a nested database, or several values of a key");
    if (!(flags & NODE_BIG))
        return size <= room - n_key ? BKT_OK : bad(w, page, "a value ends outside the page");
    if (room - n_key < 8)
        return bad(w, page, "a value ends outside the page");
    return check_value_pages(w, bkt_get_le(node + 8 + n_key, 8), size);
}

static int check_node(struct walk *w, uint64_t page, const unsigned char *p, size_t i, size_t lower,
                      bool leaf, struct node *out)
{
    size_t at = (size_t)bkt_get_le(p + HEAD + 2 * i, 2);
    if (at < lower || at % 2 || at > w->size - 8)
        return bad(w, page, "a node lies outside the page");
    const unsigned char *node = p + at;
    size_t room = w->size - at - 8;
    *out = (struct node){.key = node + 8, .n_key = (size_t)bkt_get_le(node + 6, 2)};
    if (out->n_key > room || out->n_key > KEY_MAX || (leaf && !out->n_key))
        return bad(w, page, "a key has an impossible length");
    if (leaf)
        return check_leaf_value(w, page, node, room, out->n_key);
    out->below = bkt_get_le(node, 6);
    return BKT_OK;
}

static bool in_order(const struct node *a, const struct node *b)
{
    size_t n = a->n_key < b->n_key ? a->n_key : b->n_key;
    int c = memcmp(a->key, b->key, n);
    return c ? c < 0 : a->n_key < b->n_key;
}

static int check_page(struct walk *w, uint64_t page, unsigned level)
{
    BKT_PASS(take_pages(w, page, 1));
    const unsigned char *p = w->file + page * w->size;
    uint64_t kind = bkt_get_le(p + 10, 2);
    size_t lower = (size_t)bkt_get_le(p + 12, 2), upper = (size_t)bkt_get_le(p + 14, 2);
    bool leaf = level == w->depth;
    if (bkt_get_le(p, 8) != page || kind != (leaf ? KIND_LEAF : KIND_BRANCH))
        return bad(w, page, "its header names another page or kind");
    if (lower < HEAD || lower % 2 || upper < lower || upper > w->size)
        return bad(w, page, "its free room has impossible borders");
    size_t n = (lower - HEAD) / 2;
    if (n < (leaf ? 1 : 2))
        return bad(w, page, "it has too few nodes");
    struct node before = {0}, node = {0};
    for (size_t i = 0; i < n; i++) {
        BKT_PASS(check_node(w, page, p, i, lower, leaf, &node));
        if (i > (leaf ? 0 : 1) && !in_order(&before, &node))
            return bad(w, page, "its keys are not in order");
        if (!leaf)
            BKT_PASS(check_page(w, node.below, level + 1));
        before = node;
    }
    return BKT_OK;
}

static int check_tree(struct walk *w, const unsigned char *meta)
{
    const unsigned char *db = meta + MAIN_DB;
    uint64_t root = bkt_get_le(db + DB_ROOT, 8);
    w->depth = (unsigned)bkt_get_le(db + DB_DEPTH, 2);
    BKT_FAIL_IF(w->err, bkt_get_le(db + DB_FLAGS, 2), BKT_EUNSUP,
                "LMDB: the main database has an unknown order");
    if (root == NONE)
        return BKT_OK;
    BKT_FAIL_IF(w->err, !w->depth || w->depth > DEPTH_MAX, BKT_EFORMAT, "LMDB: a tree of %u levels",
                w->depth);
    return check_page(w, root, 1);
}

/* ---- meta pages ---- */

static bool is_meta(const unsigned char *p)
{
    return (bkt_get_le(p + 10, 2) & KIND_META) && bkt_get_le(p + MARK, 4) == META_MARK &&
           bkt_get_le(p + VERSION, 4) == 1;
}

static size_t page_size(const unsigned char *bytes, size_t n)
{
    if (n < META_MIN || !is_meta(bytes))
        return 0;
    size_t size = (size_t)bkt_get_le(bytes + FREE_DB, 4);
    return size < 512 || size > 32768 || (size & (size - 1)) || n / size < 2 || !is_meta(bytes + size) ? 0
                                                                                                       : size;
}

/* The newer state goes to both, with the pages that the file has. */
static void renew_metas(unsigned char *file, const struct walk *w)
{
    unsigned char *first = file, *second = file + w->size;
    unsigned char *newer = bkt_get_le(first + TXN, 8) < bkt_get_le(second + TXN, 8) ? second : first;
    unsigned char meta[META_MIN];
    memcpy(meta, newer, sizeof meta);
    bkt_put_le(meta + ADDRESS, 8, 0);
    bkt_put_le(meta + MAP_SIZE, 8, w->n * w->size);
    memset(meta + FREE_DB, 0, DB_SIZE);
    bkt_put_le(meta + FREE_DB + DB_PAD, 4, w->size);
    bkt_put_le(meta + FREE_DB + DB_FLAGS, 2, 8); /* its keys are integers */
    bkt_put_le(meta + FREE_DB + DB_ROOT, 8, NONE);
    bkt_put_le(meta + LAST_PAGE, 8, w->n - 1);
    bkt_put_le(meta + 10, 2, KIND_META);
    for (uint64_t i = 0; i < 2; i++) {
        bkt_put_le(meta, 8, i);
        memcpy(file + i * w->size, meta, sizeof meta);
    }
}

/* Check all pages that a reader of the main database can reach.  The check covers page numbers, kinds, places
 * and lengths of nodes, the order of keys, equal depth, and that no page is in two places.  Then write
 * both meta pages again, without a list of free pages.
 * @param bytes  a copy that no other program changes; aligned to 8 */
static int check_file(unsigned char *bytes, size_t n, struct bkt_err *err)
{
    size_t size = page_size(bytes, n);
    BKT_FAIL_IF(err, !size, BKT_EFORMAT, "not an LMDB file of version 1, or it is cut: %zu bytes", n);
    BKT_FAIL_IF(err, sizeof(size_t) != 8, BKT_EUNSUP, "LMDB files are read on machines of 64 bits only");
    BKT_CLEANUP(bkt_freep) unsigned char *seen = calloc(n / size, 1);
    struct walk w = {.file = bytes, .n = n / size, .size = size, .seen = seen, .err = err};
    BKT_NEED(err, seen);
    renew_metas(bytes, &w);
    return check_tree(&w, bytes);
}

/* ---- the checked copy ---- */

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
    BKT_FAIL_IF(err, !n, BKT_EFORMAT, "not an LMDB file: it is empty");
    struct bkt_lmdb *l = calloc(1, sizeof *l);
    BKT_NEED(err, l);
    int rc = l->fd = make_copy(bytes, n, &map, err);
    if (rc >= 0) {
        rc = check_file(map, n, err);
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
