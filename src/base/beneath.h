/* Paths below an open directory, of which no part is a symbolic link: whoever swaps folders for links while a path is looked up gets
 * an error and no access to anything elsewhere.
 *
 * openat2() does it in one call.  Where the kernel or a sandbox has none, each part is opened by itself, with O_NOFOLLOW.  Paths have
 * no leading '/', and no component "", "." or ".." : the caller sees to that.  errno is ELOOP where a part is a link. */
#ifndef BKT_BENEATH_H
#define BKT_BENEATH_H

#include <stdbool.h>
#include <sys/types.h>

/** As openat(); @p mode counts with O_CREAT only.  O_CLOEXEC is added.
 * @param root  an open directory, O_PATH will do
 * @return the descriptor, the caller's; -1: errno */
int bkt_beneath_open(int root, const char *path, int flags, mode_t mode);

/** The directory that holds the last component of @p path, for the calls that end in "at": as bkt_beneath_open() with O_PATH.
 * @param leaf  gets that component, a part of @p path */
int bkt_beneath_parent(int root, const char *path, const char **leaf);

/** The same; directories that aren't there are made.  @p made: set to true when one was, else left alone. */
int bkt_beneath_make_parent(int root, const char *path, const char **leaf, bool *made);

/** The length of the first part of @p path that is a symbolic link; 0: none is, or that can't be seen. */
size_t bkt_beneath_link(int root, const char *path);

/** For tests: do without openat2() from now on, or with it. */
void bkt_beneath_stepwise(bool on);

#endif
