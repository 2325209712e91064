/* The parts of h5bucket ls: folders (cmd_ls.c), the objects of a domain (ls_domain.c), and those of a plain
 * HDF5 file (ls_file.c). */
#ifndef BKT_LS_H
#define BKT_LS_H

#include "tools/bucket/names.h"
#include "tools/bucket/walk.h"
#include "tools/show/record.h"
#include "tools/cli/tool.h"

struct bkt_ls {
    struct bkt_tool *t;
    bool             recursive, verbose, human, attrs, acls, names;
    const char      *pattern; /* of names, as the shell's; NULL: all */
    struct bkt_jout  j;
    int              rc; /* exit code so far */
};

/** The counting of a listed dataset's chunks. */
struct bkt_where {
    int (*count)(void *arg, const struct bkt_object *o, struct bkt_extent_use *out, struct bkt_err *err);
    void       *arg;
    const char *id; /* the meaning of an object's id, for its row */
};
struct plain_file; /* plain_name.h */

/** Print one link that a walk met. */
void bkt_ls_step(struct bkt_ls *ls, const struct bkt_step *st, const struct bkt_where *where);
/** Objects of an open plain HDF5 file from p->inner on. */
void bkt_ls_file(struct bkt_ls *ls, struct plain_file *p);
/** Objects of an open domain from @p path on. */
void bkt_ls_domain(struct bkt_ls *ls, struct bkt_domain *d, const char *path);
/** Print the access list of a document, if it is requested. */
void bkt_ls_acls(struct bkt_ls *ls, const struct bkt_domain_doc *doc);
/** Whether a path's last component matches the pattern. */
bool bkt_ls_wanted(const struct bkt_ls *ls, const char *path);

#endif
