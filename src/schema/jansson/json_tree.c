/* See json_tree.h.  jansson only makes the trees.  Its parser is slower, and refuses some JSON that Python
 * writes.  If memory runs out, it may succeed with another text than the stored text. */
#include "schema/jansson/json_tree.h"

#include <string.h>

static int made(json_t *j, json_t **out)
{
    *out = j;
    return j ? BKT_OK : BKT_ENOMEM;
}

static int number_value(struct bkt_scan *s, json_t **out)
{
    struct bkt_scan_number v;
    BKT_PASS(bkt_scan_number(s, &v));
    if (v.kind == BKT_SCAN_INT)
        return made(json_integer(v.i), out);
    if (v.kind == BKT_SCAN_REAL)
        return made(json_real(v.real), out);
    bkt_buf_clear(&s->text);
    BKT_PASS(bkt_buf_add_str(&s->text, BKT_NUMBER_TAG));
    BKT_PASS(bkt_buf_add(&s->text, v.p, v.n));
    return made(json_stringn_nocheck(bkt_buf_str(&s->text), s->text.len), out);
}

static int text_value(struct bkt_scan *s, json_t **out)
{
    struct bkt_scan_text text;
    BKT_PASS(bkt_scan_string(s, &text));
    return made(json_stringn_nocheck(text.p, text.n), out);
}

static int word_value(struct bkt_scan *s, const char *word, json_t *j, json_t **out)
{
    BKT_PASS(bkt_scan_word(s, word));
    return made(j, out);
}

static int aside_value(struct bkt_scan *s, struct bkt_aside *aside, json_t **out)
{
    if (aside->found)
        return BKT_EUNSUP;
    aside->found = true;
    BKT_PASS(aside->scan(s, aside->arg));
    return made(json_object(), out);
}

static int object_members(struct bkt_scan *s, struct bkt_aside *aside, json_t *obj)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    struct bkt_scan_text key;
    bool                 more = false;
    for (bool first = true;; first = false) {
        json_t *value = NULL;
        BKT_PASS(bkt_scan_member(s, first, &key, &more));
        if (!more)
            return BKT_OK;
        bkt_buf_clear(&name);
        BKT_PASS(bkt_buf_add(&name, key.p, key.n));
        bool other = aside && strcmp(bkt_buf_str(&name), aside->key) == 0;
        BKT_PASS(other ? aside_value(s, aside, &value) : bkt_json_value(s, &value));
        if (json_object_set_new_nocheck(obj, bkt_buf_str(&name), value) < 0)
            return BKT_ENOMEM;
    }
}

static int list_entries(struct bkt_scan *s, json_t *list)
{
    bool more = false;
    for (bool first = true;; first = false) {
        json_t *value = NULL;
        BKT_PASS(bkt_scan_entry(s, first, &more));
        if (!more)
            return BKT_OK;
        BKT_PASS(bkt_json_value(s, &value));
        if (json_array_append_new(list, value) < 0)
            return BKT_ENOMEM;
    }
}

static int nested_value(struct bkt_scan *s, char bracket, struct bkt_aside *aside, json_t **out)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_scan_enter(s, bracket));
    BKT_PASS(made(bracket == '{' ? json_object() : json_array(), &j));
    BKT_PASS(bracket == '{' ? object_members(s, aside, j) : list_entries(s, j));
    bkt_scan_leave(s);
    *out = j;
    j    = NULL;
    return BKT_OK;
}

int bkt_json_value(struct bkt_scan *s, json_t **out)
{
    int c = bkt_scan_peek(s);
    switch (c) {
    case '{':
    case '[': return nested_value(s, (char)c, NULL, out);
    case '"': return text_value(s, out);
    case 't': return word_value(s, "true", json_true(), out);
    case 'f': return word_value(s, "false", json_false(), out);
    case 'n': return word_value(s, "null", json_null(), out);
    default: return number_value(s, out);
    }
}

static int document(struct bkt_scan *s, struct bkt_aside *aside, json_t **out)
{
    BKT_PASS(bkt_scan_peek(s) == '[' ? bkt_scan_skip(s) : nested_value(s, '{', aside, out));
    return bkt_scan_end(s);
}

int bkt_json_document(const void *p, size_t n, struct bkt_aside *aside, json_t **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    struct bkt_scan                       s;
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT, "the object is empty");
    bkt_scan_init(&s, p, n);
    int rc = document(&s, aside, &j);
    bkt_buf_fini(&s.text);
    if (rc == BKT_EUNSUP)
        return rc;
    if (rc < 0)
        return bkt_scan_fail(&s, rc, err);
    BKT_FAIL_IF(err, !j, BKT_EFORMAT, "not a JSON object");
    *out = j;
    j    = NULL;
    return BKT_OK;
}

int bkt_json_load(const void *p, size_t n, json_t **out, struct bkt_err *err)
{
    return bkt_json_document(p, n, NULL, out, err);
}
