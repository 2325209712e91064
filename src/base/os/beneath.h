/* Opening paths below a directory without following symbolic links.  If another process swaps directories
 * for links during a look-up, the caller gets an error, and no access to anything elsewhere.
 *
 * openat2() does this in one call.  If the kernel or a sandbox does not offer it, each part of the path is
 * opened by itself, with O_NOFOLLOW.  The caller ensures that paths have no leading '/' and no component "",
 * "." or "..".  If a part of a path is a link, errno is ELOOP. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/** Open a file or directory as openat() does.  O_CLOEXEC is added.
 * @param root  an open directory; O_PATH is enough
 * @param path  relative to @p root, as described above
 * @param mode  used with O_CREAT only
 * @return the descriptor, owned by the caller; -1: errno */
int bkt_beneath_open(int root, const char *path, int flags, mode_t mode);

/** Open the directory that holds the last component of @p path, for the calls that end in "at".  Otherwise as
 * bkt_beneath_open() with O_PATH.
 * @param leaf  gets the last component, a part of @p path */
int bkt_beneath_parent(int root, const char *path, const char **leaf);

/** As bkt_beneath_parent(); missing directories are created.
 * @param made  set to true if a directory was created, else left alone */
int bkt_beneath_make_parent(int root, const char *path, const char **leaf, bool *made);

/** The length of the first part of @p path that is a symbolic link; 0: no part is a link, or the parts cannot
 * be examined. */
size_t bkt_beneath_link(int root, const char *path);

/** For tests: use openat2() or not, from now on. */
void bkt_beneath_stepwise(bool on);
