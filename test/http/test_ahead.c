/* Reading ahead over a server: the right values, every object requested once, and an end when the program
 * wants no more. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/helpers/served_domain.h"
#include "helpers/sanitizer.h"
#include "http/helpers/server.h"

#include "chunk/ahead/jobs.h"
#include "schema/domain/domain_impl.h"
#include "base/os/pool.h"

#define N_TINY  600
#define CHUNK   2048 /* elements */
#define N_SLABS 64

/* Counted by the server's threads, which may handle given-up requests late. */
static atomic_uint asked[N_TINY + 1][2]; /* per dataset: its JSON, its chunk; the slab's chunks all together */
static atomic_uint slab_chunks[N_SLABS];
static atomic_uint slow_ms; /* how late chunks are from now on */
static atomic_uint n_chunks; /* asked for */
static unsigned each = 4;    /* elements of a tiny dataset */
static unsigned large = UINT32_MAX, large_each; /* the same from this one on */

static unsigned size_of(unsigned n) { return !n ? CHUNK : n < large ? each : large_each; }

static char *dataset_json(unsigned n)
{
    struct bkt_id id;
    char         *s = malloc(600);
    id_of(n, &id);
    (void)snprintf(s, 600, "{\"id\":\"%s\",\"root\":\"" ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"type\":{\"class\":"
                   "\"H5T_INTEGER\",\"base\":\"H5T_STD_I32LE\"},\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":[%u]},\"layout\":{\"class\":"
                   "\"H5D_CHUNKED\",\"dims\":[%u]},\"creationProperties\":{}}", id.text, n ? size_of(n) : N_SLABS * CHUNK, size_of(n));
    return s;
}

static int32_t *values(unsigned dataset, unsigned chunk, unsigned n)
{
    int32_t *v = malloc(n * sizeof *v);
    for (unsigned i = 0; v && i < n; i++)
        v[i] = (int32_t)(dataset * 1000003 + chunk * n + i);
    return v;
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    unsigned n, chunk;
    char    *body = NULL;
    size_t   len  = 0;
    (void)arg;
    a->delay_ms = 3; /* so that the program comes to objects that are still on their way */
    if (strcmp(r->target, "/x.h5/.domain.json") == 0)
        body = domain_json();
    else if (strcmp(r->target, DB "/.group.json") == 0)
        body = root_json(N_TINY + 1, "a0000");
    else if (sscanf(r->target, DB "/d/0000-%06x-abcdef/%u", &n, &chunk) == 2 && n <= N_TINY && chunk < N_SLABS) {
        body = (char *)values(n, chunk, size_of(n));
        len  = size_of(n) * sizeof(int32_t);
        (void)atomic_fetch_add(&n_chunks, 1);
        asked[n][1]++;
        slab_chunks[chunk] += n == 0;
        a->delay_ms += chunk > 1 ? atomic_load(&slow_ms) : 0;
    } else if (sscanf(r->target, DB "/d/0000-%06x-abcdef/.d", &n) == 1 && n <= N_TINY) {
        body = dataset_json(n);
        asked[n][0]++;
    }
    if (!body) {
        a->status = 404;
        return;
    }
    a->body = a->owned = body; /* whole, whatever range was requested */
    a->len  = len ? len : strlen(body);
}

/* Given-up requests are counted, too. */
static void all_counted(void)
{
    while (!server_quiet())
        (void)usleep(1000);
}

static struct bkt_domain *begin(struct server *s, struct bkt_settings *set, const char *info)
{
    struct bkt_domain *d = open_domain(server_url(s), set, info);
    all_counted();
    for (unsigned i = 0; i <= N_TINY; i++)
        asked[i][0] = asked[i][1] = 0;
    for (unsigned i = 0; i < N_SLABS; i++)
        slab_chunks[i] = 0;
    (void)stats_since();
    return d;
}

static void read_slab(struct bkt_dsetio *io, unsigned first, unsigned n)
{
    int32_t        *dst = malloc(n * sizeof *dst);
    struct bkt_sel  sel = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {N_SLABS * CHUNK}, .start = {first}, .stride = {1}, .count = {n},
                           .block = {1}, .n_elems = n};
    struct bkt_read r   = {.io = io, .file = &sel, .dst = dst};
    struct bkt_err  err = {0};
    unsigned        bad = 0;
    CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK, "%u+%u: %s", first, n, first_line(&err));
    for (unsigned i = 0; i < n; i++)
        bad += dst[i] != (int32_t)(first + i);
    CHECK(!bad, "%u+%u: %u wrong values", first, n, bad);
    free(dst);
}

/* Steps of whole chunks, of parts of them, and across their borders. */
static void steps_bring_the_next_ones(struct server *s, unsigned step, const char *info, bool ahead)
{
    struct bkt_settings set;
    struct bkt_domain  *d  = begin(s, &set, info);
    struct bkt_dsetio  *io = open_io(d, 0);
    unsigned            n  = 0;
    for (unsigned at = 0; at + step <= N_SLABS * CHUNK; at += step)
        read_slab(io, at, step);
    struct bkt_stats st = stats_since();
    bkt_ahead_stop(d); /* it may be about to request the remaining objects at the end */
    all_counted();
    for (unsigned i = 0; i < N_SLABS; i++)
        n += slab_chunks[i] != 1;
    CHECK(n <= N_SLABS * CHUNK % step / CHUNK + 1, "steps of %u, %s: %u chunks not asked for once", step, info, n);
    CHECK(st.get <= N_SLABS + 2, "steps of %u, %s: %lu GETs", step, info, (unsigned long)st.get);
    CHECK((st.ahead_used > 0) == ahead && st.ahead_unused <= 8, "steps of %u, %s: %lu used, %lu not", step, info,
          (unsigned long)st.ahead_used, (unsigned long)st.ahead_unused);
    bkt_dsetio_close(io);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
}

/* A program that jumps about gets no read-ahead; a program that stops in the middle waits for nothing. */
static void no_pattern_no_reading_ahead(struct server *s)
{
    static const unsigned at[] = {5, 60, 17, 33, 2, 48, 21, 9, 55, 40};
    struct bkt_settings   set;
    struct bkt_domain    *d  = begin(s, &set, "");
    struct bkt_dsetio    *io = open_io(d, 0);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        read_slab(io, at[i] * CHUNK, CHUNK);
    all_counted();
    CHECK(asked[0][1] == sizeof at / sizeof *at, "%u chunks asked for", asked[0][1]);
    bkt_dsetio_close(io);
    bkt_chunks_forget_stored(d);
    io = open_io(d, 0);
    for (unsigned i = 0; i < 3; i++)
        read_slab(io, i * CHUNK, CHUNK);
    bkt_dsetio_close(io); /* with jobs under way */
    io = open_io(d, 0);
    for (int round = 0; round < 6; round++) { /* two steps, then elsewhere: fewer and fewer tries */
        bkt_chunks_forget_stored(d);
        read_slab(io, 30 * CHUNK, CHUNK);
        read_slab(io, 31 * CHUNK, CHUNK);
        read_slab(io, 10 * CHUNK, CHUNK);
    }
    all_counted();
    unsigned before = asked[0][1];
    bkt_chunks_forget_stored(d);
    read_slab(io, 40 * CHUNK, CHUNK);
    read_slab(io, 41 * CHUNK, CHUNK);
    bkt_ahead_stop(d);
    all_counted();
    CHECK(asked[0][1] - before <= 3, "still %u chunks for 2", asked[0][1] - before);
    bkt_dsetio_close(io);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
}

/* As H5Dopen, H5Dread of the first @p some elements, H5Dclose of a member; how many values are wrong. */
static unsigned read_some(struct bkt_domain *d, const struct bkt_object *root, unsigned i, unsigned some)
{
    char     name[20];
    unsigned bad = 0;
    (void)snprintf(name, sizeof name, "t%04u", i);
    bkt_domain_walked(d, root, bkt_links_find(&root->group.links, name));
    struct bkt_dsetio *io  = open_io(d, i);
    int32_t           *v   = calloc(some, sizeof *v);
    struct bkt_sel     sel = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {size_of(i)}, .stride = {1}, .block = {1}, .count = {some},
                              .n_elems = some};
    sel.kind               = some == size_of(i) ? BKT_SEL_ALL : BKT_SEL_HYPER;
    struct bkt_read    r   = {.io = io, .file = &sel, .dst = v};
    CHECK(v && bkt_read_datasets(&r, 1, NULL) == BKT_OK, "dataset %u", i);
    for (unsigned k = 0; v && k < some; k++)
        bad += v[k] != (int32_t)(i * 1000003 + k);
    bkt_dsetio_close(io);
    free(v);
    return bad;
}

static unsigned read_member(struct bkt_domain *d, const struct bkt_object *root, unsigned i)
{
    return read_some(d, root, i, size_of(i));
}

/* Each member in turn. */
static void walk(struct server *s, const char *info, unsigned most)
{
    struct bkt_settings      set;
    struct bkt_domain       *d    = begin(s, &set, info);
    const struct bkt_object *root = NULL;
    unsigned                 bad = 0, twice = 0;
    CHECK(bkt_domain_get(d, bkt_domain_root(d), &root, NULL) == BKT_OK && root->group.links.n == N_TINY + 1, "the root");
    for (unsigned i = 1; i <= most; i++) {
        bad += read_member(d, root, i);
    }
    CHECK(!bad, "%s: %u wrong values", info, bad);
    bkt_ahead_shutdown(); /* its threads hold the domain for a moment longer, and the next test is to open
                             another */
    all_counted();
    for (unsigned i = 1; i <= N_TINY; i++)
        twice += asked[i][0] > 1 || asked[i][1] > 1 || (i <= most && (asked[i][0] != 1 || asked[i][1] != 1));
    CHECK(!twice, "%s: %u of %u datasets not asked for exactly once", info, twice, most);
    bkt_object_release(root);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
}

/* Members of 128 KiB come before they are requested, too: as many as fit, @p n. */
static void larger_members_come_as_far_as_there_is_room(struct server *s, const char *info, unsigned n)
{
    struct bkt_settings      set;
    const struct bkt_object *root = NULL;
    each                 = 32768;
    struct bkt_domain *d = begin(s, &set, info);
    CHECK(bkt_domain_get(d, bkt_domain_root(d), &root, NULL) == BKT_OK, "the root");
    atomic_store(&n_chunks, 0);
    for (unsigned i = 1; i <= 3; i++)
        CHECK(read_member(d, root, i) == 0, "dataset %u of 128 KiB", i);
    while (atomic_load(&n_chunks) < 3 + n)
        (void)sched_yield();
    bkt_ahead_stop(d);
    CHECK(atomic_load(&n_chunks) == 3 + n, "%s: %u chunks, %u wanted", info, atomic_load(&n_chunks), 3 + n);
    bkt_object_release(root);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
    each = 4;
}

/* The first members as they are, all of them or `some` elements; the extra members, once all jobs are
 * through. */
static unsigned chunks_besides(struct server *s, unsigned n, unsigned some)
{
    struct bkt_settings      set;
    const struct bkt_object *root = NULL;
    struct bkt_domain       *d    = begin(s, &set, "read_ahead=1M;snapshot=no");
    CHECK(bkt_domain_get(d, bkt_domain_root(d), &root, NULL) == BKT_OK, "the root");
    atomic_store(&n_chunks, 0);
    for (unsigned i = 1; i <= n; i++)
        CHECK(read_some(d, root, i, some) == 0, "dataset %u", i);
    while (bkt_ahead_any())
        (void)sched_yield();
    bkt_object_release(root);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
    return atomic_load(&n_chunks) - n;
}

static void neighbours_are_bounded(struct server *s)
{
    large = 4, large_each = 65536;
    unsigned came = chunks_besides(s, 3, each);
    CHECK(came == 4 * 4, "%u chunks of 256 KiB for 3 of 16 bytes, 16 wanted: 1 MiB each of the jobs for 32, 256, 256 and 53", came);
    large = 1, large_each = 131072;
    came = chunks_besides(s, 5, 100);
    CHECK(came == 0, "%u chunks of 512 KiB for 5 of which little is read", came);
    came = chunks_besides(s, 5, 40000);
    CHECK(came > 0, "no chunks of 512 KiB for 5 of which much is read");
    large = UINT32_MAX;
}

/* A program that closes a domain may replace or delete it at once: no thread holds it for a moment longer. */
static void nobody_holds_what_is_closed(struct server *s)
{
    struct bkt_settings      set;
    const struct bkt_object *root = NULL;
    unsigned                 held = 0;
    for (unsigned round = 0; round < FEWER(60, 6); round++) {
        struct bkt_domain *d  = begin(s, &set, "");
        char              *id = strdup(d->id);
        CHECK(bkt_domain_get(d, bkt_domain_root(d), &root, NULL) == BKT_OK, "the root");
        for (unsigned i = 1; i <= 3; i++)
            CHECK(read_member(d, root, i) == 0, "dataset %u", i);
        bkt_object_release(root);
        bkt_ahead_stop(d);
        bkt_domain_close(d);
        held += bkt_registry_has(id);
        free(id);
        bkt_settings_fini(&set);
    }
    CHECK(!held, "%u were open still", held);
}

/* Jobs hold locks of the domain and of datasets, which a child would find held for ever: none runs while a
 * process forks. */
static void no_job_runs_while_it_forks(struct server *s)
{
    struct bkt_settings set;
    struct bkt_domain  *d  = begin(s, &set, "");
    struct bkt_dsetio  *io = open_io(d, 0);
    int                 status = -1;
    read_slab(io, 0, CHUNK);
    atomic_store(&slow_ms, 1000);
    unsigned before = server_count(s);
    read_slab(io, CHUNK, CHUNK);
    while (server_count(s) < before + 5) /* this one, and twice two ahead */
        (void)sched_yield();
    atomic_store(&slow_ms, 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(bkt_ahead_any());
    CHECK(!bkt_ahead_any(), "jobs are under way");
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "the child has jobs");
    for (unsigned i = 2; i < 8; i++)
        read_slab(io, i * CHUNK, CHUNK);
    bkt_dsetio_close(io);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
}

int main(void)
{
    struct server *s = server_start(handle, NULL);
    if (!s)
        return 1;
    steps_bring_the_next_ones(s, CHUNK, "", true);
    steps_bring_the_next_ones(s, 2 * CHUNK, "", true);
    steps_bring_the_next_ones(s, 700, "", true);
    steps_bring_the_next_ones(s, 3000, "read_ahead=64K", true);
    steps_bring_the_next_ones(s, CHUNK, "read_ahead=0", false);
    no_pattern_no_reading_ahead(s);
    walk(s, "", FEWER(N_TINY, 200));
    walk(s, "", 40);
    walk(s, "read_ahead=0", 30);
    larger_members_come_as_far_as_there_is_room(s, "read_ahead=1M", 8);
    larger_members_come_as_far_as_there_is_room(s, "chunk_cache=16M", 32);
    neighbours_are_bounded(s);
    nobody_holds_what_is_closed(s);
    no_job_runs_while_it_forks(s);
    bkt_ahead_shutdown();
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    server_stop(s);
    return failures != 0;
}
