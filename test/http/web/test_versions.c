/* Files that datasets refer to and that change: bytes of two versions are never mixed. */
#include <stdatomic.h>

#include "http/helpers/served_domain.h"
#include "http/helpers/server.h"

#include "base/os/pool.h"

#define N_SETS 400
#define N      64 /* elements of each */
#define BYTES  (N_SETS * N * sizeof(int32_t))

/* The datasets are linked to version 1, or odd ones to 2 (`both`), or to none, by its ETag or by size and
 * time (`stamped`); the file is version 2 after `change_at` requests. */
static struct {
    atomic_int  version;
    atomic_bool both, unpinned, stamped;
    atomic_uint gets, change_at;
    const char *url;
} now;

/* Bytes of a version where stamps (size and time) distinguish the versions: the last bytes are missing. */
static size_t length(int version) { return BYTES - (size_t)version; }

static char *dataset_json(unsigned n)
{
    struct bkt_id id;
    char         *s = malloc(900), etag[120] = "", stamp[BKT_ETAG_MAX];
    int           linked = now.both ? (int)(n % 2) + 1 : 1;
    id_of(n, &id);
    bkt_stamp(length(linked), 1445412480, stamp); /* answer_object()'s time */
    if (now.stamped)
        (void)snprintf(etag, sizeof etag, ",\"file_etag\":\"%s\"", stamp);
    else if (!now.unpinned)
        (void)snprintf(etag, sizeof etag, ",\"file_etag\":\"\\\"v%d\\\"\"", linked);
    (void)snprintf(s, 900, "{\"id\":\"%s\",\"root\":\"" ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"type\":{\"class\":"
                   "\"H5T_INTEGER\",\"base\":\"H5T_STD_I32LE\"},\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":[%d]},\"layout\":{\"class\":"
                   "\"H5D_CONTIGUOUS_REF\",\"offset\":%zu,\"size\":%zu,\"file_uri\":\"%s/data.h5\"%s},\"creationProperties\":{}}",
                   id.text, N, now.both ? (size_t)0 : n * N * sizeof(int32_t), N * sizeof(int32_t), now.url, etag);
    return s;
}

static int32_t value(int version, size_t i) { return (int32_t)i + version * 1000000; }

static int32_t data[3][BYTES / sizeof(int32_t)]; /* the file's versions */

static void answer_data(const struct seen *r, struct answer *a)
{
    char etag[20];
    now.gets++;
    if (now.change_at && now.gets > now.change_at)
        now.version = 2;
    (void)snprintf(etag, sizeof etag, "\"v%d\"", now.version);
    answer_object(r, a, data[now.version - 1], now.stamped ? length(now.version) : BYTES, etag);
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    unsigned n;
    char    *body = NULL;
    (void)arg;
    a->delay_ms = 2;
    if (strcmp(r->target, "/data.h5") == 0) {
        answer_data(r, a);
        return;
    }
    if (strcmp(r->target, "/x.h5/.domain.json") == 0)
        body = domain_json();
    else if (strcmp(r->target, DB "/.group.json") == 0)
        body = root_json(N_SETS, NULL);
    else if (sscanf(r->target, DB "/d/0000-%06x-abcdef/.d", &n) == 1 && n < N_SETS)
        body = dataset_json(n);
    if (!body) {
        a->status = 404;
        return;
    }
    a->body = a->owned = body;
    a->len             = strlen(body);
}

/* All of a dataset; the version whose bytes came, 0: it failed, -1: they are mixed */
static int read_one(struct bkt_dsetio *io, size_t first, struct bkt_err *err)
{
    int32_t         v[N] = {0};
    struct bkt_sel  sel = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {N}, .n_elems = N};
    struct bkt_read r   = {.io = io, .file = &sel, .dst = v};
    if (bkt_read_datasets(&r, 1, err) < 0)
        return 0;
    int version = v[0] / 1000000;
    for (size_t i = 0; i < N; i++)
        if (v[i] != value(version, first + i))
            return -1;
    return version;
}

static bool says(const struct bkt_err *e, const char *text)
{
    for (unsigned i = 0; i < e->n; i++)
        if (strstr(e->frame[i].msg, text))
            return true;
    return false;
}

/* One file, linked by one dataset before it changed, by another after that: each has its own version's bytes
 * or none. */
static void two_versions(void)
{
    struct bkt_settings set;
    struct bkt_err      err = {0};
    now.version = 1;
    now.both    = true;
    struct bkt_domain *d = open_domain(now.url, &set, "");
    struct bkt_dsetio *old = open_io(d, 0), *new = open_io(d, 1);
    CHECK(read_one(old, 0, &err) == 1, "%s", first_line(&err));
    CHECK(read_one(new, 0, &err) == 0 && err.code == BKT_EPRECOND, "what was linked later isn't there yet");
    now.version = 2;
    err         = (struct bkt_err){0};
    CHECK(read_one(new, 0, &err) == 2, "the new version's bytes, though others are cached: %s", first_line(&err));
    CHECK(read_one(old, 0, &err) == 1, "what was read before is still what it was");
    bkt_chunks_forget_stored(d);
    CHECK(read_one(old, 0, &err) == 0 && err.code == BKT_EPRECOND, "the old version is gone");
    CHECK(says(&err, "data.h5"), "the file is named: %s", first_line(&err));

    int32_t         v[2][N];
    struct bkt_sel  sel = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {N}, .n_elems = N};
    struct bkt_read r[] = {{.io = new, .file = &sel, .dst = v[0]}, {.io = old, .file = &sel, .dst = v[1]}};
    bkt_chunks_forget_stored(d);
    err = (struct bkt_err){0};
    CHECK(bkt_read_datasets(r, 2, &err) == BKT_EPRECOND, "both in one call, the same bytes: one request can't serve them");
    bkt_dsetio_close(old);
    bkt_dsetio_close(new);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
    now.both = false;
}

/* The same by size and time, which a HEAD returns once: a program that refreshes also has that version's
 * bytes or none. */
static void two_stamps(void)
{
    struct bkt_settings set;
    struct bkt_err      err = {0};
    now.version = 1;
    now.both = now.stamped = true;
    struct bkt_domain *d = open_domain(now.url, &set, "");
    struct bkt_dsetio *old = open_io(d, 0), *new = open_io(d, 1);
    CHECK(read_one(old, 0, &err) == 1, "%s", first_line(&err));
    CHECK(read_one(new, 0, &err) == 0 && err.code == BKT_EPRECOND && says(&err, "link it again"), "%s", first_line(&err));
    now.version = 2;
    err         = (struct bkt_err){0};
    CHECK(read_one(new, 0, &err) == 2, "the new version's bytes: %s", first_line(&err));
    bkt_chunks_forget_stored(d);
    bkt_domain_forget_versions(d);
    CHECK(read_one(new, 0, &err) == 2, "refreshed: %s", first_line(&err));
    CHECK(read_one(old, 0, &err) == 0 && err.code == BKT_EPRECOND && says(&err, "data.h5 was replaced"), "the old version is gone");
    now.version = 1;
    bkt_chunks_forget_stored(d);
    bkt_domain_forget_versions(d);
    CHECK(read_one(new, 0, &err) == 0 && err.code == BKT_EPRECOND && read_one(old, 0, &err) == 1, "the old version is back");
    bkt_dsetio_close(old);
    bkt_dsetio_close(new);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
    now.both = now.stamped = false;
}

/* Nobody wrote down which version was linked: each opening sees the file as it is. */
static void between_openings(void)
{
    now.unpinned = true;
    for (now.version = 1; now.version < 4; now.version++) {
        struct bkt_settings set;
        struct bkt_err      err = {0};
        struct bkt_domain  *d   = open_domain(now.url, &set, "");
        struct bkt_dsetio  *io  = open_io(d, 7);
        CHECK(read_one(io, 7 * (size_t)N, &err) == now.version, "version %d: %s", now.version, first_line(&err));
        bkt_dsetio_close(io);
        bkt_domain_close(d);
        bkt_settings_fini(&set);
    }
    now.unpinned = false;
}

/* Nobody wrote it down, and the file is replaced while it is open: the first version's bytes, or an error. */
static void while_open(void)
{
    struct bkt_settings set;
    struct bkt_err      err = {0};
    now.version  = 1;
    now.unpinned = true;
    struct bkt_domain *d = open_domain(now.url, &set, "test.near=1K;test.merge_gap=0");
    struct bkt_dsetio *io = open_io(d, 0), *far = open_io(d, N_SETS - 1);
    CHECK(read_one(io, 0, &err) == 1, "%s", first_line(&err));
    now.version = 2;
    CHECK(read_one(far, (N_SETS - 1) * (size_t)N, &err) == 0 && err.code == BKT_EPRECOND && says(&err, "data.h5 was replaced"),
          "another dataset's bytes are of the other version: %s", first_line(&err));
    CHECK(read_one(io, 0, &err) == 1, "what was read before is still what it was");
    bkt_chunks_forget_stored(d);
    bkt_domain_forget_versions(d);
    CHECK(read_one(far, (N_SETS - 1) * (size_t)N, &err) == 2 && read_one(io, 0, &err) == 2, "refreshed, it is read as it is now");

    int32_t         v[2][N];
    struct bkt_sel  sel = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {N}, .n_elems = N};
    struct bkt_read r[] = {{.io = io, .file = &sel, .dst = v[0]}, {.io = far, .file = &sel, .dst = v[1]}};
    bkt_chunks_forget_stored(d);
    bkt_domain_forget_versions(d);
    now.version   = 1;
    now.gets      = 0;
    now.change_at = 1;
    err           = (struct bkt_err){0};
    CHECK(bkt_read_datasets(r, 2, &err) == BKT_EPRECOND && now.gets == 2,
          "in one read, of two requests: %u, %s", now.gets, first_line(&err));
    now.change_at = 0;
    now.unpinned  = false;
    bkt_dsetio_close(io);
    bkt_dsetio_close(far);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
}

/* As H5Dopen, H5Dread, H5Dclose of each member in turn, which are fetched together, while the file changes. */
static void while_siblings_are_fetched(unsigned after)
{
    struct bkt_settings      set;
    const struct bkt_object *root = NULL;
    unsigned got = 0, failed = 0, wrong = 0, unexplained = 0;
    now.version   = 1;
    now.gets      = 0;
    now.change_at = after;
    struct bkt_domain *d = open_domain(now.url, &set, "test.near=1K"); /* so that it takes more than one request */
    CHECK(bkt_domain_get(d, bkt_domain_root(d), &root, NULL) == BKT_OK, "the root");
    for (unsigned i = 0; root && i < N_SETS; i++) {
        char           name[20];
        struct bkt_err err = {0};
        (void)snprintf(name, sizeof name, "t%04u", i);
        bkt_domain_walked(d, root, bkt_links_find(&root->group.links, name));
        struct bkt_dsetio *io = open_io(d, i);
        int                is = read_one(io, i * (size_t)N, &err);
        got += is == 1;
        failed += is == 0;
        wrong += is != 0 && is != 1;
        unexplained += is == 0 && (err.code != BKT_EPRECOND || !says(&err, "data.h5"));
        bkt_dsetio_close(io);
    }
    CHECK(!wrong && !unexplained,
          "changed after %u requests: %u read the other version or both, %u failed without a reason", after,
          wrong, unexplained);
    CHECK(got > 0 && (failed > 0) == (now.version == 2), "changed after %u requests: %u read, %u failed, version %d", after, got, failed,
          now.version);
    CHECK(after || now.gets < N_SETS / 4, "%u requests for %d datasets: they are fetched together", now.gets, N_SETS);
    bkt_object_release(root);
    bkt_ahead_shutdown(); /* its threads hold the domain for a moment longer */
    bkt_domain_close(d);
    bkt_settings_fini(&set);
    now.change_at = 0;
}

int main(void)
{
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < BYTES / sizeof **data; i++)
            data[version - 1][i] = value(version, i);
    struct server *s = server_start(handle, NULL);
    if (!s)
        return 1;
    now.url = server_url(s);
    two_versions();
    two_stamps();
    between_openings();
    while_open();
    while_siblings_are_fetched(0);
    while_siblings_are_fetched(1);
    while_siblings_are_fetched(2);
    bkt_ahead_shutdown();
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    server_stop(s);
    return failures != 0;
}
