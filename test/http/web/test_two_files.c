/* A dataset whose bytes lie in two files of a server: read as any other range far away, many requests at once. */
#include "http/helpers/served_domain.h"
#include "http/helpers/server.h"

#include "base/os/pool.h"

#define PART  ((size_t)8 << 20) /* bytes that each file has of it */
#define ELEMS (2 * PART / sizeof(int32_t))

static struct {
    const char *url;
    atomic_uint gets, held; /* requests of the files; how many are answered together */
    int32_t    *file[2];
} now;

static char *dataset_json(void)
{
    struct bkt_id id;
    char         *s = malloc(1000);
    id_of(0, &id);
    (void)snprintf(s, 1000, "{\"id\":\"%s\",\"root\":\"" ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},\"type\":{\"class\":"
                   "\"H5T_INTEGER\",\"base\":\"H5T_STD_I32LE\"},\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":[%zu]},\"layout\":{\"class\":"
                   "\"H5D_CONTIGUOUS_REF\",\"offset\":0,\"size\":%zu,\"segments\":[[\"%s/f0\",0,%zu,\"\\\"e\\\"\"],[\"%s/f1\",0,%zu,\"\"]]},"
                   "\"creationProperties\":{}}", id.text, ELEMS, 2 * PART, now.url, PART, now.url, PART);
    return s;
}

static bool still_few(const struct seen *r, void *arg)
{
    (void)r, (void)arg;
    return atomic_load(&now.gets) < atomic_load(&now.held);
}

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    char *body = NULL;
    (void)arg;
    if (strncmp(r->target, "/f", 2) == 0) {
        (void)atomic_fetch_add(&now.gets, 1);
        answer_object(r, a, now.file[r->target[2] == '1'], PART, "\"e\"");
        a->hold = still_few;
        return;
    }
    if (strcmp(r->target, "/x.h5/.domain.json") == 0)
        body = domain_json();
    else if (strcmp(r->target, DB "/.group.json") == 0)
        body = root_json(1, NULL);
    else
        body = dataset_json();
    a->body = a->owned = body;
    a->len             = strlen(body);
}

static bool is_right(const int32_t *v, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != (int32_t)(first + i))
            return false;
    return true;
}

/* Also if the bytes are for the cache, which takes memory: they are fetched as fast as the line allows. */
static void all_at_once(void)
{
    struct bkt_settings set;
    struct bkt_err      err  = {0};
    int32_t            *v    = calloc(ELEMS, sizeof *v);
    struct bkt_domain  *d    = open_domain(now.url, &set, "read_ahead=0;test.part_size=1M");
    struct bkt_dsetio  *io   = open_io(d, 0);
    struct bkt_sel      sel  = {.kind = BKT_SEL_ALL, .rank = 1, .dims = {ELEMS}, .n_elems = ELEMS};
    struct bkt_read     r    = {.io = io, .file = &sel, .dst = v};
    now.gets = 0;
    now.held = 16; /* of 1 MiB each */
    CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK && is_right(v, 0, ELEMS), "%s", first_line(&err));
    CHECK(now.gets == 16, "%u requests", now.gets);
    bkt_dsetio_close(io);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
    free(v);
}

/* A program that reads a bit has its neighbours, too. */
static void bit_by_bit(void)
{
    struct bkt_settings set;
    struct bkt_err      err = {0};
    int32_t             v[64];
    struct bkt_domain  *d   = open_domain(now.url, &set, "read_ahead=0");
    struct bkt_dsetio  *io  = open_io(d, 0);
    now.gets = 0;
    now.held = 0;
    for (size_t at = ELEMS - 640; at < ELEMS; at += 64) {
        struct bkt_sel  sel = {.kind = BKT_SEL_HYPER, .rank = 1, .dims = {ELEMS}, .start = {at}, .stride = {1}, .block = {1},
                               .count = {64}, .n_elems = 64};
        struct bkt_read r   = {.io = io, .file = &sel, .dst = v};
        CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK && is_right(v, at, 64), "element %zu: %s", at, first_line(&err));
    }
    CHECK(now.gets == 1, "%u requests for 10 neighbours", now.gets);
    bkt_dsetio_close(io);
    bkt_domain_close(d);
    bkt_settings_fini(&set);
}

int main(void)
{
    for (int f = 0; f < 2; f++) {
        now.file[f] = malloc(PART);
        for (size_t i = 0; now.file[f] && i < PART / sizeof(int32_t); i++)
            now.file[f][i] = (int32_t)((size_t)f * PART / sizeof(int32_t) + i);
    }
    struct server *s = server_start(handle, NULL);
    if (!s || !now.file[0] || !now.file[1])
        return 1;
    now.url = server_url(s);
    bkt_pool_size(2);
    all_at_once();
    bit_by_bit();
    bkt_domain_forget_probe();
    bkt_pool_shutdown();
    bkt_store_shutdown();
    server_stop(s);
    free(now.file[0]);
    free(now.file[1]);
    return failures != 0;
}
