/* Every form of a type and of a dataspace, described in one line. */
#include "unit/schema/json/json_testing.h"

static void report(const struct bkt_type *t, struct bkt_buf *out)
{
    int rc = BKT_OK;
    switch (t->cls) {
    case BKT_T_INTEGER:
        rc = bkt_buf_addf(out, "%c%zu%s", t->is_signed ? 'i' : 'u', t->size, t->big_endian ? "b" : "");
        break;
    case BKT_T_FLOAT:
        rc = bkt_buf_addf(out, "f%zu%s", t->size, t->big_endian ? "b" : "");
        break;
    case BKT_T_STRING:
        rc = bkt_buf_addf(out, "s%zu%s,%d,%d", t->size, t->var_string ? "v" : "", (int)t->strpad,
                          (int)t->cset);
        break;
    case BKT_T_OPAQUE:
        rc = bkt_buf_addf(out, "o%zu<%s>", t->size, t->tag);
        break;
    case BKT_T_OBJREF:
        rc = bkt_buf_addf(out, "ref%zu", t->size);
        break;
    case BKT_T_REGREF:
        rc = bkt_buf_addf(out, "reg%zu%s", t->size, t->is_var ? "v" : "");
        break;
    case BKT_T_VLEN:
        rc = bkt_buf_addf(out, "v(");
        report(t->base, out);
        rc = bkt_buf_addf(out, ")");
        break;
    case BKT_T_ARRAY:
        for (unsigned i = 0; i < t->rank; i++)
            rc = bkt_buf_addf(out, "[%" PRIu64 "]", t->dims[i]);
        report(t->base, out);
        break;
    case BKT_T_ENUM:
        report(t->base, out);
        for (size_t i = 0; i < t->n_members; i++)
            rc = bkt_buf_addf(out, "%s%s=%" PRId64, i ? "," : "{", t->members[i].name, t->members[i].value);
        rc = bkt_buf_addf(out, "}");
        break;
    case BKT_T_COMPOUND:
        rc = bkt_buf_addf(out, "c%zu%s{", t->size, t->is_var ? "v" : "");
        for (size_t i = 0; i < t->n_fields; i++) {
            rc = bkt_buf_addf(out, "%s%s@%zu:", i ? "," : "", t->fields[i].name, t->fields[i].offset);
            report(t->fields[i].type, out);
        }
        rc = bkt_buf_addf(out, "}");
        break;
    default:
        rc = bkt_buf_addf(out, "?");
        break;
    }
    if (rc < 0)
        abort();
}

#define INT "{'class': 'H5T_INTEGER', 'base': 'H5T_STD_I32LE'}"
static const struct {
    const char *json, *want;
} types[] = {
    {"'H5T_STD_I8LE'", "i1"},
    {"'H5T_STD_U16BE'", "u2b"},
    {"'H5T_STD_I32'", "i4"},
    {"'H5T_STD_U64LE'", "u8"},
    {"'H5T_IEEE_F16BE'", "f2b"},
    {"'H5T_IEEE_F32LE'", "f4"},
    {"'H5T_IEEE_F64'", "f8"},
    {INT, "i4"},
    {"{'class': 'H5T_FLOAT', 'base': 'H5T_IEEE_F64BE'}", "f8b"},
    {"{'class': 'H5T_STRING', 'charSet': 'H5T_CSET_UTF8', 'strPad': 'H5T_STR_SPACEPAD', 'length': 7}",
     "s7,2,1"},
    {"{'class': 'H5T_STRING', 'length': 3}", "s3,1,0"},
    {"{'class': 'H5T_STRING', 'charSet': 'H5T_CSET_ASCII', 'strPad': 'H5T_STR_NULLTERM', 'length': "
     "'H5T_VARIABLE'}",
     "s0v,0,0"},
    {"{'class': 'H5T_VLEN', 'size': 'H5T_VARIABLE', 'base': " INT "}", "v(i4)"},
    {"{'class': 'H5T_VLEN', 'base': 'H5T_STD_I32'}", "v(i4)"},
    {"{'class': 'H5T_VLEN', 'base': {'class': 'H5T_VLEN', 'base': 'H5T_STD_U8LE'}}", "v(v(u1))"},
    {"{'class': 'H5T_COMPOUND', 'fields': [{'name': 'r', 'type': 'H5T_IEEE_F32LE'}, {'name': 'i', "
     "'type': " INT "}]}",
     "c8{r@0:f4,i@4:i4}"},
    {"{'class': 'H5T_COMPOUND', 'fields': [{'name': '\\u00e9', 'type': {'class': 'H5T_STRING', 'length': "
     "'H5T_VARIABLE'}}]}",
     "c0v{\303\251@0:s0v,0,0}"},
    {"{'class': 'H5T_ARRAY', 'dims': [2, 3], 'base': 'H5T_STD_I16LE'}", "[2][3]i2"},
    {"{'class': 'H5T_ARRAY', 'dims': 4, 'base': " INT "}", "[4]i4"},
    {"{'class': 'H5T_ENUM', 'base': {'class': 'H5T_INTEGER', 'base': 'H5T_STD_I8LE'}, 'mapping': {'FALSE': "
     "0, 'TRUE': 1}}",
     "i1{FALSE=0,TRUE=1}"},
    {"{'class': 'H5T_ENUM', 'base': 'H5T_STD_I16BE', 'members': [{'name': 'Z', 'value': -3}, {'name': 'A', "
     "'value': 5}]}",
     "i2b{Z=-3,A=5}"},
    {"{'class': 'H5T_ENUM', 'base': 'H5T_STD_U64LE', 'mapping': {'max': 18446744073709551615}}",
     "u8{max=-1}"},
    {"{'class': 'H5T_OPAQUE', 'size': 4, 'tag': 'a tag'}", "o4<a tag>"},
    {"{'class': 'H5T_OPAQUE', 'size': 1}", "o1<>"},
    {"{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_OBJ'}", "ref48"},
    {"{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_OBJ', 'charSet': 'H5T_CSET_ASCII', 'length': 48, "
     "'strPad': 'H5T_STR_NULLPAD'}",
     "ref48"},
    {"{'class': 'H5T_REFERENCE'}", "ref48"},
    {"{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_DSETREG'}", "reg0v"},
    {"{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_DSETREG', 'length': 60}", "reg60"},
    {"'H5T_STD_REF_OBJ'", "ref48"},
};

static void every_form_of_a_type_is_read(void)
{
    for (size_t i = 0; i < BKT_COUNT(types); i++) {
        char *body = NULL;
        int rc;
        struct bkt_err err = {.n = 0};
        struct bkt_buf got = {0};
        if (asprintf(&body, "'type': %s", types[i].json) < 0)
            abort();
        struct bkt_object *o = object_of(TYPE_ID, body, &rc, &err);
        CHECK(o, "%s: %d %s", types[i].json, rc, err.n ? err.frame[0].msg : "");
        if (o) {
            struct bkt_type *copy = NULL;
            CHECK(bkt_type_copy(o->type, &copy) == BKT_OK, "copy");
            CHECK(strcmp(copy->committed.text, TYPE_ID) == 0, "a committed type knows what it is");
            report(copy, &got);
            CHECK(strcmp(bkt_buf_str(&got), types[i].want) == 0, "%s: gave %s, want %s", types[i].json,
                  bkt_buf_str(&got), types[i].want);
            bkt_type_free(copy);
        }
        bkt_buf_fini(&got);
        bkt_object_free(o);
        free(body);
    }
}

static const struct {
    const char *what, *json;
    int want;
} bad_types[] = {
    {"missing", "null", BKT_EFORMAT},
    {"a number", "5", BKT_EFORMAT},
    {"no class", "{}", BKT_EFORMAT},
    {"class of another type", "{'class': 7}", BKT_EFORMAT},
    {"unknown class", "{'class': 'H5T_TIME'}", BKT_EUNSUP},
    {"unknown name", "'H5T_STD_I128LE'", BKT_EUNSUP},
    {"name with a tail", "'H5T_STD_I32LEX'", BKT_EUNSUP},
    {"long double", "'H5T_IEEE_F128LE'", BKT_EUNSUP},
    {"class and base disagree", "{'class': 'H5T_FLOAT', 'base': 'H5T_STD_I32LE'}", BKT_EFORMAT},
    {"string without length", "{'class': 'H5T_STRING'}", BKT_EFORMAT},
    {"string of no length", "{'class': 'H5T_STRING', 'length': 0}", BKT_EFORMAT},
    {"string of negative length", "{'class': 'H5T_STRING', 'length': -1}", BKT_EFORMAT},
    {"compound without fields", "{'class': 'H5T_COMPOUND', 'fields': []}", BKT_EFORMAT},
    {"field without name", "{'class': 'H5T_COMPOUND', 'fields': [{'type': " INT "}]}", BKT_EFORMAT},
    {"field without type", "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a'}]}", BKT_EFORMAT},
    {"array with an extent of 0", "{'class': 'H5T_ARRAY', 'dims': [2, 0], 'base': " INT "}", BKT_EFORMAT},
    {"array without extent", "{'class': 'H5T_ARRAY', 'dims': [], 'base': " INT "}", BKT_EFORMAT},
    {"array too large", "{'class': 'H5T_ARRAY', 'dims': [4294967295,4294967295,4294967295], 'base': " INT "}",
     BKT_EFORMAT},
    {"compound too large",
     "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': {'class': 'H5T_ARRAY', 'dims': "
     "[4294967295,2147483648], 'base': 'H5T_STD_I8LE'}},"
     "{'name': 'b', 'type': {'class': 'H5T_ARRAY', 'dims': [4294967295,4294967295], 'base': "
     "'H5T_STD_I8LE'}}]}",
     BKT_EFORMAT},
    {"enum over floats", "{'class': 'H5T_ENUM', 'base': 'H5T_IEEE_F32LE', 'mapping': {}}", BKT_EFORMAT},
    {"enum without members", "{'class': 'H5T_ENUM', 'base': 'H5T_STD_I8LE'}", BKT_EFORMAT},
    {"enum value too large", "{'class': 'H5T_ENUM', 'base': 'H5T_STD_I8LE', 'mapping': {'a': 128}}",
     BKT_EFORMAT},
    {"negative in an unsigned enum", "{'class': 'H5T_ENUM', 'base': 'H5T_STD_U8LE', 'mapping': {'a': -1}}",
     BKT_EFORMAT},
    {"opaque of no size", "{'class': 'H5T_OPAQUE'}", BKT_EFORMAT},
    {"reference to a number", "{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_I8LE'}", BKT_EFORMAT},
};

static void malformed_types_are_errors(void)
{
    for (size_t i = 0; i < BKT_COUNT(bad_types); i++) {
        char *body = NULL;
        int rc;
        struct bkt_err err = {.n = 0};
        if (asprintf(&body, "'type': %s", bad_types[i].json) < 0)
            abort();
        struct bkt_object *o = object_of(TYPE_ID, body, &rc, &err);
        CHECK(!o && rc == bad_types[i].want && err.n, "%s: gave %d, want %d", bad_types[i].what, rc,
              bad_types[i].want);
        bkt_object_free(o);
        free(body);
    }
}

static void types_nest_so_deep_and_no_deeper(void)
{
    for (int depth = 30; depth <= 2000; depth += depth < 34 ? 1 : 983) {
        struct bkt_buf b = {0};
        int rc, i;
        if (bkt_buf_add_str(&b, "'type': ") < 0)
            abort();
        for (i = 0; i < depth; i++)
            if (bkt_buf_add_str(&b, "{'class': 'H5T_VLEN', 'base': ") < 0)
                abort();
        if (bkt_buf_add_str(&b, "'H5T_STD_I8LE'") < 0)
            abort();
        for (i = 0; i < depth; i++)
            if (bkt_buf_add_str(&b, "}") < 0)
                abort();
        struct bkt_object *o = object_of(TYPE_ID, bkt_buf_str(&b), &rc, NULL);
        CHECK(rc == (depth < 32 ? BKT_OK : BKT_EFORMAT), "%d levels: %d", depth, rc);
        bkt_object_free(o);
        bkt_buf_fini(&b);
    }
}

/* As many members as a file of HDF5's has room for, and one more. */
static void types_have_so_many_members_and_no_more(void)
{
    for (int kind = 0; kind < 2; kind++)
        for (unsigned n = 65535; n <= 65536; n++) {
            struct bkt_buf text = {0};
            int            rc   = bkt_buf_add_str(&text, kind ? "'type': {'class': 'H5T_ENUM', 'base': 'H5T_STD_I32LE', 'members': ["
                                                                : "'type': {'class': 'H5T_COMPOUND', 'fields': [");
            for (unsigned i = 0; i < n; i++)
                rc |= bkt_buf_addf(&text, "%s{'name': '%u', %s}", i ? "," : "", i, kind ? "'value': 7" : "'type': 'H5T_STD_I8LE'");
            rc |= bkt_buf_add_str(&text, "]}");
            if (rc < 0)
                abort();
            struct bkt_object *o = object_of(TYPE_ID, bkt_buf_str(&text), &rc, NULL);
            CHECK(rc == (n > 65535 ? BKT_EFORMAT : BKT_OK), "%u members, kind %d: %d", n, kind, rc);
            bkt_object_free(o);
            bkt_buf_fini(&text);
        }
}

static const struct {
    const char *json;
    int want;
    enum bkt_space_class cls;
    unsigned rank;
    uint64_t dim0, max0, count;
} spaces[] = {
    {"{'class': 'H5S_NULL'}", BKT_OK, BKT_S_NULL, 0, 0, 0, 0},
    {"{'class': 'H5S_SCALAR'}", BKT_OK, BKT_S_SCALAR, 0, 0, 0, 1},
    {"{'class': 'H5S_SIMPLE', 'dims': []}", BKT_OK, BKT_S_SCALAR, 0, 0, 0, 1},
    {"{'class': 'H5S_SIMPLE', 'dims': [4, 5]}", BKT_OK, BKT_S_SIMPLE, 2, 4, 4, 20},
    {"{'class': 'H5S_SIMPLE', 'dims': 3}", BKT_OK, BKT_S_SIMPLE, 1, 3, 3, 3},
    {"{'class': 'H5S_SIMPLE', 'dims': [4], 'maxdims': [0]}", BKT_OK, BKT_S_SIMPLE, 1, 4, BKT_UNLIMITED, 4},
    {"{'class': 'H5S_SIMPLE', 'dims': [4], 'maxdims': ['H5S_UNLIMITED']}", BKT_OK, BKT_S_SIMPLE, 1, 4,
     BKT_UNLIMITED, 4},
    {"{'class': 'H5S_SIMPLE', 'dims': [4], 'maxdims': [9]}", BKT_OK, BKT_S_SIMPLE, 1, 4, 9, 4},
    {"{'class': 'H5S_SIMPLE', 'dims': [4], 'maxdims': null}", BKT_OK, BKT_S_SIMPLE, 1, 4, 4, 4},
    {"{'class': 'H5S_SIMPLE', 'dims': [0], 'maxdims': [0]}", BKT_OK, BKT_S_SIMPLE, 1, 0, BKT_UNLIMITED, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [0, 9223372036854775807, 9223372036854775807]}", BKT_OK, BKT_S_SIMPLE,
     3, 0, 0, 0},
    {"{'dims': [2]}", BKT_OK, BKT_S_SIMPLE, 1, 2, 2, 2},
    {"{'class': 'H5S_SIMPLE', 'dims': [9223372036854775807, 3]}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [4], 'maxdims': [3]}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [4], 'maxdims': [4, 4]}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [4], 'maxdims': ['many']}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [-1]}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [1.5]}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [18446744073709551616]}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE'}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_SIMPLE', 'dims': [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
     BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{'class': 'H5S_ODD', 'dims': [1]}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"{}", BKT_EFORMAT, 0, 0, 0, 0, 0},
    {"[3]", BKT_EFORMAT, 0, 0, 0, 0, 0},
};

static void every_form_of_a_dataspace_is_read(void)
{
    for (size_t i = 0; i < BKT_COUNT(spaces); i++) {
        char *body = NULL;
        int rc;
        uint64_t n = 77;
        if (asprintf(&body, "'type': 'H5T_STD_I8LE', 'shape': %s, 'attributes': {}", spaces[i].json) < 0)
            abort();
        struct bkt_object *o = object_of(DSET_ID, body, &rc, NULL);
        CHECK(rc == spaces[i].want, "%s: gave %d", spaces[i].json, rc);
        if (o) {
            const struct bkt_space *s = &o->dset.space;
            CHECK(s->cls == spaces[i].cls && s->rank == spaces[i].rank, "%s", spaces[i].json);
            CHECK(s->dims[0] == spaces[i].dim0 && s->maxdims[0] == spaces[i].max0, "%s", spaces[i].json);
            CHECK(bkt_space_count(s, &n, NULL) == BKT_OK && n == spaces[i].count, "%s: %" PRIu64,
                  spaces[i].json, n);
        }
        bkt_object_free(o);
        free(body);
    }
}

int main(void)
{
    every_form_of_a_type_is_read();
    malformed_types_are_errors();
    types_nest_so_deep_and_no_deeper();
    types_have_so_many_members_and_no_more();
    every_form_of_a_dataspace_is_read();
    return failures != 0;
}
