/* 16 processes change one domain in a directory at once, each some hundred times: links of one group,
 * attributes of one object, the extent of one dataset.  All changes are there afterwards.  (Each flushes
 * twice: the flushes meet.) */
#include "unit/schema/edit/edit_testing.h"
#include "helpers/sanitizer.h"
#include "helpers/processes.h"

#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 16
#define UPDATES FEWER(400, 100)
#define BATCH (UPDATES / 2)

static char          name[64];
static struct bkt_id group, dset;

struct brief { /* the data that a process waits for */
    struct bkt_id group, dset;
    char          name[64];
};

static int write_some(unsigned me)
{
    struct bkt_domain *d = open_it(name);
    for (unsigned i = 0; i < UPDATES; i++) {
        char n[32];
        (void)snprintf(n, sizeof n, "w%02u-%04u", me, i);
        link_it(d, &group, n, &dset);
        set_attr(d, &dset, n, me * UPDATES + i, ATTR_CREATE);
        if (i % 5 == 0) {
            const struct bkt_object *o = get(d, &dset);
            OK(bkt_edit_extent(d, &dset, (uint64_t[]){o->dset.space.dims[0] + me + 1}, err));
        }
        if (i % BATCH == BATCH - 1)
            OK(bkt_domain_flush(d, err));
    }
    uint64_t now = get(d, &dset)->dset.space.dims[0], want = 1000000 + me; /* only to grow */
    OK(bkt_edit_extent(d, &dset, (uint64_t[]){now < want ? want : now + 1}, err));
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
    return failures;
}

static int one_process(unsigned me, int fd)
{
    struct brief b;
    if (read(fd, &b, sizeof b) != (ssize_t)sizeof b) /* when the domain is there */
        return 2;
    group = b.group, dset = b.dset;
    memcpy(name, b.name, sizeof name);
    OK(bkt_settings_init(&set, "fsync=no", err)); /* it is about order, not about power cuts */
    int bad = write_some(me);
    domains_end();
    (void)fflush(stdout);
    return bad != 0;
}

static pid_t pids[WRITERS];
static int   pipes[WRITERS]; /* to each */

static void run_all(void)
{
    struct brief b = {.group = group, .dset = dset};
    memcpy(b.name, name, sizeof name);
    for (unsigned i = 0; i < WRITERS; i++) {
        if (write(pipes[i], &b, sizeof b) != (ssize_t)sizeof b)
            abort();
        (void)close(pipes[i]);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status = 0;
        CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0, "writer %u: %x", i, (unsigned)status);
    }
}

int main(void)
{
    char dir[] = "/tmp/bkt-s-writers-XXXXXX", command[64];
    start_processes(WRITERS, pids, pipes, one_process);
    OK(bkt_settings_init(&set, "fsync=no", err));
    CHECK(mkdtemp(dir) != NULL, "%s", dir);
    (void)snprintf(name, sizeof name, "file://%s/w.h5", dir);
    struct bkt_domain *d    = create(name, false);
    struct bkt_id      root = *bkt_domain_root(d);
    group = add_group(d);
    dset  = add_dset(d, 1);
    link_it(d, &root, "group", &group);
    link_it(d, &root, "dset", &dset);
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
    run_all();

    d                           = open_it(name);
    const struct bkt_object *g  = get(d, &group), *ds = get(d, &dset);
    CHECK(g->group.links.n == WRITERS * UPDATES, "%zu links of %d", g->group.links.n, WRITERS * UPDATES);
    CHECK(ds->attrs.n == WRITERS * UPDATES, "%zu attributes of %d", ds->attrs.n, WRITERS * UPDATES);
    CHECK(ds->dset.space.dims[0] >= 1000000 + WRITERS - 1, "the largest extent: %" PRIu64, ds->dset.space.dims[0]);
    for (unsigned me = 0; me < WRITERS; me++)
        for (unsigned i = 0; i < UPDATES; i += 37) {
            char n[32];
            (void)snprintf(n, sizeof n, "w%02u-%04u", me, i);
            CHECK(bkt_links_find(&g->group.links, n) && attr_value(ds, n) == (int64_t)me * UPDATES + i, "%s", n);
        }
    bkt_domain_close(d);
    domains_end();
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK(system(command) == 0, "%s", command);
    return failures ? 1 : 0;
}
