/* Folders: which one is the bucket of a new domain, or of a name on the command line. */
#ifndef BKT_BUCKET_DIR_H
#define BKT_BUCKET_DIR_H

#include <stdbool.h>

/** Whether @p name begins as the folder of a domain's objects in db/ is called: 8-8 hex digits, BKT_TREE bytes.  What else lies in db/
 *  is somebody else's. */
#define BKT_TREE 17
bool bkt_is_tree(const char *name);

/** The nearest folder with an object tree in db/: @p dir or one above it.
 *
 * None on another file system, since a PUT is a rename.  And of those above none that everybody may write to, as /tmp, unless @p dir is
 * a domain or folder already: what somebody put there is no bucket for all that others keep further down.
 * @param dir  absolute, without '/' at its end, "" for the root of the file system; cut to what is found, else as it was */
bool bkt_bucket_find(char *dir);

#endif
