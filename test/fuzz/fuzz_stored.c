/* Fuzz target for data in a store beside objects' JSON.  The first byte chooses:
 *   'S'  a snapshot's text before it is deflated: "OBJECTS CUTS", a line's end, and what follows that in one
 *   's'  a snapshot as it is stored
 *   'P'  a pointer file
 *   'N'  elements of variable length and the bytes behind them: which type (1), bytes of elements (1), the
 * bytes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "schema/name/pointer_file.h"
#include "schema/snapshot/snapshot.h"
#include "schema/json/reference_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct bkt_id root = {"g-00000001-00000002-8888-888988-88888a"};

static void snapshot(const void *p, size_t n)
{
    static const struct bkt_id member = {"d-00000001-00000002-0000-000005-abcdef"};
    struct bkt_snapshot       *s;
    struct bkt_err             err = {.n = 0};
    struct bkt_listed          e   = {.key = "db/00000001-00000002/d/0000-000005-abcdef/.dataset.json", .etag = "\"1\""};
    size_t                     n_json, n_cuts, current;
    const void                *json;
    const char                *etag;
    if (bkt_snapshot_parse(p, n, &root, &s, &err) < 0) {
        if (!err.n)
            abort(); /* an error without a story */
        return;
    }
    const char *const *cuts = bkt_snapshot_cuts(s, &n_cuts);
    for (size_t i = 0; i < n_cuts; i++)
        if (strncmp(cuts[i], "db/00000001-00000002/", 21) != 0)
            abort(); /* the listed chunks are the domain's own */
    (void)bkt_snapshot_listed(&e, s);
    if (bkt_snapshot_count(s, &current) < current)
        abort();
    if (bkt_snapshot_take(s, &member, &json, &n_json, &etag) && (n_json > (size_t)BKT_SNAPSHOT_MAX || !bkt_etag_same(etag, e.etag)))
        abort(); /* of another version */
    bkt_snapshot_free(s);
}

static void deflated_snapshot(const uint8_t *text, size_t n)
{
    char           numbers[24] = "", *end;
    const uint8_t *line = memchr(text, '\n', n < sizeof numbers ? n : sizeof numbers - 1);
    if (!line)
        return;
    memcpy(numbers, text, (size_t)(line - text));
    unsigned long objects = strtoul(numbers, &end, 10), cuts = strtoul(end, NULL, 10);
    n -= (size_t)(++line - text);
    uLongf room = compressBound((uLong)n);
    char  *out  = malloc(128 + room);
    if (!out)
        return;
    int head = snprintf(out, 128, "h5bucket snapshot 1 %lu 7 %zu %lu\n", objects, n, cuts);
    if (compress2((Bytef *)out + head, &room, line, (uLong)n, 1) == Z_OK)
        snapshot(out, (size_t)head + room);
    free(out);
}

static void pointer(const void *p, size_t n)
{
    struct bkt_buf target = {0};
    char           path[64];
    int            fd = memfd_create("pointer", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    if (n == 0 || write(fd, p, n) == (ssize_t)n) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int rc = bkt_pointer_read(path, &target, NULL);
        const char *to = bkt_buf_str(&target);
        if (rc > 0 && (strlen(to) != target.len || !strncasecmp(to, "http://", 7) || !strncasecmp(to, "https://", 8)))
            abort(); /* a name in a foreign file makes us ask no web server */
    }
    (void)close(fd);
    bkt_buf_fini(&target);
}

/* "", a number and a sequence of texts; endless arrays of these in a sequence. */
static void nulls(const uint8_t *p, size_t n)
{
    struct bkt_type   text = {.cls = BKT_T_STRING, .is_var = true, .var_string = true}, byte = {.cls = BKT_T_INTEGER, .size = 1};
    struct bkt_type   list  = {.cls = BKT_T_VLEN, .is_var = true, .base = &text};
    struct bkt_type   array = {.cls = BKT_T_ARRAY, .is_var = true, .base = &text, .rank = 1, .dims = {UINT64_MAX}, .n_elems = UINT64_MAX};
    struct bkt_type   lists = {.cls = BKT_T_VLEN, .is_var = true, .base = &array};
    char              a[] = "a", b[] = "b", c[] = "c";
    struct bkt_field  fields[] = {{a, &byte, 0}, {b, &list, 1}, {c, &lists, 1}};
    struct bkt_type   all      = {.cls = BKT_T_COMPOUND, .is_var = true, .fields = fields, .n_fields = 3};
    struct bkt_type  *types[]  = {&text, &list, &lists, &all};
    struct bkt_nulls  x        = {.n_empty = 0};
    if (n < 2)
        return;
    struct bkt_type *t        = types[p[0] % 4];
    size_t           elements = p[1] < n - 2 ? p[1] : n - 2;
    unsigned char   *copy     = malloc(n);
    if (!copy)
        return;
    memcpy(copy, p + 2, n - 2);
    (void)!bkt_nulls_read(t, copy, n - 2, elements, NULL);
    if (bkt_nulls_take(t, copy, elements, &x, NULL) == BKT_OK && (bkt_value_has_null(t, copy, elements) || x.n_null > x.n_empty))
        abort(); /* none is left */
    bkt_nulls_fini(&x);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0]) {
    case 'S': deflated_snapshot(data + 1, size - 1); break;
    case 's': snapshot(data + 1, size - 1); break;
    case 'P': pointer(data + 1, size - 1); break;
    default: nulls(data + 1, size - 1); break;
    }
    return 0;
}
