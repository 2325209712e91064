/* Finding the bucket's folder; see bucket_dir.h. */
#include "schema/name/bucket_dir.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"

bool bkt_is_tree(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    return strspn(name, hex) == 8 && name[8] == '-' && strspn(name + 9, hex) == BKT_TREE - 9;
}

/* Not past a link: the entry is there, or its folder is. */
static bool look(const char *dir, const char *name, struct stat *sb)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    return bkt_buf_addf(&path, "%s/%s", dir, name) == BKT_OK && lstat(bkt_buf_str(&path), sb) == 0;
}

/* Only names are read through a link in the place of db/, to see whether it leads to a bucket's objects.  If
 * it does, the store follows it, or reports that it doesn't. */
static bool holds_tree(const char *dir)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf db = {0};
    struct stat sb;
    if (!look(dir, "db", &sb) || bkt_buf_addf(&db, "%s/db", dir) < 0)
        return false;
    DIR *d     = opendir(bkt_buf_str(&db));
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d)) != NULL;)
        found = strlen(e->d_name) == BKT_TREE && bkt_is_tree(e->d_name);
    if (d)
        (void)closedir(d);
    return found;
}

/* Whether an entry of folder @p in was made by a trusted user, not just by anybody (storage/file/file_impl.h,
 * [F7]). */
static bool is_trusted(const struct stat *what, const struct stat *in)
{
    return !(in->st_mode & S_IWOTH) || what->st_uid == geteuid() || what->st_uid == 0 ||
           what->st_uid == in->st_uid;
}

/* The document of a domain or a folder of the schema.  @p any: whoever made it. */
static bool holds_document(const char *dir, bool any)
{
    struct stat doc, at;
    return look(dir, ".domain.json", &doc) && S_ISREG(doc.st_mode) &&
           (any || (stat(dir, &at) == 0 && is_trusted(&doc, &at)));
}

static bool may_hold_ours(const char *dir, const struct stat *at, bool inside)
{
    const unsigned everybody = S_ISVTX | S_IWOTH;
    struct stat    db;
    return inside || ((at->st_mode & everybody) != everybody && look(dir, "db", &db) && is_trusted(&db, at));
}

static void restore(char *dir, size_t len)
{
    for (size_t i = 0; i < len; i++)
        dir[i] = dir[i] ? dir[i] : '/';
}

/* Documents show the place of a bucket that holds no objects yet: its folders have one, the bucket itself has
 * none.  So it is the folder above the nearest folders with documents. */
static bool find_by_documents(char *dir, size_t len)
{
    struct stat from, in, at;
    bool        below = false;
    if (stat(dir, &from) < 0)
        return false;
    for (char *cut; *dir; *cut = 0) {
        bool has = holds_document(dir, false);
        if (below && !has)
            return true;
        below = has;
        cut   = strrchr(dir, '/');
        if (!has)
            continue;
        bool here = stat(dir, &in) == 0;
        *cut      = 0;
        bool same =
            here && stat(*dir ? dir : "/", &at) == 0 && at.st_dev == from.st_dev && is_trusted(&in, &at);
        *cut      = '/';
        if (!same)
            break;
    }
    restore(dir, len);
    return false;
}

bool bkt_bucket_find(char *dir)
{
    struct stat from, at;
    size_t len = strlen(dir);
    if (holds_tree(dir))
        return true;
    bool known = stat(len ? dir : "/", &from) == 0, inside = holds_document(dir, true);
    for (char *cut; known && (cut = strrchr(dir, '/'));) {
        *cut = 0;
        if (stat(*dir ? dir : "/", &at) < 0 || at.st_dev != from.st_dev)
            break;
        if (may_hold_ours(dir, &at, inside) && holds_tree(dir))
            return true;
    }
    restore(dir, len);
    return find_by_documents(dir, len);
}

/* ---- links in names ---- */

static bool is_in_bucket(const char *path, size_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf dir = {0};
    for (; n; n--) {
        if (path[n] != '/')
            continue;
        bkt_buf_clear(&dir);
        if (bkt_buf_add(&dir, path, n) < 0 || holds_tree(bkt_buf_str(&dir)))
            return true;
    }
    return false;
}

size_t bkt_bucket_link(const char *path, bool of_others)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf part = {0};
    struct stat sb;
    for (size_t n = strcspn(path + 1, "/") + 1;; n += 1 + strcspn(path + n + 1, "/")) {
        bkt_buf_clear(&part);
        if (bkt_buf_add(&part, path, n) < 0 || lstat(bkt_buf_str(&part), &sb) < 0)
            return 0;
        bool ours = sb.st_uid == geteuid() || sb.st_uid == 0;
        if (S_ISLNK(sb.st_mode) && !(of_others && ours) &&
            ((!path[n] && !of_others) || is_in_bucket(path, n - 1)))
            return n;
        if (!path[n])
            return 0;
    }
}
