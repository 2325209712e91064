/* Shared by the files of virtual datasets: a virtual dataset for one call, and its sources. */
#ifndef BKT_VIRTUAL_VIEW_H
#define BKT_VIRTUAL_VIEW_H

#include "vol/dataset/plain_sources.h"
#include "vol/dataset/virtual.h"

/** One virtual dataset, for one call. */
struct bkt_view {
    struct bkt_vobj *o;
    hid_t dcpl, dapl; /* dapl: borrowed, H5P_DEFAULT if the program gave none */
    struct bkt_mapping *maps;
    size_t n;
    /** Open a source; a new id.  BKT_OK with a negative id: the file or dataset is missing, which is not an
     * error. */
    int (*open)(const struct bkt_view *v, const char *file, const char *name, hid_t *out,
                struct bkt_err *err);
    /** Begin to open a file that open() is asked for soon; NULL: no file can be begun. */
    void (*expect)(const struct bkt_view *v, const char *file);
    void *arg; /* of these */
};
/** A source, and the matching selections in the virtual dataset and in the source. */
struct bkt_part {
    hid_t outer, inner;
    const char *file, *name;
};
/** The action for each source. */
struct bkt_visit {
    int (*source)(const struct bkt_view *v, const struct bkt_visit *how, const struct bkt_part *p,
                  struct bkt_err *err);
    void *arg;
};

/** The view of a domain's virtual dataset. */
BKT_NODISCARD int bkt_view_init(struct bkt_view *v, struct bkt_vobj *o, struct bkt_err *err);
void bkt_view_fini(struct bkt_view *v);
/** A source may be virtual itself: BKT_EFORMAT if too many calls are nested.  Afterwards bkt_view_leave(). */
BKT_NODISCARD int bkt_view_enter(struct bkt_err *err);
void bkt_view_leave(void);
/** The dataspace as it is now; a new id. */
BKT_NODISCARD int bkt_view_space(const struct bkt_view *v, hid_t *out, struct bkt_err *err);
/** Call the action for each source that a mapping leads to, for an extent of @p space. */
BKT_NODISCARD int bkt_view_visit(const struct bkt_view *v, const struct bkt_visit *how, hid_t space,
                                 struct bkt_err *err);

/** Read or write through a view (virtual_transfer.c).
 *  @param kept  sources that stay open, or NULL */
BKT_NODISCARD int bkt_view_transfer(const struct bkt_view *v, const struct bkt_io *io,
                                    struct bkt_kept_sources *kept, struct bkt_err *err);

#endif
