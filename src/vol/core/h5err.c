#include "vol/core/h5err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bkt_config.h"
#include "base/trace.h"

#define CLASS_NAME "vol-bucket"

static hid_t cls = H5I_INVALID_HID, major = H5I_INVALID_HID;
static hid_t minor[32];

static hid_t minor_of(int code)
{
    size_t i = (size_t)(code - BKT_ERR_BASE);
    return i < BKT_COUNT(minor) && i >= 1 ? minor[i] : minor[0];
}

herr_t bkt_h5err_init(void)
{
    if (cls >= 0)
        return 0;
    cls = H5Eregister_class(CLASS_NAME, "libhdf5_vol_bucket", BKT_VERSION);
    major = H5Ecreate_msg(cls, H5E_MAJOR, "bucket VOL connector");
    for (size_t i = 0; i < BKT_COUNT(minor); i++)
        minor[i] = H5I_INVALID_HID;
    minor[0] = H5Ecreate_msg(cls, H5E_MINOR, "unknown error");
#define X(code, text) minor[(code)-BKT_ERR_BASE] = H5Ecreate_msg(cls, H5E_MINOR, text);
    BKT_ERRORS(X)
#undef X
    return cls < 0 || major < 0 ? -1 : 0;
}

void bkt_h5err_term(void)
{
    for (size_t i = 0; i < BKT_COUNT(minor); i++) {
        if (minor[i] >= 0)
            (void)H5Eclose_msg(minor[i]);
        minor[i] = H5I_INVALID_HID;
    }
    if (major >= 0)
        (void)H5Eclose_msg(major);
    if (cls >= 0)
        (void)H5Eunregister_class(cls);
    cls = major = H5I_INVALID_HID;
}

#define ERRNO ", errno = " /* the form that HDF5's file drivers use */

static void push(const struct bkt_frame *f, int code, int number)
{
    if (number)
        (void)H5Epush2(H5E_DEFAULT, f->file, f->func, (unsigned)f->line, cls, major, minor_of(code),
                       "%s" ERRNO "%d", f->msg, number);
    else
        (void)H5Epush2(H5E_DEFAULT, f->file, f->func, (unsigned)f->line, cls, major, minor_of(code), "%s",
                       f->msg);
}

static _Thread_local int last; /* code of the last failure */

bool bkt_h5err_was_outage(void)
{
    return last == BKT_ENET || last == BKT_ETIME || last == BKT_EBUSY;
}

static herr_t find_ours(unsigned n, const H5E_error2_t *e, void *arg)
{
    char name[sizeof CLASS_NAME + 1] = "";
    (void)n;
    if (H5Eget_class_name(e->cls_id, name, sizeof name) > 0 && strcmp(name, CLASS_NAME) == 0)
        *(bool *)arg = true;
    return 0;
}

bool bkt_h5err_is_on_stack(void)
{
    bool found = false;
    hid_t stack = H5Eget_current_stack();
    if (stack < 0)
        return false;
    (void)H5Ewalk2(stack, H5E_WALK_UPWARD, find_ours, &found);
    (void)H5Eset_current_stack(stack);
    return found;
}

#define OTHERS 4 /* entries */

/* A program's filter reports each chunk that it can't encode.  HDF5's stack has 32 places, and our entries
 * and HDF5's need some of them. */
static void keep_first(void)
{
    ssize_t n = H5Eget_num(H5E_DEFAULT);
    if (n > OTHERS)
        (void)H5Epop(H5E_DEFAULT, (size_t)n - OTHERS);
}

static herr_t publish(const struct bkt_err *err, int rc, int number)
{
    const int code = err->n ? err->code : rc;
    last = code;
    keep_first();
    /* HDF5's tools clear its stack before they report that a file can't be opened */
    bkt_trace(BKT_TRACE_VOL, "error: %s", bkt_err_reason(err, code));
    if (err->n == 0)
        (void)H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, cls, major, minor_of(code), "%s",
                       bkt_err_text(code));
    for (unsigned i = 0; i < err->n; i++)
        push(&err->frame[i], code, i == 0 ? number : 0); /* programs look at the innermost entry */
    return -1;
}

herr_t bkt_h5err_publish(const struct bkt_err *err, int rc)
{
    return publish(err, rc, 0);
}

herr_t bkt_h5err_publish_file(const struct bkt_err *err, int rc)
{
    const int code = err->n ? err->code : rc;
    int number = code == BKT_ENOENT ? ENOENT : code == BKT_EEXIST ? EEXIST : code == BKT_EACCES ? EACCES : 0;
    return publish(err, rc, err->n && strstr(err->frame[0].msg, "errno = ") ? 0 : number);
}

hid_t bkt_h5err_hold(void) { return H5Eget_current_stack(); }

void bkt_h5err_restore(hid_t held)
{
    if (held >= 0)
        (void)H5Eset_current_stack(held);
}

void bkt_h5err_mute(struct bkt_h5err_print *p)
{
    unsigned v2 = 0; /* a program may have H5Eset_auto1()'s way, which has no place here */
    p->off = H5Eauto_is_v2(H5E_DEFAULT, &v2) >= 0 && v2 && H5Eget_auto2(H5E_DEFAULT, &p->fn, &p->arg) >= 0;
    if (p->off)
        (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void bkt_h5err_unmute(const struct bkt_h5err_print *p)
{
    if (p->off)
        (void)H5Eset_auto2(H5E_DEFAULT, p->fn, p->arg);
}

static herr_t keep_innermost(unsigned n, const H5E_error2_t *e, void *arg)
{
    if (n == 0)
        (void)snprintf(arg, BKT_ERR_MSG, "%s", e->desc ? e->desc : "");
    return 0;
}

void bkt_h5err_innermost(char msg[BKT_ERR_MSG])
{
    msg[0] = 0;
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, msg);
    (void)H5Eclear2(H5E_DEFAULT);
}

int bkt_h5err_capture(struct bkt_err *err, const char *what)
{
    char msg[BKT_ERR_MSG];
    bkt_h5err_innermost(msg);
    return BKT_ERR(err, BKT_EHDF5, "%s: HDF5 reports: %s", what, msg[0] ? msg : "(nothing)");
}

int bkt_h5err_capture_native(struct bkt_err *err, const char *what)
{
    char msg[BKT_ERR_MSG];
    bkt_h5err_innermost(msg);
    BKT_FAIL_IF(err, !msg[0], BKT_EHDF5, "%s", what);
    (void)BKT_ERR(err, BKT_EHDF5, "%s", msg);
    BKT_FAIL(err, BKT_EHDF5, "%s", what);
}
