/* Each allocation of a flush fails once: a moved object stays in reach, whatever has been stored by then. */
#include <stdatomic.h>
#include <stdbool.h>

static atomic_long left = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
    return left >= 0 && atomic_fetch_sub(&left, 1) == 0;
}

#include "helpers/failing_alloc.h"
#include "unit/schema/edit/flush_testing.h"

struct place {
    struct bkt_id group;
    const char *name;
};

static bool leads(struct bkt_domain *d, const struct place *p, const struct bkt_id *to)
{
    const struct bkt_link *l = bkt_links_find(&get(d, &p->group)->group.links, p->name);
    return l && strcmp(l->id.text, to->text) == 0;
}

/* A dataset moves from /a/data to a name that another writer takes, and allocation number @p k fails.
 * Returns whether the flush makes so few that none failed.
 * @param within   the new name is in the same group
 * @param removed  the group is removed afterwards */
static bool flush_without(long k, bool within, bool removed)
{
    struct bkt_id a, b, ds;
    struct bkt_domain *d = sample(&a, &b, &ds), *e = open_other(name), *f;
    struct bkt_id root = *bkt_domain_root(d);
    struct place from = {a, "data"}, to = {within ? a : b, "taken"};
    (void)get(e, &root), (void)get(e, &a), (void)get(e, &b);
    release_all();
    link_it(d, &to.group, to.name, &b);
    OK(bkt_domain_flush(d, err));
    link_it(e, &to.group, to.name, &ds);
    unlink_it(e, &from.group, from.name);
    if (removed)
        unlink_it(e, &root, "a");
    left = k;
    int rc = bkt_domain_flush(e, NULL);
    bool failed = left < 0;
    left = -1;
    CHECK(rc < 0, "%ld: the name is taken", k);
    (void)fresh_look(&a, &f);
    struct place above = {root, "a"};
    CHECK(leads(f, &from, &ds) && leads(f, &above, &a) && is_in_store(f, &ds), "%ld: it is where it was", k);
    close_all(d, e, f);
    release_all();
    return !failed;
}

int main(void)
{
    static const struct {
        bool within, removed;
    } cases[] = {{false, false}, {true, false}, {false, true}};
    OK(bkt_settings_init(&set, "", err));
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        long k = 0;
        while (k < 5000 && !failures && !flush_without(k, cases[i].within, cases[i].removed))
            k++;
        CHECK(k > 30 && k < 5000, "%ld allocations", k);
    }
    domains_end();
    return failures ? 1 : 0;
}
