/* Open files: the functions that file_calls.c, file_ids.c (open objects of a file) and linked_files.c (files that
 * a file leads to) offer to their siblings. */
#ifndef BKT_VOL_FILE_H
#define BKT_VOL_FILE_H

#include "vol/core/vol.h"

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

/** For h5bucket, which knows more about the files that references lead into.  While this is set and the
 *  connector opens a file, the file is the plain one whose id open() returns (the caller's).  It is known
 *  by the requested name. */
struct bkt_file_opener {
    int (*open)(void *arg, const char *name, hid_t *out, struct bkt_err *err);
    void *arg;
};
extern const struct bkt_file_opener *bkt_file_opener;

/** The answers of H5Fget_obj_count and H5Fget_obj_ids (file_ids.c). */
BKT_NODISCARD int bkt_file_obj_count(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);
BKT_NODISCARD int bkt_file_obj_ids(struct bkt_vobj *o, H5VL_file_get_args_t *args, struct bkt_err *err);

/** The program's handle of the plain file that HDF5's id @p native belongs to, opened together with it;
 *  NULL: the handle was closed. */
struct bkt_vobj *bkt_file_of_native(hid_t native);
/** Call before a file is closed: does what H5Pset_fclose_degree() demands. */
BKT_NODISCARD int bkt_file_close_others(struct bkt_vobj *o, struct bkt_err *err);
/** Whether @p obj, which may be HDF5's own, is one of our objects, in the same domain or plain file as @p
 *  o. */
bool bkt_file_is_one(const struct bkt_vobj *o, const void *obj);
/** H5Pset_fclose_degree() of a file that the program opens or creates: the degree of @p f is made
 *  explicit.  It must equal the degree of an earlier open of that file (BKT_EINVAL). */
BKT_NODISCARD int bkt_file_settle_degree(struct bkt_file *f, struct bkt_err *err);

/** The open file after @p f; NULL begins and ends. */
struct bkt_file *bkt_file_next(const struct bkt_file *f);
/** Call @p fn for each domain that external links in @p f led to or that is mounted in it.  Plain HDF5
 *  files that external links led to are flushed.  A failure doesn't stop the others; returns the first
 *  failure. */
BKT_NODISCARD int bkt_file_each_inner(struct bkt_file *f, int (*fn)(struct bkt_file *inner, struct bkt_err *err), struct bkt_err *err);
/** Release mounts and external files. */
void bkt_file_drop_links(struct bkt_file *f);

/** Close the files behind external links that have no open objects: such a file may soon be overwritten or
 *  deleted. */
void bkt_file_drop_unused(void);

/** The root group of @p f as a new object of type @p type (H5I_FILE or H5I_GROUP). */
BKT_NODISCARD int bkt_file_root(struct bkt_file *f, H5I_type_t type, struct bkt_vobj **out, struct bkt_err *err);

/** An external link: its stored texts, and the path of its group. */
struct bkt_ext_link {
    const char *file, *object, *group;
};
/** The file that an external link in @p f leads to, opened as the link access list @p lapl says and kept
 *  open with f: a domain (*domain set, borrowed) or a plain HDF5 file (*native set, borrowed id).
 *  BKT_ENOENT: no such file. */
BKT_NODISCARD int bkt_file_follow(struct bkt_file *f, const struct bkt_ext_link *l, hid_t lapl, struct bkt_file **domain, hid_t *native,
                                  struct bkt_err *err);
/** The same for the source of a virtual dataset.
 *  @param env     prefixes to try, with colons between them, or NULL
 *  @param prefix  one more prefix, "" for none */
BKT_NODISCARD int bkt_file_source(struct bkt_file *f, const char *name, const char *env, const char *prefix, struct bkt_file **domain,
                                  hid_t *native, struct bkt_err *err);
/** The same for a name that comes from elsewhere: the file of a reference. */
BKT_NODISCARD int bkt_file_external(struct bkt_file *f, const char *name, struct bkt_file **domain, hid_t *native, struct bkt_err *err);
/** The file mounted on group @p id of @p f, or NULL. */
struct bkt_file *bkt_file_mounted(const struct bkt_file *f, const struct bkt_id *id);
/** Mount @p child on @p group.  While it is mounted, open objects below the group have no name
 *  (H5Iget_name). */
BKT_NODISCARD int bkt_file_mount(const struct bkt_vobj *group, struct bkt_file *child, struct bkt_err *err);
/** End a mount.  Objects that were opened through it get their names in their own file. */
BKT_NODISCARD int bkt_file_unmount(struct bkt_file *f, const struct bkt_id *at, struct bkt_err *err);
/** The file that @p child is mounted in; NULL: it isn't mounted. */
struct bkt_file *bkt_file_parent(const struct bkt_file *child);

#endif
