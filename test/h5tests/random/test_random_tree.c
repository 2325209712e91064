/* Random calls on the tree of groups, links, attributes, types and references, each on HDF5's own files and
 * on domains.  The results must be the same, and so must the whole content at the end.
 *
 *   h5_random_tree [--seed LIST] [--steps M] [--without LIST] [--shrink] [--show] [--errors] [--here]
 *
 * A list is as in "1-20,31".  On a difference it prints the seed, the step and its call; --shrink looks for a
 * few steps that are enough for it, and prints them.  Each seed has a process of its own, so that a crash is
 * reported, too.  --here runs the first seed in this process, for a debugger.  --errors prints HDF5's error
 * stack of each call that fails.  $BKT_TOOL is h5bucket, $BKT_CHECK_SCHEMA check_schema.py: their findings in
 * the domains count as differences, too. */
#include "h5tests/random/tree.h"

#include <ctype.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_STEPS = 2000 };

/* Written by the child that runs a seed, read by its parent. */
struct progress {
    unsigned step;
    bool     differs, ours;
    char     op[64];
};

static struct progress *progress;
static bool             without[MAX_STEPS];
static bool             show, here, errors;
static unsigned         n_steps = 150;

/* ---- which call ---- */

static const struct tree_op *const tables[] = {file_ops, link_ops, walk_ops, object_ops, attr_ops, old_ops};

static const struct tree_op *some_op(struct rnd *r)
{
    unsigned sum = 0;
    for (size_t t = 0; t < COUNT(tables); t++)
        for (const struct tree_op *op = tables[t]; op->name; op++)
            sum += op->weight;
    unsigned at = rnd_below(r, sum);
    for (size_t t = 0; t < COUNT(tables); t++)
        for (const struct tree_op *op = tables[t]; op->name; op++) {
            if (at < op->weight)
                return op;
            at -= op->weight;
        }
    return NULL;
}

/* ---- one run ---- */

static void begin(struct side *s, struct out *o, uint64_t seed)
{
    *s = (struct side){.o = o, .seed = seed, .rw = true};
    for (unsigned i = 0; i < FILES; i++)
        s->file[i] = H5I_INVALID_HID;
    for (unsigned i = 0; i < OBJECTS; i++)
        s->obj[i] = H5I_INVALID_HID;
    for (unsigned i = 0; i < ATTRS; i++)
        s->attr[i] = H5I_INVALID_HID;
    s->fapl = o->ours ? fapl_ours(seed % 2 ? "meta_cache=1M" : NULL) : fapl_native();
}

static void reset(struct out *o)
{
    o->len = 0;
    if (o->text)
        o->text[0] = 0;
}

static bool begins(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

/* @p a: of the file, @p n long; @p b: of the domain. */
static bool may_differ(const char *a, size_t n, const char *b)
{
    size_t k = strlen(NO_NAME);
    if (n > k && strncmp(a + n - k, NO_NAME, k) == 0)
        return strncmp(a, b, n - k) == 0 && begins(b + n - k, HAS_NAME);
    return begins(a, HAS_REF) && begins(b, NO_REF);
}

static bool agree(const char *a, const char *b)
{
    while (*a && *b) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if ((n != m || strncmp(a, b, n) != 0) && !may_differ(a, n, b))
            return false;
        a += n + (a[n] != 0);
        b += m + (b[m] != 0);
    }
    return *a == *b;
}

static bool same(struct side *side, unsigned step, const char *what)
{
    const char *a = side[0].o->text ? side[0].o->text : "", *b = side[1].o->text ? side[1].o->text : "";
    if (show)
        printf("-- %u %s\n%s", step, what, b);
    if (agree(a, b))
        return true;
    progress->differs = true;
    printf("seed %llu, step %u: %s differs\n%s", (unsigned long long)side[0].seed, step, what, show ? "" : b);
    show_difference(a, b);
    return false;
}

/* The domains' own consistency. */
static void check_domains(const struct side *s)
{
    static const char *const leaves[] = {"a.h5", "b.h5"};
    const char *tool = getenv("BKT_TOOL"), *check = getenv("BKT_CHECK_SCHEMA"), *base = new_name(s->o, "");
    char        command[20000];
    for (size_t i = 0; tool && i < COUNT(leaves); i++) {
        (void)snprintf(command, sizeof command, "'%s' verify --deep '%s' >'%s' 2>&1 || { cat '%s'; exit 1; }", tool,
                       new_name(s->o, leaves[i]), new_name(&(struct out){0}, "verify"), new_name(&(struct out){0}, "verify"));
        if (system(command) != 0) {
            printf("seed %llu: h5bucket verify finds something in %s\n", (unsigned long long)s->seed, leaves[i]);
            progress->differs = true;
        }
    }
    if (check && !strstr(base, "://")) {
        (void)snprintf(command, sizeof command, "python3 -B '%s' --bucket '%s' >'%s' 2>&1 || { cat '%s'; exit 1; }", check, base,
                       new_name(&(struct out){0}, "check"), new_name(&(struct out){0}, "check"));
        if (system(command) != 0) {
            printf("seed %llu: check_schema.py finds something\n", (unsigned long long)s->seed);
            progress->differs = true;
        }
    }
}

static herr_t print_errors(hid_t stack, void *file) { return H5Eprint2(stack, file); }

static uint64_t the_seed;

static void run_seed(const struct out *none)
{
    (void)none;
    struct out  o[2] = {{.ours = false}, {.ours = true}};
    struct side side[2];
    bool        native_says[DECISIONS] = {false};
    char        command[9000];
    (void)snprintf(command, sizeof command, "mkdir '%s' '%s'", new_name(&o[0], "n0"), new_name(&o[0], "n1"));
    CHECK(system(command) == 0, "%s", command);
    for (int k = 0; k < 2; k++) {
        begin(&side[k], &o[k], the_seed);
        side[k].native_says = native_says;
        files_create(&side[k]);
    }
    if (errors)
        H5Eset_auto2(H5E_DEFAULT, print_errors, stdout);
    bool ok = same(side, 0, "creating the files");
    for (unsigned step = 1; ok && step <= n_steps && !side[0].broken; step++) {
        struct rnd            r  = rnd_of(the_seed, step);
        const struct tree_op *op = some_op(&r);
        if (without[step])
            continue;
        progress->step = step;
        (void)snprintf(progress->op, sizeof progress->op, "%s", op->name);
        for (int k = 0; k < 2; k++) {
            struct rnd mine = r;
            reset(&o[k]);
            progress->ours = o[k].ours;
            side[k].asked  = 0;
            if (errors)
                printf("-- %u %s, %s\n", step, op->name, o[k].ours ? "domain" : "file");
            op->run(&side[k], &mine);
            H5Eclear2(H5E_DEFAULT);
        }
        ok = same(side, step, op->name);
    }
    if (ok && !side[0].broken) {
        progress->step = n_steps + 1;
        (void)snprintf(progress->op, sizeof progress->op, "the end");
        for (int k = 0; k < 2; k++) {
            reset(&o[k]);
            files_close(&side[k]);
            side[k].rw = false;
            files_open(&side[k]);
            for (unsigned i = 1; i < FILES && !side[0].broken; i++)
                say_everything(&side[k], side[k].file[i]);
            files_close(&side[k]);
        }
        ok = same(side, n_steps + 1, "the end");
        check_domains(&side[1]);
    }
    for (int k = 0; k < 2; k++) {
        if (!ok || side[k].broken)
            files_close(&side[k]);
        files_delete(&side[k]);
        H5Pclose(side[k].fapl);
        free(o[k].text);
    }
    compare_write_end();
}

/* In a process of its own: a crash is reported like a difference. */
static bool run(uint64_t seed, bool quiet)
{
    (void)fflush(NULL);
    *progress = (struct progress){0};
    pid_t pid = here ? 0 : fork();
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    if (pid == 0) {
        if (quiet && (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
            _exit(3);
        the_seed = seed;
        compare_write_extra(run_seed, NULL);
        exit(progress->differs || failures ? 1 : 0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        ;
    if (WIFSIGNALED(status) && !quiet)
        printf("seed %llu, step %u: %s ends by signal %d in a %s\n", (unsigned long long)seed, progress->step, progress->op,
               WTERMSIG(status), progress->ours ? "domain" : "file");
    return status == 0;
}

static void shrink(uint64_t seed)
{
    unsigned last = progress->step;
    char     op[sizeof progress->op];
    memcpy(op, progress->op, sizeof op);
    if (last <= n_steps)
        n_steps = last;
    for (unsigned size = n_steps; size > 0; size /= 2)
        for (unsigned at = 1; at <= n_steps; at += size) {
            bool before[MAX_STEPS], any = false;
            memcpy(before, without, sizeof before);
            for (unsigned i = at; i < at + size && i <= n_steps; i++) {
                any |= !without[i];
                without[i] = true;
            }
            if (any && (run(seed, true) || strcmp(op, progress->op) != 0))
                memcpy(without, before, sizeof without);
        }
    printf("enough: --seed %llu --steps %u --without ", (unsigned long long)seed, n_steps);
    for (unsigned i = 1, n = 0; i <= n_steps; i++) /* ranges */
        if (without[i]) {
            unsigned to = i;
            while (to < n_steps && without[to + 1])
                to++;
            printf("%s%u-%u", n++ ? "," : "", i, to);
            i = to;
        }
    printf("\n");
    show = true;
    (void)run(seed, false);
}

/* "3-5,8": the next range of a list; false: no more. */
static bool next_range(const char **list, uint64_t *from, uint64_t *to)
{
    char *end = NULL;
    if (!**list)
        return false;
    *from = strtoull(*list, &end, 10);
    *to   = *end == '-' ? strtoull(end + 1, &end, 10) : *from;
    *list = *end ? end + 1 : end;
    return true;
}

static void leave_out(const char *list)
{
    for (uint64_t from, to; next_range(&list, &from, &to);)
        for (uint64_t i = from; i <= to && i < MAX_STEPS; i++)
            without[i] = true;
}

static unsigned run_seeds(const char *list, bool shrinks)
{
    const char *sample = getenv("BKT_SAMPLE");
    unsigned    step = sample && *sample ? 2 : 1; /* in ranges; seeds that are named by themselves met a fault once */
    unsigned    n = 0, failed = 0;
    if (step > 1)
        printf("every second seed of a range (a sample: ./check --all takes all)\n");
    for (uint64_t from, to; next_range(&list, &from, &to);)
        for (uint64_t seed = from; seed <= to; seed += step, n++) {
            if (run(seed, false))
                continue;
            failed++;
            printf("FAIL seed %llu (step %u: %s)\n", (unsigned long long)seed, progress->step, progress->op);
            if (shrinks) {
                unsigned steps = n_steps;
                shrink(seed);
                memset(without, 0, sizeof without);
                n_steps = steps;
                show    = false;
            }
        }
    printf("%u seeds of %u steps, %u failed\n", n, n_steps, failed);
    return failed;
}

static char  folder[4096]; /* holds the files of each seed's process, also after a crash */
static pid_t made_by;

static void at_exit(void)
{
    char command[4200];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (made_by == getpid() && system(command) != 0)
        printf("%s is left\n", folder);
}

static bool make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/h5random.XXXXXX", tmp ? tmp : "/tmp");
    made_by = getpid();
    return mkdtemp(folder) && atexit(at_exit) == 0 && setenv("TMPDIR", folder, 1) == 0;
}

int main(int argc, char **argv)
{
    const char *seeds   = "1";
    bool        shrinks = false;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "--shrink") == 0)
            shrinks = true;
        else if (strcmp(argv[i], "--show") == 0)
            show = true;
        else if (strcmp(argv[i], "--here") == 0)
            here = true;
        else if (strcmp(argv[i], "--errors") == 0)
            errors = true;
        else if (strcmp(argv[i], "--seed") == 0)
            seeds = argv[++i] ? value : "";
        else if (strcmp(argv[i], "--steps") == 0)
            n_steps = (unsigned)strtoul(argv[++i] ? value : "", NULL, 10);
        else if (strcmp(argv[i], "--without") == 0)
            leave_out(argv[++i] ? value : "");
        else {
            printf("usage: %s [--seed LIST] [--steps M] [--without LIST] [--shrink] [--show] [--errors] [--here]\n", argv[0]);
            return 2;
        }
    }
    if (n_steps >= MAX_STEPS) {
        printf("at most %d steps\n", MAX_STEPS - 1);
        return 2;
    }
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED || !make_folder())
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run_seeds(seeds, shrinks) != 0;
}
