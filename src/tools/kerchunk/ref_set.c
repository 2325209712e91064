/* A reference set: its keys, URLs and inline bytes (ref_set.h). */
#include "tools/kerchunk/ref_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

void kc_set_fini(struct kc_set *s)
{
    bkt_buf_fini(&s->bytes);
    free(s->refs);
    bkt_strs_fini(&s->urls);
    bkt_map_free(s->by_url, NULL);
    memset(s, 0, sizeof *s);
}

static int add_bytes(struct kc_set *s, const void *p, size_t n, size_t *at, struct bkt_err *err)
{
    *at = s->bytes.len;
    if (n > KC_SET_BYTES - bkt_min_u64(s->bytes.len, KC_SET_BYTES))
        BKT_FAIL(err, BKT_EFORMAT, "its keys and inline data are more than %llu bytes",
                 (unsigned long long)KC_SET_BYTES);
    if (bkt_buf_add(&s->bytes, p, n) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static int add(struct kc_set *s, const char *key, size_t key_n, struct kc_ref r, struct bkt_err *err)
{
    if (key_n == 0 || key_n > UINT16_MAX || memchr(key, 0, key_n))
        BKT_FAIL(err, BKT_EFORMAT, "a key that is empty, has a NUL or more than %d bytes", UINT16_MAX);
    if (s->n >= KC_SET_REFS)
        BKT_FAIL(err, BKT_EFORMAT, "more than %zu references", KC_SET_REFS);
    if (bkt_list_room(&s->refs, s->n, &s->cap, sizeof *s->refs) < 0)
        BKT_NOMEM(err);
    r.key_n = (uint32_t)key_n;
    r.order = s->n;
    BKT_PASS(add_bytes(s, key, key_n, &r.key, err));
    s->refs[s->n++] = r;
    return BKT_OK;
}

/* The index of a URL, which is kept once. */
static int url_index(struct kc_set *s, const char *url, size_t n, uint32_t *out, struct bkt_err *err)
{
    if (n == 0 || n > UINT16_MAX || memchr(url, 0, n) || s->urls.n >= KC_INLINE - 1)
        BKT_FAIL(err, BKT_EFORMAT, "a URL that is empty, has a NUL or more than %d bytes", UINT16_MAX);
    size_t place;
    if (bkt_map_place(&s->by_url, &s->urls, url, n, &place) < 0)
        BKT_NOMEM(err);
    *out = (uint32_t)place;
    return BKT_OK;
}

int kc_set_add_url(struct kc_set *s, const char *key, size_t key_n, const char *url, size_t url_n,
                   uint64_t off, uint64_t len, struct bkt_err *err)
{
    struct kc_ref r = {.off = off, .len = len};
    if (off > INT64_MAX || (len == KC_WHOLE ? off != 0 : len > INT64_MAX - off || len == 0))
        BKT_FAIL(err, BKT_EFORMAT, "%.*s: an impossible offset or length", (int)bkt_min_u64(key_n, 200), key);
    BKT_PASS(url_index(s, url, url_n, &r.url, err));
    return add(s, key, key_n, r, err);
}

int kc_set_add_inline(struct kc_set *s, const char *key, size_t key_n, const void *p, size_t n,
                      struct bkt_err *err)
{
    struct kc_ref r = {.url = KC_INLINE, .len = n};
    size_t at;
    BKT_PASS(add_bytes(s, p, n, &at, err));
    r.off = at;
    return add(s, key, key_n, r, err);
}

int kc_set_add_data(struct kc_set *s, const char *key, size_t key_n, const char *text, size_t n,
                    struct bkt_err *err)
{
    static const char mark[] = "base64:";
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    if (n < sizeof mark - 1 || memcmp(text, mark, sizeof mark - 1) != 0)
        return kc_set_add_inline(s, key, key_n, text, n, err);
    int rc = bkt_base64_decode(text + sizeof mark - 1, n - (sizeof mark - 1), &bytes);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    if (rc < 0)
        BKT_FAIL(err, BKT_EFORMAT, "%.*s: its inline data are not base64", (int)bkt_min_u64(key_n, 200), key);
    return kc_set_add_inline(s, key, key_n, bytes.ptr, bytes.len, err);
}

/* ---- by key ---- */

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
    int c = memcmp(a, b, na < nb ? na : nb);
    return c ? c : na < nb ? -1 : na > nb;
}

static int by_key(const void *x, const void *y, void *set)
{
    const struct kc_ref *a = x, *b = y;
    int c = compare(kc_ref_key(set, a), a->key_n, kc_ref_key(set, b), b->key_n);
    return c ? c : a->order < b->order ? -1 : 1;
}

void kc_set_sort(struct kc_set *s)
{
    size_t n = 0;
    if (s->n)
        qsort_r(s->refs, s->n, sizeof *s->refs, by_key, s);
    for (size_t i = 0; i < s->n; i++) {
        const struct kc_ref *r = &s->refs[i], *next = r + 1;
        if (i + 1 == s->n || compare(kc_ref_key(s, r), r->key_n, kc_ref_key(s, next), next->key_n) != 0)
            s->refs[n++] = *r;
    }
    s->n = n;
}

size_t kc_set_lower(const struct kc_set *s, const char *key, size_t n)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare(kc_ref_key(s, &s->refs[mid]), s->refs[mid].key_n, key, n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct kc_ref *kc_set_find(const struct kc_set *s, const char *key, size_t n)
{
    size_t i = kc_set_lower(s, key, n);
    return i < s->n && compare(kc_ref_key(s, &s->refs[i]), s->refs[i].key_n, key, n) == 0 ? &s->refs[i]
                                                                                          : NULL;
}

int kc_path_check(const char *path, struct bkt_err *err)
{
    unsigned depth = 0;
    for (const char *p = path; *p; depth++) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n <= 2 && strncmp(p, "..", n) == 0) || depth >= KC_PATH_DEPTH || (p[n] && !p[n + 1]))
            BKT_FAIL(err, BKT_EFORMAT,
                     "\"%.200s\": a path with empty, \".\" or \"..\" components, or more than %d", path,
                     KC_PATH_DEPTH);
        p += n + (p[n] == '/');
    }
    return BKT_OK;
}
