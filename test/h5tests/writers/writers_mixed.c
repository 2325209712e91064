/* Many processes make, change, move, copy and delete members of their own in objects that they share, in
 * random order, and nothing is lost.
 *
 *   writers_mixed PROCESSES STEPS SEED        at the end all objects have the result of each process's last
 *                                             change
 *   writers_mixed PROCESSES STEPS SEED SHIM   every other process is killed at one of its PUTs and DELETEs by
 *                                             SHIM (kill_at_put.c): the results of the others are there, and
 *                                             its flushed ones that it hasn't changed since
 *
 * $BKT_H5_BASE: where, a directory (its own by default) or s3://bucket/folder; $BKT_TOOL: h5bucket, which
 * then verifies the domain.  The connector is "bucket". */
#include <hdf5.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "h5tests/helpers/must_succeed_file.h"

enum { MOST = 64, SLOTS = 16, CHUNK = 10, LONG = 3000, MORE = 2 /* sessions of a process */ };

static int       processes, steps;
static uint64_t  seed;
static int      *flushed; /* the last step of each process that it has flushed; shared by all */

static struct {
    hid_t file, here, there, attrs, values, rows, texts, grown, chunks, text;
} at;

/* ---- the actions of a process on slot i of a kind: from the value `old` to `to`; 0: no value ---- */

static const char *name_of(const char *kind, int p, int i)
{
    static char     names[4][40];
    static unsigned next;
    char           *to = names[next++ % 4];
    (void)snprintf(to, sizeof names[0], "%s_%d_%d", kind, p, i);
    return to;
}

static const char *text_of(int v)
{
    static char text[80];
    (void)snprintf(text, sizeof text, "text %d %.*s", v, v % 40, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
    return text;
}

/* Links: soft ones, and hard ones in two groups. */
static hid_t group_of(int v) { return v % 3 == 2 ? at.there : at.here; }

static void set_link(int p, int i, int old, int to)
{
    const char *name = name_of("link", p, i);
    if (old && to && old % 3 && to % 3) {
        if (old % 3 != to % 3)
            TRY(H5Lmove(group_of(old), name, group_of(to), name, H5P_DEFAULT, H5P_DEFAULT));
        return;
    }
    if (old)
        TRY(H5Ldelete(group_of(old), name, H5P_DEFAULT));
    if (to && to % 3)
        TRY(H5Lcreate_hard(at.file, "/values", group_of(to), name, H5P_DEFAULT, H5P_DEFAULT));
    else if (to)
        TRY(H5Lcreate_soft("/somewhere", at.here, name, H5P_DEFAULT, H5P_DEFAULT));
}

static bool is_link(int p, int i, int v)
{
    const char *name = name_of("link", p, i);
    H5L_info2_t info;
    bool here = H5Lexists(at.here, name, H5P_DEFAULT) > 0, there = H5Lexists(at.there, name, H5P_DEFAULT) > 0;
    if (here != (v && v % 3 != 2) || there != (v && v % 3 == 2))
        return false;
    return !v || (H5Lget_info2(group_of(v), name, &info, H5P_DEFAULT) >= 0 && info.type == (v % 3 ? H5L_TYPE_HARD : H5L_TYPE_SOFT));
}

/* Groups with a dataset in each: made, copied, written to, deleted with their contents. */
static void set_group(int p, int i, int old, int to)
{
    const char *name = name_of("group", p, i), *copy = name_of("copy", p, i);
    char        path[80];
    if (!to) {
        TRY(H5Ldelete(at.here, name, H5P_DEFAULT));
        return;
    }
    if (!old) {
        hid_t s = TRY(H5Screate(H5S_SCALAR)), g = TRY(H5Gcreate2(at.here, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        TRY(H5Dclose(TRY(H5Dcreate2(g, "d", H5T_STD_I32BE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
        TRY(H5Gclose(g));
        TRY(H5Sclose(s));
    } else if (to % 3 == 0) {
        TRY(H5Ocopy(at.here, name, at.here, copy, H5P_DEFAULT, H5P_DEFAULT));
        TRY(H5Ldelete(at.here, name, H5P_DEFAULT));
        TRY(H5Lmove(at.here, copy, at.here, name, H5P_DEFAULT, H5P_DEFAULT));
    }
    (void)snprintf(path, sizeof path, "%s/d", name);
    hid_t d = TRY(H5Dopen2(at.here, path, H5P_DEFAULT));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &to));
    TRY(H5Dclose(d));
}

static bool is_group(int p, int i, int v)
{
    const char *name = name_of("group", p, i);
    char        path[80];
    int         got = 0;
    if ((H5Lexists(at.here, name, H5P_DEFAULT) > 0) != (v != 0) || !v)
        return !v;
    (void)snprintf(path, sizeof path, "%s/d", name);
    hid_t d  = H5Dopen2(at.here, path, H5P_DEFAULT);
    bool  ok = d >= 0 && H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &got) >= 0 && got == v;
    return (d < 0 || H5Dclose(d) >= 0) && ok;
}

static void set_comment(int p, int i, int old, int to)
{
    hid_t g = TRY(H5Gopen2(at.there, name_of("mine", p, i), H5P_DEFAULT));
    (void)old;
    TRY(H5Oset_comment(g, to ? text_of(to) : NULL));
    TRY(H5Gclose(g));
}

static bool is_comment(int p, int i, int v)
{
    char text[100] = "";
    return H5Oget_comment_by_name(at.there, name_of("mine", p, i), text, sizeof text, H5P_DEFAULT) >= 0 &&
           strcmp(text, v ? text_of(v) : "") == 0;
}

/* Attributes of one object, under one of two names: a number, many numbers, a string. */
enum { NUMBER, NUMBERS, STRING };

static const char *attr_of(int p, int i, int v) { return name_of(v / 3 % 2 ? "one" : "other", p, i); }
static const int  *numbers_of(int v)
{
    static int n[LONG];
    for (int k = 0; k < LONG; k++)
        n[k] = v + k;
    return n;
}

static void write_attr(hid_t a, int v)
{
    const char *text = text_of(v);
    TRY(v % 3 == STRING ? H5Awrite(a, at.text, &text) : H5Awrite(a, H5T_NATIVE_INT, numbers_of(v)));
    TRY(H5Aclose(a));
}

static void change_attr(int p, int i, int old, int to)
{
    if (old && to && old % 3 == to % 3) {
        if (strcmp(attr_of(p, i, old), attr_of(p, i, to)) != 0)
            TRY(H5Arename(at.attrs, attr_of(p, i, old), attr_of(p, i, to)));
        write_attr(TRY(H5Aopen(at.attrs, attr_of(p, i, to), H5P_DEFAULT)), to);
        return;
    }
    if (old)
        TRY(H5Adelete(at.attrs, attr_of(p, i, old)));
    if (to) {
        hsize_t n = to % 3 == NUMBERS ? LONG : 1;
        hid_t   s = TRY(H5Screate_simple(1, &n, NULL)), type = to % 3 == STRING ? at.text : H5T_STD_I32BE;
        write_attr(TRY(H5Acreate2(at.attrs, attr_of(p, i, to), type, s, H5P_DEFAULT, H5P_DEFAULT)), to);
        TRY(H5Sclose(s));
    }
}

static bool is_attr(int p, int i, int v)
{
    static int got[LONG];
    char      *text = NULL;
    bool one = H5Aexists(at.attrs, name_of("one", p, i)) > 0, other = H5Aexists(at.attrs, name_of("other", p, i)) > 0;
    if (one != (v && v / 3 % 2) || other != (v && !(v / 3 % 2)) || !v)
        return !v && !one && !other;
    hid_t a  = H5Aopen(at.attrs, attr_of(p, i, v), H5P_DEFAULT);
    bool  ok = v % 3 == STRING ? H5Aread(a, at.text, &text) >= 0 && text && strcmp(text, text_of(v)) == 0
                               : H5Aread(a, H5T_NATIVE_INT, got) >= 0 &&
                                    memcmp(got, numbers_of(v), (v % 3 == NUMBERS ? LONG : 1) * sizeof *got) == 0;
    H5free_memory(text);
    return H5Aclose(a) >= 0 && ok;
}

static void set_type(int p, int i, int old, int to)
{
    const char *name = name_of("type", p, i);
    if (old)
        TRY(H5Ldelete(at.there, name, H5P_DEFAULT));
    if (to) {
        hid_t t = TRY(H5Tcreate(H5T_OPAQUE, (size_t)to));
        TRY(H5Tcommit2(at.there, name, t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        TRY(H5Tclose(t));
    }
}

static bool is_type(int p, int i, int v)
{
    const char *name = name_of("type", p, i);
    if (H5Lexists(at.there, name, H5P_DEFAULT) <= 0)
        return !v;
    hid_t t  = H5Topen2(at.there, name, H5P_DEFAULT);
    bool  ok = t >= 0 && H5Tget_size(t) == (size_t)v;
    return H5Tclose(t) >= 0 && ok;
}

/* Counts of references to one object: a slot has up to 3 of them. */
static void set_refs(int p, int i, int old, int to)
{
    (void)p, (void)i;
    for (int n = old % 4; n < to % 4; n++)
        TRY(H5Oincr_refcount(at.values));
    for (int n = old % 4; n > to % 4; n--)
        TRY(H5Odecr_refcount(at.values));
}
static bool any(int p, int i, int v) { return (void)p, (void)i, (void)v, true; } /* all together: see check_totals() */

/* Elements of chunks that everybody writes to; numbers, strings, and rows of a dataset that grows. */
static hsize_t place(int p, int i) { return (hsize_t)(i * processes + p); }

static bool get(hid_t d, hsize_t where, hid_t type, void *value, hsize_t n)
{
    hsize_t now = 0;
    hid_t   s = TRY(H5Dget_space(d)), m = TRY(H5Screate_simple(1, &n, NULL));
    TRY(H5Sget_simple_extent_dims(s, &now, NULL));
    bool ok = where + n <= now && H5Sselect_hyperslab(s, H5S_SELECT_SET, &where, NULL, &n, NULL) >= 0 &&
              H5Dread(d, type, m, s, H5P_DEFAULT, value) >= 0;
    return H5Sclose(m) >= 0 && H5Sclose(s) >= 0 && ok;
}

static void set_row(int p, int i, int old, int to) { (void)old, write_element(at.rows, H5T_NATIVE_INT, place(p, i), &to); }
static bool is_row(int p, int i, int v)
{
    int got = -1;
    return get(at.rows, place(p, i), H5T_NATIVE_INT, &got, 1) && got == v;
}

static void set_text(int p, int i, int old, int to)
{
    const char *text = text_of(to);
    (void)old;
    write_element(at.texts, at.text, place(p, i), &text);
}
static bool is_text(int p, int i, int v)
{
    char *text = NULL;
    bool  ok   = get(at.texts, place(p, i), at.text, &text, 1) && (v ? text && strcmp(text, text_of(v)) == 0 : !text);
    return H5free_memory(text) >= 0 && ok;
}

static void set_grown(int p, int i, int old, int to)
{
    hsize_t now = 0, want = place(p, i) + 1;
    hid_t   s   = TRY(H5Dget_space(at.grown));
    (void)old;
    TRY(H5Sget_simple_extent_dims(s, &now, NULL));
    TRY(H5Sclose(s));
    if (now < want)
        TRY(H5Dset_extent(at.grown, &want));
    write_element(at.grown, H5T_NATIVE_INT, want - 1, &to);
}
static bool is_grown(int p, int i, int v)
{
    int got = 0;
    return get(at.grown, place(p, i), H5T_NATIVE_INT, &got, 1) ? got == v : !v;
}

/* Small chunks, several in an object, as the program encoded them: without the filters. */
static void set_chunk(int p, int i, int old, int to)
{
    hsize_t where = place(p, i) * CHUNK;
    (void)old;
    TRY(H5Dwrite_chunk(at.chunks, H5P_DEFAULT, 3, &where, CHUNK * sizeof(int), numbers_of(to)));
}
static bool is_chunk(int p, int i, int v)
{
    static const int zeros[CHUNK];
    int              got[CHUNK];
    return get(at.chunks, place(p, i) * CHUNK, H5T_NATIVE_INT, got, CHUNK) && memcmp(got, v ? numbers_of(v) : zeros, sizeof got) == 0;
}

static const struct kind {
    const char *name;
    bool        goes; /* there may be nothing */
    void (*set)(int p, int i, int old, int to);
    bool (*is)(int p, int i, int v);
} kinds[] = {
    {"link", true, set_link, is_link},       {"group", true, set_group, is_group}, {"comment", true, set_comment, is_comment},
    {"attribute", true, change_attr, is_attr},  {"type", true, set_type, is_type},    {"references", true, set_refs, any},
    {"row", false, set_row, is_row},         {"text", false, set_text, is_text},   {"grown row", false, set_grown, is_grown},
    {"chunk", false, set_chunk, is_chunk},
};
enum { KINDS = sizeof kinds / sizeof *kinds, LINK = 0, GROUP = 1, ATTRIBUTE = 3, TYPE = 4, REFERENCES = 5, GROWN = 8 };

/* ---- a process ---- */

struct state {
    int  now[KINDS][SLOTS];
    bool touched[KINDS][SLOTS]; /* after the flushed changes */
};

static uint64_t next_random(uint64_t *s)
{
    uint64_t z = (*s += 0x9e3779b97f4a7c15U);
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    return z ^ (z >> 31);
}

/* Step n of process p: the same each time, so that it needs no record of its actions. */
static void step(struct state *st, int p, int n, bool do_it)
{
    uint64_t s = seed * 1000003 + (uint64_t)p * 1000 * 1000 + (uint64_t)n, x = next_random(&s);
    size_t   k  = x % (KINDS + 1);
    int      i  = (int)((x >> 8) % SLOTS), to = 1 + (int)((x >> 16) % 999);
    if (k == KINDS) { /* now and then */
        if (do_it && to % 2) {
            TRY(H5Fflush(at.file, H5F_SCOPE_GLOBAL));
            flushed[p] = n;
        } else if (do_it) {
            TRY(H5Orefresh(at.here));
            TRY(H5Drefresh(at.grown));
        }
        return;
    }
    if (kinds[k].goes && to % 4 == 0)
        to = 0;
    int old           = st->now[k][i];
    st->now[k][i]     = to;
    st->touched[k][i] = st->touched[k][i] || n > flushed[p];
    if (do_it && old != to)
        kinds[k].set(p, i, old, to);
}

static void open_all(const char *name, unsigned flags)
{
    at.file   = TRY(H5Fopen(name, flags, H5P_DEFAULT));
    at.here   = TRY(H5Gopen2(at.file, "here", H5P_DEFAULT));
    at.there  = TRY(H5Gopen2(at.file, "there", H5P_DEFAULT));
    at.attrs  = TRY(H5Gopen2(at.file, "attrs", H5P_DEFAULT));
    at.values = TRY(H5Dopen2(at.file, "values", H5P_DEFAULT));
    at.rows   = TRY(H5Dopen2(at.file, "rows", H5P_DEFAULT));
    at.texts  = TRY(H5Dopen2(at.file, "texts", H5P_DEFAULT));
    at.grown  = TRY(H5Dopen2(at.file, "grown", H5P_DEFAULT));
    at.chunks = TRY(H5Dopen2(at.file, "chunks", H5P_DEFAULT));
}

static void close_all(void)
{
    TRY(H5Gclose(at.here));
    TRY(H5Gclose(at.there));
    TRY(H5Gclose(at.attrs));
    TRY(H5Dclose(at.values));
    TRY(H5Dclose(at.rows));
    TRY(H5Dclose(at.texts));
    TRY(H5Dclose(at.grown));
    TRY(H5Dclose(at.chunks));
    TRY(H5Fclose(at.file));
}

static int one_process(const char *name, int p)
{
    static struct state st;
    for (int session = 0; session < MORE; session++) {
        open_all(name, H5F_ACC_RDWR);
        for (int n = session * (steps / MORE); n < (session + 1) * (steps / MORE); n++)
            step(&st, p, n, true);
        close_all();
        flushed[p] = (session + 1) * (steps / MORE) - 1;
    }
    return 0;
}

/* ---- before and after ---- */

static void make_closed(hid_t f, const char *name, const struct made *m) { TRY(H5Dclose(make_dataset(f, name, m))); }

static void prepare(const char *name)
{
    static const char *const groups[] = {"here", "there", "attrs"};
    hsize_t all = (hsize_t)(processes * SLOTS);
    hid_t   f   = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    require_connector(f, "bucket");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        TRY(H5Gclose(TRY(H5Gcreate2(f, groups[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    hid_t there = TRY(H5Gopen2(f, "there", H5P_DEFAULT));
    for (int p = 0; p < processes; p++)
        for (int i = 0; i < SLOTS; i++)
            TRY(H5Gclose(TRY(H5Gcreate2(there, name_of("mine", p, i), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    TRY(H5Gclose(there));
    make_closed(f, "values", &(struct made){.dims = {4}, .chunk = {4}});
    make_closed(f, "rows", &(struct made){.dims = {all}, .chunk = {97}, .shuffle = true, .deflate = true});
    make_closed(f, "texts", &(struct made){.type = at.text, .dims = {all}, .chunk = {31}});
    make_closed(f, "grown", &(struct made){.type = H5T_STD_I32BE, .max = {H5S_UNLIMITED}, .chunk = {97}});
    make_closed(f, "chunks", &(struct made){.dims = {all * CHUNK}, .chunk = {CHUNK}, .shuffle = true, .deflate = true});
    TRY(H5Fclose(f));
}

/* The total number: every object was made by a process, and exists once. */
static void check_totals(const struct state *all)
{
    H5G_info_t  here, there;
    H5O_info2_t attrs, values;
    hsize_t     extent = 0, rows = 0;
    int         links = 0, others = processes * SLOTS, made = 0, hard = 1;
    for (int p = 0; p < processes; p++)
        for (int i = 0; i < SLOTS; i++) {
            const struct state *st   = &all[p];
            int                 link = st->now[LINK][i];
            links += (link && link % 3 != 2) + (st->now[GROUP][i] != 0);
            others += (link && link % 3 == 2) + (st->now[TYPE][i] != 0);
            hard += (link && link % 3) + st->now[REFERENCES][i] % 4;
            made += st->now[ATTRIBUTE][i] != 0;
            rows = st->now[GROWN][i] && rows < place(p, i) + 1 ? place(p, i) + 1 : rows;
        }
    hid_t s = TRY(H5Dget_space(at.grown));
    TRY(H5Sget_simple_extent_dims(s, &extent, NULL));
    TRY(H5Sclose(s));
    TRY(H5Gget_info(at.here, &here));
    TRY(H5Gget_info(at.there, &there));
    TRY(H5Oget_info3(at.attrs, &attrs, H5O_INFO_NUM_ATTRS));
    TRY(H5Oget_info3(at.values, &values, H5O_INFO_BASIC));
    CHECK((int)here.nlinks == links, "%d links, wanted %d", (int)here.nlinks, links);
    CHECK((int)there.nlinks == others, "%d other links, wanted %d", (int)there.nlinks, others);
    CHECK((int)attrs.num_attrs == made, "%d attributes, wanted %d", (int)attrs.num_attrs, made);
    CHECK((int)values.rc == hard, "%u references, wanted %d", values.rc, hard);
    CHECK(extent == rows, "%d rows, wanted %d", (int)extent, (int)rows);
}

/* How many slots could be looked at. */
static int check_all(const char *name, bool killed)
{
    static struct state all[MOST];
    int                 n = 0;
    open_all(name, H5F_ACC_RDONLY);
    for (int p = 0; p < processes; p++) {
        for (int i = 0; i < steps / MORE * MORE; i++)
            step(&all[p], p, i, false);
        for (size_t k = 0; k < KINDS; k++)
            for (int i = 0; i < SLOTS; i++)
                if (!all[p].touched[k][i] && ++n)
                    CHECK(kinds[k].is(p, i, all[p].now[k][i]), "%s %d of process %d is not %d", kinds[k].name, i, p, all[p].now[k][i]);
    }
    if (!killed)
        check_totals(all);
    close_all();
    return n;
}

/* ---- the processes ---- */

/* It is killed at one of its PUTs or DELETEs, in its first session or in its last. */
static void kill_later(const char *shim, int p)
{
    const char *before = getenv("BKT_PRELOAD");
    char        all[8300], n[12];
    (void)snprintf(all, sizeof all, "%s %s", before ? before : "", shim);
    (void)snprintf(n, sizeof n, "%d", 3 + (int)((seed + (uint64_t)p) * 29 % 61));
    if (setenv("LD_PRELOAD", all, 1) != 0 || setenv("BKT_TEST_PUT", n, 1) != 0 ||
        setenv("BKT_TEST_DO", p % 4 == 1 ? "before" : "after", 1) != 0)
        _exit(127);
}

static int run_all(char **argv, const char *name, const char *shim, int share_fd)
{
    pid_t pid[MOST];
    int   killed = 0;
    (void)fflush(stdout);
    for (int p = 0; p < processes; p++)
        if ((pid[p] = fork()) == 0) {
            char who[12], fd[12];
            (void)snprintf(who, sizeof who, "%d", p);
            (void)snprintf(fd, sizeof fd, "%d", share_fd);
            if (shim && p % 2)
                kill_later(shim, p);
            (void)execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], name, who, fd, (char *)NULL);
            _exit(127);
        }
    for (int p = 0; p < processes; p++) {
        int  status = 1;
        bool ended  = waitpid(pid[p], &status, 0) == pid[p];
        bool shot   = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && shim && p % 2;
        killed += shot;
        CHECK(ended && (status == 0 || shot), "process %d ended with %d", p, status);
    }
    CHECK(!shim || killed >= processes / 4, "%d processes were killed", killed);
    return killed;
}

/* A file in memory, which a child's program has by the same number. */
static void share(int fd)
{
    size_t size = MOST * sizeof *flushed;
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "descriptor %d", fd);
    flushed = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(flushed != MAP_FAILED, "descriptor %d", fd);
}

static void verify(const char *name)
{
    char        command[400];
    const char *tool = getenv("BKT_TOOL");
    (void)snprintf(command, sizeof command, "%s verify %s > /dev/null", tool ? tool : "", name);
    CHECK(!tool || system(command) == 0, "%s", command);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    processes = (int)strtol(argv[1], NULL, 10);
    steps     = (int)strtol(argv[2], NULL, 10);
    seed      = strtoull(argv[3], NULL, 10);
    if (sampled() && steps >= 200)
        steps /= 2;
    if (processes < 1 || processes > MOST || steps < MORE)
        return 2;
    at.text = TRY(H5Tcopy(H5T_C_S1));
    TRY(H5Tset_size(at.text, H5T_VARIABLE));
    if (argc == 7) {
        share((int)strtol(argv[6], NULL, 10));
        return one_process(argv[4], (int)strtol(argv[5], NULL, 10));
    }
    char        dir[] = "/tmp/bkt-mixed-XXXXXX", name[300], command[80];
    const char *base = getenv("BKT_H5_BASE"), *shim = argc > 4 ? argv[4] : NULL;
    if (!base && !mkdtemp(dir))
        return 1;
    (void)snprintf(name, sizeof name, "%s/mixed-%d.h5", base ? base : dir, (int)getpid());
    int fd = memfd_create("flushed", 0);
    share(fd);
    for (int p = 0; p < processes; p++)
        flushed[p] = -1;
    prepare(name);
    int killed = run_all(argv, name, shim, fd), seen = check_all(name, killed > 0);
    (void)printf("%d processes, %d steps each, %d killed: %d slots were looked at, %d failures\n", processes, steps, killed, seen, failures);
    verify(name);
    TRY(H5Tclose(at.text));
    TRY(H5Fdelete(name, H5P_DEFAULT));
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return (!base && system(command) != 0) || failures != 0;
}
