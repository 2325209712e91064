/* Names on the command line: a bucket, a folder, a domain, or an object in a domain.
 *
 * A folder is a .domain.json without a root group, or a common prefix of keys without any document.  In
 * directories the bucket is the nearest directory above that has an object tree, or that folders' documents
 * show (bucket_dir.h).  If no directory shows it, the directory itself is the bucket. */
#pragma once

#include "schema/name/bucket_dir.h"
#include "schema/domain/domain.h"

struct bkt_bucket_place {
    struct bkt_store *store;
    char             *path; /* in the store, no '/' at either end; "": the bucket itself */
};
/** Find the place of a name; no object has to exist there.  BKT_EINVAL, BKT_ENOENT (no such directory above
 *  it), … */
BKT_NODISCARD int bkt_bucket_place_open(const char *name, const struct bkt_settings *set,
                                        struct bkt_bucket_place *out, struct bkt_err *err);
/** BKT_EACCES: the store is read-only. */
BKT_NODISCARD int bkt_bucket_place_writable(const struct bkt_bucket_place *p, struct bkt_err *err);
void bkt_bucket_place_fini(struct bkt_bucket_place *p);
/** Call before the object at @p name is deleted or moved.  BKT_EACCES: the name leads through a symbolic link
 *  in a bucket, or is one. */
BKT_NODISCARD int bkt_bucket_place_may_delete(const char *name, const struct bkt_settings *set,
                                              struct bkt_err *err);

/** The kind of a place, according to its document. */
enum bkt_what { BKT_IS_ABSENT, BKT_IS_PREFIX, BKT_IS_FOLDER, BKT_IS_DOMAIN };
struct bkt_doc {
    enum bkt_what         what;
    int                   rc;  /* < 0: it couldn't be read; `why` has the reason */
    struct bkt_err        why;
    struct bkt_domain_doc doc; /* FOLDER, DOMAIN */
    struct bkt_buf        json;
    char                  etag[BKT_ETAG_MAX];
};
/** Free the document's memory. */
void bkt_doc_fini(struct bkt_doc *d);
/** Get the documents of @p n paths, all at once; never PREFIX.  Failures are in each one's rc. */
void bkt_docs_get(struct bkt_store *st, char *const *paths, size_t n, struct bkt_doc *out);
/** Get one document.  If it is absent, a LIST follows: PREFIX if keys lie below it.  @return its rc */
int bkt_doc_get(struct bkt_store *st, const char *path, struct bkt_doc *out, struct bkt_err *err);

/** Store a document.  @p etag: only in place of that version; "": in place of any; NULL: only if there is
 *  none.  BKT_EPRECOND */
BKT_NODISCARD int bkt_doc_put(struct bkt_store *st, const char *path, const struct bkt_buf *json,
                              const char *etag, struct bkt_err *err);
/** Delete a document.  A missing one counts as deleted. */
BKT_NODISCARD int bkt_doc_delete(struct bkt_store *st, const char *path, struct bkt_err *err);
/** Delete another key, likewise. */
BKT_NODISCARD int bkt_key_delete(struct bkt_store *st, const char *key, struct bkt_err *err);

/** Report BKT_ENOENT: @p name, which became @p p, is @p what ("no such domain").  The message names the place
 *  if the name alone doesn't. */
BKT_NODISCARD int bkt_bucket_place_absent(const struct bkt_bucket_place *p, const char *name,
                                          const char *what, struct bkt_err *err);

/** Whether an HDF5 file lies there.  One request; false if that fails. */
bool bkt_bucket_place_is_hdf5(struct bkt_store *st, const char *path);

struct plain_file; /* tools/source/plain_name.h */

/** Cut a name that may go on inside a domain behind the domain.
 * @param plain  asked for by the same name
 * @param inner  (caller's, free()) the rest behind the domain, "/" if empty; NULL: p->path is neither a
 *               domain nor in one
 * @param doc    the document of the new p->path
 * @return BKT_OK; BKT_ENOENT, without a message: the name is that of the HDF5 file @p plain; … */
BKT_NODISCARD int bkt_bucket_place_find(struct bkt_bucket_place *p, struct plain_file *plain,
                                        const struct bkt_settings *set, struct bkt_doc *doc, char **inner,
                                        struct bkt_err *err);

/** File beside a domain's document while a load or an append is at work, or after it was killed: the work
 *  that the next load has to undo.  A root id without a document means that nobody owns its objects, so this
 *  file must not stay where a document was. */
#define BKT_LOAD_JOURNAL ".h5bucket-load"
/** Below db/<root>/: chunks that a kerchunk set had inline (tools/kerchunk/load_kerchunk.c). */
#define BKT_KEPT_CHUNKS ".h5bucket-inline"

/** Names for bkt_domain_open(): store and path; free(). */
char *bkt_bucket_place_name(const struct bkt_store *st, const char *path);

/** Advisory ACL check of a document for setting user, as bkt_domain_check_acl(). */
BKT_NODISCARD int bkt_doc_may(const struct bkt_domain_doc *doc, const char *path,
                              const struct bkt_settings *set, unsigned need, struct bkt_err *err);

/** Call @p each for the folders and domains directly below @p path, in the order of keys, with the path
 *  (borrowed), without '/' at its end.  BKT_EUNSUP: the store can't be listed, or has too many objects of
 *  version 1 at its top. */
BKT_NODISCARD int bkt_bucket_place_list(struct bkt_store *st, const char *path,
                                        int (*each)(const char *path, void *arg), void *arg,
                                        struct bkt_err *err);

/* ---- folders: documents without a root group, which hold an owner and an access list ---- */
/** Check that setting user may create something at @p path, by the document of the nearest folder above that
 *  has one.  BKT_EACCES; BKT_EEXIST: a domain lies there instead of a folder. */
BKT_NODISCARD int bkt_folder_may_create(struct bkt_store *st, const char *path,
                                        const struct bkt_settings *set, struct bkt_err *err);

/** Make the folder @p path, and all folders above that have no document yet.  An existing folder stays
 *  unchanged.
 *  @p owner NULL: setting user, else the owner of the folder above, else admin.
 *  @return BKT_OK; BKT_EACCES; BKT_EEXIST: there is a domain; … */
BKT_NODISCARD int bkt_folder_make(struct bkt_store *st, const char *path, const char *owner,
                                  const struct bkt_settings *set, struct bkt_err *err);
