/* Replacing the ids of a domain's objects; see replace_ids.h. */
#include "schema/json/replace_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/md5.h"
#include "schema/json/schema_json.h"

#define DIGITS 17 /* xxxxxxxx-xxxxxxxx behind the letter and its dash */

int bkt_replace_ids_in_id(const struct bkt_replace_ids *r, struct bkt_id *id)
{
    unsigned char m[BKT_MD5_BYTES];
    char          kind = id->text[0];
    if (strcmp(id->text, r->from.text) == 0) {
        *id = r->to;
    } else if (!bkt_id_is_v2(&r->from)) { /* numbering would need a table: a hash is as unique */
        BKT_PASS(bkt_md5(id->text, strlen(id->text), m));
        snprintf(id->text, sizeof id->text, "%c-%.*s-%02x%02x-%02x%02x%02x-%02x%02x%02x", kind, DIGITS,
                 r->to.text + 2, m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7]);
    } else if (strncmp(id->text + 2, r->from.text + 2, DIGITS) == 0) {
        memcpy(id->text + 2, r->to.text + 2, DIGITS);
    }
    return BKT_OK;
}

int bkt_replace_ids_in_bytes(const struct bkt_replace_ids *r, void *p, size_t n)
{
    for (char *s = p; n >= BKT_ID_LEN; s++, n--) {
        struct bkt_id id;
        char          text[BKT_ID_LEN + 1] = {0};
        if (s[1] != '-' || (*s != 'g' && *s != 'd' && *s != 't'))
            continue;
        memcpy(text, s, BKT_ID_LEN);
        if (!bkt_id_set(&id, text) || bkt_id_is_v2(&id) != bkt_id_is_v2(&r->from))
            continue;
        BKT_PASS(bkt_replace_ids_in_id(r, &id));
        memcpy(s, id.text, BKT_ID_LEN);
    }
    return BKT_OK;
}

/* ---- JSON ---- */

static int change_text(const struct bkt_replace_ids *r, json_t *s)
{
    BKT_CLEANUP(bkt_freep) char *text = strndup(json_string_value(s), json_string_length(s));
    if (!text)
        return BKT_ENOMEM;
    BKT_PASS(bkt_replace_ids_in_bytes(r, text, json_string_length(s)));
    return json_string_set(s, text) == 0 ? BKT_OK : BKT_ENOMEM;
}

static int change_member(const struct bkt_replace_ids *r, json_t *obj, const char *key)
{
    json_t *s = json_object_get(obj, key);
    return json_is_string(s) ? change_text(r, s) : BKT_OK;
}

/* Change all texts in a value; no value is nested deeper than its type can be. */
static int change_all(const struct bkt_replace_ids *r, json_t *j, unsigned depth)
{
    if (json_is_string(j))
        return change_text(r, j);
    for (size_t i = 0; json_is_array(j) && depth < 100 && i < json_array_size(j); i++)
        BKT_PASS(change_all(r, json_array_get(j, i), depth + 1));
    return BKT_OK;
}

static int change_base64(const struct bkt_replace_ids *r, json_t *obj, const char *key)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf raw = {0}, text = {0};
    json_t *s = json_object_get(obj, key);
    if (!json_is_string(s) || bkt_base64_decode(json_string_value(s), json_string_length(s), &raw) < 0)
        return BKT_OK; /* malformed: stays so */
    BKT_PASS(bkt_replace_ids_in_bytes(r, raw.ptr, raw.len));
    BKT_PASS(bkt_base64_encode(raw.ptr, raw.len, &text));
    return json_string_set(s, bkt_buf_str(&text)) == 0 ? BKT_OK : BKT_ENOMEM;
}

/* Change ids of committed types, at any depth.  *refs: set if values of the type name objects. */
static int change_type(const struct bkt_replace_ids *r, json_t *t, bool *refs, unsigned depth)
{
    if (!json_is_object(t) || depth > BKT_TYPE_DEPTH)
        return BKT_OK;
    const char *cls = bkt_json_word(t, "class");
    *refs |= cls && (strcmp(cls, "H5T_REFERENCE") == 0 ||
                     (strcmp(cls, "H5T_STRING") == 0 && json_object_get(t, "h5type")));
    BKT_PASS(change_member(r, t, "id"));
    BKT_PASS(change_member(r, t, "uuid"));
    BKT_PASS(change_type(r, json_object_get(t, "base"), refs, depth + 1));
    json_t *fields = json_object_get(t, "fields");
    for (size_t i = 0; json_is_array(fields) && i < json_array_size(fields); i++)
        BKT_PASS(change_type(r, json_object_get(json_array_get(fields, i), "type"), refs, depth + 1));
    return BKT_OK;
}

static int change_value(const struct bkt_replace_ids *r, json_t *obj, const char *key, const char *encoding)
{
    const char *how = bkt_json_word(obj, encoding);
    if (how && strcmp(how, "base64") == 0)
        return change_base64(r, obj, key);
    return change_all(r, json_object_get(obj, key), 0);
}

static int change_attrs(const struct bkt_replace_ids *r, json_t *attrs)
{
    for (void *it = json_object_iter(attrs); it; it = json_object_iter_next(attrs, it)) {
        json_t *a    = json_object_iter_value(it);
        bool    refs = false;
        if (!json_is_object(a))
            continue;
        json_t *type = json_object_get(a, "type");
        if (json_is_string(type) && strstr(json_string_value(type), "H5T_STD_REF"))
            refs = true;
        BKT_PASS(change_type(r, type, &refs, 0));
        if (refs)
            BKT_PASS(change_value(r, a, "value", "encoding"));
    }
    return BKT_OK;
}

static int change_object(const struct bkt_replace_ids *r, json_t *j)
{
    json_t *links = json_object_get(j, "links"), *cpl = json_object_get(j, "creationProperties");
    bool    refs  = false;
    BKT_PASS(change_member(r, j, "id"));
    BKT_PASS(change_member(r, j, "root"));
    for (void *it = json_object_iter(links); it; it = json_object_iter_next(links, it))
        BKT_PASS(change_member(r, json_object_iter_value(it), "id"));
    if (json_is_object(json_object_get(j, "attributes")))
        BKT_PASS(change_attrs(r, json_object_get(j, "attributes")));
    BKT_PASS(change_type(r, json_object_get(j, "type"), &refs, 0));
    BKT_PASS(change_member(r, json_object_get(j, "layout"), "chunk_table"));
    BKT_PASS(change_member(r, json_object_get(cpl, "layout"), "chunk_table"));
    return refs ? change_value(r, cpl, "fillValue", "fillValue_encoding") : BKT_OK;
}

int bkt_replace_ids_in_json(const struct bkt_replace_ids *r, const void *json, size_t n, struct bkt_buf *out,
                            struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_json_load(json, n, &j, err));
    BKT_PASS_MEM(err, change_object(r, j));
    return bkt_json_dump(j, out, err);
}
