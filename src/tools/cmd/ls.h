/* The two halves of h5bucket ls: folders (cmd_ls.c) and the objects of a domain (ls_domain.c). */
#ifndef BKT_LS_H
#define BKT_LS_H

#include "tools/bucket/names.h"
#include "tools/show/record.h"
#include "tools/cli/tool.h"

struct bkt_ls {
    struct bkt_tool *t;
    bool             recursive, verbose, human, attrs, acls, names;
    const char      *pattern; /* of names, as the shell's; NULL: all */
    struct bkt_jout  j;
    int              rc; /* exit code so far */
};

/** Objects of an open domain from @p path on. */
void bkt_ls_domain(struct bkt_ls *ls, struct bkt_domain *d, const char *path);
/** Print the access list of a document, if it is requested. */
void bkt_ls_acls(struct bkt_ls *ls, const struct bkt_domain_doc *doc);
/** Whether a path's last component matches the pattern. */
bool bkt_ls_wanted(const struct bkt_ls *ls, const char *path);

#endif
