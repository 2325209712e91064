/* Parsing when memory runs out: the n-th allocation fails, for every n.  Nothing crashes, nothing leaks (a
 * sanitizer checks), and the code is BKT_ENOMEM.  Then the same with the links as a tree and jansson's
 * allocations counted, too.  The program's allocator of jansson stays as it is. */
#include "unit/schema/json/json_testing.h"

#include <jansson.h>

#include "schema/json/schema_json.h"

static long left = -1; /* allocations until one fails; negative: none does */
static bool fails(void)
{
    return left >= 0 && left-- == 0;
}
#include "helpers/failing_alloc.h"
#include "schema/json/documents.h"

static const char *const documents[] = {
    "{'id': '" ROOT_ID "', 'links': {'h': {'id': '" DSET_ID
    "'}, 'e': {'h5path': '/a', 'file': 'x'}, '\\udce9': "
    "{'h5path': 'y'}}, 'attributes': {'a': {'type': {'class': 'H5T_COMPOUND', 'fields': [{'name': 'u', "
    "'type': "
    "'H5T_STD_U64LE'}, {'name': 'v', 'type': {'class': 'H5T_VLEN', 'base': 'H5T_STD_I32'}}]}, 'shape': "
    "{'class': "
    "'H5S_SIMPLE', 'dims': [2]}, 'value': [[18446744073709551615, [1]], [NaN, 0]]}, 'b': {'type': "
    "'H5T_IEEE_F32LE', "
    "'shape': {'class': 'H5S_SCALAR'}, 'value': NaN}}, 'creationProperties': 'AAEC'}",
    "{'id': '" DSET_ID
    "', 'type': {'class': 'H5T_ENUM', 'base': 'H5T_STD_I8LE', 'mapping': {'A': 1, 'B': 2}}, 'shape': "
    "{'class': 'H5S_SIMPLE', 'dims': [8, 8]}, 'attributes': {}, 'creationProperties': {'fillValue': 2, "
    "'initializer': "
    "['arange', '--start=1'], 'filters': [{'id': 32001, 'parameters': [1, 2]}, 'gzip'], 'layout': {'class': "
    "'H5D_CHUNKED_REF', 'file_uri': 'b/f', 'dims': [4, 4], 'chunks': {'1_0': [8, 4], '0_1': [2, 4]}}}}",
    "{'id': '" TYPE_ID "', 'type': {'class': 'H5T_OPAQUE', 'size': 2, 'tag': 't'}, 'attributes': {}}",
};

static void run_out(const char *json, bool jansson)
{
    long n, ok = 0;
    for (n = 0; n < 5000 && !ok; n++) {
        struct bkt_object *o = NULL;
        left = n;
        int rc = jansson ? bkt_object_parse_tree(json, strlen(json), NULL, &o, NULL)
                         : bkt_object_parse(json, strlen(json), NULL, &o, NULL);
        ok = left >= 0; /* it got by without the n-th */
        left = -1;
        CHECK(rc == (ok ? BKT_OK : BKT_ENOMEM), "allocation %ld: %d", n, rc);
        CHECK((rc == BKT_OK) == (o != NULL), "allocation %ld", n);
        if (o && o->kind == BKT_GROUP)
            CHECK(o->group.links.n == 3 && o->attrs.n == 2, "allocation %ld: half an object", n);
        bkt_object_free(o);
    }
    CHECK(ok && n > 5, "%ld allocations", n);
}

int main(void)
{
    for (size_t i = 0; i < 2 * BKT_COUNT(documents); i++) {
        bool jansson = i >= BKT_COUNT(documents);
        char *json = json_of(documents[i % BKT_COUNT(documents)]);
        json_set_alloc_funcs(jansson ? __wrap_malloc : __real_malloc, free);
        run_out(json, jansson);
        json_malloc_t set;
        json_free_t   release;
        json_get_alloc_funcs(&set, &release);
        CHECK(set == (jansson ? __wrap_malloc : __real_malloc) && release == free, "jansson's allocator is the program's");
        free(json);
    }
    return failures != 0;
}
