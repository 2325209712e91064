/* Folders: which one is the bucket of a new domain, or of a name on the command line. */
#ifndef BKT_BUCKET_DIR_H
#define BKT_BUCKET_DIR_H

#include <stdbool.h>
#include <stddef.h>

/** Whether @p name begins as the folder of a domain's objects in db/ is called: 8-8 hex digits, BKT_TREE bytes.  What else lies in db/
 *  is somebody else's. */
#define BKT_TREE 17
bool bkt_is_tree(const char *name);

/** The nearest folder with an object tree in db/: @p dir or one above it.  If there is none, the folder above those with documents:
 * a bucket that HSDS was just given has documents of folders, but no objects.
 *
 * None on another file system, since a PUT is a rename.  And of those above none that everybody may write to, as /tmp, unless @p dir is
 * a domain or folder already: what somebody put there is no bucket for all that others keep further down.  The same holds for a db/
 * and for documents of others in a folder that everybody may write to.
 * @param dir  absolute, without '/' at its end, "" for the root of the file system; cut to what is found, else as it was */
bool bkt_bucket_find(char *dir);

/** How many bytes of @p path, an absolute one without '/' at its end, lead to a symbolic link in a bucket, or to one that @p path itself
 *  is.  0: there is none.
 * @param of_others  only those in a bucket that neither we nor root have put there */
size_t bkt_bucket_link(const char *path, bool of_others);

#endif
