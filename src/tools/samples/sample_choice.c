#include "tools/samples/sample_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/records.h"

bool selection_is_record(const char *arg)
{
    struct h5bucket_record r;
    return bkt_sample_record_parse(arg, strlen(arg), &r, NULL) == BKT_OK || strchr(arg, '$') ||
           ((strncmp(arg, "00:", 3) == 0 || strncmp(arg, "01:", 3) == 0) && strchr(arg + 3, ':'));
}

void selection_fini(struct selection *s)
{
    bkt_strs_fini(&s->records);
    bkt_strs_fini(&s->names);
}

int selection_name(const struct bkt_named_sample *s, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "%s/%s%s%s", s->column, s->sample, s->sub ? "/" : "", s->sub ? s->sub : "");
}

/* Split [BRANCH:]COLUMN at the ':'.  @p branch gets "" if none is named. */
static int branch_of(const char *arg, struct bkt_buf *branch, const char **column)
{
    const char *colon = strchr(arg, ':');
    *column = colon ? colon + 1 : arg;
    return bkt_buf_add(branch, arg, colon ? (size_t)(colon - arg) : 0);
}

static int add_record(struct selection *s, const char *record, const char *name, struct bkt_err *err)
{
    BKT_NEED(err, bkt_strs_add(&s->records, record) >= 0 && bkt_strs_add(&s->names, name) >= 0);
    return BKT_OK;
}

static int add_sample(struct selection *s, struct bkt_repository_names *names,
                      const struct bkt_named_sample *sample, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    char record[H5BUCKET_RECORD_MAX];
    BKT_PASS_MEM(err, selection_name(sample, &name));
    BKT_TRY(err, bkt_repository_names_record(names, sample->digest, record, err), "%s", bkt_buf_str(&name));
    return add_record(s, record, bkt_buf_str(&name), err);
}

/* COLUMN, COLUMN/SAMPLE, COLUMN/SAMPLE/SUBSAMPLE: the parts behind the column; NULL: not given. */
struct path {
    char *sample, *sub;
};

static bool matches(const struct bkt_named_sample *s, const struct path *p)
{
    return !p->sample || strcmp(s->sample, p->sample) == 0 ||
           (*s->sample == '#' && strcmp(s->sample + 1, p->sample) == 0);
}

static int add_path(struct selection *s, struct bkt_repository_names *names, const struct bkt_commit *c,
                    const struct bkt_sample_column *column, const struct path *p, struct bkt_err *err)
{
    bool   one = p->sample && (p->sub || !column->nested);
    size_t n   = 0;
    if (one) {
        const struct bkt_named_sample *found = bkt_commit_sample(c, column, p->sample, p->sub);
        return found ? add_sample(s, names, found, err) : BKT_ENOENT;
    }
    for (size_t i = column->first; i < column->first + column->n; i++)
        if (matches(&c->samples[i], p)) {
            n++;
            BKT_PASS(add_sample(s, names, &c->samples[i], err));
        }
    return n || !p->sample ? BKT_OK : BKT_ENOENT;
}

static int add_name(struct selection *s, struct bkt_repository_names *names, const char *arg,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf branch = {0}, column = {0};
    BKT_CLEANUP(bkt_commit_fini) struct bkt_commit c = {0};
    const char *rest;
    BKT_NEED(err, branch_of(arg, &branch, &rest) >= 0 && bkt_buf_add_str(&column, rest) >= 0);
    BKT_FAIL_IF(err, !column.len, BKT_EINVAL,
                "%s: no column is named; give [BRANCH:]COLUMN[/SAMPLE[/SUBSAMPLE]]", arg);
    char *name = (char *)column.ptr, *slash = strchr(name, '/');
    struct path p = {slash ? slash + 1 : NULL, slash ? strchr(slash + 1, '/') : NULL};
    if (slash)
        *slash = 0;
    if (p.sub)
        *p.sub++ = 0;
    BKT_PASS(bkt_repository_names_commit(names, branch.len ? bkt_buf_str(&branch) : NULL, &c, err));
    const struct bkt_sample_column *found = bkt_commit_column(&c, name);
    BKT_FAIL_IF(err, !found, BKT_ENOENT, "%s: branch %s has no column %s", arg,
                branch.len ? bkt_buf_str(&branch) : names->head, name);
    int rc = add_path(s, names, &c, found, &p, err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, rc, "%s: column %s, which is %s, has no such sample", arg, name,
                found->nested ? "nested" : "flat");
    return rc;
}

int selection_add(struct selection *s, struct bkt_repository_names *names, const char *arg,
                  struct bkt_err *err)
{
    if (selection_is_record(arg))
        return add_record(s, arg, arg, err);
    BKT_FAIL_IF(err, !names, BKT_EINVAL, "%s: not a record, and the repository has no LMDB files with names",
                arg);
    return add_name(s, names, arg, err);
}

/* ---- files on the command line ---- */

static FILE *open_it(const char *name) { return strcmp(name, "-") == 0 ? stdin : fopen(name, "rbe"); }

static int end(FILE *f, const char *name, int rc, struct bkt_err *err)
{
    int code = ferror(f) ? errno : 0;
    if (f != stdin)
        (void)fclose(f);
    BKT_FAIL_IF(err, rc == BKT_OK && code, BKT_EIO, "%s: can't be read: %s", name, strerror(code));
    return rc;
}

int sample_lines(const char *name, struct bkt_strs *out, struct bkt_err *err)
{
    FILE   *f    = open_it(name);
    char   *line = NULL;
    size_t  cap  = 0;
    ssize_t n;
    int     rc   = BKT_OK;
    BKT_FAIL_IF(err, !f, BKT_ENOENT, "%s: can't be opened: %s", name, strerror(errno));
    while (rc == BKT_OK && (n = getline(&line, &cap, f)) >= 0) {
        while (n && strchr("\r\n", line[n - 1]))
            line[--n] = 0;
        if (n && bkt_strs_add(out, line) < 0)
            rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    }
    free(line);
    return end(f, name, rc, err);
}

int sample_file(const char *name, struct bkt_buf *out, struct bkt_err *err)
{
    FILE *f  = open_it(name);
    int   rc = BKT_OK;
    BKT_FAIL_IF(err, !f, BKT_ENOENT, "%s: can't be opened: %s", name, strerror(errno));
    for (size_t got = 1; rc == BKT_OK && got;) {
        rc = bkt_buf_reserve(out, (size_t)1 << 20);
        if (rc < 0)
            (void)BKT_ERR(err, rc, "out of memory");
        else {
            got = fread(out->ptr + out->len, 1, (size_t)1 << 20, f);
            out->len += got;
            out->ptr[out->len] = 0;
        }
    }
    return end(f, name, rc, err);
}
