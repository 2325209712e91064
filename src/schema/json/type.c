/* Types: JSON <-> model.  One table of predefined names serves both directions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/h5enc/h5enc.h"
#include "base/num.h"
#include "schema/json/schema_json.h"

static const struct predefined {
    const char         *name; /* without LE or BE */
    enum bkt_type_class cls;
    unsigned char       size;
    bool                is_signed;
} predefined[] = {
    {"H5T_STD_I8", BKT_T_INTEGER, 1, true},     {"H5T_STD_U8", BKT_T_INTEGER, 1, false},
    {"H5T_STD_I16", BKT_T_INTEGER, 2, true},    {"H5T_STD_U16", BKT_T_INTEGER, 2, false},
    {"H5T_STD_I32", BKT_T_INTEGER, 4, true},    {"H5T_STD_U32", BKT_T_INTEGER, 4, false},
    {"H5T_STD_I64", BKT_T_INTEGER, 8, true},    {"H5T_STD_U64", BKT_T_INTEGER, 8, false},
    {"H5T_IEEE_F16", BKT_T_FLOAT, 2, true},     {"H5T_IEEE_F32", BKT_T_FLOAT, 4, true},
    {"H5T_IEEE_F64", BKT_T_FLOAT, 8, true},     {"H5T_STD_REF_OBJ", BKT_T_OBJREF, 48, false},
    {"H5T_STD_REF_DSETREG", BKT_T_REGREF, 0, false},
};

typedef int parse_class_fn(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err);
static parse_class_fn parse_number, parse_string, parse_vlen, parse_compound, parse_array, parse_enum,
    parse_opaque, parse_reference;

typedef int emit_class_fn(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err);
static emit_class_fn emit_number, emit_string, emit_vlen, emit_compound, emit_array, emit_enum, emit_opaque,
    emit_reference;

static const struct {
    const char         *name;
    enum bkt_type_class cls;
    parse_class_fn     *parse;
    emit_class_fn      *emit;
} classes[] = {
    {"H5T_INTEGER", BKT_T_INTEGER, parse_number, emit_number},
    {"H5T_FLOAT", BKT_T_FLOAT, parse_number, emit_number},
    {"H5T_STRING", BKT_T_STRING, parse_string, emit_string},
    {"H5T_VLEN", BKT_T_VLEN, parse_vlen, emit_vlen},
    {"H5T_COMPOUND", BKT_T_COMPOUND, parse_compound, emit_compound},
    {"H5T_ARRAY", BKT_T_ARRAY, parse_array, emit_array},
    {"H5T_ENUM", BKT_T_ENUM, parse_enum, emit_enum},
    {"H5T_OPAQUE", BKT_T_OPAQUE, parse_opaque, emit_opaque},
    {"H5T_REFERENCE", BKT_T_OBJREF, parse_reference, emit_reference},
    {"H5T_REFERENCE", BKT_T_REGREF, parse_reference, emit_reference},
};

static const struct bkt_word pads[] = {{"H5T_STR_NULLTERM", BKT_STR_NULLTERM},
                                       {"H5T_STR_NULLPAD", BKT_STR_NULLPAD},
                                       {"H5T_STR_SPACEPAD", BKT_STR_SPACEPAD}};
static const struct bkt_word sets[] = {{"H5T_CSET_ASCII", BKT_CSET_ASCII}, {"H5T_CSET_UTF8", BKT_CSET_UTF8}};

static int parse_depth(const json_t *j, unsigned depth, struct bkt_type **out, struct bkt_err *err);

static int set_predefined(const char *name, struct bkt_type *t, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(predefined); i++) {
        const struct predefined *p = &predefined[i];
        size_t                   n = strlen(p->name);
        if (strncmp(name, p->name, n) != 0)
            continue;
        bool is_ref = p->cls == BKT_T_OBJREF || p->cls == BKT_T_REGREF;
        if (name[n] && (is_ref || (strcmp(name + n, "LE") != 0 && strcmp(name + n, "BE") != 0)))
            continue;
        t->cls        = p->cls;
        t->size       = p->size;
        t->is_signed  = p->is_signed;
        t->big_endian = name[n] == 'B'; /* without suffix: little-endian, as h5pyd writes such vlen bases */
        t->is_var     = p->size == 0;
        return BKT_OK;
    }
    BKT_FAIL(err, BKT_EUNSUP, "type \"%.60s\" is not a predefined type of the schema", name);
}

static int parse_number(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    enum bkt_type_class want = t->cls;
    const json_t       *base = bkt_json_get(j, "base");
    (void)depth;
    BKT_FAIL_IF(err, !json_is_string(base), BKT_EFORMAT, "type.base is %s",
                base ? "not a string" : "missing");
    BKT_PASS(set_predefined(json_string_value(base), t, err));
    BKT_FAIL_IF(err, t->cls != want, BKT_EFORMAT, "type.base \"%.60s\" does not fit its class",
                json_string_value(base));
    return BKT_OK;
}

static int parse_string(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    const char *var = bkt_json_word(j, "length");
    uint64_t    n   = 0;
    (void)depth;
    t->var_string = t->is_var = var && strcmp(var, "H5T_VARIABLE") == 0;
    if (!t->is_var)
        BKT_PASS(bkt_json_u64(bkt_json_get(j, "length"), "string length", UINT32_MAX, &n, err));
    BKT_FAIL_IF(err, !t->is_var && n == 0, BKT_EFORMAT, "string length is 0");
    t->size   = (size_t)n;
    t->strpad = (enum bkt_strpad)bkt_word_find(pads, BKT_COUNT(pads), bkt_json_word(j, "strPad"),
                                               t->is_var ? BKT_STR_NULLTERM : BKT_STR_NULLPAD);
    t->cset =
        (enum bkt_cset)bkt_word_find(sets, BKT_COUNT(sets), bkt_json_word(j, "charSet"), BKT_CSET_ASCII);
    return BKT_OK;
}

static int parse_vlen(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    t->is_var = true;
    return parse_depth(json_object_get(j, "base"), depth + 1, &t->base, err);
}

static int parse_field(const json_t *j, unsigned depth, struct bkt_field *f, struct bkt_err *err)
{
    BKT_PASS(bkt_json_dup(bkt_json_get(j, "name"), "compound field name", &f->name, err));
    BKT_TRY(err, parse_depth(json_object_get(j, "type"), depth + 1, &f->type, err), "field \"%s\"", f->name);
    return BKT_OK;
}

#define MEMBERS_MAX 65535 /* as many as an HDF5 file has room for; HDF5 compares each with all others */

static int check_members(size_t n, const char *what, struct bkt_err *err)
{
    BKT_FAIL_IF(err, n > MEMBERS_MAX, BKT_EFORMAT, "type of %zu %s; the limit is %d", n, what, MEMBERS_MAX);
    return BKT_OK;
}

static int parse_compound(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    const json_t *fields = bkt_json_get(j, "fields");
    size_t        n      = json_array_size(fields);
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT, "compound type has no list of fields");
    BKT_PASS(check_members(n, "fields", err));
    t->fields = calloc(n, sizeof *t->fields);
    BKT_NEED(err, t->fields);
    t->n_fields = n;
    for (size_t i = 0; i < n; i++) {
        struct bkt_field *f = &t->fields[i];
        BKT_PASS(parse_field(json_array_get(fields, i), depth, f, err));
        f->offset = t->size;
        t->is_var |= f->type->is_var;
        BKT_FAIL_IF(err, __builtin_add_overflow(t->size, f->type->size, &t->size), BKT_EFORMAT,
                    "compound type is too large");
    }
    return BKT_OK;
}

static int parse_array(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    BKT_PASS(bkt_dims_parse(bkt_json_get(j, "dims"), "array type dims", UINT32_MAX, t->dims, &t->rank, err));
    BKT_PASS(parse_depth(json_object_get(j, "base"), depth + 1, &t->base, err));
    t->is_var  = t->base->is_var;
    t->n_elems = 1;
    for (unsigned i = 0; i < t->rank; i++)
        BKT_FAIL_IF(err, t->dims[i] == 0 || !bkt_mul_u64(t->n_elems, t->dims[i], &t->n_elems), BKT_EFORMAT,
                    "array type dims: 0, or too large");
    BKT_FAIL_IF(err, t->rank == 0 || !bkt_mul_size(t->n_elems, t->base->size, &t->size), BKT_EFORMAT,
                "array type dims: none, or too large");
    return BKT_OK;
}

/* The bit pattern, extended to 64 bits, of a number that fits the enum's base type. */
static int enum_value(const json_t *j, const struct bkt_type *base, int64_t *out)
{
    struct bkt_num v;
    if (json_is_boolean(j))
        v = (struct bkt_num){.kind = BKT_NUM_INT, .mag = json_is_true(j)};
    else if (!j || !bkt_json_num(j, &v) || v.kind != BKT_NUM_INT || v.huge)
        return BKT_EFORMAT;
    unsigned bits = (unsigned)base->size * 8 - base->is_signed;
    uint64_t max  = UINT64_MAX >> (64 - bits);
    if (v.neg && v.mag ? !base->is_signed || v.mag - 1 > max : v.mag > max)
        return BKT_EFORMAT;
    *out = (int64_t)(v.neg ? -v.mag : v.mag);
    return BKT_OK;
}

static int add_member(struct bkt_type *t, char *name, const json_t *value, struct bkt_err *err)
{
    struct bkt_enum_member *m = &t->members[t->n_members++];
    m->name                   = name;
    BKT_FAIL_IF(err, enum_value(value, t->base, &m->value) < 0, BKT_EFORMAT,
                "enum member \"%s\": the value is not a number of the base type", name);
    return BKT_OK;
}

static int parse_enum(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    const json_t *map = bkt_json_get(j, "mapping"), *list = bkt_json_get(j, "members");
    BKT_PASS(parse_depth(json_object_get(j, "base"), depth + 1, &t->base, err));
    BKT_FAIL_IF(err, t->base->cls != BKT_T_INTEGER, BKT_EFORMAT,
                "enum type: the base is not an integer type");
    t->size = t->base->size, t->is_signed = t->base->is_signed, t->big_endian = t->base->big_endian;
    if (!json_is_object(map) && json_is_object(list))
        map = list;
    BKT_FAIL_IF(err, !json_is_object(map) && !json_is_array(list), BKT_EFORMAT,
                "enum type has neither mapping nor members");
    size_t n = json_is_object(map) ? json_object_size(map) : json_array_size(list);
    BKT_PASS(check_members(n, "members", err));
    t->members = calloc(n + 1, sizeof *t->members);
    BKT_NEED(err, t->members);
    char *name = NULL;
    for (void *it = json_object_iter((json_t *)(uintptr_t)map); it;
         it       = json_object_iter_next((json_t *)(uintptr_t)map, it)) {
        BKT_PASS(bkt_json_dup_key(json_object_iter_key(it), &name, err));
        BKT_PASS(add_member(t, name, json_object_iter_value(it), err));
    }
    for (size_t i = 0; !json_is_object(map) && i < n; i++) {
        const json_t *m = json_array_get(list, i);
        BKT_PASS(bkt_json_dup(bkt_json_get(m, "name"), "enum member name", &name, err));
        BKT_PASS(add_member(t, name, json_object_get(m, "value"), err));
    }
    return BKT_OK;
}

static int parse_opaque(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    uint64_t n = 0;
    (void)depth;
    BKT_PASS(bkt_json_u64(bkt_json_get(j, "size"), "opaque size", UINT32_MAX, &n, err));
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT, "opaque size is 0");
    t->size = (size_t)n;
    if (bkt_json_get(j, "tag"))
        return bkt_json_dup(bkt_json_get(j, "tag"), "opaque tag", &t->tag, err);
    BKT_NEED(err, (t->tag = strdup("")));
    return BKT_OK;
}

static int parse_reference(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    const char *base = bkt_json_word(j, "base");
    uint64_t    n    = 0;
    (void)depth;
    BKT_PASS(set_predefined(base ? base : "H5T_STD_REF_OBJ", t, err));
    BKT_FAIL_IF(err, t->cls != BKT_T_OBJREF && t->cls != BKT_T_REGREF, BKT_EFORMAT,
                "reference type: the base \"%.60s\" is not a reference", base);
    /* Some writers add charSet, length and strPad; of these only the length concerns the stored bytes. */
    if (json_is_number(bkt_json_get(j, "length")))
        BKT_PASS(bkt_json_u64(bkt_json_get(j, "length"), "reference length", 65536, &n, err));
    if (n) {
        t->size   = (size_t)n;
        t->is_var = false;
    }
    return BKT_OK;
}

/* The committed type's id: "id" today, "uuid" from older writers, which may lack the prefix. */
static void parse_committed(const json_t *j, struct bkt_type *t)
{
    const char *id = bkt_json_word(j, "id");
    char        full[BKT_ID_LEN + 2];
    if (!id)
        id = bkt_json_word(j, "uuid");
    if (!id)
        return;
    if (bkt_ref_parse(id, strlen(id), &t->committed, NULL) < 0 && strlen(id) == BKT_ID_LEN - 2) {
        (void)snprintf(full, sizeof full, "t-%s", id);
        (void)bkt_id_set(&t->committed, full);
    }
    if (t->committed.text[0] && bkt_id_kind(&t->committed) != BKT_DATATYPE)
        memset(&t->committed, 0, sizeof t->committed);
}

static int check_encoded(const struct bkt_type *t, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_h5type_freep) struct bkt_h5type *exact = NULL;
    BKT_TRY(err, bkt_h5type_parse(t->encoded.ptr, t->encoded.len, &exact, err), "type.h5type");
    return bkt_h5type_match(exact, t, err);
}

/* An HDF5 type that the keys can't express, as HDF5 encodes it (a key of the connector).  Both must be of the
 * same bytes; if they aren't, only this type is unusable. */
static int parse_encoded(const json_t *j, struct bkt_type *t, struct bkt_err *err)
{
    struct bkt_err why;
    BKT_PASS(bkt_json_base64(bkt_json_word(j, "h5type") ? bkt_json_get(j, "h5type") : NULL, "type.h5type",
                             &t->encoded, err));
    if (!t->encoded.len)
        return BKT_OK;
    bkt_err_clear(&why);
    int rc = check_encoded(t, &why);
    if (rc == BKT_ENOMEM || (rc < 0 && !(t->bad = strdup(bkt_err_reason(&why, rc)))))
        BKT_NOMEM(err);
    return BKT_OK;
}

static int parse_object(const json_t *j, unsigned depth, struct bkt_type *t, struct bkt_err *err)
{
    const char *cls = bkt_json_word(j, "class");
    BKT_FAIL_IF(err, !cls, BKT_EFORMAT, "type.class is missing");
    for (size_t i = 0; i < BKT_COUNT(classes); i++)
        if (strcmp(classes[i].name, cls) == 0) {
            t->cls = classes[i].cls;
            parse_committed(j, t);
            BKT_PASS(classes[i].parse(j, depth, t, err));
            return parse_encoded(j, t, err);
        }
    BKT_FAIL(err, BKT_EUNSUP, "unknown type class \"%.60s\"", cls);
}

static int parse_depth(const json_t *j, unsigned depth, struct bkt_type **out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, depth >= BKT_TYPE_DEPTH, BKT_EFORMAT, "type nests deeper than %d levels",
                BKT_TYPE_DEPTH);
    BKT_FAIL_IF(err, !json_is_string(j) && !json_is_object(j), BKT_EFORMAT, "type is %s",
                j ? "neither a name nor an object" : "missing");
    struct bkt_type *t = *out = calloc(1, sizeof *t);
    BKT_NEED(err, t);
    BKT_PASS(json_is_string(j) ? set_predefined(json_string_value(j), t, err)
                               : parse_object(j, depth, t, err));
    if (t->is_var)
        t->size = 0;
    return BKT_OK;
}

int bkt_type_parse(const json_t *j, struct bkt_type **out, struct bkt_err *err)
{
    struct bkt_type *t  = NULL;
    int              rc = parse_depth(j, 0, &t, err);
    if (rc < 0)
        bkt_type_free(t);
    else
        *out = t;
    return rc;
}

/* ---- model -> JSON: always objects, which every reader takes ---- */

static int emit_depth(const struct bkt_type *t, unsigned depth, json_t **out, struct bkt_err *err);

static int emit_number(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    char name[32];
    (void)depth;
    for (size_t i = 0; i < BKT_COUNT(predefined); i++) {
        const struct predefined *p = &predefined[i];
        if (p->cls != t->cls || p->size != t->size ||
            (t->cls == BKT_T_INTEGER && p->is_signed != t->is_signed))
            continue;
        (void)snprintf(name, sizeof name, "%s%s", p->name, t->big_endian ? "BE" : "LE");
        return bkt_json_set(j, "base", json_string(name));
    }
    BKT_FAIL(err, BKT_EUNSUP, "the schema has no %s of %zu bytes",
             t->cls == BKT_T_FLOAT ? "float" : "integer", t->size);
}

static int emit_string(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    (void)depth, (void)err;
    BKT_PASS(bkt_json_set(j, "charSet", json_string(bkt_word_of(sets, BKT_COUNT(sets), t->cset))));
    BKT_PASS(bkt_json_set(j, "strPad", json_string(bkt_word_of(pads, BKT_COUNT(pads), t->strpad))));
    return bkt_json_set(j, "length", t->is_var ? json_string("H5T_VARIABLE") : bkt_json_new_u64(t->size));
}

static int emit_base(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    json_t *base = NULL;
    BKT_PASS(emit_depth(t->base, depth + 1, &base, err));
    return bkt_json_set(j, "base", base);
}

static int emit_vlen(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    BKT_PASS(bkt_json_set(j, "size", json_string("H5T_VARIABLE")));
    return emit_base(t, depth, j, err);
}

static int emit_field(const struct bkt_field *f, unsigned depth, json_t *fields, struct bkt_err *err)
{
    json_t *type = NULL, *one = json_object();
    BKT_PASS(bkt_json_push(fields, one));
    BKT_PASS(bkt_json_set(one, "name", bkt_json_new_str(f->name)));
    BKT_TRY(err, emit_depth(f->type, depth + 1, &type, err), "field \"%s\"", f->name);
    return bkt_json_set(one, "type", type);
}

static int emit_compound(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    json_t *fields = json_array();
    BKT_PASS(bkt_json_set(j, "fields", fields));
    for (size_t i = 0; i < t->n_fields; i++)
        BKT_PASS(emit_field(&t->fields[i], depth, fields, err));
    return BKT_OK;
}

static int emit_array(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    BKT_PASS(bkt_json_set_dims(j, "dims", t->dims, t->rank));
    return emit_base(t, depth, j, err);
}

static int emit_enum(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    BKT_PASS(emit_base(t, depth, j, err));
    json_t *map = json_object();
    BKT_PASS(bkt_json_set(j, "mapping", map));
    for (size_t i = 0; i < t->n_members; i++) {
        int64_t v = t->members[i].value;
        BKT_PASS(bkt_json_set_named(map, t->members[i].name,
                                    t->base->is_signed ? json_integer(v) : bkt_json_new_u64((uint64_t)v)));
    }
    return BKT_OK;
}

static int emit_opaque(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    (void)depth, (void)err;
    BKT_PASS(bkt_json_set(j, "size", bkt_json_new_u64(t->size)));
    return bkt_json_set(j, "tag", bkt_json_new_str(t->tag ? t->tag : ""));
}

static int emit_reference(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    (void)depth, (void)err;
    BKT_PASS(bkt_json_set(j, "base",
                          json_string(t->cls == BKT_T_OBJREF ? "H5T_STD_REF_OBJ" : "H5T_STD_REF_DSETREG")));
    if (t->is_var || (t->cls == BKT_T_OBJREF && t->size == 48))
        return BKT_OK;
    return bkt_json_set(j, "length", bkt_json_new_u64(t->size));
}

static int emit_object(const struct bkt_type *t, unsigned depth, json_t *j, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(classes); i++) {
        if (classes[i].cls != t->cls)
            continue;
        BKT_PASS(bkt_json_set(j, "class", json_string(classes[i].name)));
        BKT_PASS(classes[i].emit(t, depth, j, err));
        if (t->committed.text[0])
            BKT_PASS(bkt_json_set(j, "id", json_string(t->committed.text)));
        return t->encoded.len ? bkt_json_set(j, "h5type", bkt_json_new_base64(&t->encoded)) : BKT_OK;
    }
    BKT_FAIL(err, BKT_EUNSUP, "the schema can't express this type");
}

static int emit_depth(const struct bkt_type *t, unsigned depth, json_t **out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, depth >= BKT_TYPE_DEPTH, BKT_EUNSUP, "type nests deeper than %d levels", BKT_TYPE_DEPTH);
    json_t *j = json_object();
    BKT_NEED(err, j);
    int rc = bkt_json_give(j, emit_object(t, depth, j, err), out);
    return rc == BKT_ENOMEM ? BKT_ERR(err, rc, "out of memory") : rc;
}

int bkt_type_emit(const struct bkt_type *t, json_t **out, struct bkt_err *err)
{
    return emit_depth(t, 0, out, err);
}
