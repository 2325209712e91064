/* Sixteen processes (eight under a sanitizer) change one object of each kind and one chunk, at once, on servers of every kind: those
 * that answer a lost race by 412, by 409 or by 500, that want the ETag bare, and that lose answers.  All
 * changes are there afterwards, each once.  Without conditional PUT nothing is written, and the message has
 * the remedy. */
#include <sys/wait.h>
#include <unistd.h>

#include "unit/schema/edit/edit_testing.h"
#include "chunk/chunk.h"
#include "http/helpers/fake_s3.h"
#include "base/os/pool.h"
#include "chunk/write/write.h"
#include "helpers/processes.h"
#include "helpers/sanitizer.h"

enum { WRITERS = FEWER(16, 8), ROUNDS = FEWER(4, 3), N = WRITERS * ROUNDS };
#define NAME "s3://buck/w.h5"

static struct bkt_id group, dset, type, chunk;

struct brief { /* the data that a process waits for */
    char          url[64];
    struct bkt_id group, dset, type, chunk;
};

static void settle(const char *url, const char *more)
{
    char text[400];
    (void)snprintf(text, sizeof text, "endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=6;%s", url, more);
    OK(bkt_settings_init(&set, text, err));
}

/* ---- one of the processes ---- */

static void write_element(struct bkt_domain *d, unsigned at, int32_t value)
{
    struct bkt_dsetio       *io = NULL;
    const struct bkt_object *o  = get(d, &chunk);
    struct bkt_sel           sel = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {N}, .start = {at}, .stride = {1}, .count = {1},
                                    .block = {1}, .n_elems = 1};
    OK(bkt_dsetio_open(d, o, NULL, &io, err));
    struct bkt_write w = {.io = io, .file = &sel, .src = &value};
    OK(bkt_write_datasets(&w, 1, err));
    bkt_dsetio_close(io);
}

static void one_round(struct bkt_domain *d, unsigned me, unsigned round)
{
    char            name[32];
    struct bkt_attr a = int_attr("typed", 1);
    (void)snprintf(name, sizeof name, "w%02u-%u", me, round);
    link_it(d, &group, name, &dset);
    set_attr(d, &group, name, me * 100 + round, ATTR_CREATE);
    OK(bkt_edit_refcount(d, &group, 1, err));
    free(a.name); /* an attribute of a committed type, which counts that */
    a.name = strdup(name);
    bkt_type_free(a.type);
    a.type = NULL;
    CHECK(bkt_type_copy(get(d, &type)->type, &a.type) == BKT_OK, "copy");
    OK(bkt_edit_attr(d, &dset, &a, err));
    uint64_t now = get(d, &dset)->dset.space.dims[0], want = 100 + me + 20 * round;
    if (now < want)
        OK(bkt_edit_extent(d, &dset, &want, err));
    write_element(d, round * WRITERS + me, (int32_t)(me * 100 + round));
    OK(bkt_chunks_flush(d, err));
    OK(bkt_domain_flush(d, err));
}

static int one_process(unsigned i, int fd)
{
    unsigned me = i % WRITERS;
    struct brief b;
    failures = 0;
    if (read(fd, &b, sizeof b) != (ssize_t)sizeof b) /* when the server is there */
        return 2;
    group = b.group, dset = b.dset, type = b.type, chunk = b.chunk;
    settle(b.url, "");
    struct bkt_domain *d = open_it(NAME);
    for (unsigned round = 0; round < ROUNDS; round++)
        one_round(d, me, round);
    bkt_domain_close(d);
    domains_end();
    (void)fflush(stdout);
    return failures != 0;
}

/* ---- the domain before, and after ---- */

static void prepare(void)
{
    struct bkt_domain *d    = create(NAME, false);
    struct bkt_id      root = *bkt_domain_root(d);
    struct bkt_object *o    = bkt_object_make(BKT_DATATYPE), *c = bkt_object_make(BKT_DATASET);
    o->type = int_type(8);
    OK(bkt_edit_add(d, o, &type, err));
    c->dset.type   = int_type(4);
    c->dset.space  = (struct bkt_space){.cls = BKT_S_SIMPLE, .rank = 1, .dims = {N}, .maxdims = {N}};
    c->dset.layout = (struct bkt_layout){
        .cls = BKT_D_CHUNKED, .rank = 1, .dims = {N}, .user_cls = BKT_D_CHUNKED, .user_rank = 1, .user_dims = {N}};
    OK(bkt_edit_add(d, c, &chunk, err));
    group = add_group(d);
    dset  = add_dset(d, 1);
    link_it(d, &root, "group", &group);
    link_it(d, &root, "dset", &dset);
    link_it(d, &root, "type", &type);
    link_it(d, &root, "chunk", &chunk);
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
}

static void read_chunk(struct bkt_domain *d, const char *kind)
{
    struct bkt_dsetio *io    = NULL;
    int32_t            got[N] = {0};
    struct bkt_sel     all   = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {N}, .n_elems = N};
    OK(bkt_dsetio_open(d, get(d, &chunk), NULL, &io, err));
    struct bkt_read r = {.io = io, .file = &all, .dst = got};
    OK(bkt_read_datasets(&r, 1, err));
    for (int i = 0; i < N; i++)
        CHECK(got[i] == i % WRITERS * 100 + i / WRITERS, "%s: element %d is %d", kind, i, got[i]);
    bkt_read_fini(&r);
    bkt_dsetio_close(io);
}

static void check_all(const char *kind)
{
    struct bkt_domain       *d = open_it(NAME);
    const struct bkt_object *g = get(d, &group), *ds = get(d, &dset);
    CHECK(g->group.links.n == N && g->attrs.n == N && ds->attrs.n == N, "%s: %zu links, %zu and %zu attributes", kind,
          g->group.links.n, g->attrs.n, ds->attrs.n);
    for (unsigned me = 0; me < WRITERS; me++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            char name[32];
            (void)snprintf(name, sizeof name, "w%02u-%u", me, round);
            CHECK(bkt_links_find(&g->group.links, name) && attr_value(g, name) == me * 100 + round, "%s: %s is lost", kind, name);
        }
    CHECK(g->extra_refs == N, "%s: counted %u times, not %d", kind, g->extra_refs, N);
    CHECK(get(d, &type)->uses == N, "%s: %d uses of a type, not %d", kind, (int)get(d, &type)->uses, N);
    CHECK(ds->dset.space.dims[0] == 100 + WRITERS - 1 + 20 * (ROUNDS - 1), "%s: %d rows", kind, (int)ds->dset.space.dims[0]);
    read_chunk(d, kind);
    bkt_domain_close(d);
}

/* ---- the servers ---- */

static const struct {
    const char    *name;
    struct fake_s3 server;
} kinds[] = {
    {"412 for who lost", {.kind = FAKE_QUOTED}},
    {"409 for who lost", {.losers = 409}},
    {"500 for who lost", {.losers = 500}},
    {"bare ETags", {.kind = FAKE_BARE}},
    {"lost answers", {.lose_every = 3}},
    {"500 though it is done", {.lose_every = 3, .lose_as = 500}},
    {"503 of a gateway though it is done", {.lose_every = 4, .lose_as = 503}},
    {"bare ETags, 500 for who lost, lost answers", {.kind = FAKE_BARE, .losers = 500, .lose_every = 3}},
    {"409 for who lost, lost answers, no metadata", {.losers = 409, .lose_every = 5, .no_meta = true}},
};

#define KINDS (sizeof kinds / sizeof *kinds)

static pid_t pids[KINDS * WRITERS];
static int   pipes[KINDS * WRITERS]; /* to each */

static void run(size_t k)
{
    struct fake_s3 f = kinds[k].server;
    const pid_t   *pid = pids + k * WRITERS;
    const int     *to  = pipes + k * WRITERS;
    struct server *s = server_start(fake_s3_handle, &f);
    settle(server_url(s), "");
    prepare();
    struct brief b = {.group = group, .dset = dset, .type = type, .chunk = chunk};
    (void)snprintf(b.url, sizeof b.url, "%s", server_url(s));
    for (unsigned i = 0; i < WRITERS; i++) {
        if (write(to[i], &b, sizeof b) != (ssize_t)sizeof b)
            abort();
        (void)close(to[i]);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status = 1;
        CHECK(waitpid(pid[i], &status, 0) == pid[i] && status == 0, "%s: process %u: %x", kinds[k].name, i, (unsigned)status);
    }
    check_all(kinds[k].name);
    (void)printf("%s: %u requests, %u PUTs, %u of them carried out\n", kinds[k].name, server_count(s), f.writes, f.applied);
    domains_end();
    server_stop(s);
    fake_s3_fini(&f);
}

static void no_conditional_put(enum fake_kind kind, const char *name)
{
    struct fake_s3     f = {.kind = kind};
    struct server     *s = server_start(fake_s3_handle, &f);
    settle(server_url(s), "");
    struct bkt_domain *d = create(NAME, false);
    for (int i = 0; i < 2; i++)
        FAILS(BKT_EUNSUP, "writers=one", bkt_domain_flush(d, err));
    bkt_domain_discard(d);
    bkt_domain_close(d);
    domains_end();
    CHECK(fake_s3_count(&f) == 0, "%s: %u objects are left", name, fake_s3_count(&f));
    settle(server_url(s), "writers=one");
    prepare();
    CHECK(f.applied > 4, "%s: one writer writes", name);
    domains_end();
    server_stop(s);
    fake_s3_fini(&f);
}

/* The kind of server is found out once, while the program makes a domain, before anything is stored. */
static void found_out_at_creation(void)
{
    struct fake_s3 f      = {.kind = FAKE_QUOTED};
    struct server *s      = server_start(fake_s3_handle, &f);
    unsigned       before = 0;
    for (unsigned k = 0; k < 2; k++) {
        settle(server_url(s), "");
        struct bkt_domain *d = create(NAME, false);
        if (k)
            OK(bkt_domain_flush(d, err));
        else
            bkt_domain_discard(d);
        bkt_domain_close(d);
        domains_end(); /* then it is forgotten */
        CHECK(f.probes == 5 * (k + 1) && fake_s3_count(&f) == 2 * k, "%u: %u PUTs, %u objects", k, f.probes, fake_s3_count(&f));
        CHECK(!k || server_count(s) == 2 * before + 2, "%u requests, the root and the document stored; %u without",
              server_count(s) - before, before);
        before = server_count(s);
    }
    server_stop(s);
    fake_s3_fini(&f);
}

int main(void)
{
    start_processes(KINDS * WRITERS, pids, pipes, one_process);
    for (size_t k = 0; k < KINDS; k++)
        run(k);
    found_out_at_creation();
    no_conditional_put(FAKE_REFUSES, "501");
    no_conditional_put(FAKE_DEAF, "ignores conditions");
    no_conditional_put(FAKE_HALF, "ignores If-Match");
    return failures != 0;
}
