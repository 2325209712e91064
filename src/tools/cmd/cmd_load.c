/* h5bucket load SOURCE... DOMAIN|FOLDER/ */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/files.h"
#include "base/map.h"
#include "base/os/clock.h"
#include "tools/cli/interrupt.h"
#include "tools/kerchunk/load_kerchunk.h"
#include "tools/load/gather/gather_plan.h"
#include "tools/load/load_domain.h"
#include "tools/load/shared_copy.h"
#include "tools/samples/load_column.h"
#include "tools/share/processes.h"
#include "tools/share/share.h"
#include "vol/core/hid.h"
#include "vol/dataset/raw_files.h"

static const struct bkt_opt opts[] = {
    {0, "link", NULL, "refer to the data in the files instead of copying them", NULL},
    {0, "flatten-vds", NULL,
     "with --link: make virtual datasets refer to their sources' chunks, if their "
     "boxes align",
     NULL},
    {0, "chunk-map", "JSON",
     "take the locations of data from this output of h5bucket chunks, not from the "
     "file",
     NULL},
    {0, "column", "COLUMN", "SOURCE is a repository of samples: refer to all samples of [BRANCH:]COLUMN",
     NULL},
    {0, "kerchunk", NULL, "SOURCE is a kerchunk reference set (refs.json or refs.parq): refer to its chunks",
     NULL},
    {0, "linkpath", "URI", "the file's name in references, if it is read from another place", NULL},
    {'a', "append", NULL, "add to an existing domain; its contents stay", NULL},
    {0, "extend", "DIM",
     "gather all sources in one domain, along this dimension: a dimension scale's name, a number, or a new "
     "one",
     NULL},
    {0, "extend-offset", "N",
     "with --extend: put the first source at this step, over existing steps, "
     "instead of at the end",
     NULL},
    {0, "force", NULL, "replace an existing domain", NULL},
    {'n', "no-clobber", NULL, "leave an existing domain as it is, and fail (the default)", NULL},
    {0, "nodata", NULL, "groups, datasets and attributes, but no data of datasets", NULL},
    {'f', "filedriver", "DRIVER", "the file's driver; default: derived from its name",
     "sec2 family split multi"},
    {0, "ignore-errors", NULL, "leave out and name unreadable parts; the exit code is then 1", NULL},
    {0, "no-snapshot", NULL, "don't gather the new domain's metadata in one object (see snapshot)", NULL},
    {0, "retries", "N", "retries of one request (setting retries)", NULL},
    {'j', "jobs", "N", "sources loaded at once (1); with --extend, fetched ahead (8)", NULL},
    {'v', "verbose", NULL, "name each dataset", NULL},
};

static bool read_options(struct bkt_tool *t, struct load_options *o)
{
    o->jobs       = bkt_tool_has(t, "extend") ? 8 : 1;
    o->chunk_map  = bkt_tool_opt(t, "chunk-map");
    o->link       = bkt_tool_has(t, "link") > 0 || o->chunk_map;
    o->flatten    = bkt_tool_has(t, "flatten-vds") > 0;
    o->link_path  = bkt_tool_opt(t, "linkpath");
    o->append     = bkt_tool_has(t, "append") > 0;
    o->extend     = bkt_tool_opt(t, "extend");
    o->has_offset = bkt_tool_has(t, "extend-offset") > 0;
    o->force      = bkt_tool_has(t, "force") > 0;
    o->no_data    = bkt_tool_has(t, "nodata") > 0;
    o->no_snapshot = bkt_tool_has(t, "no-snapshot") > 0;
    o->ignore     = bkt_tool_has(t, "ignore-errors") > 0;
    o->verbose    = bkt_tool_has(t, "verbose") > 0;
    o->driver     = bkt_tool_opt(t, "filedriver");
    return bkt_tool_number(t, "extend-offset", 0, INT64_MAX, &o->extend_offset) &&
           bkt_tool_number(t, "jobs", 1, 256, &o->jobs);
}

/* FOLDER/ and the file's own name. */
static int domain_of(const char *source, const char *target, bool folder, struct bkt_buf *out)
{
    return folder ? bkt_buf_addf(out, "%s%s%s", target, target[strlen(target) - 1] == '/' ? "" : "/",
                                 bkt_base_name(source))
                  : bkt_buf_add_str(out, target);
}

/* Refuses sources with equal targets: one would replace the other, or be added to it by accident. */
static int check_names(struct bkt_tool *t, int n, const char *target, bool folder)
{
    struct bkt_map *sources = NULL; /* by domain */
    int rc = -1;
    for (int i = 0; i < n && rc < 0; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf domain = {0};
        void *other = NULL;
        if (domain_of(t->args[i], target, folder, &domain) < 0 ||
            bkt_map_set(&sources, domain.ptr, domain.len, t->args[i], &other) < 0)
            rc = bkt_tool_fail(t, "out of memory");
        else if (other)
            rc = bkt_tool_usage(t,
                                "%s and %s would both become %s; load one of them separately, under "
                                "another name or with --append",
                                (const char *)other, t->args[i], bkt_buf_str(&domain));
    }
    bkt_map_free(sources, NULL);
    return rc;
}

/* Report the end of a load.  @p source NULL: a map was loaded. */
static int ended(struct bkt_tool *t, const struct load_job *l, int rc, const char *source, const char *domain,
                 const char *parts, struct bkt_err *err)
{
    if (rc < 0)
        return bkt_tool_error(t, source ? source : domain, err);
    if (l->o->verbose)
        fprintf(stderr, "%s: %llu objects; %llu datasets linked, %llu copied\n", domain,
                (unsigned long long)l->progress->objects, (unsigned long long)l->n_linked,
                (unsigned long long)l->n_copied);
    return l->n_left_out
               ? bkt_tool_fail(t, "%s: loaded without %llu %s of %s", domain,
                               (unsigned long long)l->n_left_out, parts, source ? source : "the map")
               : BKT_EXIT_OK;
}

static struct load_job begin(struct bkt_tool *t, const struct load_options *o, struct progress *p,
                             const char *name, bool verbose)
{
    progress_init(p, name, verbose);
    return (struct load_job){.o = o, .set = &t->set, .dst = H5I_INVALID_HID, .progress = p};
}

static int one(struct bkt_tool *t, const struct load_options *o, const struct bkt_chunk_map *map,
               const char *source, const char *domain, hid_t fapl)
{
    struct bkt_err  err = {.n = 0};
    struct progress p;
    struct load_job l = begin(t, o, &p, domain, o->verbose);
    l.map   = map;
    p.every = o->with_others ? 0 : p.every;
    p.tty   = p.tty && !o->with_others;
    int rc  = load_one(&l, source, domain, fapl, &err);
    progress_end(&p);
    return ended(t, &l, rc, source, domain, "unreadable parts", &err);
}

/* Load a domain that refers to chunks, from a column or from a reference set. */
static int made(struct bkt_tool *t, struct load_options *o, hid_t fapl)
{
    struct bkt_err  err    = {.n = 0};
    const char     *domain = t->args[t->n_args - 1], *column = bkt_tool_opt(t, "column");
    struct progress p;
    struct load_job l = begin(t, o, &p, domain, o->verbose);
    o->link = true;
    int rc = column ? load_column(&l, t->args[0], column, domain, fapl, &err)
                    : load_kerchunk(&l, t->args[0], domain, fapl, &err);
    progress_end(&p);
    return column && rc == BKT_OK ? BKT_EXIT_OK /* one dataset, from which nothing is left out */
                                  : ended(t, &l, rc, t->args[0], domain, "arrays", &err);
}

static int gather(struct bkt_tool *t, const struct load_options *o, hid_t fapl)
{
    struct bkt_err  err    = {.n = 0};
    const char     *domain = t->args[t->n_args - 1];
    struct progress p;
    struct load_job l = begin(t, o, &p, domain, o->verbose);
    int             failed = 0;
    int rc = load_gathered(&l, t->args, t->n_args - 1, domain, fapl, &failed, &err);
    if (rc >= 0 && o->link && !l.n_linked)
        progress_note(&p,
                      "%s: nothing is linked, all values are copied: no dataset has whole chunks along %s "
                      "and more than 64 KiB of referable data in a file",
                      domain, o->extend);
    progress_end(&p);
    if (rc < 0)
        return bkt_tool_error(t, domain, &err);
    return failed ? bkt_tool_fail(t, "%d of %d files: they don't fit; the lines above have the reasons",
                                  failed, t->n_args - 1)
                  : BKT_EXIT_OK;
}

/* The first process gathers; the others look at sources for it. */
static int serve_gather(struct bkt_tool *t, const struct load_options *o, hid_t fapl)
{
    struct bkt_err err = {.n = 0};
    const char *domain = t->args[t->n_args - 1];
    struct progress p;
    struct load_job l = begin(t, o, &p, domain, false);
    int rc = gather_shared_serve(&l, t->args, t->n_args - 1, domain, fapl, &err);
    return rc < 0 ? bkt_tool_error(t, NULL, &err) : BKT_EXIT_OK;
}

/* Sources to be loaded one by one, each into its own domain. */
struct each {
    struct bkt_tool            *t;
    const struct load_options  *o;
    const struct bkt_chunk_map *map;
    const char *target;
    bool                        folder;
    hid_t                       fapl; /* of this process */
    int                         n;    /* number of sources */
};

static int each_one(struct each *e, int i)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf domain = {0};
    struct bkt_err                           err    = {.n = 0};
    if (e->fapl < 0 && bkt_tool_start(e->t, &e->fapl, &err) < 0)
        return bkt_tool_error(e->t, NULL, &err);
    if (domain_of(e->t->args[i], e->target, e->folder, &domain) < 0)
        return bkt_tool_fail(e->t, "out of memory");
    return one(e->t, e->o, e->map, e->t->args[i], bkt_buf_str(&domain), e->fapl);
}

/* ---- --jobs: HDF5 does one thing at a time in a process, so each job is its own process ---- */

struct board { /* shared by all processes */
    atomic_int next, good, bad;
};

static void work(struct each *e, struct board *b)
{
    for (int i; interrupt_check(NULL) == BKT_OK && (i = atomic_fetch_add(&b->next, 1)) < e->n;)
        atomic_fetch_add(each_one(e, i) == 0 ? &b->good : &b->bad, 1);
}

static void show(struct each *e, const struct board *b, time_t began)
{
    int done = atomic_load(&b->good) + atomic_load(&b->bad);
    if (isatty(STDERR_FILENO) <= 0 || done == 0)
        return;
    long long left = (long long)(bkt_seconds_now() - began) * (e->n - done) / done;
    (void)fprintf(stderr, "\r\033[K%s: %d of %d files, %lld:%02lld to go", e->target, done, e->n, left / 60,
                  left % 60);
}

/* Waits until all processes have ended; the entry of an ended process becomes -1. */
static void watch(struct each *e, const struct board *b, pid_t *pids, int n)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    time_t began = bkt_seconds_now();
    bool reported = false;
    while (n > 0) {
        int i = 0;
        while (pids[i] && (pids[i] < 0 || waitpid(pids[i], NULL, WNOHANG) == 0))
            i++;
        if (pids[i]) {
            pids[i] = -1;
            n--;
            continue;
        }
        if (!reported && interrupt_status() == 128 + SIGTERM) { /* Ctrl-C has reached them, too */
            for (i = 0; pids[i]; i++)
                if (pids[i] > 0)
                    (void)kill(pids[i], SIGTERM);
            reported = true;
        }
        show(e, b, began);
        (void)nanosleep(&pause, NULL);
    }
    if (isatty(STDERR_FILENO) > 0)
        (void)fputs("\r\033[K", stderr);
}

/* Load all sources in up to @p jobs processes; an idle process takes the next source.  Call it before HDF5
 * is used or threads run.
 * @param failed  number of sources that failed, or were under way in a process that ended early
 * @return number of sources that were never begun (not 0 only if the user has stopped it); -1: no process
 *         could be made */
static int load_with_others(struct each *e, unsigned jobs, int *failed)
{
    struct board *b    = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t        *pids = calloc(jobs + 1, sizeof *pids);
    int           n = 0, left = -1;
    for (; b != MAP_FAILED && pids && n < (int)jobs && n < e->n; n++) {
        pids[n] = fork();
        if (pids[n] == 0) {
            free(pids);
            work(e, b);
            exit(0);
        }
        if (pids[n] < 0) {
            pids[n] = 0;
            break;
        }
    }
    if (n > 0) {
        watch(e, b, pids, n);
        int begun = atomic_load(&b->next) < e->n ? atomic_load(&b->next) : e->n;
        *failed   = begun - atomic_load(&b->good);
        left      = e->n - begun;
    }
    if (b != MAP_FAILED)
        (void)munmap(b, sizeof *b);
    free(pids);
    return left;
}

/* ---- among the processes of an mpirun ---- */

#define EVERY 5.0 /* seconds between two lines of progress: a launcher's output is not a terminal */

struct among {
    struct each *e;
    int done, failed;
    double shown;
};

static int work_among(void *arg, struct bkt_rd *unit, struct bkt_buf *result, struct bkt_err *err)
{
    const struct among *a = arg;
    uint64_t i = bkt_rd_le(unit, 4);
    BKT_FAIL_IF_MALFORMED(err, !unit->ok || i >= (uint64_t)a->e->n, "unit of work");
    bool good = each_one(a->e, (int)i) == 0;
    if (!good)
        BKT_PASS(interrupt_check(err)); /* it was stopped: that is the reason */
    return shared_copy_say(result, err, "1", good);
}

static int take_among(void *arg, struct bkt_rd *result, struct bkt_err *err)
{
    struct among *a = arg;
    a->failed += !bkt_rd_le(result, 1);
    a->done++;
    BKT_FAIL_IF_MALFORMED(err, !result->ok, "result");
    if (bkt_clock_now() - a->shown < EVERY)
        return BKT_OK;
    a->shown = bkt_clock_now();
    (void)fprintf(stderr, "%s: %d of %d files\n", a->e->target, a->done, a->e->n);
    return BKT_OK;
}

/* The same among the processes of an mpirun, in the first of them.
 * @return BKT_OK; a failure of the processes, or a user's stop.  A source that can't be loaded
 *          is not a failure */
static int load_among(struct among *a, struct bkt_err *err)
{
    struct bkt_share s = {
        .work = work_among, .take = take_among, .arg = a, .most = SIZE_MAX, .check = interrupt_check};
    int rc = bkt_share_begin(&s, err);
    for (int i = 0; i < a->e->n && rc == BKT_OK; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf unit = {0};
        rc = shared_copy_say(&unit, err, "4", (uint64_t)i);
        rc = rc ? rc : bkt_share_put(&s, &unit, err);
    }
    return bkt_share_finish(&s, rc, err);
}

/* Report the end of all.  @p left: number of sources that were not loaded, if the work was stopped */
static int all_ended(const struct each *e, int failed, int left, bool stopped)
{
    if (stopped)
        return bkt_tool_fail(e->t, "stopped: %d of %d files are loaded", e->n - left - failed, e->n);
    return failed ? bkt_tool_fail(e->t, "%d of %d files are not loaded, or only in part", failed, e->n)
                  : BKT_EXIT_OK;
}

/* The processes of an mpirun share the sources. */
static int each_among(struct each *e)
{
    struct bkt_err err = {.n = 0};
    struct among a = {.e = e, .shown = bkt_clock_now()};
    const struct bkt_share_other other = {.work = work_among, .arg = &a};
    const bool first = bkt_processes_first();
    int rc = first ? load_among(&a, &err) : bkt_share_serve(&other, &err);
    bkt_hid_closep(&e->fapl);
    if (rc < 0 && rc != BKT_ECANCEL)
        return bkt_tool_error(e->t, NULL, &err);
    return all_ended(e, a.failed, first ? e->n - a.done : 0, rc < 0);
}

/* One source: the first process loads it, the others copy parts of it. */
static int serve_one(struct each *e)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf domain = {0};
    struct bkt_err err = {.n = 0};
    struct progress p;
    struct load_job l = begin(e->t, e->o, &p, e->t->args[0], false);
    if (domain_of(e->t->args[0], e->target, e->folder, &domain) < 0)
        return bkt_tool_fail(e->t, "out of memory");
    int rc = bkt_tool_start(e->t, &e->fapl, &err);
    rc = rc ? rc : load_shared_serve(&l, e->t->args[0], bkt_buf_str(&domain), e->fapl, &err);
    bkt_hid_closep(&e->fapl);
    return rc < 0 ? bkt_tool_error(e->t, NULL, &err) : BKT_EXIT_OK;
}

static int each_of(struct each *e, struct load_options *o)
{
    const int n = e->n;
    int failed = 0, i = 0, left;
    bool among = bkt_processes_several() && n > 1;
    o->with_others = among || (o->jobs > 1 && n > 1);
    if (among)
        return each_among(e);
    if (!bkt_processes_first())
        return serve_one(e);
    if (!o->with_others) {
        for (; i < n && interrupt_check(NULL) == BKT_OK; i++)
            failed += each_one(e, i) != BKT_EXIT_OK;
        bkt_hid_closep(&e->fapl);
        return i < n    ? bkt_tool_fail(e->t, "stopped before %s", e->t->args[i])
               : failed ? BKT_EXIT_FAIL
                        : BKT_EXIT_OK;
    }
    left = load_with_others(e, (unsigned)o->jobs, &failed);
    if (left < 0)
        return bkt_tool_fail(e->t, "can't start a process");
    return all_ended(e, failed, left, left || interrupt_check(NULL) < 0);
}

static int run(struct bkt_tool *t)
{
    struct load_options          o      = {.link = false};
    struct bkt_err               err    = {.n = 0};
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_chunk_map_fini) struct bkt_chunk_map map = {0};
    const char                  *target = t->args[t->n_args - 1], *column_of = bkt_tool_opt(t, "column");
    size_t                       n      = strlen(target);
    bool folder = (t->n_args > 2 && !bkt_tool_has(t, "extend")) || (n && target[n - 1] == '/');
    bool                         sets   = bkt_tool_has(t, "kerchunk") > 0;
    if (!read_options(t, &o))
        return BKT_EXIT_USAGE;
    if (!n)
        return bkt_tool_usage(t, "the target's name is empty");
    (void)bkt_external_inside(true); /* nothing is written to the source's raw files */
    if (o.chunk_map ? folder : t->n_args < 2)
        return bkt_tool_usage(t, o.chunk_map ? "--chunk-map is for one file and one domain"
                                             : "a source and a domain are required");
    if (o.chunk_map && load_map_read(o.chunk_map, &t->set, &map, &err) < 0)
        return bkt_tool_error(t, NULL, &err);
    if (o.append + o.force + (bkt_tool_has(t, "no-clobber") > 0) > 1)
        return bkt_tool_usage(t, "--append, --force and --no-clobber can't be combined");
    if (o.flatten && (!o.link || o.extend || o.chunk_map))
        return bkt_tool_usage(
            t, "--flatten-vds needs --link, and can't be combined with --extend or --chunk-map");
    if (o.ignore && o.extend)
        return bkt_tool_usage(t, "--ignore-errors can't be combined with --extend, which leaves out "
                              "unreadable files as a whole");
    if (column_of &&
        (t->n_args != 2 || folder || o.extend || o.chunk_map || o.append || o.flatten || o.no_data))
        return bkt_tool_usage(
            t, "--column takes one repository and one new domain; of the other options, only --force and "
               "--no-snapshot go with it");
    if (sets && (t->n_args != 2 || folder || column_of || o.extend || o.chunk_map || o.append || o.flatten ||
                 o.link_path || o.driver))
        return bkt_tool_usage(t, "--kerchunk takes one reference set and one new domain; of the other "
                                 "options, only --force, --nodata, "
                                 "--ignore-errors and --no-snapshot go with it");
    interrupt_catch();
    if (t->n_args > 1 && !o.extend && !column_of && !sets) {
        struct each e = {t, &o, o.chunk_map ? &map : NULL, target, folder, H5I_INVALID_HID, t->n_args - 1};
        int rc = bkt_processes_first() ? check_names(t, t->n_args - 1, target, folder) : -1;
        return rc < 0 ? each_of(&e, &o) : rc;
    }
    if (!bkt_processes_first() && !o.extend)
        return BKT_EXIT_OK; /* the first process does all of it */
    if (bkt_tool_start(t, &fapl, &err) < 0)
        return bkt_tool_error(t, NULL, &err);
    if (!bkt_processes_first())
        return serve_gather(t, &o, fapl);
    if (column_of || sets)
        return made(t, &o, fapl);
    return o.extend ? gather(t, &o, fapl) : one(t, &o, &map, NULL, target, fapl);
}

const struct bkt_verb bkt_verb_load = {
    .name = "load",
    .args = "SOURCE... DOMAIN|FOLDER/",
    .min_args = 1,
    .max_args = -1,
    .help = "make domains of HDF5 files, by copy or by reference",
    .text =
        "Sources are paths, s3:// or https:// names. Files in S3 or behind HTTP are read in place, by\n"
        "ranges. A family is named with its %d, a split or multi file without its -m.h5 or -s.h5.\n\n"
        "With several sources, or a target that ends with /, each source becomes a domain of its name\n"
        "in that folder, --jobs of them at once. A source that fails is reported, the others go on, and\n"
        "the exit code is 1. Sources of the same name, which would become one domain, are refused, also\n"
        "with --append. Load each of them separately, under another name, or with -a into the other's\n"
        "domain. Data and chunks of one source are always fetched and stored many at a time.\n\n"
        "With --link, data stay in place and the domain refers to them. Values that references can't\n"
        "lead to (of variable length, references to objects) are copied, and reported. Readers may have\n"
        "to allow the files' store by H5BUCKET_ALLOW; a note reports this.\n\n"
        "Virtual datasets stay virtual. With --link and --flatten-vds, a virtual dataset becomes a\n"
        "chunked one if its mappings begin and end at chunk borders of its sources. It then refers to\n"
        "the sources' present chunks. Otherwise it stays virtual, and the reason is reported.\n\n"
        "If a part of a source can't be read, the load fails. With --ignore-errors, such objects and\n"
        "attributes are named and left out, the rest is loaded, and the exit code is 1.\n\n"
        "With --chunk-map, locations come from that JSON. Without SOURCE, everything else comes from\n"
        "it, too, and only datasets are made.\n\n"
        "With --column, SOURCE is a repository of samples (h5bucket help sample). The domain gets a\n"
        "dataset `samples` that refers to the samples' chunks in plain HDF5 files, in the order of their\n"
        "names, which are in `names`. If samples differ in shape, or are several chunks of a flat file,\n"
        "their shapes are in `shapes`.\n\n"
        "With --kerchunk, SOURCE is a reference set of Zarr version 2: JSON, or a folder of Parquet\n"
        "tables (refs.parq). Arrays become datasets that refer to the set's chunks, and\n"
        "_ARRAY_DIMENSIONS become dimension scales. Codecs zlib, zstd, blosc, bz2, shuffle and fletcher32\n"
        "are HDF5's filters. Arrays with lz4, order F, text or only inline chunks are copied, which\n"
        "needs H5BUCKET_ALLOW at once. Other codecs are refused by name; --ignore-errors leaves such\n"
        "arrays out.\n\n"
        "With --extend, datasets that have the dimension grow by each source, coordinate variables too.\n"
        "All other datasets must hold the same values in all sources. Attributes, groups and links stay\n"
        "as in the first source, but units, calendar, scale_factor, add_offset, _FillValue,\n"
        "missing_value and _Unsigned must agree. A source that doesn't fit or can't be read is reported\n"
        "with the reason, and left out as a whole; the others go on, and the exit code is 1. With\n"
        "--link, datasets whose sources fill whole chunks are referred to, small ones are copied.\n\n"
        "Later runs with -a continue at the last step, or at --extend-offset. If a run is killed, the\n"
        "next one undoes it. If a source has grown since it was loaded, data that refer to it can't be\n"
        "read until it is loaded again. Then name the step at which it begins by --extend-offset;\n"
        "otherwise all of it is appended once more.\n\n"
        "The processes of an mpirun share several sources, or the data of one large source. Each node\n"
        "needs the adapter of its MPI (h5bucket_mpi-openmpi.so or -mpich.so).\n\n"
        "A new domain of 64 objects or more in a bucket gets a snapshot (h5bucket help snapshot),\n"
        "unless listing its many chunk objects costs more than the snapshot saves. A domain that has a\n"
        "snapshot gets a new one. --no-snapshot or setting snapshot=no leaves this out.\n\n"
        "If the domain exists, it stays as it is and the load fails, unless --append adds to it or\n"
        "--force replaces it. The domain appears, or replaces the other one, when everything is stored.\n"
        "An interrupted load leaves no domain, and the next run cleans up its objects.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .shared = true,
    .run = run,
};
