/* Mounts that only this process and its children see, if the system allows them. */
#ifndef BKT_TEST_OWN_MOUNTS_H
#define BKT_TEST_OWN_MOUNTS_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline bool write_text(const char *path, const char *text)
{
    int  fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/** As root, or in a user namespace of its own as its root. */
static inline bool own_mounts(void)
{
    char     uid[40], gid[40];
    unsigned u = (unsigned)getuid(), g = (unsigned)getgid();
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    (void)snprintf(uid, sizeof uid, "0 %u 1", u);
    (void)snprintf(gid, sizeof gid, "0 %u 1", g);
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", uid) && write_text("/proc/self/gid_map", gid);
}

#endif
