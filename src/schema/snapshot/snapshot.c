/* See snapshot.h. */
#include "schema/snapshot/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "storage/store.h"
#include "schema/json/schema_json.h"

#define MAGIC    "h5bucket snapshot 1 "
#define MIN_LINE (BKT_ID_LEN + 4) /* bytes of an object's line */
#define MIN_CUT  22               /* bytes of a key with its line end */

/* An object. */
struct entry {
    const char *id; /* BKT_ID_LEN characters */
    const char *etag;
    const void *json;
    size_t      n;
    bool        current, taken;
};
struct bkt_snapshot {
    struct bkt_id  root;
    struct bkt_buf text;
    const char   **cuts;
    size_t         n_cuts;
    struct entry *v; /* by id */
    size_t         n;
};

int bkt_snapshot_key(const struct bkt_id *root, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "db/%.17s/.h5bucket-snapshot", root->text + 2);
}

void bkt_snapshot_free(struct bkt_snapshot *s)
{
    if (!s)
        return;
    bkt_buf_fini(&s->text);
    free(s->cuts);
    free(s->v);
    free(s);
}

/* ---- parsing ---- */

static int bad(struct bkt_err *err, const char *what)
{
    BKT_FAIL(err, BKT_EFORMAT, "not a snapshot: %s", what);
}

/* Take the next line and end it with a NUL; NULL: none. */
static char *take_line(struct bkt_rd *r)
{
    unsigned char *at = (unsigned char *)(uintptr_t)r->p,
                  *end = bkt_rd_left(r) ? memchr(at, '\n', bkt_rd_left(r)) : NULL;
    if (!end)
        return NULL;
    *end = 0;
    (void)bkt_rd_take(r, (size_t)(end - at) + 1);
    return (char *)at;
}

static int parse_entry(const struct bkt_snapshot *s, struct bkt_rd *r, struct entry *out, struct bkt_err *err)
{
    struct bkt_id id, root;
    char         *line = take_line(r), *end = NULL;
    if (!line || strlen(line) < MIN_LINE || line[BKT_ID_LEN] != ' ')
        return bad(err, "an object's line is missing or too short");
    line[BKT_ID_LEN]     = 0;
    unsigned long long n = strtoull(line + BKT_ID_LEN + 1, &end, 10);
    if (!bkt_id_set(&id, line) || !bkt_id_root(&id, &root) || strcmp(root.text, s->root.text) != 0)
        return bad(err, "an object's id is malformed or of another domain");
    if (*end != ' ' || !end[1] || n > bkt_rd_left(r))
        return bad(err, "an object's length or ETag is missing");
    *out = (struct entry){.id = line, .etag = end + 1, .json = bkt_rd_take(r, (size_t)n), .n = (size_t)n};
    const char *newline = bkt_rd_take(r, 1);
    return newline && *newline == '\n' ? BKT_OK : bad(err, "an object's length is wrong");
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const struct entry *)a)->id, ((const struct entry *)b)->id, BKT_ID_LEN);
}

static int parse_text(struct bkt_snapshot *s, struct bkt_err *err)
{
    struct bkt_rd r = bkt_rd_of(s->text.ptr, s->text.len);
    char          prefix[32];
    int           n_prefix = snprintf(prefix, sizeof prefix, "db/%.17s/", s->root.text + 2);
    for (size_t i = 0; i < s->n_cuts; i++) {
        s->cuts[i] = take_line(&r);
        if (!s->cuts[i] || strncmp(s->cuts[i], prefix, (size_t)n_prefix) != 0 ||
            (i && strcmp(s->cuts[i - 1], s->cuts[i]) >= 0))
            return bad(err, "its keys are out of order");
    }
    for (size_t i = 0; i < s->n; i++)
        BKT_PASS(parse_entry(s, &r, &s->v[i], err));
    if (bkt_rd_left(&r))
        return bad(err, "it is longer than its header states");
    if (s->n)
        qsort(s->v, s->n, sizeof *s->v, by_id);
    return BKT_OK;
}

static int inflate_text(struct bkt_snapshot *s, const void *p, size_t n, size_t bytes, struct bkt_err *err)
{
    uLongf got = bytes;
    BKT_PASS_MEM(err, bkt_buf_resize(&s->text, bytes));
    int rc = bytes ? uncompress(s->text.ptr, &got, p, n) : Z_OK;
    if (rc == Z_MEM_ERROR)
        BKT_NOMEM(err);
    return rc == Z_OK && got == bytes ? BKT_OK : bad(err, "it can't be decompressed");
}

/* Parse the four numbers of the first line. */
static bool parse_head(const char *line, uint64_t v[4])
{
    if (strncmp(line, MAGIC, strlen(MAGIC)) != 0)
        return false;
    line += strlen(MAGIC);
    for (unsigned i = 0; i < 4; i++) {
        char *end = NULL;
        errno     = 0;
        v[i]      = *line >= '0' && *line <= '9' ? strtoull(line, &end, 10) : 0;
        if (!end || errno || *end != (i < 3 ? ' ' : 0))
            return false;
        line = end + 1;
    }
    return true;
}

static int parse_all(struct bkt_snapshot *s, const void *p, size_t n, struct bkt_err *err)
{
    char        line[160];
    uint64_t    v[4];
    const char *end = n ? memchr(p, '\n', n < sizeof line ? n : sizeof line - 1) : NULL;
    if (!end)
        return bad(err, "its header is malformed");
    size_t head = (size_t)(end - (const char *)p);
    memcpy(line, p, head);
    line[head] = 0;
    if (strlen(line) != head || !parse_head(line, v))
        return bad(err, "its header is malformed");
    const uint64_t objects = v[0], bytes = v[2], cuts = v[3];
    if (bytes > BKT_SNAPSHOT_MAX || objects > bytes / MIN_LINE || cuts > bytes / MIN_CUT)
        return bad(err, "its sizes are impossible");
    BKT_PASS(inflate_text(s, end + 1, n - head - 1, (size_t)bytes, err));
    s->cuts   = calloc((size_t)cuts + 1, sizeof *s->cuts);
    s->v      = calloc((size_t)objects + 1, sizeof *s->v);
    s->n_cuts = (size_t)cuts;
    s->n      = (size_t)objects;
    BKT_NEED(err, s->cuts && s->v);
    return parse_text(s, err);
}

int bkt_snapshot_parse(const void *p, size_t n, const struct bkt_id *root, struct bkt_snapshot **out,
                       struct bkt_err *err)
{
    struct bkt_snapshot *s = calloc(1, sizeof *s);
    BKT_NEED(err, s);
    s->root = *root;
    int rc  = parse_all(s, p, n, err);
    if (rc < 0)
        bkt_snapshot_free(s);
    else
        *out = s;
    return rc;
}

/* ---- using ---- */

size_t bkt_snapshot_count(const struct bkt_snapshot *s, size_t *n_current)
{
    *n_current = 0;
    for (size_t i = 0; i < s->n; i++)
        *n_current += s->v[i].current;
    return s->n;
}

const char *const *bkt_snapshot_cuts(const struct bkt_snapshot *s, size_t *n)
{
    *n = s->n_cuts;
    return s->cuts;
}

static struct entry *find(const struct bkt_snapshot *s, const struct bkt_id *id)
{
    struct entry key = {.id = id->text};
    return s->n ? bsearch(&key, s->v, s->n, sizeof *s->v, by_id) : NULL;
}

int bkt_snapshot_listed(const struct bkt_listed *e, void *arg)
{
    struct bkt_snapshot *s = arg;
    struct bkt_id        id;
    struct entry *x = !e->is_prefix && bkt_id_of_key(&s->root, e->key, &id) ? find(s, &id) : NULL;
    if (x)
        x->current = bkt_etag_same(x->etag, e->etag);
    return BKT_OK;
}

void bkt_snapshot_trust(struct bkt_snapshot *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->v[i].current = true;
}

bool bkt_snapshot_take(struct bkt_snapshot *s, const struct bkt_id *id, const void **json, size_t *n,
                       const char **etag)
{
    struct entry *x = find(s, id);
    if (!x || x->taken)
        return false;
    x->taken = true;
    *json    = x->json;
    *n       = x->n;
    *etag    = x->etag;
    return x->current;
}

/* objects: the snapshot and its list take two connections, and the objects one each */
#define FEWEST       16
/* objects that a page of the list must save: as many connections less, each a TLS handshake */
#define OBJECTS_EACH 8

bool bkt_snapshot_pays(uint64_t objects, uint64_t keys)
{
    return objects >= FEWEST && objects / OBJECTS_EACH >= (keys ? keys / BKT_SNAPSHOT_PAGE + 1 : 0);
}

/* ---- reading one from a store ---- */

/* The snapshot's request while the keys are listed.  In whatever order the two arrive, an object counts as
 * current only if its ETag was found in the list. */
struct coming {
    const struct bkt_id *root;
    const atomic_bool   *stop;
    struct bkt_await     get;
    struct bkt_buf       key;
    struct bkt_snapshot *s;
    struct bkt_err      *err;
};

static int parse_coming(struct coming *c)
{
    if (c->s)
        return BKT_OK;
    bkt_await(&c->get);
    const struct bkt_req *r = &c->get.req;
    if (r->rc < 0)
        return bkt_err_copy(c->err, r->rc, r->err);
    BKT_TRY(c->err, bkt_snapshot_parse(r->body.ptr, r->body.len, c->root, &c->s, c->err), "%s", r->key);
    return BKT_OK;
}

static int on_listed(const struct bkt_listed *e, void *arg)
{
    struct coming *c = arg;
    if (c->stop && atomic_load(c->stop))
        return BKT_ECANCEL;
    BKT_PASS(parse_coming(c));
    return bkt_snapshot_listed(e, c->s);
}

/* Whether the list can begin before the snapshot is there: by the hint's cuts, or as one page.  Senseless
 * cuts would only make work. */
static bool can_list_now(const struct bkt_snapshot_hint *h, const char *prefix)
{
    for (size_t i = 0; h && i < h->n_cuts; i++)
        if (strncmp(h->cuts[i], prefix, strlen(prefix)) != 0 ||
            (i && strcmp(h->cuts[i - 1], h->cuts[i]) >= 0))
            return false;
    return h && (h->n_cuts || (h->keys && h->keys < BKT_SNAPSHOT_PAGE));
}

static int list_and_compare(struct bkt_store *st, struct coming *c, const struct bkt_snapshot_hint *hint)
{
    char   prefix[32];
    size_t n_cuts;
    (void)snprintf(prefix, sizeof prefix, "db/%.17s/", c->root->text + 2);
    if (can_list_now(hint, prefix)) {
        BKT_PASS(bkt_store_list_parts(st, prefix, (const char *const *)hint->cuts, hint->n_cuts, on_listed, c,
                                      c->err));
        return parse_coming(c);
    }
    BKT_PASS(parse_coming(c));
    if (c->stop && atomic_load(c->stop))
        return BKT_ECANCEL;
    const char *const *cuts = bkt_snapshot_cuts(c->s, &n_cuts);
    return bkt_store_list_parts(st, prefix, cuts, n_cuts, on_listed, c, c->err);
}

int bkt_snapshot_load(struct bkt_store *st, const struct bkt_id *root, bool trust,
                      const struct bkt_snapshot_hint *hint, const atomic_bool *stop,
                      struct bkt_snapshot **out, struct bkt_err *err)
{
    struct coming c = {.root = root, .stop = stop, .err = err};
    BKT_PASS_MEM(err, bkt_snapshot_key(root, &c.key));
    c.get.req = (struct bkt_req){.op = BKT_GET, .key = bkt_buf_str(&c.key), .len = BKT_WHOLE};
    bkt_await_start(NULL, st, &c.get);
    int rc = trust ? parse_coming(&c) : list_and_compare(st, &c, hint);
    bkt_await(&c.get);
    if (rc == BKT_OK && trust)
        bkt_snapshot_trust(c.s);
    if (rc < 0)
        bkt_snapshot_free(c.s);
    else
        *out = c.s;
    bkt_await_fini(&c.get);
    bkt_buf_fini(&c.key);
    return rc;
}

/* ---- making ---- */

int bkt_snapshot_count_key(struct bkt_snapshot_out *o, const char *key)
{
    /* less than a page, to leave room for keys added before the next snapshot */
    if (++o->n_keys % (BKT_SNAPSHOT_PAGE * 9 / 10) != 0)
        return BKT_OK;
    BKT_PASS(bkt_buf_addf(&o->cuts, "%s\n", key));
    o->n_cuts++;
    return BKT_OK;
}

int bkt_snapshot_add(struct bkt_snapshot_out *o, const struct bkt_id *id, const char *etag, const void *json,
                     size_t n, struct bkt_err *err)
{
    if (o->objects.len + n >
        BKT_SNAPSHOT_MAX - (1u << 20)) /* room for the cuts: a key of 100 bytes for each 900 objects */
        BKT_FAIL(err, BKT_EUNSUP, "the objects have more JSON than a snapshot can hold (%u MiB)",
                 BKT_SNAPSHOT_MAX >> 20);
    BKT_NEED(err, bkt_buf_addf(&o->objects, "%s %zu %s\n", id->text, n, etag) >= 0 &&
                      bkt_buf_add(&o->objects, json, n) >= 0 && bkt_buf_add(&o->objects, "\n", 1) >= 0);
    o->n_objects++;
    return BKT_OK;
}

int bkt_snapshot_emit(const struct bkt_snapshot_out *o, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_NEED(err, bkt_buf_add(&text, bkt_buf_str(&o->cuts), o->cuts.len) >= 0 &&
                      bkt_buf_add(&text, bkt_buf_str(&o->objects), o->objects.len) >= 0 &&
                      bkt_buf_addf(out, MAGIC "%" PRIu64 " %" PRIu64 " %zu %" PRIu64 "\n", o->n_objects,
                                   o->n_keys, text.len, o->n_cuts) >= 0);
    BKT_FAIL_IF(err, text.len > BKT_SNAPSHOT_MAX, BKT_EUNSUP,
                "the domain has more keys than a snapshot can hold");
    uLongf n = compressBound(text.len);
    if (!text.len)
        return BKT_OK;
    if (bkt_buf_reserve(out, n) < 0 || compress(out->ptr + out->len, &n, text.ptr, text.len) != Z_OK)
        BKT_NOMEM(err);
    out->len += n;
    out->ptr[out->len] = 0;
    return BKT_OK;
}

void bkt_snapshot_out_fini(struct bkt_snapshot_out *o)
{
    bkt_buf_fini(&o->cuts);
    bkt_buf_fini(&o->objects);
}

int bkt_snapshot_note(const void *json, size_t n, const struct bkt_snapshot_out *o, struct bkt_buf *out,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j    = NULL;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf cuts = {0};
    char                    *cut[BKT_CUTS_MAX];
    struct bkt_snapshot_hint hint = {.cuts = cut};
    BKT_PASS(bkt_json_load(json, n, &j, err));
    (void)json_object_del(j, "h5snapshot");
    if (o && bkt_buf_add(&cuts, bkt_buf_str(&o->cuts), o->cuts.len) < 0)
        BKT_NOMEM(err);
    for (char *p = o && o->n_cuts <= BKT_CUTS_MAX ? (char *)cuts.ptr : NULL, *end;
         p && (end = strchr(p, '\n')); p = end + 1) {
        *end                    = 0;
        hint.cuts[hint.n_cuts++] = p;
    }
    if (o) {
        hint.objects = o->n_objects;
        hint.keys    = o->n_keys;
        BKT_PASS_MEM(err, bkt_snapshot_hint_emit(&hint, j));
    }
    return bkt_json_dump(j, out, err);
}
