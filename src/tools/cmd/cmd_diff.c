/* h5bucket diff: two domains, or a domain and an HDF5 file, compared through HDF5's API. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "schema/model/model.h"
#include "tools/cmd/diff.h"
#include "tools/load/shared_copy.h"
#include "tools/load/user_block.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "tools/show/show.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

/* ---- blocks that the processes of an mpirun share ---- */

/* A line of the output: a difference, or a dataset that is under way. */
struct line {
    char *path;
    const char *what; /* a constant; NULL: a dataset */
    char *text;
    size_t left; /* of a dataset: blocks without a result, and 1 until all are put */
    uint64_t bad, first, elems;
    struct bkt_blocks *whole;
};
struct bkt_diff_shared {
    struct bkt_share s;
    struct bkt_diff *d;
    struct line *v;
    size_t n, cap, printed; /* lines before `printed` are done */
    bool printing;
};

/* ---- lines ---- */

static void line_fini(struct line *l)
{
    free(l->path);
    free(l->text);
    free(l->whole);
    *l = (struct line){.what = ""};
}

static void print_line(struct bkt_diff *d, struct line *l)
{
    if (l->what)
        (void)bkt_diff_report(d, l->path, l->what, "%s", l->text);
    else if (l->bad)
        bkt_diff_report_data(d, l->path, l->whole, l->bad, l->first, l->elems);
    line_fini(l);
}

static void print_done(struct bkt_diff_shared *x)
{
    x->printing = true;
    while (x->printed < x->n && (x->v[x->printed].what || !x->v[x->printed].left))
        print_line(x->d, &x->v[x->printed++]);
    x->printing = false;
    if (x->printed == x->n) /* no dataset is under way, so no number is in use */
        x->printed = x->n = 0;
}

static struct line *add_line(struct bkt_diff_shared *x, const char *path)
{
    char *copy = strdup(path);
    if (!copy || bkt_list_room(&x->v, x->n, &x->cap, sizeof *x->v) < 0) {
        free(copy);
        return NULL;
    }
    x->v[x->n] = (struct line){.path = copy};
    return &x->v[x->n++];
}

/* Keep a difference until those before it are printed.  False: print it now. */
static bool shared_keeps(struct bkt_diff *d, const char *path, const char *what, const char *text)
{
    struct bkt_diff_shared *x = d->shared;
    if (!x || x->printing || x->printed == x->n)
        return false;
    char *copy = strdup(text);
    struct line *l = copy ? add_line(x, path) : NULL;
    if (!l) {
        free(copy);
        return false; /* better now than never */
    }
    l->what = what;
    l->text = copy;
    return true;
}

int bkt_diff_shared_dataset(struct bkt_diff *d, const char *path, const struct bkt_blocks *whole,
                            uint64_t elems, size_t *number)
{
    struct bkt_blocks *copy = malloc(sizeof *copy);
    struct line *l = copy ? add_line(d->shared, path) : NULL;
    if (!l) {
        free(copy);
        BKT_NOMEM(d->err);
    }
    *copy = *whole;
    l->left = 1;
    l->elems = elems;
    l->whole = copy;
    *number = d->shared->n - 1;
    return BKT_OK;
}

static void found(struct line *l, uint64_t bad, uint64_t first)
{
    l->left--;
    if (bad)
        l->first = l->bad ? bkt_min_u64(l->first, first) : first;
    l->bad += bad;
}

void bkt_diff_shared_done(struct bkt_diff *d, size_t number, uint64_t bad, uint64_t first)
{
    found(&d->shared->v[number], bad, first);
    print_done(d->shared);
}

/* ---- units ---- */

int bkt_diff_shared_block(struct bkt_diff *d, size_t number, const struct bkt_blocks *at)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
    struct line *l = &d->shared->v[number];
    BKT_PASS(shared_copy_say(&unit, d->err, "8t1", number, l->path, at->rank));
    for (unsigned i = 0; i < at->rank; i++)
        BKT_PASS(shared_copy_say(&unit, d->err, "88", (uint64_t)at->at[i], (uint64_t)at->count[i]));
    l->left++;
    return bkt_share_put(&d->shared->s, &unit, d->err);
}

static int work(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct bkt_diff *d = arg;
    struct bkt_blocks at = {.n = 1};
    uint64_t number = bkt_rd_le(unit, 8), bad = 0, first = 0;
    const char *path = shared_copy_take_text(unit);
    at.rank = (unsigned)bkt_rd_le(unit, 1);
    bool good = at.rank <= H5S_MAX_RANK;
    for (unsigned i = 0; good && i < at.rank; i++) {
        at.at[i] = bkt_rd_le(unit, 8);
        at.count[i] = bkt_rd_le(unit, 8);
        good = bkt_mul_u64(at.n, at.count[i], &at.n);
    }
    BKT_FAIL_IF_MALFORMED(err, !good || !unit->ok, "unit of work");
    struct bkt_err *was = d->err;
    d->err = err;
    int rc = bkt_diff_one_block(d, path, &at, &bad, &first);
    d->err = was;
    BKT_FAIL_IF(err, rc < 0, rc, "%s", path);
    return shared_copy_say(result, err, "888", number, bad, first);
}

static int take(void *arg, struct bkt_rd *r, struct bkt_err *err)
{
    struct bkt_diff *d = arg;
    struct bkt_diff_shared *x = d->shared;
    uint64_t number = bkt_rd_le(r, 8), bad = bkt_rd_le(r, 8), first = bkt_rd_le(r, 8);
    BKT_FAIL_IF_MALFORMED(err, !r->ok || number >= x->n || x->v[number].what || !x->v[number].left, "result");
    found(&x->v[number], bad, first);
    print_done(x);
    return BKT_OK;
}

/* Begin, once d->fa and d->fb are open.  Sets d->shared, which stays NULL if this process is alone. */
static int shared_begin(struct bkt_diff *d)
{
    if (!bkt_processes_several())
        return BKT_OK;
    d->shared = calloc(1, sizeof *d->shared);
    BKT_NEED(d->err, d->shared);
    d->shared->d = d;
    d->shared->s = (struct bkt_share){.work = work, .take = take, .arg = d};
    return bkt_share_begin(&d->shared->s, d->err);
}

/* Wait for all blocks, print what is left, and end.  @p rc: the outcome so far */
static int shared_end(struct bkt_diff *d, int rc)
{
    struct bkt_diff_shared *x = d->shared;
    if (!x)
        return rc;
    rc = bkt_share_finish(&x->s, rc, d->err);
    print_done(x); /* after a failure, differences up to there */
    for (; x->printed < x->n; x->printed++)
        line_fini(&x->v[x->printed]);
    free(x->v);
    free(x);
    d->shared = NULL;
    return rc;
}

/* ---- the other processes ---- */

struct other {
    struct bkt_diff *d;
    int (*open)(struct bkt_diff *d);
};

static int work_of_other(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    struct other *o = arg;
    if (o->d->fa < 0 || o->d->fb < 0) {
        o->d->err = err;
        BKT_PASS(o->open(o->d));
    }
    return work(o->d, unit, result, err);
}

/* The other processes: compare until the first one ends.  @p d: files are open, or will be by @p open */
static int shared_serve(struct bkt_diff *d, int (*open)(struct bkt_diff *d))
{
    struct bkt_err err = {.n = 0};
    struct other o = {.d = d, .open = open};
    const struct bkt_share_other s = {.work = work_of_other, .arg = &o};
    int rc = bkt_share_serve(&s, &err);
    return rc < 0 ? bkt_tool_error(d->t, NULL, &err) : BKT_EXIT_OK;
}

/* ---- differences ---- */

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 }; /* exit codes, as diff and h5diff have them */

int bkt_diff_report(struct bkt_diff *d, const char *path, const char *what, const char *fmt, ...)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    va_list                                  ap;
    va_start(ap, fmt);
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, ap);
    va_end(ap);
    if (shared_keeps(d, path, what, text ? text : what))
        return BKT_OK;
    d->n++;
    if (d->quiet)
        return BKT_OK;
    bkt_jout_object(&d->t->j, "path:s what:s text:s", path, what, text);
    if (d->t->json)
        return BKT_OK;
    bkt_show_name(&b, path);
    bkt_say_str(&b, ": ");
    bkt_show_url(&b, text ? text : what);
    puts(bkt_buf_str(&b));
    return BKT_OK;
}

/* ---- entries by name ---- */

static herr_t on_link(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)g, (void)info;
    return bkt_strs_add(arg, name);
}

static herr_t links_of(hid_t group, struct bkt_strs *names)
{
    return H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, on_link, names);
}

static herr_t on_attr(hid_t o, const char *name, const H5A_info_t *info, void *arg)
{
    (void)o, (void)info;
    return bkt_strs_add(arg, name);
}

static herr_t attrs_of(hid_t object, struct bkt_strs *names)
{
    return H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, on_attr, names);
}

/* A kind of entries of objects: links or attributes. */
struct entries {
    const char *what;
    herr_t (*list)(hid_t object, struct bkt_strs *names);
    /* compares the entries of one name in both objects */
    int (*compare)(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name);
};

static int compare_entries(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const struct entries *e)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs x = {0}, y = {0};
    if (e->list(a, &x) < 0 || e->list(b, &y) < 0)
        return h5_fail(d->err, path);
    bkt_strs_sort(&x);
    bkt_strs_sort(&y);
    for (size_t i = 0, k = 0; i < x.n || k < y.n;) {
        int c = i == x.n ? 1 : k == y.n ? -1 : strcmp(x.v[i], y.v[k]);
        if (c == 0)
            BKT_PASS(e->compare(d, a, b, path, x.v[i]));
        else
            (void)bkt_diff_report(d, path, e->what, "%s %s only in the %s", e->what, c < 0 ? x.v[i] : y.v[k],
                                  c < 0 ? "first" : "second");
        i += c <= 0;
        k += c >= 0;
    }
    return BKT_OK;
}

/* ---- attributes ---- */

/* The extents, not how far they may grow. */
static bool same_space(hid_t a, hid_t b)
{
    hsize_t x[H5S_MAX_RANK], y[H5S_MAX_RANK];
    int     n = H5Sget_simple_extent_dims(a, x, NULL);
    return H5Sget_simple_extent_type(a) == H5Sget_simple_extent_type(b) &&
           n == H5Sget_simple_extent_dims(b, y, NULL) && (n <= 0 || memcmp(x, y, (size_t)n * sizeof *x) == 0);
}

static int compare_attrs(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t x = H5Aopen(a, name, H5P_DEFAULT), y = H5Aopen(b, name, H5P_DEFAULT);
    if (x < 0 || y < 0)
        return h5_fail(d->err, name);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t tx = H5Aget_type(x),
          ty = H5Aget_type(y), sx = H5Aget_space(x), sy = H5Aget_space(y);
    if (H5Tequal(tx, ty) <= 0)
        return bkt_diff_report(d, path, "attribute", "attribute %s has another type", name);
    if (!same_space(sx, sy))
        return bkt_diff_report(d, path, "attribute", "attribute %s has another shape", name);
    return bkt_diff_attr(d, x, y, path, name);
}

/* ---- objects ---- */

static int objects(struct bkt_diff *d, hid_t a, hid_t b, const char *path);

static int soft(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name,
                const H5L_info2_t *x, const H5L_info2_t *y)
{
    size_t n = x->u.val_size > y->u.val_size ? x->u.val_size : y->u.val_size;
    char  *p = calloc(2, n + 1), *q = p ? p + n + 1 : NULL;
    int    rc = p ? BKT_OK : BKT_ERR(d->err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK &&
        (H5Lget_val(a, name, p, n, H5P_DEFAULT) < 0 || H5Lget_val(b, name, q, n, H5P_DEFAULT) < 0))
        rc = h5_fail(d->err, name);
    if (rc == BKT_OK && memcmp(p, q, n) != 0)
        (void)bkt_diff_report(d, path, "link", "link %s leads elsewhere", name);
    free(p);
    return rc;
}

static int compare_links(struct bkt_diff *d, hid_t a, hid_t b, const char *path, const char *name)
{
    H5L_info2_t                              x, y;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf sub = {0};
    if (H5Lget_info2(a, name, &x, H5P_DEFAULT) < 0 || H5Lget_info2(b, name, &y, H5P_DEFAULT) < 0)
        return h5_fail(d->err, name);
    if (x.type != y.type)
        return bkt_diff_report(d, path, "link", "link %s is of another kind", name);
    if (x.type != H5L_TYPE_HARD)
        return soft(d, a, b, path, name, &x, &y);
    BKT_CLEANUP(bkt_hid_closep) hid_t oa = H5Oopen(a, name, H5P_DEFAULT), ob = H5Oopen(b, name, H5P_DEFAULT);
    if (oa < 0 || ob < 0)
        return h5_fail(d->err, name);
    BKT_PASS_MEM(d->err, bkt_link_path(path, name, &sub));
    return objects(d, oa, ob, bkt_buf_str(&sub));
}

static int datasets(struct bkt_diff *d, hid_t a, hid_t b, const char *path)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t ta = H5Dget_type(a),
          tb = H5Dget_type(b), sa = H5Dget_space(a), sb = H5Dget_space(b);
    if (H5Tequal(ta, tb) <= 0)
        return bkt_diff_report(d, path, "type", "dataset of another type");
    if (!same_space(sa, sb))
        return bkt_diff_report(d, path, "shape", "dataset of another shape");
    if (H5Sextent_equal(sa, sb) <= 0)
        (void)bkt_diff_report(d, path, "maxdims", "dataset of another maximum shape");
    if (d->no_data || H5Sget_simple_extent_type(sa) == H5S_NULL)
        return BKT_OK;
    BKT_FAIL_IF(d->err, bkt_diff_data(d, a, b, path) < 0, BKT_EHDF5, "%s", path);
    return BKT_OK;
}

#define MAX_DEPTH 500 /* depth of groups; each takes 0.4 KiB of stack, and HDF5's share */

static int objects(struct bkt_diff *d, hid_t a, hid_t b, const char *path)
{
    static const struct entries attrs = {"attribute", attrs_of, compare_attrs},
                                links = {"link", links_of, compare_links};
    H5O_info2_t x, y;
    if (H5Oget_info3(a, &x, H5O_INFO_BASIC) < 0 || H5Oget_info3(b, &y, H5O_INFO_BASIC) < 0)
        return h5_fail(d->err, path);
    if (x.type != y.type)
        return bkt_diff_report(d, path, "kind", "objects of different kinds");
    H5O_token_t both[2] = {x.token,
                           y.token}; /* an object of many names in one file may be several in the other */
    if (bkt_map_get(d->seen, both, sizeof both))
        return BKT_OK;
    if (bkt_map_set(&d->seen, both, sizeof both, d, NULL) < 0)
        return BKT_ERR(d->err, BKT_ENOMEM, "out of memory");
    unsigned depth = 0;
    for (const char *s = path; *s; s++)
        depth += *s == '/';
    BKT_FAIL_IF(d->err, depth > MAX_DEPTH, BKT_EUNSUP, "groups are nested deeper than %d", MAX_DEPTH);
    BKT_PASS(compare_entries(d, a, b, path, &attrs));
    if (x.type == H5O_TYPE_GROUP)
        return compare_entries(d, a, b, path, &links);
    if (x.type == H5O_TYPE_DATASET)
        return datasets(d, a, b, path);
    if (x.type == H5O_TYPE_NAMED_DATATYPE && H5Tequal(a, b) <= 0)
        return bkt_diff_report(d, path, "type", "committed types differ");
    return BKT_OK;
}

/* ---- the whole ---- */

static int user_blocks(struct bkt_diff *d, hid_t a, hid_t b)
{
    BKT_CLEANUP(user_block_fini) struct user_block x = {0}, y = {0};
    BKT_PASS(user_block_of(a, &d->t->set, &x, d->err));
    BKT_PASS(user_block_of(b, &d->t->set, &y, d->err));
    if (x.size != y.size)
        (void)bkt_diff_report(d, "/", "userblock", "user block of %llu and of %llu bytes",
                              (unsigned long long)x.size, (unsigned long long)y.size);
    else if (x.bytes.len != y.bytes.len ||
             (x.bytes.len && memcmp(x.bytes.ptr, y.bytes.ptr, x.bytes.len) != 0))
        (void)bkt_diff_report(d, "/", "userblock", "user block with other bytes");
    return BKT_OK;
}

static int open_files(struct bkt_diff *d)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    BKT_PASS(bkt_tool_start(d->t, &fapl, d->err));
    BKT_PASS(h5_open_native(d->t->args[0], fapl, &d->fa, d->err));
    return h5_open_native(d->t->args[1], fapl, &d->fb, d->err);
}

static int compare(struct bkt_diff *d, const char *object)
{
    BKT_PASS(open_files(d));
    if (strcmp(object, "/") == 0)
        BKT_PASS(user_blocks(d, d->fa, d->fb));
    BKT_CLEANUP(bkt_hid_closep)
    hid_t a = H5Oopen(d->fa, object, H5P_DEFAULT),
          b = H5Oopen(d->fb, object, H5P_DEFAULT);
    if (a < 0 || b < 0)
        return h5_fail(d->err, object);
    int rc = shared_begin(d);
    return shared_end(d, rc < 0 ? rc : objects(d, a, b, object));
}

static void close_files(struct bkt_diff *d)
{
    bkt_diff_pair_free(d);
    bkt_map_clear(&d->seen, NULL);
    bkt_hid_closep(&d->fa);
    bkt_hid_closep(&d->fb);
}

static int run(struct bkt_tool *t)
{
    const char     *object = t->n_args > 2 ? t->args[2] : "/";
    struct bkt_diff d = {.t = t,
                         .quiet = bkt_tool_has(t, "quiet") > 0,
                         .no_data = bkt_tool_has(t, "nodata") > 0,
                         .err = &t->err,
                         .fa = H5I_INVALID_HID,
                         .fb = H5I_INVALID_HID};
    if (!bkt_processes_first()) {
        int code = shared_serve(&d, open_files);
        close_files(&d);
        return code;
    }
    bkt_jout_open(&t->j, NULL, '[');
    int rc = compare(&d, object);
    close_files(&d);
    bkt_jout_close(&t->j);
    if (rc < 0) {
        (void)bkt_tool_error(t, NULL, &t->err);
        return TROUBLE;
    }
    return d.n ? DIFFERENT : SAME;
}

static const struct bkt_opt opts[] = {
    {'q', "quiet", NULL, "print nothing; the exit status shows the result", NULL},
    {'n', "nodata", NULL, "don't read the data of datasets", NULL},
};
const struct bkt_verb bkt_verb_diff = {
    .name = "diff",
    .args = "FIRST SECOND [OBJECT]",
    .min_args = 2,
    .max_args = 3,
    .help = "compare two domains, or a domain with an HDF5 file",
    .text =
        "Links, attributes, types, shapes, all data and user blocks are compared, exactly. With OBJECT,\n"
        "only this object and its contents are compared. References are equal if they lead to the same\n"
        "part of objects of the same name. Storage (layout, chunks, filters) is not compared; h5bucket\n"
        "ls -v and h5dump -p show it.\n\n"
        "The processes of an mpirun share the blocks of datasets.\n\n"
        "Exit status: 0 no difference, 1 differences, 2 trouble.\n\n"
        "JSON: [{\"path\", \"what\": \"link\", \"kind\", \"attribute\", \"type\", \"shape\", \"maxdims\",\n"
        "\"data\" or \"userblock\", \"text\"}].",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .shared = true,
    .trouble = TROUBLE,
    .run = run,
};
