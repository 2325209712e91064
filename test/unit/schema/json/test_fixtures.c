/* Every JSON object of the sample buckets: read whole, cut short, mutated; its key follows from its id. */
#include "helpers/sanitizer.h"
#include "helpers/xorshift.h"
#include "schema/json/documents.h"
#include "unit/schema/json/json_testing.h"

#include <dirent.h>
#include <sys/stat.h>

static size_t n_read, n_values, n_cut;

/* The parser gets a buffer of exactly n bytes, so that a sanitizer sees a step too far. */
static int parse_exact(const char *p, size_t n, bool is_domain)
{
    char *exact = malloc(n ? n : 1);
    int rc;
    memcpy(exact, p, n);
    if (is_domain) {
        struct bkt_domain_doc d;
        rc = bkt_domain_doc_parse(exact, n, &d, NULL);
        if (rc == BKT_OK)
            bkt_domain_doc_fini(&d);
    } else {
        struct bkt_object *o = NULL;
        rc = bkt_object_parse(exact, n, NULL, &o, NULL);
        bkt_object_free(o);
    }
    free(exact);
    return rc;
}

static void cut_and_mutate(const char *p, size_t n, bool is_domain, uint32_t seed)
{
    size_t step = n > 2000 ? n / 97 + 1 : n > 300 ? 13 : 3;
    for (size_t i = 0; i < n; i += step, n_cut++)
        CHECK(parse_exact(p, i, is_domain) == BKT_EFORMAT, "cut at %zu of %zu", i, n);
    char *m = malloc(n);
    for (int round = 0; round < (n > 20000 ? 5 : FEWER(60, 15)); round++) {
        memcpy(m, p, n);
        for (uint32_t k = 0, times = 1 + xorshift32(&seed) % 4; k < times; k++) {
            static const char odd[] = "\"\\{}[]:,-0123456789eE.NItfnu\x01\x80\xf4\xff";
            m[xorshift32(&seed) % n] = round & 1 ? odd[xorshift32(&seed) % (sizeof odd - 1)] : (char)xorshift32(&seed);
        }
        (void)parse_exact(m, n, is_domain); /* any code will do; it must come back */
    }
    free(m);
}

static void check_object(const char *path, const char *rel, const char *p, size_t n)
{
    struct bkt_object *o = NULL;
    struct bkt_err err = {.n = 0};
    struct bkt_buf key = {0};
    int rc = bkt_object_parse(p, n, NULL, &o, &err);
    CHECK(rc == BKT_OK, "%s: %d %s", path, rc, err.n ? err.frame[0].msg : "");
    if (!o)
        return;
    CHECK(bkt_id_key(&o->id, &key) == BKT_OK && strcmp(bkt_buf_str(&key), rel) == 0, "%s: key %s", rel,
          bkt_buf_str(&key));
    for (size_t i = 0; i < o->attrs.n; i++, n_values++) {
        const struct bkt_attr *a = &o->attrs.v[i];
        uint64_t count = 0;
        struct bkt_rd r = bkt_rd_of(a->value.ptr, a->value.len);
        CHECK(!a->bad, "%s: %s", path, a->bad);
        CHECK(bkt_space_count(&a->space, &count, NULL) == BKT_OK, "%s", path);
        for (uint64_t k = 0; a->has_value && k < count; k++)
            CHECK(bkt_value_skip(a->type, &r, BKT_VAR_NULL, NULL) == BKT_OK,
                  "%s: attribute %s, element %" PRIu64, path, a->name, k);
        CHECK(bkt_rd_left(&r) == 0, "%s: attribute %s: %zu bytes too many", path, a->name, bkt_rd_left(&r));
    }
    if (o->kind == BKT_DATASET)
        CHECK(!o->dset.bad, "%s: %s", path, o->dset.bad);
    bkt_buf_fini(&key);
    bkt_object_free(o);
}

static void check_file(const char *path, const char *rel, const char *name)
{
    bool is_domain = strcmp(name, ".domain.json") == 0;
    bool is_object = strcmp(name, ".group.json") == 0 || strcmp(name, ".dataset.json") == 0 ||
                     strcmp(name, ".datatype.json") == 0 ||
                     (strlen(name) == 44 && name[5] == '-' && strchr("gdt", name[6]));
    size_t n;
    if (!is_domain && !is_object)
        return;
    char *p = slurp(path, &n);
    if (is_object) {
        check_object(path, rel, p, n);
    } else {
        struct bkt_domain_doc d;
        CHECK(bkt_domain_doc_parse(p, n, &d, NULL) == BKT_OK && d.owner && d.n_acls, "%s", path);
        bkt_domain_doc_fini(&d);
    }
    cut_and_mutate(p, n, is_domain, (uint32_t)n * 2654435761U + 1);
    n_read++;
    free(p);
}

static void walk(const char *dir, const char *rel)
{
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) { /* NOLINT(concurrency-mt-unsafe) */
        char path[4096], below[4096];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        (void)snprintf(below, sizeof below, "%s%s%s", rel, *rel ? "/" : "", e->d_name);
        if (e->d_type == DT_DIR)
            walk(path, below);
        else
            check_file(path, below, e->d_name);
    }
    (void)closedir(d);
}

int main(void)
{
    const char *dir = getenv("BKT_FIXTURES"); /* NOLINT(concurrency-mt-unsafe) */
    char bucket[4096];
    if (!dir)
        return skip("BKT_FIXTURES is not set");
    (void)snprintf(bucket, sizeof bucket, "%s/hsopen", dir);
    walk(bucket, "");
    CHECK(n_read > 600 && n_values > 150 && n_cut > 10000, "only %zu objects, %zu values, %zu cuts", n_read,
          n_values, n_cut);
    return failures != 0;
}
