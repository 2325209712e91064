/* A commit's list: a blosc frame of pieces "key value", separated by '$'.
 *
 *   s:<column>:f|n                      <schema digest>    a column, flat or nested
 *   f:<column>:<sample>                 <data digest>
 *   n:<column>:<sample>:<subsample>     <data digest> */
#include <stdlib.h>
#include <string.h>

#include "chunk/filter/frames.h"
#include "samples/names/repository_names.h"

#define LIST_MAX_BYTES ((size_t)1 << 30)

static int inflate(const void *blosc, size_t n, struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_span       in = {blosc, n};
    struct bkt_blosc_head head;
    if (!n)
        return BKT_OK;
    BKT_FAIL_IF(err, !bkt_blosc_head(in, &head) || head.n_bytes > LIST_MAX_BYTES, BKT_EFORMAT,
                "its list of %zu bytes is not a blosc frame, or is too large", n);
    BKT_PASS_MEM(err, bkt_buf_resize(out, head.n_bytes));
    struct bkt_room room = {out->ptr, head.n_bytes, 0};
    return head.n_bytes ? bkt_blosc_decode(NULL, in, &room, err) : BKT_OK;
}

/* The next word up to @p end or a separator; the separator becomes a NUL.  NULL: the text has no further
 * word. */
static char *word(char **p, char *end, char separator)
{
    char *begin = *p;
    while (*p < end && **p != separator)
        ++*p;
    if (*p == begin)
        return NULL;
    for (const char *c = begin; c < *p; c++)
        if (*c <= ' ' || *c > '~')
            return NULL;
    if (*p < end)
        *(*p)++ = 0;
    return begin;
}

static int add_column(struct bkt_commit *c, size_t *cap, char *key, char *digest)
{
    char *p = key, *end = key + strlen(key), *name = word(&p, end, ':');
    if (!name || (strcmp(p, "f") != 0 && strcmp(p, "n") != 0))
        return BKT_EFORMAT;
    if (bkt_list_room(&c->columns, c->n_columns, cap, sizeof *c->columns) < 0)
        return BKT_ENOMEM;
    c->columns[c->n_columns++] =
        (struct bkt_sample_column){.name = name, .schema = digest, .nested = *p == 'n'};
    return BKT_OK;
}

static int add_sample(struct bkt_commit *c, size_t *cap, char *key, bool nested, char *digest)
{
    char *p = key, *end = key + strlen(key), *column = word(&p, end, ':'), *sample = word(&p, end, ':');
    char *sub = nested ? word(&p, end, ':') : NULL;
    if (!column || !sample || (nested && !sub) || p != end)
        return BKT_EFORMAT;
    if (bkt_list_room(&c->samples, c->n_samples, cap, sizeof *c->samples) < 0)
        return BKT_ENOMEM;
    c->samples[c->n_samples++] = (struct bkt_named_sample){column, sample, sub, digest};
    return BKT_OK;
}

static int add_piece(struct bkt_commit *c, size_t caps[2], char *piece, size_t n)
{
    char *p = piece, *end = piece + n;
    char *key = word(&p, end, ' '), *digest = key ? word(&p, end, ' ') : NULL;
    if (!digest || p != end || strlen(key) < 3 || key[1] != ':')
        return BKT_EFORMAT;
    switch (key[0]) {
    case 's':
        return add_column(c, &caps[0], key + 2, digest);
    case 'f':
    case 'n':
        return add_sample(c, &caps[1], key + 2, key[0] == 'n', digest);
    default:
        return BKT_OK; /* metadata */
    }
}

/* Numbers in their order before other names. */
static int by_name(const char *a, const char *b)
{
    if ((*a == '#') != (*b == '#'))
        return *a == '#' ? -1 : 1;
    if (*a != '#')
        return strcmp(a, b);
    bool minus = a[1] == '-';
    if (minus != (b[1] == '-'))
        return minus ? -1 : 1;
    size_t n = strlen(a), m = strlen(b);
    int    c = n != m ? (n < m ? -1 : 1) : strcmp(a, b);
    return minus ? -c : c;
}

static int by_column(const void *x, const void *y)
{
    return strcmp(((const struct bkt_sample_column *)x)->name, ((const struct bkt_sample_column *)y)->name);
}

static int by_sample(const void *x, const void *y)
{
    const struct bkt_named_sample *a = x, *b = y;
    int c = strcmp(a->column, b->column);
    if (!c)
        c = by_name(a->sample, b->sample);
    return c ? c : by_name(a->sub ? a->sub : "", b->sub ? b->sub : "");
}

/* Both lists are in order. */
static int assign(struct bkt_commit *c, struct bkt_err *err)
{
    size_t at = 0;
    for (size_t i = 0; i < c->n_columns; i++) {
        struct bkt_sample_column *column = &c->columns[i];
        BKT_FAIL_IF(err, i && strcmp(column->name, column[-1].name) == 0, BKT_EFORMAT,
                    "column %s is listed twice", column->name);
        column->first = at;
        while (at < c->n_samples && strcmp(c->samples[at].column, column->name) == 0)
            at++;
        column->n = at - column->first;
    }
    BKT_FAIL_IF(err, at < c->n_samples, BKT_EFORMAT, "sample %s belongs to column %s, which is not listed",
                c->samples[at].sample, c->samples[at].column);
    return BKT_OK;
}

int bkt_commit_parse(const void *blosc, size_t n, struct bkt_commit *out, struct bkt_err *err)
{
    size_t caps[2] = {0, 0};
    memset(out, 0, sizeof *out);
    BKT_PASS(inflate(blosc, n, &out->text, err));
    char *p = (char *)out->text.ptr, *end = p ? p + out->text.len : p;
    while (p < end) {
        char *stop = memchr(p, '$', (size_t)(end - p));
        stop = stop ? stop : end;
        *stop = 0; /* or the buffer's own end */
        int rc = stop == p ? BKT_OK : add_piece(out, caps, p, (size_t)(stop - p));
        BKT_FAIL_IF(err, rc < 0, rc,
                    rc == BKT_ENOMEM ? "out of memory"
                                     : "byte %zu of its list is neither a column nor a sample",
                    (size_t)(p - (char *)out->text.ptr));
        p = stop + 1;
    }
    if (out->n_columns)
        qsort(out->columns, out->n_columns, sizeof *out->columns, by_column);
    if (out->n_samples)
        qsort(out->samples, out->n_samples, sizeof *out->samples, by_sample);
    return assign(out, err);
}
