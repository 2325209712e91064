/* The counted sizes of objects in memory (bkt_object_bytes()) against the allocator's; many objects, read one
 * after the other, keep within meta_cache. */
#include "helpers/sanitizer.h"
#include "schema/json/documents.h"
#include "unit/schema/domain/domain_testing.h"

#include <malloc.h>

#include "schema/model/object_life.h"

#if UNDER_TSAN || UNDER_ASAN || !defined(__GLIBC__)
#define OWN_MALLOC 0
#else
#define OWN_MALLOC __GLIBC_PREREQ(2, 33)
#endif

#if OWN_MALLOC
static size_t in_use(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

enum { COPIES = 200 };

static void as_the_allocator_says(const char *what, const char *json)
{
    struct bkt_object *o[COPIES] = {NULL};
    size_t             from = in_use(), said = 0;
    for (int i = 0; i < COPIES; i++) {
        int rc = bkt_object_parse(json, strlen(json), NULL, &o[i], NULL);
        CHECK(rc == BKT_OK, "%s: %d", what, rc);
        said += o[i] ? bkt_object_bytes(o[i]) : 0;
    }
    size_t took = in_use() - from;
    CHECK(said > took / 4 * 3 && said < took / 4 * 5, "%s: said to take %zu bytes each, the allocator says %zu", what, said / COPIES, took / COPIES);
    for (int i = 0; i < COPIES; i++)
        bkt_object_free(o[i]);
}

static char *text_of(const char *head, const char *each, int n, const char *tail)
{
    struct bkt_buf b = {0};
    int            rc = bkt_buf_add_str(&b, head);
    for (int i = 0; rc == BKT_OK && i < n; i++) {
        rc = bkt_buf_addf(&b, "%s'n%d': ", i ? ", " : "", i);
        if (rc == BKT_OK)
            rc = bkt_buf_add_str(&b, each);
    }
    if (rc < 0 || bkt_buf_add_str(&b, tail) < 0)
        abort();
    char *json = json_of(bkt_buf_str(&b));
    bkt_buf_fini(&b);
    return json;
}

static void kinds_of_objects(void)
{
    static const struct {
        const char *what, *head, *each;
        int         n;
        const char *tail;
    } docs[] = {
        {"an empty group", "{'id': '" ROOT_ID "', 'links': {", "", 0, "}}"},
        {"a group of 2000", "{'id': '" ROOT_ID "', 'links': {", "{'id': '" DSET_ID "', 'created': 1.5}", 2000, "}}"},
        {"soft links", "{'id': '" ROOT_ID "', 'links': {", "{'h5path': '/a/longer/path/to/somewhere', 'h5domain': '/x.h5'}", 300, "}}"},
        {"a dataset", "{'id': '" DSET_ID "', 'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [4, 4]}, 'attributes': {", "", 0,
         "}, 'creationProperties': {'filters': [{'id': 1, 'level': 5}]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [2, 4]}}"},
        {"30 attributes", "{'id': '" DSET_ID "', 'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SCALAR'}, 'attributes': {",
         "{'type': {'class': 'H5T_STRING', 'length': 'H5T_VARIABLE', 'charSet': 'H5T_CSET_UTF8', 'strPad': 'H5T_STR_NULLTERM'}, "
         "'shape': {'class': 'H5S_SCALAR'}, 'value': 'a text of some length'}", 30, "}}"},
        {"a compound type", "{'id': '" TYPE_ID "', 'type': {'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I8LE'}, {'name': 'b', "
         "'type': {'class': 'H5T_VLEN', 'base': {'class': 'H5T_ENUM', 'base': 'H5T_STD_I8LE', 'mapping': {'A': 1, 'B': 2}}}}]}, 'attributes': {",
         "", 0, "}}"},
        {"references", "{'id': '" DSET_ID "', 'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [40000]}, 'attributes': {}, 'layout': "
         "{'class': 'H5D_CONTIGUOUS_REF', 'file_uri': 'bucket/data/some-file.h5', 'offset': 4096, 'size': 40000}, 'more': {", "1", 50, "}}"},
    };
    for (size_t i = 0; i < BKT_COUNT(docs); i++) {
        char *json = text_of(docs[i].head, docs[i].each, docs[i].n, docs[i].tail);
        as_the_allocator_says(docs[i].what, json);
        free(json);
    }
}

/* The store's bytes are in memory before; only the cache grows by reading. */
static void within_the_setting(void)
{
    enum { N = 12000, LIMIT = 4 << 20 };
    struct bkt_store *st = sample("mem:bounded");
    char              id[64];
    size_t            most = 0;
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof id, "d-b03b24ef-69f244b6-acd9-4df97b-%06x", i);
        put_object(st, id, "'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SIMPLE', 'dims': [4, 4]}, 'layout': {'class': 'H5D_CHUNKED', 'dims': [2, 4]}");
    }
    set.meta_cache       = LIMIT;
    struct bkt_domain *d = open_domain("mem:bounded/home/x.h5");
    size_t             from = in_use();
    for (int i = 0; i < N; i++) {
        (void)snprintf(id, sizeof id, "d-b03b24ef-69f244b6-acd9-4df97b-%06x", i);
        bkt_object_release(get(d, id));
        size_t now = in_use();
        most       = now > from && now - from > most ? now - from : most;
    }
    CHECK(most < LIMIT / 4 * 5, "%zu bytes more in use, %d allowed", most, LIMIT);
    CHECK(most > LIMIT / 4 * 3, "%zu bytes in use: no more was kept than that", most); /* the bound was met at all */
    bkt_domain_close(d);
    set.meta_cache = 64 << 20;
    bkt_store_close(st);
}
#endif

int main(void)
{
#if OWN_MALLOC
    if (!domains_begin())
        return 1;
    kinds_of_objects();
    within_the_setting();
    domains_end();
    return failures != 0;
#else
    return skip("this program's allocator has no mallinfo2()");
#endif
}
