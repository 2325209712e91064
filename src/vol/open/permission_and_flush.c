#include "vol/open/permission_and_flush.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/comm.h"
#include "base/bytes.h"
#include "base/trace.h"
#include "chunk/write/write.h"
#include "schema/edit/agreed.h"
#include "vol/core/vol.h"
#include "vol/open/linked_files.h"
#include "vol/open/mounted_files.h"
#include "vol/parallel/together.h"

int bkt_file_may_change(struct bkt_file *f, unsigned need, const char *what, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !(f->flags & H5F_ACC_RDWR), BKT_EACCES, "%s: %s: the file was opened read-only", f->name,
                what);
    BKT_TRY(err, bkt_domain_may_write(f->dom, need, err), "%s: %s", f->name, what);
    return BKT_OK;
}

/* Store chunks, and at the same time new objects, which no reader finds yet.  If a chunk or object can't
 * be stored, the others still are. */
static int flush_chunks(struct bkt_file *f, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = BKT_OK;
    bkt_edit_doubt(f->dom, false); /* an earlier flush may have left it */
    if (!bkt_chunks_written(f->dom))
        return BKT_OK;
    bool any = bkt_chunks_dirty(f->dom);
    bkt_chunks_flush_begin(f->dom);
    if (any)
        rc = bkt_domain_flush_new(f->dom, err);
    bkt_err_keep_first(&rc, err, bkt_chunks_flush_end(f->dom, &why), &why);
    bkt_edit_doubt(f->dom, rc < 0);
    return rc;
}

/* A failure doesn't stop the rest.  Only if neither chunks nor new objects can be stored, nothing more is
 * tried. */
static int flush_all(struct bkt_file *f, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = flush_chunks(f, err);
    if (f->closing)
        bkt_chunks_free_begin(f->dom);
    if (rc == BKT_OK || !bkt_domain_out_of_reach(f->dom))
        bkt_err_keep_first(&rc, err, bkt_domain_flush(f->dom, &why), &why);
    if (f->closing)
        bkt_chunks_free_end(f->dom);
    return rc;
}

static void name_unstored(const struct bkt_file *f, struct bkt_message_names *names)
{
    bkt_unstored_names(f->dom, names);
    bkt_domain_name_unstored(f->dom, names);
}

/* Reports the first failure, and names everything that isn't stored. */
static int flush_one(struct bkt_file *f, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    struct bkt_message_names names = {.n = 0};
    int rc = bkt_chunks_written(f->dom) ? bkt_chunks_trim(f->dom, err) : BKT_OK; /* nothing waits for it */
    if (bkt_domain_is_dirty(f->dom)) /* objects that other writers changed as well are read again, in place:
                                        reading ahead must stop */
        bkt_ahead_stop(f->dom);
    bkt_err_keep_first(&rc, err, flush_all(f, &why), &why);
    if (rc < 0) {
        name_unstored(f, &names);
        (void)BKT_ERR(err, rc, "%s: not everything could be stored%s%s", f->name,
                      names.n ? "; kept for another try: " : "", names.n ? names.text : "");
    }
    return rc;
}

static int flush_alone(struct bkt_file *f, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = flush_one(f, err);
    if (f->mounts || f->exts)
        bkt_err_keep_first(&rc, err, bkt_file_each_inner(f, bkt_file_flush, &why), &why);
    return rc;
}

/* ---- several processes ---- */

/* Changes of structure are made by all processes alike.  If they aren't, nothing is stored. */
static int compare_changes(struct bkt_file *f, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf ours = {0}, theirs = {0}, text = {0};
    char me[40];
    int rc = bkt_comm_agree(f->comm, bkt_edit_fingerprint(f->dom, &ours, err), err);
    uint64_t h[2] = {bkt_digest(ours.ptr, ours.len, 0)};
    h[1] = ~h[0];
    BKT_PASS(rc);
    BKT_PASS(bkt_comm_reduce(f->comm, BKT_COMM_MAX, h, 2, err)); /* the largest and the smallest digest */
    if (h[0] == ~h[1])
        return BKT_OK;
    if (f->comm->rank == 0)
        rc = ours.len ? bkt_buf_add(&theirs, ours.ptr, ours.len) : BKT_OK;
    rc = rc < 0 ? BKT_ERR(err, rc, "out of memory") : rc;
    BKT_PASS(bkt_comm_bcast_buf(f->comm, 0, &theirs, err));
    (void)snprintf(me, sizeof me, "process %u", f->comm->rank);
    if (rc == BKT_OK && bkt_edit_compare(&theirs, "process 0", &ours, me, &text) < 0)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK && text.len)
        rc =
            BKT_ERR(err, BKT_EINVAL,
                    "%s: %s; let all processes of the communicator make the same calls that change structure",
                    f->name, bkt_buf_str(&text));
    return bkt_comm_agree(f->comm, rc, err);
}

static int flush_of_all(void *file, struct bkt_err *err)
{
    return flush_one(file, err);
}

/* Structure is stored by the first process, for all. */
static int flush_structure(struct bkt_file *f, struct bkt_err *err)
{
    BKT_PASS(compare_changes(f, err));
    int rc = bkt_together_put(f->comm, bkt_domain_store(f->dom), flush_of_all, f, err);
    struct bkt_progress p = bkt_edit_progress(f->dom);
    uint64_t v[] = {p.ids, p.clock};
    if (bkt_comm_reduce(f->comm, BKT_COMM_MAX, v, BKT_COUNT(v), NULL) == BKT_OK)
        bkt_edit_catch_up(f->dom, (struct bkt_progress){.ids = v[0], .clock = v[1]});
    return rc;
}

/* Chunks are each process's own.  Mounted files may have a group of their own, so their turn comes when no
 * recording is on. */
static int flush_together(struct bkt_file *f, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int own = bkt_chunks_flush(f->dom, err);
    BKT_TRY(err, bkt_comm_agree(f->comm, own, err),
            "%s: not everything could be stored; kept for another try", f->name);
    bkt_chunks_forget_stored(f->dom);
    int rc = bkt_edit_is_agreed(f->dom) ? flush_structure(f, err) : BKT_OK;
    bkt_err_keep_first(&rc, err, bkt_file_each_inner(f, bkt_file_flush, &why), &why);
    return bkt_comm_agree(f->comm, rc, err);
}

static bool exiting;

/* Whether any file has changes that aren't stored. */
static bool is_any_changed(void)
{
    for (struct bkt_file *f = bkt_file_next(NULL); f; f = bkt_file_next(f))
        if (f->flags & H5F_ACC_RDWR && (bkt_domain_is_dirty(f->dom) || bkt_chunks_dirty(f->dom)))
            return true;
    return false;
}

/* When this process ends, the others may be in any call, so it doesn't wait for them. */
int bkt_file_flush(struct bkt_file *f, struct bkt_err *err)
{
    if (exiting && !bkt_store_is_usable(bkt_domain_store(f->dom))) {
        BKT_FAIL_IF(err, is_any_changed(), BKT_ECANCEL,
                    "%s: it was changed while the program ended, after the end of libcrypto, which requests "
                    "need; close it before",
                    f->name);
        return BKT_OK;
    }
    return f->comm && !exiting && bkt_comm_alive(f->comm) ? flush_together(f, err) : flush_alone(f, err);
}

int bkt_file_flush_scope(struct bkt_vobj *o, H5F_scope_t scope, struct bkt_err *err)
{
    struct bkt_file *f = o->file;
    for (struct bkt_file *up = scope == H5F_SCOPE_GLOBAL ? bkt_file_parent(f) : NULL; up;
         up = bkt_file_parent(up))
        f = up;
    return bkt_file_flush(f, err);
}

/* If changes take up too much memory, they are stored early, in the order of a flush.  Changes that can't be
 * stored stay, and the next flush reports the failure. */
static void relieve(struct bkt_file *f)
{
    struct bkt_err why = {.n = 0};
    if (f->comm || !bkt_domain_is_full(f->dom))
        return;
    bkt_ahead_stop(f->dom);
    int rc = flush_chunks(f, &why);
    if (rc == BKT_OK || !bkt_domain_out_of_reach(f->dom))
        bkt_err_keep_first(&rc, NULL, bkt_domain_flush_early(f->dom, NULL), &why);
    if (rc < 0)
        bkt_trace(BKT_TRACE_VOL, "%s: changes can't be stored yet: %s", f->name, bkt_err_reason(&why, rc));
}

int bkt_file_begin_change(struct bkt_file *f, unsigned need, const char *what, struct bkt_err *err)
{
    BKT_PASS(bkt_file_may_change(f, need, what, err));
    relieve(f);
    return BKT_OK;
}

int bkt_vobj_may_create(struct bkt_vobj *o, const char *what, struct bkt_err *err)
{
    return bkt_file_begin_change(o->file, BKT_ACL_CREATE, what, err);
}

/* H5Pset_object_flush_cb(): call the program's callback. */
static int call_program(const struct bkt_file *f, hid_t id, struct bkt_err *err)
{
    H5F_flush_cb_t callback = NULL;
    void *arg = NULL;
    if (id < 0 || f->fapl < 0 || H5Pget_object_flush_cb(f->fapl, &callback, &arg) < 0 || !callback)
        return BKT_OK;
    return callback(id, arg) < 0 ? BKT_ERR(err, BKT_ECANCEL, "the program's flush callback failed") : BKT_OK;
}

int bkt_vobj_flush(struct bkt_vobj *o, hid_t id, struct bkt_err *err)
{
    BKT_PASS(bkt_file_flush(o->file, err));
    return call_program(o->file, id, err);
}

int bkt_vobj_refresh(struct bkt_vobj *o, struct bkt_err *err)
{
    bkt_chunks_forget_stored(o->file->dom);
    bkt_chunks_refresh(o->file->dom, &o->obj->id);
    bkt_domain_forget_versions(o->file->dom);
    o->has_chunks = o->was_blank = false;
    return bkt_domain_refresh(o->file->dom, &o->obj->id, err);
}

/* ---- the end ---- */

static pid_t watched; /* the process whose end is watched */

static void lost(struct bkt_file *f, int code, const struct bkt_err *err)
{
    if (f->lost)
        return;
    f->lost = true;
    struct bkt_message_names names = {.n = 0};
    name_unstored(f, &names);
    (void)fprintf(stderr, "h5bucket: %s: changes are lost%s%s%s: %s\n", f->name, names.n ? " (" : "",
                  names.text, names.n ? ")" : "", bkt_err_reason(err, code));
}

/* If a program leaves files open, HDF5 closes them when the process ends.  That may be too late for requests:
 * libcrypto is gone by then if the program has used it before the connector.  A forked child leaves its
 * parent's changes alone.  Exit handlers of the program may run later and change more (flush_last()). */
static void store_at_exit(void)
{
    exiting = true;
    for (struct bkt_file *f = watched == getpid() ? bkt_file_next(NULL) : NULL; f; f = bkt_file_next(f)) {
        struct bkt_err err = {.n = 0};
        int rc = f->flags & H5F_ACC_RDWR ? bkt_file_flush(f, &err) : BKT_OK;
        if (rc < 0)
            lost(f, rc, &err);
    }
}

void bkt_file_watch_exit(void)
{
    if (!watched && atexit(store_at_exit) != 0)
        bkt_trace(BKT_TRACE_VOL, "nothing will be stored at exit: close files");
    watched = getpid();
}

/* After H5Fclose() in all processes, each may close its last object at another time.  If that has changed
 * nothing, no process waits for the others. */
static bool is_idle(const struct bkt_vobj *o)
{
    struct bkt_file *f = o->file;
    return f->comm && !(o->type == H5I_FILE && !o->outside) && !bkt_chunks_dirty(f->dom) &&
           !bkt_domain_is_dirty(f->dom);
}

static int flush_last(struct bkt_file *f, struct bkt_err *err)
{
    hbool_t ending = false;
    if (watched && watched != getpid())
        return BKT_OK;
    if (exiting && (f->lost || !is_any_changed())) /* already reported, or nothing is left */
        return BKT_OK;
    int rc = bkt_file_flush(f, err);
    if (rc < 0 && H5is_library_terminating(&ending) >= 0 && ending) {
        lost(f, rc, err);
        return BKT_OK;
    }
    return rc;
}

herr_t bkt_vobj_close(struct bkt_vobj *o)
{
    struct bkt_err err = {.n = 0};
    bool is_file = o->type == H5I_FILE && !o->outside;
    if (o->file)
        o->file->closing = o->file->refs == 1;
    int rc = o->file && (is_file || o->file->closing) && !is_idle(o) ? flush_last(o->file, &err) : BKT_OK;
    if (rc < 0) {
        o->file->closing = false;
        return bkt_h5err_publish(&err, rc);
    }
    /* an object without a link is removed when its last handle is closed */
    struct bkt_file *f =
        o->file && o->obj && !is_file && !o->file->closing && o->file->flags & H5F_ACC_RDWR ? o->file : NULL;
    struct bkt_id    id = {.text = ""};
    if (f && !exiting)
        id = o->obj->id;
    bkt_vobj_free(o);
    if (id.text[0])
        bkt_edit_released(f->dom, &id);
    return 0;
}
