/* Open files: what file.c, file_ids.c (what is open of them) and file_links.c (what they lead to) offer to their siblings. */
#ifndef BKT_VOL_FILE_H
#define BKT_VOL_FILE_H

#include "vol.h"

/** A domain mounted on a group (H5Fmount). */
struct bkt_mount {
    struct bkt_id     at;    /* the group covered */
    char             *path;  /* its name; NULL: not known */
    struct bkt_file  *child; /* one reference */
    struct bkt_mount *next;
};

/** Open the domain @p name; one reference for the caller.  @p set: settings; @p fapl copied. */
BKT_NODISCARD int bkt_file_domain(const char *name, unsigned flags, hid_t fapl, const struct bkt_settings *set,
                                struct bkt_file **out, struct bkt_err *err);
/** Another handle on a domain already open (H5Freopen); one reference for the caller. */
BKT_NODISCARD int bkt_file_again(struct bkt_file *f, struct bkt_file **out, struct bkt_err *err);
void              bkt_file_release(struct bkt_file *f);
/** Whether a file access list chooses this connector; its settings (bkt_settings_fini()). */
bool              bkt_file_fapl_is_ours(hid_t fapl);
BKT_NODISCARD int bkt_file_settings(hid_t fapl, struct bkt_settings *set, struct bkt_err *err);

/** For h5bucket, which knows more about the files that references lead into: while this is set, a file that is opened through the
 *  connector is the plain one whose id open() gives (the caller's), and is known by the name that was asked for. */
struct bkt_file_opener {
    int (*open)(void *arg, const char *name, hid_t *out, struct bkt_err *err);
    void *arg;
};
extern const struct bkt_file_opener *bkt_file_opener;

/** What H5Fget_obj_count and H5Fget_obj_ids answer (file_ids.c). */
BKT_NODISCARD int bkt_file_obj_count(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);
BKT_NODISCARD int bkt_file_obj_ids(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);

/** The program's handle of a plain file that HDF5's @p native is an id of, opened at once with it; NULL: there is none any more. */
struct bkt_vobj *bkt_file_of_native(hid_t native);
/** Before a file is closed: see to H5Pset_fclose_degree(). */
BKT_NODISCARD int bkt_file_close_others(struct bkt_vobj *o, struct bkt_err *err);
/** Whether @p obj, which may be HDF5's own, is an object of ours in the same domain or plain file as @p o. */
bool bkt_file_is_one(const struct bkt_vobj *o, const void *obj);
/** H5Pset_fclose_degree() of a file that the program opens or makes: what @p f got is made explicit, and must be what it asked for
 *  when it opened that file before (BKT_EINVAL). */
BKT_NODISCARD int bkt_file_settle_degree(struct bkt_file *f, struct bkt_err *err);

/** All open files, one after the other; NULL begins and ends. */
struct bkt_file *bkt_file_next(const struct bkt_file *f);
/** Call @p fn for each domain that external links in @p f led to or that is mounted in it, and flush such plain HDF5 files; all of
 *  them, whichever fail.  The first failure. */
BKT_NODISCARD int bkt_file_each_inner(struct bkt_file *f, int (*fn)(struct bkt_file *inner, struct bkt_err *err), struct bkt_err *err);
/** Let go of mounts and external files. */
void bkt_file_drop_links(struct bkt_file *f);

/** Close the files behind external links of which nothing is open: one may be about to be created over or deleted. */
void bkt_file_drop_unused(void);

/** The root group of @p f as a new object of type @p type (H5I_FILE or H5I_GROUP). */
BKT_NODISCARD int bkt_file_root(struct bkt_file *f, H5I_type_t type, struct bkt_vobj **out, struct bkt_err *err);

/** An external link: what is stored in it, and the path of its group. */
struct bkt_ext_link {
    const char *file, *object, *group;
};
/** The file that an external link in @p f leads to, opened as the link access list @p lapl says and kept open with f.  Either a domain
 *  (*domain set, borrowed) or a plain HDF5 file (*native set, borrowed id).  BKT_ENOENT: there is none. */
BKT_NODISCARD int bkt_file_follow(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl, struct bkt_file **domain, hid_t *native,
                                  struct bkt_err *err);
/** The same for the source of a virtual dataset.  @p env: prefixes that are tried, with colons between them, or NULL; @p prefix: one
 *  more, "" for none. */
BKT_NODISCARD int bkt_file_source(struct bkt_file *f, const char *name, const char *env, const char *prefix, struct bkt_file **domain,
                                  hid_t *native, struct bkt_err *err);
/** The same for a name that stands elsewhere: the file of a reference. */
BKT_NODISCARD int bkt_file_external(struct bkt_file *f, const char *name, struct bkt_file **domain, hid_t *native, struct bkt_err *err);
/** What is mounted on group @p id of @p f, or NULL. */
struct bkt_file *bkt_file_mounted(const struct bkt_file *f, const struct bkt_id *id);
/** Mount @p child on @p group; what is open below it has no name (H5Iget_name) until that ends. */
BKT_NODISCARD int bkt_file_mount(const struct bkt_vobj *group, struct bkt_file *child, struct bkt_err *err);
/** What was opened through the mount gets the name that it has in its own file. */
BKT_NODISCARD int bkt_file_unmount(struct bkt_file *f, const struct bkt_id *at, struct bkt_err *err);
/** The file that @p child is mounted in, and where; NULL when it isn't. */
struct bkt_file *bkt_file_parent(const struct bkt_file *child);

#endif
