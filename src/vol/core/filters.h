/* Filters of HDF5's creation lists: their functions where the connector has none, their parameters, and the
 * filters of a copied dataset, which are those of its source.
 *
 * When HDF5 makes a dataset, it asks the filters of the creation list for their parameters (set_local).
 * Some filters (bitshuffle) insert their parameters before those in the list, and so change a list that
 * came from a dataset. */
#pragma once

#include <hdf5.h>

#include "chunk/filter/pipeline.h"
#include "schema/model/model.h"

/** Code for a filter that the program registered (H5Zregister), or else from HDF5's filter plugins; a
 *  bkt_filter_find, for callbacks only.  NULL: none found. */
bkt_filter_fn *bkt_plugin_find(int id, const char *name);
/** Release the plugins; call when the connector ends, after all datasets are closed. */
void bkt_plugin_close_all(void);

/** Classes of filters that are replaced for a while; HDF5's lock guards them. */
struct bkt_filters_held;

/** Until bkt_filters_release() HDF5 takes the filters of @p dcpl as they are: no filter is asked whether
 *  it can be applied, and none changes its parameters.  HDF5's own filters can't be kept from it.
 *  @return for bkt_filters_release(); NULL: no filter to hold, or memory is short */
struct bkt_filters_held *bkt_filters_hold(hid_t dcpl);
void                     bkt_filters_release(struct bkt_filters_held *h);
static inline void       bkt_filters_releasep(struct bkt_filters_held **h) { bkt_filters_release(*h); }

/** Mark @p dcpl: its filters are those of a dataset of @p type, and a dataset made with it gets them
 *  unchanged.  The mark is void if the type, the chunk shape or a filter changes.  If no filter of the
 *  list would change anything, the list gets no mark.  It gets none on failure either. */
void bkt_filters_mark(hid_t dcpl, hid_t type);
/** Whether the filters of @p dcpl are to be kept in a dataset of @p type.
 *  @param source  the model of the dataset that is being copied, borrowed; NULL if only the list is known */
bool bkt_filters_marked(hid_t dcpl, hid_t type, const struct bkt_dset **source);
/** Remove the mark, if there is one. */
void bkt_filters_unmark(hid_t dcpl);

/** Filter @p i of a creation list, which has one; @p f: zeroed.  Its cd is the caller's (free()), also
 *  after a failure. */
BKT_NODISCARD int bkt_convert_from_filter(hid_t dcpl, unsigned i, struct bkt_filter_desc *f,
                                          struct bkt_err *err);

/** All filters of a creation list; *out is the caller's, also after a failure: each cd and the list. */
BKT_NODISCARD int bkt_convert_from_filters(hid_t dcpl, struct bkt_filter_desc **out, size_t *n,
                                           struct bkt_err *err);

/** Make HDF5 accept filters that it can't find: a mandatory filter becomes optional. */
herr_t bkt_filters_relax(hid_t dcpl);
/** Give each filter of @p list the flags and parameters that it has in @p dcpl; both have the same filters in
 *  the same order. */
herr_t bkt_filters_put_back(hid_t list, hid_t dcpl);

/** H5Dcreate2(), or if @p name is NULL H5Dcreate_anon(), for a copy of @p source (H5I_INVALID_HID: only
 *  its list is known).  The copy gets the filters of @p dcpl unchanged, if HDF5 can be kept from changing
 *  them; check by bkt_filters_agree().  Negative: HDF5 refuses, the reason is on its stack. */
hid_t bkt_filters_create(hid_t loc, const char *name, hid_t type, hid_t space, hid_t lcpl, hid_t dcpl,
                         hid_t source);

/** Whether stored chunks mean the same in both datasets: the same filters, in the same order, with the same
 *  parameters.
 *  @return 1; 0; BKT_ENOMEM, BKT_EHDF5 */
BKT_NODISCARD int bkt_filters_agree(hid_t a, hid_t b, struct bkt_err *err);
/** As bkt_filters_agree(), by the creation lists of the datasets. */
BKT_NODISCARD int bkt_filters_agree_lists(hid_t a, hid_t b, struct bkt_err *err);
