/* To be preloaded: what lies below $BKT_TEST_KEEP (a part of its path) can't be deleted, not even by root. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int unlinkat(int dir, const char *path, int flags)
{
    int (*next)(int, const char *, int);
    const char *keep = getenv("BKT_TEST_KEEP");
    void       *p    = dlsym(RTLD_NEXT, "unlinkat");
    memcpy(&next, &p, sizeof next);
    if (keep && strstr(path, keep)) {
        errno = EACCES;
        return -1;
    }
    return next(dir, path, flags);
}
