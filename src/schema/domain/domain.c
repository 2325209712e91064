/* Open domains: found by name, one per name and settings that matter (settings.h), kept as long as they are
 * referenced. */
#include "schema/domain/domain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os/clock.h"
#include "base/os/thread.h"
#include "base/trace.h"
#include "schema/domain/domain_impl.h"
#include "schema/json/acl.h"
#include "schema/name/pointer_file.h"

/* seconds that a domain found by a probe waits for the following open, which HDF5 makes at once */
#define LINGER_SECONDS 5

static pthread_mutex_t    registry_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following and all refs */
static struct bkt_domain *registry;
static struct bkt_domain *lingering; /* holds a reference */
static time_t             linger_until;
static int                n_fresh; /* domains that aren't stored yet */

/* ---- loading ---- */

void bkt_domain_destroy(struct bkt_domain *d)
{
    if (!d)
        return;
    bkt_siblings_free(d->siblings);
    if (d->attached)
        d->detach(d->attached);
    d->edit_ops->free(d);
    bkt_map_free(d->alias, free);
    bkt_map_free(d->recorded, free);
    bkt_objects_free(d->objects);
    for (struct bkt_map_at at = {0}; bkt_map_walk(d->stores, &at);)
        bkt_store_close(at.value);
    bkt_map_free(d->stores, NULL);
    bkt_map_free(d->versions, free);
    bkt_map_free(d->usage, free);
    bkt_links_count_free(d->links);
    bkt_store_close(d->store);
    bkt_domain_doc_fini(&d->doc);
    bkt_settings_fini(&d->set);
    (void)pthread_mutex_destroy(&d->lock);
    free(d->id);
    free(d->name);
    free(d->path);
    free(d);
}

void bkt_domain_note_rights(struct bkt_domain *d)
{
    const char *user = d->set.user;
    d->granted = user && *user ? bkt_domain_doc_allows(&d->doc, user) : BKT_ACL_ALL;
}

int bkt_domain_open_parts(struct bkt_domain *d, struct bkt_err *err)
{
    bkt_domain_note_rights(d);
    BKT_PASS_MEM(err, bkt_text(&d->name, "%s/%s", bkt_store_uri(d->store), d->path));
    d->links   = bkt_links_count_new();
    d->objects = bkt_objects_new(d->store, d->set.meta_cache, bkt_settings_max_object(&d->set));
    d->edits = d->edit_ops->make();
    BKT_NEED(err, d->links && d->objects && d->edits);
    return BKT_OK;
}

static int load(struct bkt_domain *d, const struct bkt_name *n, struct bkt_err *err)
{
    BKT_PASS(bkt_domain_locate(d, n, err));
    BKT_PASS(bkt_domain_open_parts(d, err));
    bkt_objects_prefetch(d->objects, &d->doc.root, 1);
    if (!d->set.read_ahead)
        return BKT_OK;
    bkt_objects_prefetch(d->objects, d->doc.first, d->doc.n_first);
    const char *use = d->set.snapshot ? d->set.snapshot : "check";
    if (strcmp(use, "no") != 0 && bkt_id_is_v2(&d->doc.root) && !bkt_store_is_local(d->store))
        bkt_objects_snapshot(d->objects, &d->doc.root, &d->doc.snapshot, strcmp(use, "trust") == 0);
    bkt_trace(BKT_TRACE_SCHEMA, "domain %s, root %s", d->name, d->doc.root.text);
    return BKT_OK;
}

/* ---- registry ---- */

static int add_setting(struct bkt_buf *b, const char *text, uint64_t number)
{
    return bkt_buf_addf(b, "%c%s%" PRIx64, 31, text ? text : "", number);
}

/* The place of a domain on this machine, past symbolic links.  As in HDF5, a domain that is open under two
 * names is one.  "": elsewhere. */
static int real_place(const struct bkt_name *n, char **out)
{
    BKT_CLEANUP(bkt_freep) char *path = NULL;
    *out = NULL;
    if (strncmp(n->store_uri, "file://", 7) != 0)
        return (*out = strdup("")) ? BKT_OK : BKT_ENOMEM;
    BKT_PASS(bkt_text(&path, "%s/%s", n->store_uri + 7, n->path));
    *out = bkt_name_real(path); /* of a new domain: by the folder that it will be in */
    if (!*out)
        *out = BKT_TAKE(path);
    return BKT_OK;
}

/* Name and settings in one string, without the settings that don't make another file of it (settings.h). */
static int registry_id(const struct bkt_name *n, const struct bkt_settings *s, char **out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b    = {0};
    BKT_CLEANUP(bkt_freep) char             *real = NULL;
    int rc = real_place(n, &real);
    if (rc == BKT_OK)
        rc = *real ? bkt_buf_add_str(&b, real) : bkt_buf_addf(&b, "%s%c%s", n->store_uri, 31, n->path);
#define ADD_SAME(kind, field)
#define ADD_OTHER(kind, field) ADD_##kind(field)
#define ADD_TEXT(field) rc = rc < 0 ? rc : add_setting(&b, s->field, 0);
#define ADD_BOOL(field) rc = rc < 0 ? rc : add_setting(&b, NULL, s->field);
#define ADD_UINT(field) rc = rc < 0 ? rc : add_setting(&b, NULL, s->field);
#define X(kind, field, file, env, def, lo, hi, help) ADD_##file(kind, field)
    BKT_SETTINGS(X)
#undef X
#define X(kind, field, file, def, lo, hi, help) ADD_##file(kind, field)
    BKT_TEST_SETTINGS(X)
#undef X
    BKT_PASS_MEM(err, rc);
    *out = bkt_buf_steal(&b);
    return BKT_OK;
}

/* Drop one reference; the lock is held.  The caller destroys the result without the lock. */
static struct bkt_domain *unref(struct bkt_domain *d)
{
    if (!d || --d->refs)
        return NULL;
    struct bkt_domain **at = &registry;
    while (*at && *at != d)
        at = &(*at)->next;
    if (*at)
        *at = d->next;
    return d;
}

static struct bkt_domain *find(const char *id)
{
    struct bkt_domain *d = registry;
    while (d && (strcmp(d->id, id) != 0 || d->edit_ops->foreign(d)))
        d = d->next;
    if (d)
        d->refs++;
    return d;
}

/* Replace the lingering domain by @p d (may be NULL), whose reference is taken over. */
static void linger(struct bkt_domain *d, bool only_if_late)
{
    struct bkt_domain *old = NULL;
    (void)pthread_mutex_lock(&registry_lock);
    if (!only_if_late || (lingering && bkt_seconds_now() >= linger_until)) {
        old          = unref(lingering);
        lingering    = d;
        linger_until = bkt_seconds_now() + LINGER_SECONDS;
    }
    (void)pthread_mutex_unlock(&registry_lock);
    bkt_domain_destroy(old);
}

/* Whether a program has it open; a domain that only a probe keeps open is closed. */
bool bkt_registry_has(const char *id)
{
    linger(NULL, false);
    BKT_HOLD(&registry_lock);
    struct bkt_domain *d = registry;
    while (d && strcmp(d->id, id) != 0)
        d = d->next;
    return d != NULL;
}

void bkt_registry_count_fresh(int by)
{
    BKT_HOLD(&registry_lock);
    n_fresh += by;
}

int bkt_registry_add(struct bkt_domain *d, int rc, struct bkt_domain **out)
{
    if (rc < 0) {
        bkt_domain_destroy(d);
        return rc;
    }
    (void)pthread_mutex_lock(&registry_lock);
    *out = find(d->id);
    if (!*out) {
        d->refs  = 1;
        d->next  = registry;
        registry = *out = d;
    }
    (void)pthread_mutex_unlock(&registry_lock);
    if (*out != d) /* another thread has opened the same domain since the first look */
        bkt_domain_destroy(d);
    return BKT_OK;
}

/* An empty domain: settings copied, @p id taken. */
static int blank(const struct bkt_edit_ops *ops, char **id, const struct bkt_settings *set,
                 struct bkt_domain **out, struct bkt_err *err)
{
    struct bkt_domain *d = calloc(1, sizeof *d);
    BKT_NEED(err, d);
    (void)pthread_mutex_init(&d->lock, NULL);
    d->edit_ops = ops;
    d->id = *id;
    *id = NULL;
    int rc = bkt_settings_copy(&d->set, set, err);
    if (rc < 0)
        bkt_domain_destroy(d);
    else
        *out = d;
    return rc;
}

int bkt_domain_new(const struct bkt_edit_ops *ops, const char *name, const struct bkt_name *n,
                   const struct bkt_settings *set, int busy, struct bkt_domain **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *id = NULL;
    BKT_PASS(registry_id(n, set, &id, err));
    BKT_FAIL_IF(err, bkt_registry_has(id), busy, "%s is open in this process", name);
    return blank(ops, &id, set, out, err);
}

int bkt_domain_for_file(const struct bkt_edit_ops *ops, struct bkt_store *store, const char *key,
                        const struct bkt_settings *set, struct bkt_domain **out, struct bkt_err *err)
{
    struct bkt_domain *d = NULL;
    BKT_CLEANUP(bkt_freep) char *id = strdup("");
    BKT_NEED(err, id);
    BKT_PASS(blank(ops, &id, set, &d, err));
    d->store = bkt_store_share(store);
    d->refs = 1;
    d->of_file = true;
    d->path = strdup(key);
    int rc = d->path ? bkt_domain_open_parts(d, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0)
        bkt_domain_destroy(d);
    else
        *out = d;
    return rc;
}

/* The open domain of a name, with a reference; NULL: no domain of that name is open. */
static struct bkt_domain *find_named(const char *name, const struct bkt_settings *set, enum bkt_name_use use)
{
    BKT_CLEANUP(bkt_name_fini) struct bkt_name n = {0};
    BKT_CLEANUP(bkt_freep) char            *id = NULL;
    if (bkt_name_parse(name, set, use, &n, NULL) < 0 || registry_id(&n, set, &id, NULL) < 0)
        return NULL;
    BKT_HOLD(&registry_lock);
    return find(id);
}

/* A domain of this process that isn't visible to others yet: known by its name alone. */
static struct bkt_domain *find_fresh(const char *name, const struct bkt_settings *set)
{
    (void)pthread_mutex_lock(&registry_lock);
    bool any = n_fresh > 0;
    (void)pthread_mutex_unlock(&registry_lock);
    return any ? find_named(name, set, BKT_NAME_CREATE) : NULL;
}

static int open_name(const struct bkt_edit_ops *ops, const struct bkt_name *n, const struct bkt_settings *set,
                     struct bkt_domain **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *id = NULL;
    BKT_PASS(registry_id(n, set, &id, err));
    linger(NULL, true);
    (void)pthread_mutex_lock(&registry_lock);
    *out = find(id);
    /* only a probe opened it: the settings of this call count */
    bool other = *out && *out == lingering && (*out)->refs == 2 && !bkt_settings_equal(&(*out)->set, set);
    (void)pthread_mutex_unlock(&registry_lock);
    if (other) {
        bkt_domain_close(*out);
        linger(NULL, false);
        *out = NULL;
    }
    if (*out)
        return BKT_OK;
    struct bkt_domain *d = NULL;
    BKT_PASS(blank(ops, &id, set, &d, err));
    return bkt_registry_add(d, load(d, n, err), out);
}

int bkt_registry_open(const struct bkt_edit_ops *ops, const char *name, bool only,
                      const struct bkt_settings *set, struct bkt_domain **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_name_fini) struct bkt_name n = {0};
    *out = find_fresh(name, set);
    if (*out)
        return BKT_OK;
    BKT_PASS(bkt_name_parse(name, set, only ? BKT_NAME_PROBE : BKT_NAME_OPEN, &n, err));
    BKT_PASS(open_name(ops, &n, set, out, err));
    (void)pthread_mutex_lock(&registry_lock);
    bool taken = lingering == *out;
    (void)pthread_mutex_unlock(&registry_lock);
    if (taken)
        linger(NULL, false);
    return BKT_OK;
}

bool bkt_domain_is_open(const char *name, const struct bkt_settings *set)
{
    struct bkt_domain *d = find_fresh(name, set);
    if (!d)
        d = find_named(name, set, BKT_NAME_OPEN);
    bkt_domain_close(d);
    return d != NULL;
}

int bkt_registry_probe(const struct bkt_edit_ops *ops, const char *name, const struct bkt_settings *set,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_name_fini) struct bkt_name n = {0};
    struct bkt_domain *d   = NULL;
    struct bkt_err     why = {.n = 0};
    struct stat        sb;
    if ((d = find_fresh(name, set))) {
        bkt_domain_close(d);
        return 1;
    }
    /* A local file of that name is not a domain, whatever the default bucket holds, unless it points to a
     * domain. */
    if (stat(name, &sb) == 0 && S_ISREG(sb.st_mode) && !bkt_pointer_is(name))
        return 0;
    int rc = bkt_name_parse(name, set, BKT_NAME_PROBE, &n, &why);
    bool parsed = rc == BKT_OK;
    if (parsed)
        rc = open_name(ops, &n, set, &d, &why);
    else if (rc != BKT_ENOMEM)
        rc = BKT_ENOENT;
    switch (rc) {
    case BKT_OK: linger(d, false); return 1;
    case BKT_EFORMAT: /* a web server may answer anything with a page of its own */
        if (parsed && n.local)
            return 1;
    /* fall through */
    case BKT_ENOENT:
    case BKT_EACCES:
    case BKT_EINVAL:
    case BKT_EUNSUP:
        if (parsed || bkt_name_has_scheme(name))
            (void)bkt_err_copy(err, rc, &why);
        return 0;
    default: return bkt_err_copy(err, rc, &why);
    }
}

struct bkt_domain *bkt_domain_retain(struct bkt_domain *d)
{
    BKT_HOLD(&registry_lock);
    d->refs++;
    return d;
}

void bkt_domain_close(struct bkt_domain *d)
{
    if (!d)
        return;
    (void)pthread_mutex_lock(&registry_lock);
    d = unref(d);
    (void)pthread_mutex_unlock(&registry_lock);
    bkt_domain_destroy(d);
}

void bkt_domain_forget_probe(void)
{
    linger(NULL, false);
}

/* ---- its properties ---- */

struct bkt_store            *bkt_domain_store(struct bkt_domain *d) { return d->store; }
const struct bkt_settings   *bkt_domain_settings(struct bkt_domain *d) { return &d->set; }
const struct bkt_domain_doc *bkt_domain_doc(struct bkt_domain *d) { return &d->doc; }
const char                  *bkt_domain_name(struct bkt_domain *d) { return d->name; }
const char                  *bkt_domain_path(struct bkt_domain *d) { return d->path; }
const struct bkt_id         *bkt_domain_root(struct bkt_domain *d) { return &d->doc.root; }

const struct bkt_id *bkt_alias_of(const struct bkt_domain *d, const struct bkt_id *id)
{
    const struct bkt_id *to = bkt_map_get(d->alias, id->text, BKT_ID_LEN);
    return to ? to : id;
}

int bkt_domain_get(struct bkt_domain *d, const struct bkt_id *id, const struct bkt_object **out,
                   struct bkt_err *err)
{
    return bkt_objects_get(d->objects, bkt_alias_of(d, id), out, err);
}

void bkt_domain_prefetch(struct bkt_domain *d, const struct bkt_id *ids, size_t n)
{
    if (d->set.read_ahead)
        bkt_objects_prefetch(d->objects, ids, n);
}

void bkt_domain_follow(struct bkt_domain *d, const struct bkt_object *start)
{
    if (!d->set.read_ahead)
        return;
    bool all = strcmp(start->id.text, d->doc.root.text) == 0;
    bkt_objects_expect(d->objects, all                        ? d->doc.snapshot.objects
                                   : start->kind == BKT_GROUP ? start->group.links.n
                                                              : 0);
    bkt_objects_follow(d->objects, start);
}

void bkt_domain_unfollow(struct bkt_domain *d)
{
    if (d->set.read_ahead)
        bkt_objects_unfollow(d->objects);
}

bool bkt_domain_is_walked(const struct bkt_domain *d)
{
    return d->siblings != NULL;
}

void *bkt_domain_attached(struct bkt_domain *d)
{
    BKT_HOLD(&d->lock);
    return d->attached;
}

void *bkt_domain_attach(struct bkt_domain *d, void *(*make)(struct bkt_domain *d),
                        void (*release)(void *what))
{
    BKT_HOLD(&d->lock);
    if (!d->attached) {
        d->attached = make(d);
        d->detach   = release;
    }
    return d->attached;
}

int bkt_domain_check_acl(struct bkt_domain *d, unsigned need, struct bkt_err *err)
{
    BKT_FAIL_IF(err, need & ~d->granted, BKT_EACCES,
                "%s: its ACL does not give user %s this permission (setting user)", d->name, d->set.user);
    return BKT_OK;
}

void bkt_domain_share(struct bkt_domain *d, struct bkt_node_reads *n)
{
    bkt_objects_share(d->objects, n);
}
