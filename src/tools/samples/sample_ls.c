/* h5bucket sample ls REPOSITORY: branches, columns, and files. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/samples/sample.h"
#include "tools/show/show.h"

static void say_shape(struct bkt_buf *b, const struct bkt_column_schema *s)
{
    if (!s->has_shape)
        return;
    bkt_say(b, s->variable ? " up to (" : " (");
    for (int i = 0; i < s->rank; i++)
        bkt_say(b, "%s%" PRIu64, i ? ", " : "", (uint64_t)s->shape[i]);
    bkt_say(b, ")");
}

static void column_json(struct bkt_jout *j, const struct bkt_column *c, const struct bkt_column_schema *s)
{
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "name:s nested:b samples:n type:s backend:s variable:b", c->name, c->nested,
                     (uint64_t)c->n, s->type[0] ? s->type : NULL, s->backend[0] ? s->backend : NULL,
                     s->variable);
    if (s->has_shape) {
        uint64_t dims[H5S_MAX_RANK];
        for (int i = 0; i < s->rank; i++)
            dims[i] = s->shape[i];
        bkt_jout_dims(j, "shape", dims, (unsigned)s->rank);
    }
    bkt_jout_close(j);
}

static int column(struct sample_tool *s, struct bkt_jout *j, const struct bkt_column *c, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf line = {0};
    struct bkt_column_schema schema;
    BKT_TRY(err, bkt_names_schema(s->names, c->schema, &schema, err), "column %s", c->name);
    if (s->t->json) {
        column_json(j, c, &schema);
        return BKT_OK;
    }
    bkt_say(&line, "  %-20s %zu samples, %s, ", c->name, c->n, c->nested ? "nested" : "flat");
    bkt_show_name(&line, schema.type[0] ? schema.type : "unknown type");
    say_shape(&line, &schema);
    bkt_say(&line, ", backend ");
    bkt_show_name(&line, schema.backend[0] ? schema.backend : "?");
    printf("%s\n", bkt_buf_str(&line));
    return BKT_OK;
}

static int branch(struct sample_tool *s, struct bkt_jout *j, const struct bkt_branch *b, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_commit_fini) struct bkt_commit c = {0};
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "name:s commit:s", b->name, *b->commit ? b->commit : NULL);
    bkt_jout_open(j, "columns", '[');
    if (!s->t->json)
        printf("branch %s%s %s\n", b->name, strcmp(b->name, s->names->head) == 0 ? " (head)" : "",
               *b->commit ? b->commit : "no commit");
    int rc = bkt_names_commit(s->names, b->name, &c, err);
    for (size_t i = 0; i < c.n_columns && rc == BKT_OK; i++)
        rc = column(s, j, &c.columns[i], err);
    bkt_jout_close(j);
    bkt_jout_close(j);
    return rc;
}

static int branches(struct sample_tool *s, struct bkt_jout *j, struct bkt_err *err)
{
    int rc = BKT_OK;
    bkt_jout_str(j, "head", s->names->head);
    bkt_jout_open(j, "branches", '[');
    for (size_t i = 0; i < s->names->n_branches && rc == BKT_OK; i++)
        rc = branch(s, j, &s->names->branches[i], err);
    bkt_jout_close(j);
    return rc;
}

static void file_text(const struct sample_use *u)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf line = {0};
    bkt_say(&line, "file 0%d/%s ", u->format, u->uid);
    if (u->all)
        bkt_say(&line, " %" PRIu64 " of %" PRIu64 " rows (%.1f %%)", u->used, u->all,
                100.0 * (double)u->used / (double)u->all);
    else if (u->rc == BKT_OK)
        bkt_say(&line, " unknown rows");
    bkt_say(&line, ", %" PRIu64 " records", u->records);
    if (u->rc < 0) {
        bkt_say(&line, ", can't be opened: ");
        bkt_show_name(&line, u->why);
    }
    printf("%s\n", bkt_buf_str(&line));
}

static void file_json(struct bkt_jout *j, const struct sample_use *u)
{
    char name[H5BUCKET_UID_MAX + 8];
    (void)snprintf(name, sizeof name, "0%d/%s", u->format, u->uid);
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "name:s records:n", name, u->records);
    if (u->all)
        bkt_jout_members(j, "used_rows:n rows:n", u->used, u->all);
    if (u->rc < 0)
        bkt_jout_str(j, "message", u->why);
    bkt_jout_close(j);
}

static int files(struct sample_tool *s, struct bkt_jout *j, size_t *bad, struct bkt_err *err)
{
    BKT_CLEANUP(sample_files_fini) struct sample_files f = {0};
    BKT_PASS(sample_files_find(s, &f, err));
    bkt_jout_open(j, "files", '[');
    for (size_t i = 0; i < f.n; i++) {
        if (s->t->json)
            file_json(j, &f.v[i]);
        else
            file_text(&f.v[i]);
        *bad += f.v[i].rc < 0;
    }
    bkt_jout_close(j);
    if (!f.n && !s->names)
        BKT_FAIL(err, BKT_ENOENT, "neither LMDB files nor files of samples are there");
    return BKT_OK;
}

int sample_ls(struct sample_tool *s)
{
    struct bkt_jout *j   = &s->t->j;
    struct bkt_err  *err = &s->t->err;
    size_t           bad = 0;
    if (s->n_args)
        return bkt_tool_usage(s->t, "ls takes a repository alone");
    bkt_jout_open(j, NULL, '{');
    int rc = s->names ? branches(s, j, err) : BKT_OK;
    if (rc == BKT_OK)
        rc = files(s, j, &bad, err);
    bkt_jout_close(j);
    BKT_PASS(rc);
    return bad ? bkt_tool_fail(s->t, "%s: %zu files can't be opened", s->name, bad) : BKT_EXIT_OK;
}
