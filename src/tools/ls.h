/* The two halves of h5bucket ls: folders (cmd_ls.c) and what is in a domain (ls_domain.c). */
#ifndef BKT_LS_H
#define BKT_LS_H

#include "place.h"
#include "show.h"
#include "tool.h"

struct bkt_ls {
    struct bkt_tool *t;
    bool             recursive, verbose, human, attrs, acls, names;
    const char      *pattern; /* of names, as the shell's; NULL: all */
    struct bkt_jout  j;
    int              rc; /* exit code so far */
};

/** Objects of an open domain from @p path on. */
void bkt_ls_domain(struct bkt_ls *ls, struct bkt_domain *d, const char *path);
/** The access list of a document, where it is asked for. */
void bkt_ls_acls(struct bkt_ls *ls, const struct bkt_domain_doc *doc);
/** Whether a path's last component is wanted. */
bool bkt_ls_wanted(const struct bkt_ls *ls, const char *path);

#endif
