#include "schema/edit/agreed.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "schema/edit/edit_impl.h"
#include "schema/json/documents.h"

void bkt_edit_agree(struct bkt_domain *d, const struct bkt_agreed *a)
{
    struct bkt_edits *e = d->edits;
    if (!e->agreed || memcmp(e->ids.seed, a->seed, sizeof a->seed) != 0) {
        e->ids = (struct bkt_id_source){.seed = {a->seed[0], a->seed[1]}};
        e->writer = a->seed[1] | 1;
    }
    e->agreed = true;
    if (a->clock > e->clock)
        e->clock = a->clock;
    d->set.read_ahead = 0; /* others may change what would be read ahead */
}

bool bkt_edit_is_agreed(const struct bkt_domain *d)
{
    return d->edits && d->edits->agreed;
}

/* Positive doubles and their bits have one order. */
struct bkt_progress bkt_edit_progress(const struct bkt_domain *d)
{
    struct bkt_progress p = {.ids = d->edits->ids.n};
    memcpy(&p.clock, &d->edits->clock, sizeof p.clock);
    return p;
}

void bkt_edit_catch_up(struct bkt_domain *d, struct bkt_progress p)
{
    d->edits->ids.n = p.ids;
    memcpy(&d->edits->clock, &p.clock, sizeof p.clock);
}

/* ---- fingerprints ---- */

static uint64_t digest_text(const char *s, uint64_t before)
{
    return bkt_digest(s ? s : "", s ? strlen(s) + 1 : 0, before);
}

static uint64_t digest_link(const struct bkt_change *c, const char *name, uint64_t h)
{
    const struct bkt_link *l = bkt_links_find(&c->obj->group.links, name);
    if (!l)
        return h;
    h = bkt_digest(&l->cls, sizeof l->cls, h);
    h = l->cls == BKT_L_HARD ? digest_text(l->id.text, h) : h;
    return digest_text(l->file, digest_text(l->path, bkt_digest(l->ud.ptr, l->ud.len, h)));
}

static uint64_t digest_attr(const struct bkt_change *c, const char *name, uint64_t h)
{
    const struct bkt_attr *a = bkt_attrs_find(&c->obj->attrs, name);
    if (!a)
        return h;
    h = bkt_digest(a->space.dims, a->space.rank * sizeof *a->space.dims, h);
    return bkt_digest(a->value.ptr, a->value.len, h);
}

/* Sums don't depend on the order of the names. */
static uint64_t digest_names(const struct bkt_change *c, const struct bkt_map *deltas, bool links)
{
    uint64_t sum = 0;
    for (struct bkt_map_at at = {0}; bkt_map_walk(deltas, &at);) {
        uint64_t one = digest_text(at.key, 0);
        sum += links ? digest_link(c, at.key, one) : digest_attr(c, at.key, one);
    }
    return sum;
}

static uint64_t digest_deltas(const struct bkt_change *c)
{
    uint64_t sums[] = {digest_names(c, c->links, true), digest_names(c, c->attrs, false), (uint64_t)c->refs,
                       c->comment};
    uint64_t h = bkt_digest(sums, sizeof sums, 0);
    h = c->comment ? digest_text(c->obj->comment, h) : h;
    if (c->extent && c->extent->resized)
        h = bkt_digest(c->obj->dset.space.dims, c->obj->dset.space.rank * sizeof(uint64_t), h);
    return h;
}

static int digest_new(const struct bkt_change *c, uint64_t *h, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_PASS(bkt_object_emit(c->obj, &text, err));
    *h = bkt_digest(text.ptr, text.len, 1);
    return BKT_OK;
}

static int add_names(struct bkt_buf *out, const char *what, const struct bkt_map *deltas)
{
    struct bkt_map_at at = {0};
    if (!bkt_map_walk(deltas, &at))
        return BKT_OK;
    return bkt_buf_addf(out, ", %s '%.80s'%s", what, at.key, bkt_map_count(deltas) > 1 ? " and others" : "");
}

static int describe(struct bkt_domain *d, const struct bkt_change *c, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    bool known = bkt_domain_path_of(d, &c->id, &path) == BKT_OK;
    BKT_PASS(bkt_buf_addf(out, "%s '%.200s'", c->is_new ? "new object" : "object",
                          known ? bkt_buf_str(&path) : c->id.text));
    BKT_PASS(add_names(out, "link", c->links));
    BKT_PASS(add_names(out, "attribute", c->attrs));
    return c->extent && c->extent->resized ? bkt_buf_add_str(out, ", its extent") : BKT_OK;
}

static bool counts(const struct bkt_change *c)
{
    return !c->removed && (c->is_new || bkt_map_count(c->links) || bkt_map_count(c->attrs) || c->comment ||
                           c->refs || (c->extent && c->extent->resized));
}

static int by_id(const void *a, const void *b)
{
    const struct bkt_change *const *x = a, *const *y = b;
    return strcmp((*x)->id.text, (*y)->id.text);
}

static int add_record(struct bkt_domain *d, const struct bkt_change *c, struct bkt_buf *out,
                      struct bkt_err *err)
{
    uint64_t h = c->is_new ? 0 : digest_deltas(c);
    if (c->is_new)
        BKT_PASS(digest_new(c, &h, err));
    BKT_NEED(err, bkt_buf_add(out, c->id.text, BKT_ID_LEN) >= 0 && bkt_buf_add(out, &h, sizeof h) >= 0 &&
                      describe(d, c, out) >= 0 && bkt_buf_add(out, "", 1) >= 0);
    return BKT_OK;
}

int bkt_edit_fingerprint(struct bkt_domain *d, struct bkt_buf *out, struct bkt_err *err)
{
    size_t n = 0;
    BKT_CLEANUP(bkt_freep)
    struct bkt_change **all = calloc(bkt_map_count(d->edits->changes) + 1, sizeof(void *));
    BKT_NEED(err, all);
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->edits->changes, &at);)
        if (counts(at.value))
            all[n++] = at.value;
    if (n)
        qsort((void *)all, n, sizeof(void *), by_id);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(add_record(d, all[i], out, err));
    return BKT_OK;
}

/* ---- comparison ---- */

struct record {
    char id[BKT_ID_LEN];
    uint64_t digest;
    const char *text;
};

static bool next(struct bkt_rd *r, struct record *out)
{
    const void *id = bkt_rd_left(r) ? bkt_rd_take(r, BKT_ID_LEN) : NULL,
               *h = id ? bkt_rd_take(r, sizeof out->digest) : NULL;
    const char *end = h ? memchr(r->p, 0, bkt_rd_left(r)) : NULL;
    if (!end)
        return false;
    memcpy(out->id, id, BKT_ID_LEN);
    memcpy(&out->digest, h, sizeof out->digest);
    out->text = bkt_rd_take(r, (size_t)(end - (const char *)r->p) + 1);
    return out->text != NULL;
}

int bkt_edit_compare(const struct bkt_buf *a, const char *mine, const struct bkt_buf *b, const char *theirs,
                     struct bkt_buf *out)
{
    struct bkt_rd x = bkt_rd_of(a->ptr, a->len), y = bkt_rd_of(b->ptr, b->len);
    struct record p, q;
    for (;;) {
        bool more_x = next(&x, &p), more_y = next(&y, &q);
        int cmp = !more_x ? 1 : !more_y ? -1 : memcmp(p.id, q.id, BKT_ID_LEN);
        if (!more_x && !more_y)
            return BKT_OK;
        if (cmp < 0)
            return bkt_buf_addf(out, "%s has changed %s, and %s has not", mine, p.text, theirs);
        if (cmp > 0)
            return bkt_buf_addf(out, "%s has changed %s, and %s has not", theirs, q.text, mine);
        if (p.digest != q.digest)
            return bkt_buf_addf(out, "%s and %s differ: %s; %s", mine, theirs, p.text, q.text);
    }
}
