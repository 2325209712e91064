/* h5bucket get NAME [FILE.h5]: an HDF5 file with a domain's content, or a plain file as it is.  A copy is
 * written beside FILE and takes its name when it is complete, so that an interrupted or failed copy leaves
 * nothing.  What a killed copy left, the next copy to FILE removes.  Bytes of a plain file are collected in
 * FILE.h5bucket-part, which stays when the download is cut off. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/files.h"
#include "schema/domain/domain.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/cli/tool.h"
#include "tools/cmd/get_shared.h"
#include "tools/load/user_block.h"
#include "tools/share/processes.h"
#include "tools/show/json_out.h"
#include "tools/show/show.h"
#include "tools/source/download.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/plain_name.h"
#include "vol/copy/copier.h"
#include "vol/core/hid.h"
#include "vol/vfd/store_driver_ahead.h"

struct bkt_got {
    uint64_t bytes, kept; /* of the file; those that an earlier download had brought */
};

/* ---- a plain HDF5 file: its bytes ---- */

static int on_step(void *arg, uint64_t bytes, struct bkt_err *err)
{
    progress_add(arg, bytes, 0, 0);
    return interrupt_check(err);
}

/* Another version of the file will be downloaded next time. */
static int download_ended(const struct part_file *part, int rc, const struct bkt_err *why,
                          struct bkt_err *err)
{
    unsigned long long done = part_file_done(part), size = part->size;
    bool               other = rc == BKT_EPRECOND;
    (void)bkt_err_copy(err, rc, why);
    if (other || !done)
        part_file_remove(part);
    BKT_FAIL_IF(err, other, rc, "the file was replaced while it was read; run h5bucket get again");
    if (!done)
        return rc;
    BKT_FAIL(err, rc, "%llu of %llu bytes are kept in %s; the same command goes on with them", done, size,
             part->path);
}

static int fetch(struct bkt_tool *t, const char *full, const char *file, struct bkt_vfd_expected *x,
                 struct bkt_got *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *name = strndup(full, strcspn(full, "?")); /* each signature is another one */
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    BKT_CLEANUP(part_file_fini) struct part_file part = {.fd = -1};
    struct bkt_err  why = {.n = 0};
    struct progress progress;
    BKT_NEED(err, name && bkt_buf_addf(&path, "%s.h5bucket-part", file) >= 0);
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
        return download_ended(&part, rc, &why, err);
    *out = (struct bkt_got){.bytes = part.size, .kept = part.kept};
    return part_file_finish(&part, file, err);
}

/* Download the plain file in a store whose first bytes were asked for (plain_file_ask()).  The next call
 * goes on with a download that fails.
 * @param file  the new name
 * @param out   set on success */
static int get_file(struct bkt_tool *t, struct plain_file *p, const char *file, struct bkt_got *out,
                    struct bkt_err *err)
{
    struct bkt_vfd_expected x;
    int rc = bkt_vfd_take_expected(p->r.full, &x, err);
    p->r.asked = false;
    BKT_FAIL_IF(err, rc == 0, BKT_ENOENT, "%s: no such file", p->name);
    if (rc < 0)
        return rc;
    rc = fetch(t, p->r.full, file, &x, out, err);
    bkt_store_close(x.st);
    free(x.key);
    free(x.first);
    return rc;
}

/* ---- a domain's content as an HDF5 file ---- */

struct get {
    struct bkt_tool *t;
    const char      *file; /* its final name */
    bool             verbose;
    unsigned long    objects;
    struct bkt_get_shared *shared; /* NULL: this process is alone */
};

/* A new list: in HDF5 1.14 a list with properties copied by H5Pcopy_prop() can't be copied again. */
static hid_t contiguous_list(hid_t from, hid_t type)
{
    H5D_fill_time_t  fill_time;
    H5D_fill_value_t defined;
    unsigned         order, compact, dense;
    hid_t            to    = H5Pcreate(H5P_DATASET_CREATE);
    size_t           size  = H5Tget_size(type);
    BKT_CLEANUP(bkt_freep) void *value = calloc(1, size ? size : 1);
    bool ok = to >= 0 && value && H5Pget_fill_time(from, &fill_time) >= 0 &&
              H5Pset_fill_time(to, fill_time) >= 0 && H5Pfill_value_defined(from, &defined) >= 0 &&
              H5Pget_attr_creation_order(from, &order) >= 0 && H5Pset_attr_creation_order(to, order) >= 0 &&
              H5Pget_attr_phase_change(from, &compact, &dense) >= 0 &&
              H5Pset_attr_phase_change(to, compact, dense) >= 0;
    if (ok && defined == H5D_FILL_VALUE_UNDEFINED)
        ok = H5Pset_fill_value(to, type, NULL) >= 0;
    if (ok && defined == H5D_FILL_VALUE_USER_DEFINED)
        ok = H5Pget_fill_value(from, type, value) >= 0 && H5Pset_fill_value(to, type, value) >= 0;
    if (!ok)
        bkt_hid_closep(&to);
    return to;
}

/* Puts the data of a dataset with external files into the file itself, where it can't grow.  HDF5 would write
 * into the external files, which are the original's. */
static int drop_external(void *arg, hid_t dset, const char *path, hid_t *space, hid_t *dcpl,
                         struct bkt_err *err)
{
    hsize_t dims[H5S_MAX_RANK];
    (void)arg;
    if (H5Pget_layout(*dcpl) != H5D_CONTIGUOUS || H5Pget_external_count(*dcpl) <= 0)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(dset);
    hid_t contiguous = type < 0 ? -1 : contiguous_list(*dcpl, type);
    if (contiguous < 0)
        return h5_fail(err, path);
    bkt_hid_closep(dcpl);
    *dcpl = contiguous;
    int rank = H5Sget_simple_extent_dims(*space, dims, NULL);
    return rank < 0 || (rank > 0 && H5Sset_extent_simple(*space, rank, dims, NULL) < 0) ? h5_fail(err, path)
                                                                                        : BKT_OK;
}

static int data(void *arg, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    const struct get *g = arg;
    return bkt_get_shared_dataset(g->shared, src, dst, path, err);
}

static void print_note(void *arg, const char *path, const char *what)
{
    const struct get *g = arg;
    (void)bkt_tool_fail(g->t, "%s: %s", path, what);
}

/* Beside the new file, or where HDF5 would look. */
static int open_beside(void *arg, const char *name, hid_t *out, struct bkt_err *err)
{
    const struct get            *g      = arg;
    const char                  *slash  = strrchr(g->file, '/');
    BKT_CLEANUP(bkt_freep) char *beside = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = h5_native_list();
    if (fapl < 0)
        return h5_fail(err, "making an access list");
    BKT_PASS_MEM(err, asprintf(&beside, "%.*s%s", slash && *name != '/' ? (int)(slash - g->file) + 1 : 0,
                               g->file, name));
    if (h5_open_native(beside, fapl, out, NULL) == BKT_OK)
        return BKT_OK;
    return h5_open_native(name, fapl, out, err);
}

static void done(void *arg, const char *path, H5I_type_t type)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    struct get                              *g = arg;
    g->objects++;
    if (!g->verbose || g->t->json)
        return;
    bkt_show_name(&b, path);
    printf("%s %s\n",
           type == H5I_GROUP     ? "group"
           : type == H5I_DATASET ? "dataset"
                                 : "type",
           bkt_buf_str(&b));
}

/* Writes the user block, for which HDF5 only leaves room. */
static int write_user_block(const char *name, const struct user_block *u, struct bkt_err *err)
{
    int fd = u->bytes.len ? open(name, O_WRONLY | O_CLOEXEC) : -1;
    if (!u->bytes.len)
        return BKT_OK;
    bool ok = fd >= 0 && bkt_write_at(fd, u->bytes.ptr, u->bytes.len, 0);
    int  e  = errno;
    ok      = (fd < 0 || close(fd) == 0) && ok;
    return ok ? BKT_OK : BKT_ERR(err, BKT_EIO, "%s: its user block can't be written: %s", name, strerror(e));
}

static int copy(struct get *g, hid_t src, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(user_block_fini) struct user_block u = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t fcpl = h5_creation_list(src);
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = h5_native_list();
    BKT_PASS(user_block_of(src, &g->t->set, &u, err));
    /* attributes over 64 KiB and creation orders need the format of HDF5 1.8 */
    H5F_libver_t oldest = bkt_tool_has(g->t, "latest") ? H5F_LIBVER_LATEST : H5F_LIBVER_V18;
    if (fcpl < 0 || fapl < 0 || H5Pset_libver_bounds(fapl, oldest, H5F_LIBVER_LATEST) < 0 ||
        H5Pset_userblock(fcpl, u.size) < 0)
        return h5_fail(err, "making the property lists of a file");
    hid_t dst = H5Fcreate(name, H5F_ACC_EXCL, fcpl, fapl);
    if (dst < 0)
        return h5_fail(err, name);
    struct bkt_copier_options o = {.hooks = {.arg = g,
                                             .fail = h5_fail,
                                             .check = interrupt_check,
                                             .shape = drop_external,
                                             .data = data,
                                             .report = print_note,
                                             .open_beside = open_beside,
                                             .connector = h5_start,
                                             .done = done},
                                   .refs = BKT_REFS_FOLLOW,
                                   .no_data = bkt_tool_has(g->t, "nodata") > 0};
    int rc = bkt_get_shared_begin(&o, &g->shared, err);
    rc = bkt_get_shared_end(g->shared, rc < 0 ? rc : bkt_copier_tree(src, dst, &o, err), err);
    if (H5Fclose(dst) < 0 && rc == BKT_OK)
        rc = h5_fail(err, name);
    return rc < 0 ? rc : write_user_block(name, &u, err);
}

/* "s3://b/home/run7.h5" gives "run7.h5" in the working folder; an address' query is left out. */
static char *default_name(const char *domain)
{
    bool  web    = strncasecmp(domain, "http", 4) == 0 && bkt_name_has_scheme(domain);
    char *copied = strndup(domain, web ? strcspn(domain, "?") : strlen(domain)), *name = NULL;
    if (copied) {
        size_t n = strlen(copied);
        while (n > 1 && copied[n - 1] == '/')
            copied[--n] = '\0';
        name = strdup(basename(copied));
    }
    free(copied);
    return name;
}

static int run_get(struct get *g, const char *domain, const char *file, const char *part, struct bkt_err *err)
{
    hid_t src = H5I_INVALID_HID;
    BKT_PASS(bkt_tool_open(g->t, domain, &src, err));
    int rc = copy(g, src, part, err);
    if (H5Fclose(src) < 0 && rc == BKT_OK)
        rc = h5_fail(err, domain);
    rc = rc ? rc : interrupt_check(err);
    if (rc == BKT_OK && rename(part, file) < 0)
        rc = BKT_ERR(err, BKT_EIO, "%s: %s", file, strerror(errno));
    return rc;
}

/* ---- copies that were killed ---- */

#define PART     ".h5bucket-part-" /* and the process's id; split(1) and other programs have FILE.part-N */
#define IDLE_MIN 600               /* seconds; a process of another machine still writes */

/* Whether the process that wrote a part is gone.  HDF5 locks a file that it writes, also against processes of
 * other machines and containers, whose ids are unknown here. */
static bool is_left(int dir, const char *name, const char *pid)
{
    struct stat s;
    char *end = NULL;
    long id = strtol(pid, &end, 10);
    if (*pid < '1' || *pid > '9' || *end || kill((pid_t)id, 0) == 0 || errno != ESRCH)
        return false;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool left = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && time(NULL) - s.st_mtime > IDLE_MIN &&
                flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        (void)close(fd);
    return left;
}

static void remove_left(const char *file)
{
    BKT_CLEANUP(bkt_freep) char *at = strdup(file), *base = strdup(file), *start = NULL;
    DIR *d = at && base ? opendir(dirname(at)) : NULL;
    int n = d ? asprintf(&start, "%s" PART, basename(base)) : -1;
    for (const struct dirent *e; n > 0 && (e = readdir(d));)
        if (strncmp(e->d_name, start, (size_t)n) == 0 && is_left(dirfd(d), e->d_name, e->d_name + n))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        (void)closedir(d);
}

/* Copies object by object. */
static int get_content(struct get *g, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf part = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&part, "%s" PART "%ld", g->file, (long)getpid()));
    remove_left(g->file);
    int rc = run_get(g, name, g->file, bkt_buf_str(&part), err);
    if (rc < 0)
        (void)unlink(bkt_buf_str(&part));
    return rc;
}

/* Domain and plain file are asked for at once.  While the domain is open, its copy makes no request for its
 * document.  Options that change the content are for copies. */
static int get_any(struct get *g, const char *name, bool *is_file, struct bkt_got *got, struct bkt_err *err)
{
    BKT_CLEANUP(plain_file_fini) struct plain_file plain = {.file = H5I_INVALID_HID};
    BKT_CLEANUP(bkt_domain_closep) struct bkt_domain *d = NULL;
    struct bkt_settings *set = &g->t->set;
    if (bkt_tool_has(g->t, "nodata") || bkt_tool_has(g->t, "latest"))
        return get_content(g, name, err);
    BKT_PASS(plain_file_ask(name, set, &plain, err));
    int rc   = bkt_domain_open_only(name, set, &d, NULL);
    *is_file = rc < 0 && plain.r.asked && bkt_remote_instead(&plain.r, rc) && plain_file_is(&plain, set);
    return *is_file ? get_file(g->t, &plain, g->file, got, err) : get_content(g, name, err);
}

static int refuse(const struct bkt_tool *t, const char *file)
{
    struct stat there;
    if (bkt_name_has_scheme(file))
        return bkt_tool_fail(
            t, "%s: only a local file can be made; h5bucket cp copies a domain into a bucket", file);
    bool is = stat(file, &there) == 0;
    if (is && S_ISDIR(there.st_mode))
        return bkt_tool_fail(t, "%s is a folder; name a file in it", file);
    if (is && !S_ISREG(there.st_mode)) /* the copy would take the place of a device */
        return bkt_tool_fail(t, "%s is not a regular file; name another one", file);
    if (!bkt_tool_has(t, "force") && access(file, F_OK) == 0)
        return bkt_tool_fail(t, "%s exists; --force replaces it", file);
    return BKT_EXIT_OK;
}

static void report(const struct get *g, bool is_file, const struct bkt_got *got)
{
    if (is_file)
        bkt_jout_object(&g->t->j, "file:u kind:s bytes:n resumed_bytes:n", g->file, "file", got->bytes,
                        got->kept);
    else
        bkt_jout_object(&g->t->j, "file:u objects:n", g->file, (uint64_t)g->objects);
    if (g->verbose && !g->t->json)
        printf("%s: %llu %s\n", g->file, (unsigned long long)(is_file ? got->bytes : g->objects),
               is_file ? "bytes" : "objects");
}

static int run(struct bkt_tool *t)
{
    struct get                   g       = {.t = t, .verbose = bkt_tool_has(t, "verbose") > 0};
    struct bkt_got               got     = {.bytes = 0};
    bool                         is_file = false;
    BKT_CLEANUP(bkt_freep) char *file    = t->n_args > 1 ? strdup(t->args[1]) : default_name(t->args[0]);
    if (!file)
        return bkt_tool_fail(t, "out of memory");
    interrupt_catch();
    if (!bkt_processes_first())
        return bkt_get_shared_serve(t);
    if (refuse(t, file) != BKT_EXIT_OK)
        return BKT_EXIT_FAIL;
    g.file = file;
    BKT_PASS(get_any(&g, t->args[0], &is_file, &got, &t->err));
    report(&g, is_file, &got);
    return BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {'f', "force", NULL, "replace an existing FILE", NULL},
    {'n', "nodata", NULL, "everything but the data of datasets", NULL},
    {'l', "latest", NULL, "use the newest of HDF5's file formats, not that of HDF5 1.8", NULL},
    {'v', "verbose", NULL, "name each object that is copied", NULL},
};

const struct bkt_verb bkt_verb_get = {
    .name = "get",
    .args = "DOMAIN [FILE]",
    .min_args = 1,
    .max_args = 2,
    .help = "copy a domain into an HDF5 file, or download a plain HDF5 file",
    .text = "FILE gets everything in DOMAIN: groups, datasets, committed types, links of every kind in\n"
            "their order, attributes, references, creation properties, the user block. Chunks whose stored\n"
            "bytes are HDF5's are moved without being decoded. Without FILE, the file gets the last part of\n"
            "DOMAIN's name, in the working folder.\n\n"
            "Data outside the domain are copied as well: chunks that are references into HDF5 files, and\n"
            "external raw files. Virtual datasets stay virtual. The file takes its name when it is\n"
            "complete.\n\n"
            "DOMAIN may also be the name of a plain HDF5 file in a store. FILE then gets its bytes, in\n"
            "ranges side by side, all of one version. A download that was cut off leaves\n"
            "FILE.h5bucket-part, and the same command goes on with it, unless the file was replaced. With\n"
            "-n or -l, the objects are copied.\n\n"
            "The processes of an mpirun fetch and decode together; the first one writes FILE.\n\n"
            "JSON: {\"file\", \"objects\"}; of a plain file {\"file\", \"kind\": \"file\", \"bytes\",\n"
            "\"resumed_bytes\"}.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .json = true,
    .shared = true,
    .run = run,
};
