/* h5bucket get of a plain HDF5 file: its bytes.  They are collected in FILE.h5bucket-part, which stays when
 * the download is cut off. */
#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/cmd/get.h"
#include "tools/cmd/get_shared.h"
#include "tools/share/processes.h"
#include "tools/source/download.h"
#include "vol/vfd/store_driver_ahead.h"

static int on_step(void *arg, uint64_t bytes, struct bkt_err *err)
{
    progress_add(arg, bytes, 0, 0);
    return interrupt_check(err);
}

/* Another version of the file will be downloaded next time. */
static int ended(const struct part_file *part, int rc, const struct bkt_err *why, struct bkt_err *err)
{
    unsigned long long done = part_file_done(part), size = part->size;
    bool               other = rc == BKT_EPRECOND;
    (void)bkt_err_copy(err, rc, why);
    if (other || !done)
        part_file_remove(part);
    if (other)
        BKT_FAIL(err, rc, "the file was replaced while it was read; run h5bucket get again");
    if (!done)
        return rc;
    BKT_FAIL(err, rc, "%llu of %llu bytes are kept in %s; the same command goes on with them", done, size,
             part->path);
}

static int fetch(struct bkt_tool *t, const char *full, const char *file, struct vfd_expected *x,
                 struct bkt_got *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *name = strndup(full, strcspn(full, "?")); /* each signature is another one */
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    BKT_CLEANUP(part_file_fini) struct part_file part = {.fd = -1};
    struct bkt_err  why = {.n = 0};
    struct progress progress;
    if (!name || bkt_buf_addf(&path, "%s.h5bucket-part", file) < 0)
        BKT_NOMEM(err);
    x->version.size = x->size;
    BKT_PASS(part_file_open(bkt_buf_str(&path), name, DOWNLOAD_BLOCK, &x->version, &part, err));
    progress_init(&progress, full, bkt_tool_has(t, "verbose") > 0);
    progress.total = part.size - part.kept;
    if (part.kept)
        progress_line(&progress, "%s: %llu bytes are here already", bkt_buf_str(&path),
                      (unsigned long long)part.kept);
    struct download d = {.st = x->st,
                         .key = x->key,
                         .version = &x->version,
                         .first = x->first,
                         .n_first = x->n,
                         .step = on_step,
                         .arg = &progress};
    int rc = bkt_processes_several() ? bkt_get_shared_download(&d, full, &part, &why)
                                     : download_run(&d, &part, &why);
    progress_end(&progress);
    if (rc < 0)
        return ended(&part, rc, &why, err);
    *out = (struct bkt_got){.bytes = part.size, .kept = part.kept};
    return part_file_finish(&part, file, err);
}

int bkt_get_file(struct bkt_tool *t, struct plain_file *p, const char *file, struct bkt_got *out,
                 struct bkt_err *err)
{
    struct vfd_expected x;
    int rc = vfd_take_expected(p->r.full, &x, err);
    p->r.asked = false;
    if (rc == 0)
        BKT_FAIL(err, BKT_ENOENT, "%s: no such file", p->name);
    if (rc < 0)
        return rc;
    rc = fetch(t, p->r.full, file, &x, out, err);
    bkt_store_close(x.st);
    free(x.key);
    free(x.first);
    return rc;
}
