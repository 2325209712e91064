/* Memory that runs out under a program: at the n-th allocation of the connector and its libraries, for one n
 * after the other (every one of the first forty, a sample of the others).  The n-th allocation fails by
 * itself, or with all that follow for a while.  No call crashes or hangs.  A failing call gives the reason; a
 * successful call has been carried out; values read are right.  With memory again the file is flushed and
 * closed, and the results of all successful calls are there.  Each n has a process of its own, so that work
 * which is done only once is tested, too.
 *
 *   h5_memory         in a folder, and on a scripted S3 server
 *   h5_memory N MORE [s3]   one of them */
#include <hdf5.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/check.h"
#include "http/helpers/fake_s3.h"
#include "h5tests/faults/memory_short.h"

enum { N = 600, CHUNK = 50, EVERY = 40, SAMPLES = 40 };

static char place[4200]; /* a folder or s3://buck */
static long at, at_more; /* what fails now */
static long *allocations; /* shared with the children */
static struct server *server;

/* ---- the server: fake_s3.h's, which has no lists ---- */

static void prefix_of(const char *target, char *prefix, size_t max)
{
    const char *p = strstr(target, "prefix=");
    size_t      n = 0;
    for (p = p ? p + 7 : ""; *p && *p != '&' && n + 1 < max; p++) {
        unsigned c = 0;
        if (*p == '%' && sscanf(p + 1, "%2x", &c) == 1)
            p += 2;
        prefix[n++] = c ? (char)c : *p;
    }
    prefix[n] = 0;
}

static void list(const struct fake_s3 *fake, const struct seen *r, struct answer *a)
{
    char   prefix[300];
    size_t cap = 64 * 500, n;
    char  *text = malloc(cap);
    if (!text)
        abort();
    prefix_of(r->target, prefix, sizeof prefix);
    n = (size_t)snprintf(text, cap, "<ListBucketResult><IsTruncated>false</IsTruncated>");
    for (size_t i = 0; i < sizeof fake->object / sizeof *fake->object; i++)
        if (fake->object[i].key[0] && strncmp(fake->object[i].key, prefix, strlen(prefix)) == 0)
            n += (size_t)snprintf(text + n, cap - n, "<Contents><Key>%s</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                                  "<ETag>x</ETag><Size>%zu</Size></Contents>", fake->object[i].key, fake->object[i].len);
    n += (size_t)snprintf(text + n, cap - n, "</ListBucketResult>");
    a->owned = text;
    a->body  = text;
    a->len   = n;
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    if (strstr(r->target, "list-type=2"))
        list(arg, r, a);
    else
        fake_s3_handle(r, a, arg);
}

/* ---- calls ---- */

static herr_t first_line(unsigned n, const H5E_error2_t *e, void *arg)
{
    if (n == 0)
        (void)snprintf(arg, 500, "%s", e->desc ? e->desc : "");
    return 0;
}

static char why[500]; /* the last call failed that did */

/* A call's result as it is; one that fails must have left something on HDF5's stack. */
static int64_t report(int64_t rc, const char *call)
{
    if (rc >= 0)
        return rc;
    *why = 0;
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_line, why);
    CHECK(*why && strcmp(why, "success") != 0 && !strstr(why, " callback"),
          "%s fails without a word of ours: %s", call, why);
    if (getenv("BKT_H5_SHOW"))
        printf("%ld: %.60s: %s\n", at, call, why);
    (void)H5Eclear2(H5E_DEFAULT);
    return rc;
}
#define SAY(call) report((int64_t)(call), #call)

static const char *name_of(const char *leaf)
{
    static char name[2][4400];
    static int  next;
    next = !next;
    (void)snprintf(name[next], sizeof name[next], "%s/%s", place, leaf);
    return name[next];
}

/* ---- writing ---- */

struct done {
    hid_t f;
    bool  group, made, data, attr, text, soft, flushed, more, grown, gone;
};

static void close_id(hid_t id, herr_t (*how)(hid_t))
{
    for (int i = 0; id >= 0 && i < 2 && SAY(how(id)) < 0; i++)
        ;
}

static hid_t make_data(hid_t f)
{
    hsize_t n = N, chunk = CHUNK, max = H5S_UNLIMITED;
    hid_t   s = H5Screate_simple(1, &n, &max), p = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(p, 1, &chunk);
    (void)H5Pset_shuffle(p);
    (void)H5Pset_deflate(p, 1);
    hid_t d = (hid_t)SAY(H5Dcreate2(f, "data", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    (void)H5Pclose(p);
    (void)H5Sclose(s);
    return d;
}

static bool write_numbers(hid_t d, hsize_t from, hsize_t n, int base)
{
    int   v[N];
    hid_t s = (hid_t)SAY(H5Dget_space(d)), m = H5Screate_simple(1, &n, NULL);
    for (hsize_t i = 0; i < n; i++)
        v[i] = base + (int)(from + i);
    bool ok = s >= 0 && H5Sselect_hyperslab(s, H5S_SELECT_SET, &from, NULL, &n, NULL) >= 0 &&
              SAY(H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, v)) >= 0;
    if (s >= 0)
        (void)H5Sclose(s);
    (void)H5Sclose(m);
    return ok;
}

static bool set_attr(hid_t at_obj, const char *name, hid_t type, const void *value)
{
    hid_t s  = H5Screate(H5S_SCALAR), a = (hid_t)SAY(H5Acreate2(at_obj, name, type, s, H5P_DEFAULT, H5P_DEFAULT));
    bool  ok = a >= 0 && SAY(H5Awrite(a, type, value)) >= 0;
    close_id(a, H5Aclose);
    (void)H5Sclose(s);
    return ok;
}

static void change(struct done *w, hid_t text)
{
    static const char *const words = "of several words";
    hid_t   g = (hid_t)SAY(H5Gcreate2(w->f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), d = make_data(w->f);
    int     seven = 7;
    hsize_t more = N + CHUNK;
    w->group = g >= 0;
    w->made  = d >= 0;
    w->data  = w->made && write_numbers(d, 0, N, 1000);
    w->attr  = g >= 0 && set_attr(g, "seven", H5T_NATIVE_INT, &seven);
    w->text  = set_attr(w->f, "text", text, &words);
    w->soft  = SAY(H5Lcreate_soft("/group", w->f, "soft", H5P_DEFAULT, H5P_DEFAULT)) >= 0;
    w->flushed = SAY(H5Fflush(w->f, H5F_SCOPE_GLOBAL)) >= 0;
    w->more  = d >= 0 && w->data && write_numbers(d, 30, 100, 5000);
    w->grown = d >= 0 && SAY(H5Dset_extent(d, &more)) >= 0;
    w->gone  = w->soft && SAY(H5Ldelete(w->f, "soft", H5P_DEFAULT)) >= 0;
    close_id(d, H5Dclose);
    close_id(g, H5Gclose);
}

/* ---- the contents that must be there then ---- */

static bool look_at_data(hid_t f, const struct done *w)
{
    static int v[N + CHUNK];
    hid_t      d = (hid_t)SAY(H5Dopen2(f, "data", H5P_DEFAULT)), s = d >= 0 ? (hid_t)SAY(H5Dget_space(d)) : -1;
    hsize_t    n = 0;
    bool       ok = s >= 0 && H5Sget_simple_extent_dims(s, &n, NULL) == 1;
    CHECK(!ok || n == (w->grown ? N + CHUNK : N), "%d elements", (int)n);
    ok = ok && n <= N + CHUNK && SAY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v)) >= 0;
    for (hsize_t i = 0; ok && i < n; i++) {
        int was = i < N ? 1000 + (int)i : 0, is = i >= 30 && i < 130 ? 5000 + (int)i : was;
        CHECK(v[i] == is || (!w->more && v[i] == was) || (!w->data && v[i] == 0), "element %d is %d", (int)i, v[i]);
    }
    close_id(d, H5Dclose);
    if (s >= 0)
        (void)H5Sclose(s);
    return ok;
}

static bool look_at_attrs(hid_t f, hid_t text)
{
    int   seven = 0;
    char *words = NULL;
    hid_t a = (hid_t)SAY(H5Aopen_by_name(f, "group", "seven", H5P_DEFAULT, H5P_DEFAULT));
    bool  ok = a >= 0 && SAY(H5Aread(a, H5T_NATIVE_INT, &seven)) >= 0;
    CHECK(!ok || seven == 7, "%d", seven);
    close_id(a, H5Aclose);
    a       = (hid_t)SAY(H5Aopen(f, "text", H5P_DEFAULT));
    bool ok2 = a >= 0 && SAY(H5Aread(a, text, &words)) >= 0;
    CHECK(!ok2 || (words && strcmp(words, "of several words") == 0), "%s", words ? words : "(null)");
    if (ok2)
        (void)H5free_memory(words);
    close_id(a, H5Aclose);
    return ok && ok2;
}

static void all_there(const char *name, const struct done *w, hid_t text)
{
    hid_t f = (hid_t)SAY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    CHECK(f >= 0, "it can't be opened");
    if (f < 0)
        return;
    CHECK((H5Lexists(f, "group", H5P_DEFAULT) > 0) == w->group, "the group that was %s", w->group ? "made" : "refused");
    CHECK((H5Lexists(f, "data", H5P_DEFAULT) > 0) == w->made, "the dataset that was %s", w->made ? "made" : "refused");
    CHECK(!w->data || look_at_data(f, w), "the data are lost");
    CHECK(!(w->attr && w->text) || look_at_attrs(f, text), "attributes are lost");
    CHECK(!w->soft || (H5Lexists(f, "soft", H5P_DEFAULT) > 0) != w->gone, "the soft link");
    CHECK(SAY(H5Fclose(f)) >= 0, "closing");
}

/* Requests that were on their way when memory ran out may end only now.  The next flush reports their
 * failure, and the one after it tries them again. */
static bool flushes(hid_t f)
{
    return SAY(H5Fflush(f, H5F_SCOPE_GLOBAL)) >= 0 || (strstr(why, "memory") && SAY(H5Fflush(f, H5F_SCOPE_GLOBAL)) >= 0);
}

static void writing(hid_t text, const char *name)
{
    struct done w = {.f = -1};
    memory_short_begin(at, at_more);
    w.f = (hid_t)SAY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    if (w.f >= 0)
        change(&w, text);
    bool closed  = w.f >= 0 && SAY(H5Fclose(w.f)) >= 0;
    *allocations = memory_short_end();
    if (w.f >= 0 && !closed)
        CHECK(flushes(w.f) && SAY(H5Fclose(w.f)) >= 0, "with memory again it can't be closed: %s", why);
    if (w.f < 0) {
        w.f = (hid_t)SAY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        CHECK(w.f >= 0, "with memory again it can't be created: %s", why);
        CHECK(w.f < 0 || SAY(H5Fclose(w.f)) >= 0, "closing");
    }
    all_there(name, &w, text);
}

/* A dataset that can't be made leaves no link: each allocation of that call. */
static void creating(hid_t text, const char *name)
{
    struct done w = {.f = (hid_t)SAY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))};
    memory_short_begin(at, at_more);
    hid_t d      = make_data(w.f);
    *allocations = memory_short_end();
    w.made       = d >= 0;
    close_id(d, H5Dclose);
    close_id(w.f, H5Fclose);
    all_there(name, &w, text);
}

/* ---- reading ---- */

static herr_t count_link(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)g, (void)name, (void)info;
    ++*(int *)arg;
    return 0;
}

static void count_chunks(hid_t f)
{
    hsize_t n = 0;
    hid_t d = (hid_t)SAY(H5Dopen2(f, "data", H5P_DEFAULT));
    if (d >= 0 && SAY(H5Dget_num_chunks(d, H5S_ALL, &n)) >= 0)
        CHECK(n > 0, "no chunks");
    close_id(d, H5Dclose);
}

static void reading(hid_t text, const char *name)
{
    struct done all = {.group = true, .made = true, .data = true, .attr = true, .text = true, .soft = true, .more = true, .grown = true,
                       .gone = true};
    int         n   = 0;
    memory_short_begin(at, at_more);
    hid_t f = (hid_t)SAY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    if (f >= 0) {
        if (SAY(H5Lvisit2(f, H5_INDEX_NAME, H5_ITER_INC, count_link, &n)) >= 0)
            CHECK(n == 2, "%d links", n);
        (void)look_at_attrs(f, text);
        (void)look_at_data(f, &all);
        count_chunks(f);
        close_id(f, H5Fclose);
    }
    *allocations = memory_short_end();
    all_there(name, &all, text);
}

/* ---- deleting an open object, failing at each allocation ---- */

static void deleting(hid_t text, const char *name)
{
    hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool  reached = true;
    int   seven = 7, v;
    (void)text;
    for (at = 1; reached; at++) {
        (void)set_attr(f, "brief", H5T_NATIVE_INT, &seven);
        hid_t a = H5Aopen(f, "brief", H5P_DEFAULT);
        memory_short_begin(at, 0);
        (void)SAY(H5Adelete(f, "brief"));
        reached    = memory_short_end() >= at;
        bool there = H5Aexists(f, "brief") > 0;
        v          = 0;
        CHECK(SAY(H5Aread(a, H5T_NATIVE_INT, &v)) >= 0 && v == 7, "%d: %s", v, why);
        CHECK(!there || SAY(H5Awrite(a, H5T_NATIVE_INT, &seven)) >= 0, "it is there, but can't be written: %s", why);
        CHECK(!there || SAY(H5Adelete(f, "brief")) >= 0, "%s", why);
        close_id(a, H5Aclose);
    }
    CHECK(at > 5, "so few allocations");
    CHECK(SAY(H5Fclose(f)) >= 0, "closing");
}

/* ---- one process for each ---- */

/* Libcurl 7.88 divides by zero if memory failed while it recorded a socket, and it comes to that socket
 * again. engine.c closes the connections that it knows of; the rest is libcurl's. */
static void divided(int sig, siginfo_t *info, void *arg)
{
    (void)sig, (void)arg;
    if (!memory_short_is_curl(info->si_addr))
        abort();
    static const char text[] = "libcurl divides by zero\n";
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(0);
}

static void child(void (*session)(hid_t text, const char *name), const char *name)
{
    struct sigaction on_fpe = {.sa_sigaction = divided, .sa_flags = SA_SIGINFO};
    failures                = 0;
    (void)sigaction(SIGFPE, &on_fpe, NULL);
    (void)alarm(300); /* a hanging call is noticed */
    /* OpenSSL 3.5 waits for itself for ever when memory fails in the first call of it; that is OpenSSL's. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t text = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(text, H5T_VARIABLE);
    if (H5VLget_connector_id_by_name("bucket") < 0 && H5VLregister_connector_by_name("bucket", H5P_DEFAULT) < 0)
        CHECK(false, "the connector is not there");
    session(text, name);
    (void)H5Tclose(text);
    (void)H5close();
    (void)fflush(stdout);
    _exit(failures != 0);
}

/* Allocations that there were. */
static long one(void (*session)(hid_t text, const char *name), const char *name, long nth, long more)
{
    int status = -1;
    at = nth, at_more = more;
    *allocations = 0;
    (void)fflush(stdout);
    server_settle(server); /* a sanitizer's locks may be held by threads that are just ending */
    pid_t pid = fork();
    if (pid == 0)
        child(session, name);
    (void)waitpid(pid, &status, 0);
    CHECK(!WIFSIGNALED(status), "%s, allocation %ld and %ld more: signal %d", place, nth, more, WTERMSIG(status));
    CHECK(WIFSIGNALED(status) || status == 0, "%s, allocation %ld and %ld more: status %d", place, nth, more, WEXITSTATUS(status));
    return *allocations;
}

static void forget(struct fake_s3 *fake)
{
    fake_s3_fini(fake);
    *fake = (struct fake_s3){.kind = FAKE_QUOTED};
}

/* From the nth allocation to the next one that fails; @p round 1: with others after it. */
static long stride(long n, long step, int round)
{
    const char *sample = getenv("BKT_SAMPLE");
    bool        few    = sample && *sample;
    return (n < EVERY ? 1 : few ? 2 * step : step) * (few && round ? 3 : 1);
}

static void each(struct fake_s3 *fake, void (*session)(hid_t text, const char *name), const char *what)
{
    bool        fresh  = session == writing;
    const char *leaf   = "m.h5";
    char        name[4400];
    (void)snprintf(name, sizeof name, "%s", name_of(leaf));
    long all = one(session, name, 0, -1), tried = 0, step = session == creating ? 1 : all / SAMPLES + 1;
    CHECK(all > EVERY, "%ld allocations", all);
    for (int i = 0; i < 2 && failures < 5; i++)
        for (long n = 1; n <= all && failures < 5; n += stride(n, step, i), tried++) {
            if (fresh && fake)
                forget(fake);
            (void)one(session, name, n, i ? 7 * (n % 9 + 1) : 0);
        }
    printf("%s %s: %ld allocations, %ld of them failed%s\n", what, place, all, tried,
           stride(1, 1, 1) > 1 ? " (a sample: ./check --all takes more)" : "");
}

int main(int argc, char **argv)
{
    struct fake_s3 fake = {.kind = FAKE_QUOTED};
    char           folder[] = "/tmp/bkt-memory-XXXXXX", text[300], command[100];
    allocations = mmap(NULL, sizeof *allocations, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    server = server_start(handle, &fake);
    if (allocations == MAP_FAILED || !server || !mkdtemp(folder))
        return 1;
    (void)snprintf(text, sizeof text, "bucket endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=2;workers=2", server_url(server));
    (void)setenv("HDF5_VOL_CONNECTOR", text, 1);
    (void)snprintf(place, sizeof place, "%s", folder);
    if (argc > 2) {
        if (argc > 3)
            (void)snprintf(place, sizeof place, "s3://buck");
        (void)one(writing, name_of("m.h5"), atol(argv[1]), atol(argv[2]));
        (void)one(writing, name_of("m.h5"), 0, -1);
        (void)one(reading, name_of("m.h5"), atol(argv[1]), atol(argv[2]));
    } else {
        (void)one(deleting, name_of("d.h5"), 0, -1);
        each(NULL, creating, "creating");
        each(NULL, writing, "writing");
        (void)one(writing, name_of("m.h5"), 0, -1);
        each(NULL, reading, "reading");
        (void)snprintf(place, sizeof place, "s3://buck");
        each(&fake, writing, "writing");
        forget(&fake);
        (void)one(writing, name_of("m.h5"), 0, -1);
        each(&fake, reading, "reading");
    }
    server_stop(server);
    fake_s3_fini(&fake);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return (system(command) != 0) | (failures != 0);
}
