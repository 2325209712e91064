/* Attributes and links: JSON <-> model.  Both are entries with a name, a time, and a number in the order of
 * creation.  A value that doesn't fit its type makes only this attribute unusable; `bad` has the reason.  A
 * senseless entry stays visible as a link of class OTHER, which can be listed but not followed.  One bad link
 * must not hide the others of its group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/json/reference_text.h"
#include "schema/json/schema_json.h"

/* ---- numbers in the order of creation (the connector's keys) ----
 *
 * HDF5 numbers links and attributes as they are made, and removed ones leave gaps.  HSDS knows only the
 * sequence, from their times.  So an entry has a number only if that isn't the previous one plus 1.  An
 * object has the next number only if that isn't the last one plus 1.  Additions and removals by writers that
 * don't know of this shift numbers, nothing worse. */

/* The number of a link or attribute; BKT_UNNUMBERED */
static uint32_t order_said(const json_t *entry)
{
    uint64_t n = 0;
    const json_t *said = bkt_json_get(entry, "h5order");
    return said && bkt_json_u64(said, "h5order", BKT_NUMBER_MAX, &n, NULL) == BKT_OK ? (uint32_t)n
                                                                                     : BKT_UNNUMBERED;
}

uint32_t bkt_order_next(const json_t *j, const char *key)
{
    uint64_t n = 0;
    const json_t *said = bkt_json_get(j, key);
    return said && bkt_json_u64(said, key, BKT_NUMBER_MAX, &n, NULL) == BKT_OK ? (uint32_t)n : 0;
}

int bkt_order_put(json_t *entry, uint32_t number)
{
    return bkt_json_set(entry, "h5order", json_integer(number));
}

/* ---- all of an object's ---- */

struct entry {
    json_t *j;
    double created;
    size_t place;
};

static int by_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->created < y->created || x->created > y->created)
        return x->created < y->created ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Entries of the lists (NULL: none), in the order of creation; the caller's, free().  NULL: out of memory. */
static struct entry *sorted(json_t *const *lists, size_t n_lists, size_t *n)
{
    size_t all = 0;
    bool mixed = false;
    for (size_t i = 0; i < n_lists; i++)
        all += json_object_size(lists[i]);
    struct entry *v = calloc(all + 1, sizeof *v);
    *n = 0;
    for (size_t i = 0; v && i < n_lists; i++)
        for (void *it = json_object_iter(lists[i]); it; it = json_object_iter_next(lists[i], it)) {
            json_t *j = json_object_iter_value(it);
            v[*n] = (struct entry){j, bkt_json_seconds(j, "created"), *n};
            mixed |= *n && v[*n].created < v[*n - 1].created;
            (*n)++;
        }
    if (mixed)
        qsort(v, *n, sizeof *v, by_time);
    return v;
}

/* Whether an entry declares a number beyond @p number, which is the previous entry's plus 1 and its own
 * otherwise. */
static bool leaps(const json_t *j, uint32_t *number)
{
    uint32_t said = order_said(j);
    if (said == BKT_UNNUMBERED || said <= *number)
        return false;
    *number = said;
    return true;
}

int bkt_order_number_all(json_t *const *lists, size_t n_lists, uint32_t *next)
{
    size_t n = 0;
    uint32_t number = 0;
    BKT_CLEANUP(bkt_freep) struct entry *v = sorted(lists, n_lists, &n);
    if (!v)
        return BKT_ENOMEM;
    for (size_t i = 0; i < n; i++, number++) {
        (void)leaps(v[i].j, &number);
        if (json_is_object(v[i].j))
            BKT_PASS(bkt_order_put(v[i].j, number));
    }
    if (n && *next < number)
        *next = number;
    return BKT_OK;
}

int bkt_order_drop_needless(json_t *const *lists, size_t n_lists, json_t *obj, const char *key, uint32_t next)
{
    size_t n = 0;
    uint32_t number = 0;
    BKT_CLEANUP(bkt_freep) struct entry *v = sorted(lists, n_lists, &n);
    if (!v)
        return BKT_ENOMEM;
    for (size_t i = 0; i < n; i++, number++)
        if (!leaps(v[i].j, &number))
            (void)json_object_del(v[i].j, "h5order");
    (void)json_object_del(obj, key);
    return n && next > number ? bkt_json_set(obj, key, json_integer(next)) : BKT_OK;
}

/* ---- common members ---- */

static bool is_ascii(const char *name)
{
    while (*name && (unsigned char)*name < 0x80)
        name++;
    return !*name;
}

static bool is_word(const char *p, size_t n, const char *word)
{
    return p && n == strlen(word) && memcmp(p, word, n) == 0;
}

bool bkt_name_is_utf8(const char *name, const char *set, size_t n)
{
    if (is_word(set, n, "H5T_CSET_ASCII"))
        return false;
    return is_word(set, n, "H5T_CSET_UTF8") || !is_ascii(name);
}

/* Read the time, the number and the character set of a name from an entry; the name is set. */
static void read_entry(const json_t *j, struct bkt_named *one)
{
    const char *set = bkt_json_word(j, "charSet");
    one->created = bkt_json_seconds(j, "created");
    one->seq = order_said(j);
    one->name_utf8 = bkt_name_is_utf8(one->name, set, set ? strlen(set) : 0);
}

/* Write the character set, if the bytes of the name suggest another, and the time. */
static int say_entry(json_t *j, const struct bkt_named *one)
{
    if (one->name_utf8 == is_ascii(one->name))
        BKT_PASS(
            bkt_json_set(j, "charSet", json_string(one->name_utf8 ? "H5T_CSET_UTF8" : "H5T_CSET_ASCII")));
    return bkt_json_set(j, "created", bkt_json_new_real(one->created));
}

/* Put a new entry, which is taken, into @p list.
 * @param number  of the entry before it plus 1, for entries with numbers; else NULL */
static int put_entry(json_t *list, const struct bkt_named *one, json_t *entry, uint32_t *number,
                     struct bkt_err *err)
{
    if (bkt_json_set_named(list, one->name, entry) < 0 ||
        (number && one->seq != *number && bkt_order_put(entry, one->seq) < 0))
        BKT_NOMEM(err);
    if (number)
        *number = one->seq + 1;
    return BKT_OK;
}

/* Parse what an entry has besides the common members, which are there. */
typedef int parse_entry_fn(const json_t *j, void *one, struct bkt_err *err);

/* Add the entries of @p j, an object or nothing, to a list whose elements have @p size bytes. */
static int parse_entries(const json_t *j, parse_entry_fn *parse, struct bkt_named_list *l, size_t size,
                         struct bkt_err *err)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    size_t more = json_object_size(j) + 1;
    char *v = realloc(l->v, (l->n + more) * size);
    BKT_NEED(err, v);
    memset(v + l->n * size, 0, more * size);
    l->v = v;
    for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
        struct bkt_named *one = (struct bkt_named *)(void *)(v + l->n++ * size);
        BKT_PASS(bkt_json_dup_key(json_object_iter_key(it), &one->name, err));
        read_entry(json_object_iter_value(it), one);
        BKT_PASS(parse(json_object_iter_value(it), one, err));
    }
    return BKT_OK;
}

/* ---- attributes ---- */

static int parse_value(const json_t *j, struct bkt_attr *a, struct bkt_err *err)
{
    const json_t *value = bkt_json_get(j, "value");
    struct bkt_err why = {0};
    if (!value || a->space.cls == BKT_S_NULL)
        return BKT_OK;
    int rc = bkt_value_parse(a->type, &a->space, value, bkt_json_word(j, "encoding"), &a->value, &why);
    if (rc == BKT_ENOMEM)
        return bkt_err_copy(err, rc, &why);
    if (rc == BKT_OK) {
        a->has_value = true;
        return bkt_nulls_parse(j, a->type, &a->value, err);
    }
    bkt_buf_fini(&a->value);
    BKT_PASS_MEM(err, bkt_text(&a->bad, "attribute \"%s\": %s", a->name, bkt_err_reason(&why, rc)));
    return BKT_OK;
}

static int parse_attr(const json_t *j, void *one, struct bkt_err *err)
{
    struct bkt_attr *a = one;
    BKT_TRY(err, bkt_type_parse(json_object_get(j, "type"), &a->type, err), "attribute \"%s\"", a->name);
    BKT_TRY(err, bkt_space_parse(json_object_get(j, "shape"), &a->space, err), "attribute \"%s\"", a->name);
    return parse_value(j, a, err);
}

int bkt_attrs_parse(const json_t *j, struct bkt_attrs *out, struct bkt_err *err)
{
    if (!json_object_size(j))
        out->next = 0;
    if (!j || json_is_null(j))
        return BKT_OK;
    BKT_FAIL_IF(err, !json_is_object(j), BKT_EFORMAT, "attributes is not an object");
    BKT_PASS(parse_entries(j, parse_attr, &out->list, sizeof *out->v, err));
    BKT_PASS_MEM(err, bkt_named_sort(&out->list, sizeof *out->v));
    return BKT_OK;
}

static int emit_value(const struct bkt_attr *a, json_t *j, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_nulls_fini) struct bkt_nulls nulls = {.n_empty = 0};
    json_t *value = json_null();
    bool base64 = false;
    if (a->has_value && a->space.cls != BKT_S_NULL)
        BKT_PASS(bkt_value_emit(a->type, &a->space, &a->value, &value, &base64, &nulls, err));
    BKT_PASS(bkt_json_set(j, "value", value));
    if (nulls.n_null)
        BKT_PASS(bkt_nulls_emit(&nulls, j));
    return base64 ? bkt_json_set(j, "encoding", json_string("base64")) : BKT_OK;
}

/* HSDS needs all keys; "value" is null for an attribute without a value. */
static int emit_attr(const struct bkt_attr *a, bool all, json_t *j, struct bkt_err *err)
{
    json_t *part = NULL;
    BKT_FAIL_IF(err, a->bad, BKT_EFORMAT, "%s", a->bad);
    if (!all)
        return emit_value(a, j, err);
    BKT_PASS(bkt_type_emit(a->type, &part, err));
    BKT_PASS(bkt_json_set(j, "type", part));
    BKT_PASS(bkt_space_emit(&a->space, &part, err));
    BKT_PASS(bkt_json_set(j, "shape", part));
    BKT_PASS(emit_value(a, j, err));
    return say_entry(j, (const struct bkt_named *)a);
}

int bkt_attr_emit(const struct bkt_attr *a, bool all, json_t **out, struct bkt_err *err)
{
    json_t *j = json_object();
    BKT_TRY(err, bkt_json_give(j, j ? emit_attr(a, all, j, err) : BKT_ENOMEM, out), "attribute \"%s\"",
            a->name);
    return BKT_OK;
}

int bkt_attrs_emit(const struct bkt_attrs *a, bool numbered, json_t *j, struct bkt_err *err)
{
    uint32_t number = 0;
    (void)bkt_attrs_settle(a);
    for (size_t i = 0; i < a->n; i++) {
        const struct bkt_attr *one = &a->v[a->order[i]];
        json_t *part = NULL;
        BKT_PASS(bkt_attr_emit(one, true, &part, err));
        BKT_PASS(put_entry(j, (const struct bkt_named *)one, part, numbered ? &number : NULL, err));
    }
    return BKT_OK;
}

/* ---- links ---- */

static const char *const file_keys[] = {"file", "h5domain", "domain"}; /* 1.0, 0.9, the specification */

static const struct bkt_word classes[] = {
    {"H5L_TYPE_HARD", BKT_L_HARD}, {"H5L_TYPE_SOFT", BKT_L_SOFT}, {"H5L_TYPE_EXTERNAL", BKT_L_EXTERNAL}};

static enum bkt_link_class class_of(const json_t *j)
{
    const char *cls = bkt_json_word(j, "class");
    if (cls)
        return (enum bkt_link_class)bkt_word_find(classes, BKT_COUNT(classes), cls, BKT_L_OTHER);
    if (bkt_json_get(j, "id"))
        return BKT_L_HARD;
    if (!bkt_json_get(j, "h5path"))
        return BKT_L_OTHER;
    for (size_t i = 0; i < BKT_COUNT(file_keys); i++)
        if (bkt_json_get(j, file_keys[i]))
            return BKT_L_EXTERNAL;
    return BKT_L_SOFT;
}

/* BKT_EFORMAT: the entry doesn't fit its class. */
static int parse_target(const json_t *j, struct bkt_link *l)
{
    const char *id = bkt_json_word(j, "id");
    const json_t *file = NULL;
    if (l->cls == BKT_L_OTHER)
        return BKT_OK;
    if (l->cls == BKT_L_HARD)
        return id && bkt_ref_parse(id, strlen(id), &l->id, NULL) == BKT_OK && l->id.text[0] ? BKT_OK
                                                                                            : BKT_EFORMAT;
    BKT_PASS(bkt_json_dup(bkt_json_get(j, "h5path"), "h5path", &l->path, NULL));
    if (l->cls == BKT_L_SOFT)
        return BKT_OK;
    for (size_t i = 0; !file && i < BKT_COUNT(file_keys); i++)
        file = bkt_json_get(j, file_keys[i]);
    return bkt_json_dup(file, "file", &l->file, NULL);
}

static int parse_link(const json_t *j, void *one, struct bkt_err *err)
{
    struct bkt_link *l = one;
    l->cls = class_of(j);
    int rc = parse_target(j, l);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    if (rc < 0)
        l->cls = BKT_L_OTHER;
    return BKT_OK;
}

int bkt_link_parse(const json_t *j, struct bkt_link *l)
{
    read_entry(j, (struct bkt_named *)l);
    return parse_link(j, l, NULL);
}

/* H5L_TYPE_UD_MIN: numbers below are HDF5's own kinds, whose values programs read as text. */
#define USER_TYPE_MIN 64

/* User-defined links: HSDS has no such class, so they have a list of their own. */
static int parse_user(const json_t *j, void *one, struct bkt_err *err)
{
    struct bkt_link *l = one;
    const char *data = bkt_json_word(j, "data");
    uint64_t type = 0;
    l->cls = BKT_L_OTHER;
    if (bkt_json_u64(bkt_json_get(j, "type"), "type", 255, &type, NULL) < 0 || type < USER_TYPE_MIN)
        return BKT_OK;
    int rc = data ? bkt_base64_decode(data, strlen(data), &l->ud) : BKT_OK;
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    if (rc == BKT_OK) {
        l->cls = BKT_L_USER;
        l->ud_type = (int)type;
    }
    return BKT_OK;
}

/* If two links have one name, the last one counts, at the place of the first, as in jansson's trees. */
static bool has_twins(const struct bkt_links *l)
{
    for (size_t i = 1; i < l->n; i++)
        if (strcmp(l->v[i - 1].name, l->v[i].name) == 0)
            return true;
    return false;
}

int bkt_links_parse(const json_t *j, const json_t *user, struct bkt_links *out, struct bkt_err *err)
{
    bool scanned = out->n > 0;
    BKT_FAIL_IF(err, j && !json_is_object(j) && !json_is_null(j), BKT_EFORMAT, "links is not an object");
    if (!scanned && !json_object_size(j) && !json_object_size(user)) {
        out->next = 0;
        return BKT_OK;
    }
    BKT_PASS(parse_entries(j, parse_link, &out->list, sizeof *out->v, err));
    BKT_PASS(parse_entries(user, parse_user, &out->list, sizeof *out->v, err));
    BKT_PASS_MEM(err, bkt_named_sort(&out->list, sizeof *out->v));
    return scanned && has_twins(out) ? BKT_EEXIST : BKT_OK;
}

static int emit_target(const struct bkt_link *l, json_t *j)
{
    if (l->cls == BKT_L_USER) {
        BKT_PASS(bkt_json_set(j, "type", json_integer(l->ud_type)));
        return bkt_json_set(j, "data", bkt_json_new_base64(&l->ud));
    }
    if (l->cls == BKT_L_HARD)
        BKT_PASS(bkt_json_set(j, "id", json_string(l->id.text)));
    else
        BKT_PASS(bkt_json_set(j, "h5path", bkt_json_new_str(l->path)));
    for (size_t i = 0; l->cls == BKT_L_EXTERNAL && i < 2; i++)
        BKT_PASS(bkt_json_set(j, file_keys[i], bkt_json_new_str(l->file)));
    return bkt_json_set(j, "class", json_string(bkt_word_of(classes, BKT_COUNT(classes), l->cls)));
}

int bkt_link_emit(const struct bkt_link *l, json_t **out, struct bkt_err *err)
{
    json_t *j;
    BKT_FAIL_IF(err, l->cls == BKT_L_OTHER, BKT_EUNSUP, "link \"%s\" has an unknown class", l->name);
    j = json_object();
    int rc = j ? emit_target(l, j) : BKT_ENOMEM;
    if (rc == BKT_OK)
        rc = say_entry(j, (const struct bkt_named *)l);
    BKT_PASS_MEM(err, bkt_json_give(j, rc, out));
    return BKT_OK;
}

int bkt_links_emit(const struct bkt_links *l, bool numbered, json_t *j, json_t *user, struct bkt_err *err)
{
    uint32_t number = 0;
    (void)bkt_links_settle(l);
    for (size_t i = 0; i < l->n; i++) {
        const struct bkt_link *one = &l->v[l->order[i]];
        json_t *part = NULL;
        BKT_PASS(bkt_link_emit(one, &part, err));
        BKT_PASS(put_entry(one->cls == BKT_L_USER ? user : j, (const struct bkt_named *)one, part,
                           numbered ? &number : NULL, err));
    }
    return BKT_OK;
}
