/* Which folder is the bucket; see bucket_dir.h. */
#include "bucket_dir.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"

bool bkt_is_tree(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    return strspn(name, hex) == 8 && name[8] == '-' && strspn(name + 9, hex) == BKT_TREE - 9;
}

static bool holds_tree(const char *dir)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf db = {0};
    DIR *d = bkt_buf_addf(&db, "%s/db", dir) == BKT_OK ? opendir(bkt_buf_str(&db)) : NULL;
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d)) != NULL;)
        found = strlen(e->d_name) == BKT_TREE && bkt_is_tree(e->d_name);
    if (d)
        (void)closedir(d);
    return found;
}

/* Of a domain or a folder of the schema. */
static bool holds_document(const char *dir)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf file = {0};
    return bkt_buf_addf(&file, "%s/.domain.json", dir) == BKT_OK && access(bkt_buf_str(&file), F_OK) == 0;
}

bool bkt_bucket_find(char *dir)
{
    const unsigned everybody = S_ISVTX | S_IWOTH;
    struct stat from, at;
    size_t len = strlen(dir);
    if (holds_tree(dir))
        return true;
    bool known = stat(len ? dir : "/", &from) == 0, inside = holds_document(dir);
    for (char *cut; known && (cut = strrchr(dir, '/'));) {
        *cut = 0;
        if (stat(*dir ? dir : "/", &at) < 0 || at.st_dev != from.st_dev)
            break;
        if ((inside || (at.st_mode & everybody) != everybody) && holds_tree(dir))
            return true;
    }
    for (size_t i = 0; i < len; i++) /* as it was */
        dir[i] = dir[i] ? dir[i] : '/';
    return false;
}
