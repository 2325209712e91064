/* Stores that fail, answer late, or are written to by others at the same time: written elements are never
 * lost silently, and stay for another try.  Other writers' elements stay as they made them. */
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/domain/domain_impl.h"
#include "schema/edit/edit.h"
#include "helpers/fault_store.h"
#include "base/os/pool.h"
#include "unit/chunk/write/write_testing.h"
#include "helpers/sanitizer.h"

static void put_between(struct world *w, const struct bkt_fault *f, size_t n, struct bkt_store **st)
{
    if (bkt_fault_open(w->dom->store, f, n, st, NULL) < 0)
        abort();
    w->dom->store = *st;
}

static struct bkt_sel part(const struct model *m, uint64_t from, uint64_t n)
{
    return (struct bkt_sel){.kind = BKT_SEL_HYPER, .rank = 1, .dims = {m->n_elems}, .start = {from}, .stride = {1}, .count = {1},
                            .block = {n}, .n_elems = n};
}

/* The flush reports a failure, the data stay, and the next flush stores them. */
static void fails_once(const char *filters)
{
    struct world           w;
    struct model           m       = {.n = 2, .rank = 1, .dims = {1000}};
    uint64_t               cdims[] = {100};
    struct bkt_err         err     = {0};
    struct bkt_store      *st;
    const struct bkt_fault f[] = {{.op = BKT_PUT, .skip = 3, .times = 2, .code = BKT_ENET},
                                  {.op = BKT_GET, .key_part = "/9", .times = 1, .code = BKT_EACCES}};
    world_open(&w, *filters ? "once-z" : "once", "");
    model_make(&w, &m, cdims, filters, true);
    put_between(&w, f, 2, &st);
    struct bkt_dsetio *io = open_io(&w, m.n);
    struct bkt_sel     s  = part(&m, 0, 950);
    CHECK(model_write(&m, io, &s, 5, &err) == BKT_OK, "%s", story(&err));
    int rc = bkt_chunks_flush(w.dom, &err);
    CHECK(rc == BKT_ENET || rc == BKT_EACCES, "flush: %d", rc);
    CHECK(err.n >= 2 && strstr(err.frame[err.n - 1].msg, "kept for another try"), "%s", err.n ? err.frame[err.n - 1].msg : "");
    CHECK(bkt_chunks_dirty(w.dom), "what failed is dirty");
    model_check(&m, io, "after a failure");
    bkt_err_clear(&err);
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK && !bkt_chunks_dirty(w.dom), "%s", story(&err));
    bkt_dsetio_close(io);
    bkt_chunks_forget_stored(w.dom); /* the following reads come from the store */
    io = open_io(&w, m.n);
    model_check(&m, io, "stored");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
}

/* A store that takes nothing: memory stays bounded, and the program's writes report the failure. */
static void fails_always(void)
{
    struct world           w;
    struct model           m       = {.n = 2, .rank = 1, .dims = {4u << 20}};
    uint64_t               cdims[] = {16384};
    struct bkt_err         err     = {0};
    struct bkt_store      *st;
    const struct bkt_fault f = {.op = BKT_PUT, .code = BKT_EACCES};
    int                    rc = BKT_OK;
    uint64_t               at = 0;
    world_open(&w, "never", "test.write_cache=1M");
    model_make(&w, &m, cdims, "", false);
    put_between(&w, &f, 1, &st);
    struct bkt_dsetio *io = open_io(&w, m.n);
    for (; rc == BKT_OK && at < m.n_elems; at += 16384) {
        struct bkt_sel s = part(&m, at, 16384);
        rc               = model_write(&m, io, &s, 1, &err);
    }
    CHECK(rc == BKT_EACCES && at < 64 * 16384, "after %llu elements: %d %s", (unsigned long long)at, rc, story(&err));
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_EACCES, "flush");
    struct bkt_id id = world_id(m.n);
    bkt_chunks_forget(w.dom, &id);
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "what is forgotten is not missed");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
}

/* Answers that come late: the program writes on, also over chunks under way. */
static void late(void)
{
    struct world           w;
    struct model           m       = {.n = 2, .rank = 1, .dims = {20000}};
    uint64_t               cdims[] = {1000};
    struct bkt_err         err     = {0};
    struct bkt_store      *st;
    uint32_t               seed = 3;
    const struct bkt_fault f    = {.op = -1, .delay_ms = 1};
    world_open(&w, "late-w", "test.write_cache=1M");
    w.dom->set.write_cache = 40000; /* ten chunks */
    model_make(&w, &m, cdims, SHUFFLE_GZIP, true);
    put_between(&w, &f, 1, &st);
    struct bkt_dsetio *io = open_io(&w, m.n);
    for (int i = 0; i < 400; i++) {
        uint64_t       from = below(&seed, 19000);
        struct bkt_sel s    = part(&m, from, 1 + below(&seed, i % 3 ? 900 : 20000 - from));
        CHECK(model_write(&m, io, &s, i * 100, &err) == BKT_OK, "%s", story(&err));
        if (i % 37 == 0)
            model_check(&m, io, "while answers are late");
    }
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_forget_stored(w.dom);
    bkt_dsetio_close(io);
    io = open_io(&w, m.n);
    model_check(&m, io, "late, stored");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
}

/* Another writer comes between our GET and our PUT: both are in the chunk. */
static void raced(const char *filters, bool no_etag)
{
    struct world           w;
    struct model           m       = {.n = 2, .rank = 1, .dims = {100}};
    uint64_t               cdims[] = {100};
    struct bkt_err         err     = {0};
    struct bkt_store      *st;
    const struct bkt_fault f = {.op = BKT_PUT, .times = 1, .no_etag = no_etag};
    world_open(&w, no_etag ? *filters ? "raced-e-z" : "raced-e" : *filters ? "raced-z" : "raced", "");
    model_make(&w, &m, cdims, filters, *filters);
    put_between(&w, &f, 1, &st);
    struct bkt_dsetio *io = open_io(&w, m.n);
    struct bkt_sel     s  = part(&m, 0, 40), t = part(&m, 90, 5);
    CHECK(model_write(&m, io, &s, 1000, &err) == BKT_OK && bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    CHECK(model_write(&m, io, &t, 2000, &err) == BKT_OK, "%s", story(&err)); /* on the version that we know */
    int32_t other[100];
    for (int i = 0; i < 100; i++)
        other[i] = i < 40 ? m.v[i] : i * 3;
    size_t         n   = sizeof other;
    unsigned char *z   = *filters ? deflate_of(other, sizeof other, &n) : NULL;
    char          *key = chunk_key(m.n, "0");
    put_object(&w, key, z ? z : (void *)other, n);
    for (int i = 40; i < 100; i++)
        if (i < 90 || i >= 95)
            m.v[i] = other[i];
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    model_check(&m, io, "after a lost race");
    bkt_chunks_forget_stored(w.dom);
    bkt_dsetio_close(io);
    io = open_io(&w, m.n);
    model_check(&m, io, "after a lost race, stored");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(z);
    free(key);
}

/* The same where nothing was stored when we looked. */
static void raced_for_the_first(const char *filters)
{
    struct world   w;
    struct model   m       = {.n = 2, .rank = 1, .dims = {100}};
    uint64_t       cdims[] = {100};
    struct bkt_err err     = {0};
    int32_t        other[100];
    world_open(&w, *filters ? "raced-n-z" : "raced-n", "");
    model_make(&w, &m, cdims, filters, *filters);
    struct bkt_dsetio *io = open_io(&w, m.n);
    struct bkt_sel     s  = part(&m, 0, 40);
    CHECK(model_write(&m, io, &s, 1000, &err) == BKT_OK, "%s", story(&err));
    model_check(&m, io, "nothing is stored"); /* and so we know */
    for (int i = 0; i < 100; i++)
        other[i] = i < 40 ? 0 : i * 3;
    size_t         n   = sizeof other;
    unsigned char *z   = *filters ? deflate_of(other, sizeof other, &n) : NULL;
    char          *key = chunk_key(m.n, "0");
    put_object(&w, key, z ? z : (void *)other, n);
    memcpy(m.v + 40, other + 40, 60 * sizeof *other);
    CHECK(bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    bkt_chunks_forget_stored(w.dom);
    bkt_dsetio_close(io);
    io = open_io(&w, m.n);
    model_check(&m, io, "after a race to be the first");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(z);
    free(key);
}

/* Another writer lets the dataset grow.  We learn that when our own change of it is stored.  Chunks have
 * other numbers then, and entries cached under the old numbers must not be used for others. */
static void grown_by_another(bool written)
{
    struct world   w;
    struct model   m       = {.n = 3, .rank = 2, .dims = {4, 4}}, grown = {.n = 3, .rank = 2, .dims = {4, 12}};
    uint64_t       cdims[] = {2, 2};
    struct bkt_err err     = {0};
    struct bkt_id  id      = world_id(m.n);
    world_open(&w, written ? "grown-w" : "grown", "");
    model_make(&w, &m, cdims, "", false);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 2; j++) {
            char *at  = text("%d_%d", j, i), *key = chunk_key(m.n, at);
            int32_t v[4];
            for (int k = 0; k < 4; k++)
                v[k] = 1000 * i + 100 * j + k;
            put_object(&w, key, v, sizeof v);
            for (int k = 0; k < 4 && i < 2; k++)
                m.v[(2 * j + k / 2) * 4 + 2 * i + k % 2] = v[k];
            free(at);
            free(key);
        }
    struct bkt_dsetio *io  = open_io(&w, m.n);
    struct bkt_sel     one = {.kind = BKT_SEL_HYPER, .rank = 2, .dims = {4, 4}, .stride = {1, 1}, .count = {1, 1}, .block = {1, 1},
                              .n_elems = 1};
    if (written)
        CHECK(model_write(&m, io, &one, 77, &err) == BKT_OK && bkt_chunks_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    model_check(&m, io, "before it grows");
    CHECK(bkt_edit_comment(w.dom, &id, "ours", &err) == BKT_OK, "%s", story(&err));
    model_make(&w, &grown, cdims, "", false); /* the other writer */
    CHECK(bkt_domain_flush(w.dom, &err) == BKT_OK, "%s", story(&err));
    const struct bkt_object *o = NULL;
    CHECK(bkt_domain_get(w.dom, &id, &o, &err) == BKT_OK && o->dset.space.dims[1] == 12, "the extent is the other writer's");
    bkt_object_release(o);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 12; j++)
            grown.v[i * 12 + j] = 1000 * (j / 2) + 100 * (i / 2) + i % 2 * 2 + j % 2;
    if (written)
        grown.v[0] = 77;
    model_check(&grown, io, "after another writer let it grow");
    bkt_dsetio_close(io);
    world_close(&w);
    free(m.v);
    free(grown.v);
}

/* ---- many processes, one chunk ---- */

extern char **environ;
#define WRITERS 16
#define EACH    FEWER(60, 20)

/* No thread is left. */
static void all_over(void)
{
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
}

static int writer(const char *uri, unsigned who)
{
    struct bkt_settings set;
    struct bkt_domain  *dom;
    struct bkt_err      err = {0};
    if (bkt_settings_init(&set, "fsync=no", &err) < 0 || bkt_domain_open(uri, &set, &dom, &err) < 0)
        return 1;
    struct world       w  = {.dom = dom};
    struct bkt_dsetio *io = open_io(&w, 2);
    for (uint64_t i = 0; i < EACH; i++) {
        uint64_t         at  = i * WRITERS + who;
        int32_t          v   = (int32_t)(at + 1);
        struct bkt_sel   sel = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {WRITERS * EACH}, .start = {at}, .stride = {1}, .count = {1},
                                .block = {1}, .n_elems = 1};
        struct bkt_write wr  = {.io = io, .file = &sel, .src = &v};
        if (bkt_write_datasets(&wr, 1, &err) < 0 || bkt_chunks_flush(dom, &err) < 0) {
            fprintf(stderr, "writer %u: %s\n", who, story(&err));
            return 1;
        }
    }
    bkt_dsetio_close(io);
    bkt_domain_close(dom);
    bkt_settings_fini(&set);
    all_over();
    return 0;
}

/* All writers' elements are there afterwards.  @p store, @p name: of the bucket and of a domain in it. */
static void many(char *self, const char *store, char *name, const char *settings)
{
    struct world   w       = {0};
    struct model   m       = {.n = 2, .rank = 1, .dims = {WRITERS * EACH}};
    uint64_t       cdims[] = {WRITERS * EACH};
    struct bkt_err err     = {0};
    if (bkt_settings_init(&w.set, settings, &err) < 0 || bkt_store_open(store, &w.set, &w.st, &err) < 0)
        abort();
    world_fill(&w);
    model_make(&w, &m, cdims, GZIP, true);
    pid_t pid[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) { /* in processes of their own, without the threads of this one */
        char  who[]  = {(char)('a' + i), 0};
        char *argv[] = {self, name, who, NULL};
        if (posix_spawn(&pid[i], self, NULL, NULL, argv, environ) != 0)
            abort();
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status = 0;
        (void)waitpid(pid[i], &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "writer %u ended with %d", i, status);
    }
    if (bkt_domain_open(name, &w.set, &w.dom, &err) < 0)
        abort();
    for (uint64_t i = 0; i < m.n_elems; i++)
        m.v[i] = (int32_t)i + 1;
    struct bkt_dsetio *io = open_io(&w, 2);
    model_check(&m, io, "written by many");
    bkt_dsetio_close(io);
    char *key = chunk_key(2, "0");
    del(&w, key); /* the next run begins again */
    free(key);
    world_close(&w);
    free(m.v);
}

static void many_in_a_directory(char *self)
{
    char dir[] = "/tmp/bkt_writers_XXXXXX";
    if (!mkdtemp(dir))
        abort();
    char *store = text("file://%s/bucket", dir), *path = text("%s/bucket", dir), *name = text("%s/d.h5", path), *rm = text("rm -rf '%s'", dir);
    (void)mkdir(path, 0755);
    many(self, store, name, "fsync=no");
    if (system(rm) != 0) /* NOLINT(cert-env33-c,concurrency-mt-unsafe): our own temporary folder */
        failures++;
    free(store), free(path), free(name), free(rm);
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return writer(argv[1], (unsigned)(argv[2][0] - 'a'));
    if (argc == 2) { /* only this, in the bucket that is given */
        char *name = text("%s/d.h5", argv[1]);
        many(argv[0], argv[1], name, "");
        free(name);
        all_over();
        return failures != 0;
    }
    fails_once("");
    fails_once(GZIP);
    fails_always();
    late();
    raced("", false);
    raced(GZIP, false);
    raced("", true);
    raced(GZIP, true);
    raced_for_the_first("");
    raced_for_the_first(GZIP);
    grown_by_another(false);
    grown_by_another(true);
    many_in_a_directory(argv[0]);
    all_over();
    return failures != 0;
}
