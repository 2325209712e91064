/* Random calls on datasets, the same in files of HDF5's own and in domains: each call's result and all values
 * must be the same.
 *
 *   test_random_data [--seed N] [--runs K] [--steps M] [--skip STEP,STEP...] [--show] [--each] [--shrink]
 *
 * Runs K seeds from N on, of M steps each.  On a difference it prints the seed, the step and its calls, and
 * ends; the same seed does the same again.  --skip leaves steps out (each step's numbers are its own),
 * --shrink looks for steps that can be left out, --each compares all datasets after each step, --show prints
 * every step.
 *
 * $BKT_H5_WRITE is where domains are made (compare_write.h); $BKT_TOOL is h5bucket, which then verifies each
 * domain. */
#include <inttypes.h>
#include <stdarg.h>

#include "h5tests/helpers/compare_write.h"
#include "h5tests/random/data.h"

static struct {
    uint64_t    seed, runs, steps;
    bool        show, each, shrink;
    const char *skip, *self;
} opt = {.seed = 1, .runs = 1, .steps = 60};

void note(struct run *run, const char *format, ...)
{
    size_t  used = strlen(run->text);
    va_list ap;
    va_start(ap, format);
    vsnprintf(run->text + used, sizeof run->text - used, format, ap);
    va_end(ap);
}

void differ(struct run *run, const char *format, ...)
{
    va_list ap;
    run->differs = true;
    printf("--seed %" PRIu64 " --steps %" PRIu64 ": differs at step %" PRIu64 ", domains with \"%s\"\n  %s\n  ", run->seed, opt.steps, run->step,
        run->info, run->text);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
}

bool both(struct run *run, const char *call, const long long rc[SIDES])
{
    if ((rc[0] < 0) != (rc[1] < 0)) {
        char why[2000];
        snprintf(why, sizeof why, "%s", error_text());
        differ(run, "%s %s natively, %s in the domain: %.1900s", call, rc[0] < 0 ? "fails" : "succeeds", rc[1] < 0 ? "fails" : "succeeds",
            why);
    }
    if (opt.show && rc[0] < 0)
        note(run, " (%s fails)", call);
    H5Eclear2(H5E_DEFAULT);
    return rc[0] >= 0 && rc[1] >= 0;
}

/* --show: why each call failed; the next call clears HDF5's stack. */
static herr_t show_error(hid_t stack, void *arg)
{
    (void)stack;
    (void)arg;
    printf("      (%s)\n", error_text());
    return 0;
}

/* ---- files ---- */

const char *file_name(const struct run *run, int file, int side)
{
    struct out o = {.ours = side == 1};
    char       leaf[40];
    snprintf(leaf, sizeof leaf, "r%" PRIu64 "-%d.h5", run->seed, file);
    return new_name(&o, leaf);
}

bool files_open(struct run *run, bool create, unsigned flags)
{
    hid_t     fapl[SIDES] = {fapl_native(), fapl_ours(run->info)};
    long long rc[SIDES];
    CHECK(fapl[1] >= 0, "%s: %s", run->info, first_error);
    for (int f = 0; f < FILES; f++) {
        for (int i = 0; i < SIDES; i++)
            rc[i] = run->file[f][i] = create ? H5Fcreate(file_name(run, f, i), H5F_ACC_TRUNC, H5P_DEFAULT, fapl[i])
                                             : H5Fopen(file_name(run, f, i), flags, fapl[i]);
        if (!both(run, "opening a file", rc) && !run->differs)
            differ(run, "file %d can't be opened", f);
        char name[64] = "";
        H5VLget_connector_name(run->file[f][1], name, sizeof name);
        CHECK(strcmp(name, "bucket") == 0, "the domain is served by connector '%s', not by ours", name);
    }
    H5Pclose(fapl[0]);
    H5Pclose(fapl[1]);
    return !run->differs;
}

static void close_id(hid_t *id, long long *rc)
{
    if (*id < 0)
        return;
    if (H5Fclose(*id) < 0)
        *rc = -1;
    *id = H5I_INVALID_HID;
}

bool files_close(struct run *run)
{
    long long rc[SIDES] = {0};
    for (int k = 0; k < run->n; k++) {
        struct dset *d = &run->d[k];
        dset_close(d);
        if (*d->name)
            continue;
        H5Tclose(d->type);
        H5Pclose(d->dcpl);
        free(d->known);
        *d = run->d[--run->n];
        k--;
    }
    for (int f = 0; f < FILES; f++)
        for (int i = 0; i < SIDES; i++) {
            close_id(&run->twice[f][i], &rc[i]);
            close_id(&run->file[f][i], &rc[i]);
        }
    both(run, "H5Fclose", rc);
    return !run->differs;
}

static void verify(struct run *run)
{
    const char *tool = getenv("BKT_TOOL");
    char        command[9000];
    for (int f = 0; tool && f < FILES && !run->differs; f++) {
        snprintf(command, sizeof command, "'%s' verify --min-age 0 '%s' > '%s.log' 2>&1", tool, file_name(run, f, 1), file_name(run, f, 0));
        if (system(command) != 0) {
            differ(run, "h5bucket verify finds something:");
            snprintf(command, sizeof command, "cat '%s.log'", file_name(run, f, 0));
            CHECK(system(command) == 0, "%s", command);
        }
    }
}

/* ---- a run ---- */

static const char *settings(struct rnd *r)
{
    static const char *const some[] = {"", "", "chunk_cache=0", "chunk_cache=4K", "test.write_cache=1M", "test.in_flight=1M", "meta_cache=0",
        "connections=1", "workers=1", "test.near=0;read_ahead=0", "test.part_size=64K", "schema=v1", "read_ahead=0",
        "writers=one", "test.merge_gap=0", "chunk_cache=100", "test.upload_part=5M"};
    static char all[200];
    snprintf(all, sizeof all, "fsync=no");
    for (unsigned i = rnd_below(r, 5); i--;) {
        const char *s = RND_OF(r, some);
        if (*s && !strstr(all, s)) {
            strcat(all, ";");
            strcat(all, s);
        }
    }
    return all;
}

static bool skipped(uint64_t step)
{
    char want[32];
    if (!opt.skip)
        return false;
    snprintf(want, sizeof want, ",%" PRIu64 ",", step);
    return strstr(opt.skip, want) != NULL;
}

static void one_step(struct run *run)
{
    unsigned all = 0;
    for (size_t i = 0; i < n_calls; i++)
        all += calls[i].weight;
    unsigned           at = rnd_below(&run->r, all);
    const struct call *c  = calls;
    while (at >= c->weight)
        at -= c++->weight;
    if (c->needs_dset && run->n == 0)
        c = &calls[0];
    c->run(run);
}

static void finish(struct run *run)
{
    snprintf(run->text, sizeof run->text, "at the end");
    if (!files_close(run) || !files_open(run, false, H5F_ACC_RDONLY) || !dsets_open(run))
        return;
    for (int k = 0; k < run->n && !run->differs; k++)
        compare_whole(run, &run->d[k]);
    compare_virtual(run);
    if (files_close(run))
        verify(run);
}

static bool one_run(uint64_t seed)
{
    struct run run = {.seed = seed, .r = rnd_of(seed, 0), .self = opt.self};
    for (int f = 0; f < FILES; f++)
        for (int i = 0; i < SIDES; i++)
            run.file[f][i] = run.twice[f][i] = H5I_INVALID_HID;
    run.info = settings(&run.r);
    if (files_open(&run, true, 0))
        for (run.step = 1; run.step <= opt.steps && !run.differs; run.step++) {
            run.text[0] = 0;
            if (skipped(run.step))
                continue;
            run.r = rnd_of(seed, run.step);
            one_step(&run);
            if (opt.show)
                printf("%3" PRIu64 " %s\n", run.step, run.text);
            for (int k = 0; opt.each && k < run.n && !run.differs; k++)
                compare_whole(&run, &run.d[k]);
        }
    if (!run.differs)
        finish(&run);
    bool differs = run.differs;
    for (int k = 0; k < run.n; k++) {
        dset_close(&run.d[k]);
        H5Tclose(run.d[k].type);
        H5Pclose(run.d[k].dcpl);
        free(run.d[k].known);
    }
    run.n = 0;
    virtual_end(&run);
    files_close(&run);
    for (int i = 0; i < SIDES; i++)
        for (int f = 0; f < FILES; f++) {
            struct out o    = {.ours = i == 1};
            hid_t      fapl = new_fapl(&o);
            H5Fdelete(file_name(&run, f, i), fapl);
            H5Pclose(fapl);
        }
    return !differs;
}

static void all_runs(const struct out *o)
{
    (void)o;
    if (opt.show)
        H5Eset_auto2(H5E_DEFAULT, show_error, NULL);
    for (uint64_t i = 0; i < opt.runs; i++) {
        bool ok = one_run(opt.seed + i);
        CHECK(ok, "seed %" PRIu64, opt.seed + i);
    }
}

/* ---- fewer steps ---- */

static bool fails_without(const char *self, const char *skip, bool show)
{
    char command[16000];
    snprintf(command, sizeof command, "'%s' --seed %" PRIu64 " --steps %" PRIu64 " --skip '%s'%s %s", self, opt.seed, opt.steps, skip,
        opt.each ? " --each" : "", show ? "--show" : "> /dev/null 2>&1");
    return system(command) != 0;
}

static void shrink(const char *self)
{
    char skip[8000] = ",", tried[8000];
    for (uint64_t width = opt.steps / 2; width; width /= 2)
        for (uint64_t from = 1; from <= opt.steps; from += width) {
            strcpy(tried, skip);
            for (uint64_t k = from; k < from + width && k <= opt.steps; k++) {
                char step[32];
                snprintf(step, sizeof step, ",%" PRIu64 ",", k);
                if (!strstr(tried, step) && strlen(tried) + sizeof step < sizeof tried)
                    strcat(tried, step + 1);
            }
            if (fails_without(self, tried, false))
                strcpy(skip, tried);
        }
    fails_without(self, skip, true);
    printf("--seed %" PRIu64 " --steps %" PRIu64 " --skip %s\n", opt.seed, opt.steps, skip);
}

int main(int argc, char **argv)
{
    opt.self = argv[0];
    filters_register();
    if (argc == 3 && strcmp(argv[1], "--look") == 0)
        return look_main(argv[2]);
    if (argc == 10 && strcmp(argv[1], "--other") == 0)
        return other_main(argv + 2);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--show") == 0)
            opt.show = true;
        else if (strcmp(argv[i], "--each") == 0)
            opt.each = true;
        else if (strcmp(argv[i], "--shrink") == 0)
            opt.shrink = true;
        else if (strcmp(argv[i], "--skip") == 0)
            opt.skip = value, i++;
        else if (strcmp(argv[i], "--seed") == 0)
            opt.seed = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--runs") == 0)
            opt.runs = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--steps") == 0)
            opt.steps = strtoull(value, NULL, 10), i++;
        else {
            printf("%s: unknown option\n", argv[i]);
            return 2;
        }
    }
    if (opt.shrink) {
        shrink(argv[0]);
        return 0;
    }
    struct out o = {.ours = true};
    compare_write_extra(all_runs, &o);
    int rc = compare_write_main(NULL, 0);
    printf("%s seeds %" PRIu64 "-%" PRIu64 "\n", rc ? "FAIL" : "ok  ", opt.seed, opt.seed + opt.runs - 1);
    return rc;
}
