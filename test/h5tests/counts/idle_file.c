/* idle_file make NAME | read NAME | write NAME: a file that is open while the program makes no call is idle:
 * no thread of the process wakes up, and no processor time is taken.  `make` makes a domain.  `read` opens
 * it, reads it, and looks; then it reads in steps, so that more is fetched ahead, and looks.  `write` makes
 * another domain, writes data that go out in the background, flushes, and looks; then it writes data that
 * stay in memory, and looks. */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "h5tests/helpers/must_succeed_file.h"

enum { N = 4000, CHUNK = 500, MEMBERS = 20, MAX_THREADS = 512 };
enum { STEP = 65536, STEPS = 40, READ = 8 }; /* of dataset "long": ints in a chunk, chunks, and how many of them are read */
#define SETTLE 90 /* seconds, at most: the end of threads and of read-ahead */
#define WATCH  3  /* seconds in which nothing happens */

struct sample {
    size_t n;
    struct {
        long tid, switches;
        char name[32];
    } thread[MAX_THREADS];
    double cpu;
};

static double seconds(clockid_t which)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pass(int s)
{
    struct timespec t = {.tv_sec = s};
    (void)nanosleep(&t, NULL);
}

/* How often one thread gave up its processor or lost it; -1: it has ended. */
static long switches_of(const char *tid, char *name)
{
    char  path[300], line[200];
    long  sum = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    while (fgets(line, sizeof line, f)) {
        (void)sscanf(line, "Name: %31s", name);
        if (strstr(line, "voluntary_ctxt_switches:")) /* nonvoluntary_, too */
            sum += strtol(strchr(line, ':') + 1, NULL, 10);
    }
    (void)fclose(f);
    return sum;
}

/* All threads but this one, which has to sleep and look. */
static void look(struct sample *s)
{
    DIR *d = opendir("/proc/self/task");
    REQUIRE(d, "no /proc");
    s->n   = 0;
    s->cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - seconds(CLOCK_THREAD_CPUTIME_ID);
    for (struct dirent *e; (e = readdir(d)) && s->n < MAX_THREADS;) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid <= 0 || tid == (long)getpid())
            continue;
        s->thread[s->n].tid      = tid;
        s->thread[s->n].switches = switches_of(e->d_name, s->thread[s->n].name);
        s->n += s->thread[s->n].switches >= 0;
    }
    (void)closedir(d);
}

/* How many threads ran, began or ended in between. */
static size_t awake(const struct sample *a, const struct sample *b, int report)
{
    size_t n = a->n > b->n ? a->n - b->n : 0;
    for (size_t i = 0, k; i < b->n; i++) {
        for (k = 0; k < a->n && a->thread[k].tid != b->thread[i].tid; k++)
            ;
        long more = b->thread[i].switches - (k < a->n ? a->thread[k].switches : 0);
        n += more != 0 || k == a->n;
        if (report && (more || k == a->n))
            (void)printf("%s woke up %ld times\n", b->thread[i].name, more);
    }
    return n;
}

static void watch(const char *name, const char *when)
{
    static struct sample a, b;
    double               until = seconds(CLOCK_MONOTONIC) + SETTLE;
    bool                 idle  = false;
    do { /* a regular wake-up is seen each time */
        look(&a);
        pass(WATCH);
        look(&b);
        idle = awake(&a, &b, 0) == 0 && b.cpu - a.cpu < 0.02;
    } while (!idle && seconds(CLOCK_MONOTONIC) < until);
    REQUIRE(idle, "%zu threads of %zu woke up, %f seconds of a processor, in %d seconds with %s open, %s", awake(&a, &b, 1), b.n, b.cpu - a.cpu,
         WATCH, name, when);
    (void)printf("%s, %s: %zu threads, all asleep\n", name, when, b.n);
}

/* ---- the domain ---- */

static void through_the_connector(hid_t file, const char *name)
{
    char connector[32] = "";
    TRY(H5VLget_connector_name(file, connector, sizeof connector));
    REQUIRE(strcmp(connector, "bucket") == 0, "%s is open through \"%s\"", name, connector);
}

/* One chunk of "long" after the other: they go out before a flush, or come before they are read. */
static void in_steps(hid_t dset, int from, int to, int write)
{
    static int values[STEP];
    hsize_t    count = STEP;
    hid_t      space = TRY(H5Dget_space(dset)), mem = TRY(H5Screate_simple(1, &count, NULL));
    for (int k = from; k < to; k++) {
        hsize_t at = (hsize_t)k * STEP;
        for (int i = 0; i < STEP; i++)
            values[i] = write ? k + i : -1;
        TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &count, NULL));
        if (write)
            TRY(H5Dwrite(dset, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, values));
        else
            TRY(H5Dread(dset, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, values));
        REQUIRE(values[0] == k && values[STEP - 1] == k + STEP - 1, "%d, %d in chunk %d", values[0], values[STEP - 1], k);
    }
    TRY(H5Sclose(mem));
    TRY(H5Sclose(space));
}

static hid_t create(const char *name)
{
    hid_t file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    through_the_connector(file, name);
    return file;
}

static void make_domain(const char *name)
{
    static int values[N];
    hid_t      file = create(name);
    for (int i = 0; i < N; i++)
        values[i] = i;
    for (int i = 0; i < MEMBERS; i++) {
        char member[20];
        (void)snprintf(member, sizeof member, "d%02d", i);
        hid_t dset = make_dataset(file, member, &(struct made){.dims = {N}, .chunk = {CHUNK}});
        TRY(H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        TRY(H5Dclose(dset));
    }
    hid_t dset = make_dataset(file, "long", &(struct made){.dims = {(hsize_t)STEP * STEPS}, .chunk = {STEP}});
    in_steps(dset, 0, STEPS, 1);
    TRY(H5Dclose(dset));
    TRY(H5Fclose(file));
}

/* In steps, one object after the other, so that read-ahead fetches as much as it can. */
static void read_all(hid_t file)
{
    static int got[CHUNK];
    hsize_t    count = CHUNK;
    for (int i = 0; i < MEMBERS; i++) {
        char member[20];
        (void)snprintf(member, sizeof member, "d%02d", i);
        hid_t dset = TRY(H5Dopen2(file, member, H5P_DEFAULT)), space = TRY(H5Dget_space(dset)), mem = TRY(H5Screate_simple(1, &count, NULL));
        for (hsize_t at = 0; at < N / 2; at += CHUNK) {
            TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &count, NULL));
            TRY(H5Dread(dset, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, got));
            REQUIRE(got[0] == (int)at && got[CHUNK - 1] == (int)at + CHUNK - 1, "%d, %d at %d", got[0], got[CHUNK - 1], (int)at);
        }
        TRY(H5Sclose(mem));
        TRY(H5Sclose(space));
        TRY(H5Dclose(dset));
    }
}

static void read_and_watch(const char *name)
{
    hid_t file = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    through_the_connector(file, name);
    read_all(file);
    watch(name, "read");
    read_all(file); /* and it is alive */
    hid_t dset = TRY(H5Dopen2(file, "long", H5P_DEFAULT));
    in_steps(dset, 0, READ, 0);
    watch(name, "read ahead");
    in_steps(dset, 0, READ, 0);
    TRY(H5Dclose(dset));
    TRY(H5Fclose(file));
}

static void write_and_watch(const char *name)
{
    hid_t file = create(name), dset = make_dataset(file, "long", &(struct made){.dims = {(hsize_t)STEP * STEPS}, .chunk = {STEP}});
    in_steps(dset, 0, STEPS / 2, 1);
    TRY(H5Fflush(file, H5F_SCOPE_GLOBAL));
    watch(name, "written and flushed");
    in_steps(dset, STEPS / 2, STEPS / 2 + READ, 1);
    watch(name, "written");
    in_steps(dset, 0, STEPS / 2 + READ, 0);
    TRY(H5Dclose(dset));
    TRY(H5Fclose(file));
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (access("/proc/self/task", R_OK) != 0)
        return skip("no /proc/self/task here");
    if (strcmp(argv[1], "make") == 0)
        make_domain(argv[2]);
    else if (strcmp(argv[1], "read") == 0)
        read_and_watch(argv[2]);
    else
        write_and_watch(argv[2]);
    return 0;
}
