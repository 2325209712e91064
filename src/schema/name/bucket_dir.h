/* Folders: the bucket folder of a new domain, or of a name on the command line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BKT_TREE 17 /* bytes of the name of a folder of a domain's objects in db/ */
/** Whether @p name begins as the name of such a folder does: 8-8 hex digits.  Everything else in db/ belongs
 *  to others. */
bool bkt_is_tree(const char *name);

/** The nearest folder with an object tree in db/: @p dir or one above it.  If none has one, the folder above
 *  those with documents: a bucket that HSDS was just given has documents of folders, but no objects.
 *
 *  A folder on another file system doesn't count, since a PUT is a rename.  A folder above @p dir that
 *  everybody may write to (/tmp) doesn't count either, unless @p dir is a domain or folder already.  Another
 *  user's files must not become the bucket of everything below.  In a folder that everybody may write to, a
 *  db/ or a document of another user doesn't count either.
 *  @param dir  absolute, without '/' at its end, "" for the root of the file system; cut to the folder found,
 *              else unchanged */
bool bkt_bucket_find(char *dir);

/** The number of bytes of @p path that lead to a symbolic link in a bucket, or to a link that is @p path
 *  itself.  0: none.
 *  @param path       absolute, without '/' at its end
 *  @param of_others  only links in a bucket that neither this user nor root has made */
size_t bkt_bucket_link(const char *path, bool of_others);
