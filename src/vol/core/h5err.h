/* The bridge between struct bkt_err and HDF5's error stack: the only file that pushes. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "base/err.h"

/** Put @p err on HDF5's default stack, root cause first, so that it is the innermost entry; always -1, for
 *  `return`.  Call it last: the next public HDF5 call wipes the stack.
 *  @param rc  the code of the failed call, which is all that is reported if @p err has no message */
herr_t bkt_h5err_publish(const struct bkt_err *err, int rc);

/** As bkt_h5err_publish(), for a file that could not be opened or created.  If the reason has an errno, it is
 * reported in the form of HDF5's own file drivers; from that form h5py makes FileNotFoundError,
 * FileExistsError and PermissionError. */
herr_t bkt_h5err_publish_file(const struct bkt_err *err, int rc);

/** Whether the last failure that this thread published is an outage: no server answered in time. */
bool bkt_h5err_was_outage(void);
/** After a call of HDF5 failed: whether the connector, this copy of its code or another one, reported a
 *  failure of that call.  HDF5's stack stays. */
bool bkt_h5err_is_on_stack(void);

/** Call after one of the connector's HDF5 calls failed: copy its innermost message into @p err, clear the
 *  stack, return BKT_EHDF5.  @p what: the attempted action. */
int bkt_h5err_capture(struct bkt_err *err, const char *what);

/** As bkt_h5err_capture(), for a program's own call on a plain HDF5 file: HDF5's message is the root cause as
 * it is, since programs look at it. */
int bkt_h5err_capture_native(struct bkt_err *err, const char *what);

/** Make a call of HDF5 on behalf of the program.  A failure is captured (h5err.h), and HDF5 doesn't print
 *  it: the program sees it once, when the connector's callback has failed.  Returns a bkt code. */
#define BKT_PASS_H5(err, call, what) BKT_PASS_H5_BY(bkt_h5err_capture, (err), (call), (what))
/** As BKT_PASS_H5(), by bkt_h5err_capture_native(). */
#define BKT_PASS_NATIVE(err, call, what) BKT_PASS_H5_BY(bkt_h5err_capture_native, (err), (call), (what))
#define BKT_PASS_H5_BY(capture, err, call, what)                                                             \
    __extension__({                                                                                          \
        int pass_rc_ = BKT_OK;                                                                               \
        H5E_BEGIN_TRY                                                                                        \
        {                                                                                                    \
            if ((call) < 0)                                                                                  \
                pass_rc_ = capture((err), (what));                                                           \
        }                                                                                                    \
        H5E_END_TRY                                                                                          \
        pass_rc_;                                                                                            \
    })

/** Fail: operation number @p op is unknown.  @p object: its kind, a string constant ("file operation"). */
#define BKT_UNKNOWN_OP(err, object, op) BKT_FAIL((err), BKT_EUNSUP, object " %d: not supported", (int)(op))

/** Fail with HDF5's message unless @p ok, the outcome of HDF5's calls. */
#define BKT_NEED_H5(err, ok, what)                                                                           \
    do {                                                                                                     \
        if (!(ok))                                                                                           \
            return bkt_h5err_capture(err, what);                                                             \
    } while (0)

/** The innermost message of HDF5's stack, which is cleared; "" if it has no message. */
void bkt_h5err_innermost(char msg[BKT_ERR_MSG]);

/** Save the contents of HDF5's default stack before the connector's public calls, each of which wipes it.
 *  For callbacks that HDF5 makes while it collects errors: when it looks for a connector for a file that
 *  could not be opened, or releases one.
 *  @return for bkt_h5err_restore(), which must follow before anything is published */
hid_t bkt_h5err_hold(void);
/** Restore the saved stack; @p held is invalid afterwards. */
void bkt_h5err_restore(hid_t held);

/** The program's way of printing failures (H5Eset_auto2), switched off while the connector calls HDF5 on its
 *  behalf: a failure inside is printed once, when the program's own call has failed.  While a callback of the
 *  program runs, its printing is on again.  HDF5's stack stays as it is. */
struct bkt_h5err_print {
    H5E_auto2_t fn;
    void       *arg;
    bool        off;
};
/** Switch printing off, and fill in @p p.  A way that was set by H5Eset_auto1() stays. */
void bkt_h5err_mute(struct bkt_h5err_print *p);
/** Switch it on again, if bkt_h5err_mute() switched it off. */
void bkt_h5err_unmute(const struct bkt_h5err_print *p);

/** Make class and message ids, unless they are there; negative: HDF5 refused.  bkt_h5err_term() releases them
 * when the connector ends; bkt_h5err_init() may follow. */
herr_t bkt_h5err_init(void);
void   bkt_h5err_term(void);
