/* The links of a group straight from its JSON.  A group is one document, and links are nearly all of
 * its bytes.  A tree takes much longer, and delays the program that opens the group.
 *
 * An entry of the usual form is read as it stands; any other becomes a tree, and then a link by the rules of
 * schema/json/entries.c. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "schema/jansson/json.h"
#include "schema/json/schema_json.h"

enum { ID, CLASS, PATH, FILE_1, FILE_2, FILE_3, CHARSET, N_TEXTS, CREATED = N_TEXTS, ORDER, N_KEYS };
static const char *const keys[N_KEYS] = {"id",     "class",   "h5path",  "file",   "h5domain",
                                         "domain", "charSet", "created", "h5order"};

struct entry {
    struct bkt_json_scan_text text[N_TEXTS];
    double               number[N_KEYS - N_TEXTS];
    unsigned             has; /* bit i: keys[i] */
};

static bool same(const struct bkt_json_scan_text *t, const char *word)
{
    return strlen(word) == t->n && memcmp(t->p, word, t->n) == 0;
}
static bool has(const struct entry *e, unsigned key) { return e->has >> key & 1; }

static unsigned key_of(const struct bkt_json_scan_text *t)
{
    unsigned i = 0;
    while (i < N_KEYS && !same(t, keys[i]))
        i++;
    return i;
}

/* BKT_EUNSUP, BKT_EFORMAT: not the usual form. */
static int scan_entry(struct bkt_json_scan *s, struct entry *e)
{
    struct bkt_json_scan_text key;
    bool                 more = false;
    e->has                    = 0;
    BKT_PASS(bkt_json_scan_enter(s, '{'));
    for (;;) {
        BKT_PASS(bkt_json_scan_member(s, !e->has, &key, &more));
        if (!more)
            return bkt_json_scan_leave(s), BKT_OK;
        unsigned k = key_of(&key);
        if (k == N_KEYS || has(e, k))
            return BKT_EUNSUP;
        e->has |= 1u << k;
        if (k >= N_TEXTS) {
            struct bkt_json_scan_number v;
            BKT_PASS(bkt_json_scan_number(s, &v));
            if (v.kind == BKT_JSON_ODD)
                return BKT_EUNSUP;
            e->number[k - N_TEXTS] = v.real;
            continue;
        }
        BKT_PASS(bkt_json_scan_string(s, &e->text[k]));
        if (!e->text[k].ready)
            return BKT_EUNSUP;
    }
}

static int copy(const struct bkt_json_scan_text *t, char **out)
{
    *out = strndup(t->p, t->n);
    return *out ? BKT_OK : BKT_ENOMEM;
}

static int target_of(const struct entry *e, struct bkt_link *l)
{
    unsigned file = FILE_1;
    while (file < CHARSET && !has(e, file))
        file++;
    if (l->cls == BKT_L_HARD) {
        bool good = has(e, ID) && bkt_ref_parse(e->text[ID].p, e->text[ID].n, &l->id, NULL) == BKT_OK &&
                    l->id.text[0];
        return good ? BKT_OK : BKT_EUNSUP;
    }
    if (!has(e, PATH) || (l->cls == BKT_L_EXTERNAL && file == CHARSET))
        return BKT_EUNSUP;
    BKT_PASS(copy(&e->text[PATH], &l->path));
    return l->cls == BKT_L_EXTERNAL ? copy(&e->text[file], &l->file) : BKT_OK;
}

/* The class by its name, or by the keys that are there.  BKT_EUNSUP: not the usual form. */
static int link_of(const struct entry *e, struct bkt_link *l)
{
    if (has(e, CLASS) ? same(&e->text[CLASS], "H5L_TYPE_HARD") : has(e, ID))
        l->cls = BKT_L_HARD;
    else if (has(e, CLASS) ? same(&e->text[CLASS], "H5L_TYPE_SOFT")
                           : !has(e, FILE_1) && !has(e, FILE_2) && !has(e, FILE_3))
        l->cls = BKT_L_SOFT;
    else if (!has(e, CLASS) || same(&e->text[CLASS], "H5L_TYPE_EXTERNAL"))
        l->cls = BKT_L_EXTERNAL;
    else
        return BKT_EUNSUP;
    l->created   = has(e, CREATED) ? e->number[CREATED - N_TEXTS] : 0;
    static const struct bkt_json_scan_text absent = {.p = NULL};
    const struct bkt_json_scan_text *set = has(e, CHARSET) ? &e->text[CHARSET] : &absent;
    l->name_utf8 = bkt_name_is_utf8(l->name, set->p, set->n);
    l->seq       = BKT_UNNUMBERED;
    if (has(e, ORDER)) {
        double n = e->number[ORDER - N_TEXTS];
        if (!(n >= 0 && n <= BKT_NUMBER_MAX && n == (double)(uint32_t)n))
            return BKT_EUNSUP;
        l->seq = (uint32_t)n;
    }
    return target_of(e, l);
}

static int tree_entry(struct bkt_json_scan *s, struct bkt_link *l)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_json_value(s, &j));
    return bkt_link_parse(j, l);
}

/* Members set so far are the caller's, also after a failure. */
static int scan_link(struct bkt_json_scan *s, struct bkt_link *l)
{
    const unsigned char *from  = s->p;
    unsigned             depth = s->depth;
    struct entry         e;
    int                  rc = scan_entry(s, &e);
    if (rc == BKT_OK)
        rc = link_of(&e, l);
    if (rc != BKT_EUNSUP && rc != BKT_EFORMAT)
        return rc;
    char *name = l->name;
    l->name    = NULL;
    bkt_link_fini(l);
    l->name  = name;
    s->p     = from; /* the tree decides */
    s->depth = depth;
    return tree_entry(s, l);
}

static int scan_name(const struct bkt_json_scan_text *key, char **out)
{
    return key->ready ? copy(key, out) : bkt_json_dup_key(key->p, out, NULL);
}

int bkt_links_scan(struct bkt_json_scan *s, void *arg)
{
    struct bkt_links    *out = arg;
    struct bkt_json_scan_text key;
    size_t               cap  = 0;
    bool                 more = false;
    if (bkt_json_scan_peek(s) != '{')
        return BKT_EUNSUP;
    BKT_PASS(bkt_json_scan_enter(s, '{'));
    for (;;) {
        BKT_PASS(bkt_json_scan_member(s, !out->n, &key, &more));
        if (!more)
            return bkt_json_scan_leave(s), BKT_OK;
        BKT_PASS(bkt_list_room(&out->v, out->n, &cap, sizeof *out->v));
        struct bkt_link *l = &out->v[out->n++];
        memset(l, 0, sizeof *l);
        BKT_PASS(scan_name(&key, &l->name));
        BKT_PASS(scan_link(s, l));
    }
}
