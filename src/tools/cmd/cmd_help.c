/* h5bucket help: the verbs, and the texts made from their table (man pages, completion, the list of
 * docs/tool.md). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "tools/cli/help.h"
#include "tools/show/json_out.h"

/* @p v NULL: for the program itself */
static int write_man(struct bkt_tool *t, const char *folder, const struct bkt_verb *v)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    if (bkt_buf_addf(&path, "%s/h5bucket%s%s.1", folder, v ? "-" : "", v ? v->name : "") < 0)
        return bkt_tool_fail(t, "out of memory");
    FILE *to = fopen(bkt_buf_str(&path), "we");
    if (!to)
        return bkt_tool_fail(t, "%s: %s", bkt_buf_str(&path), strerror(errno));
    bkt_help_man(to, v);
    bool bad = ferror(to) != 0;
    if (fclose(to) != 0 || bad)
        return bkt_tool_fail(t, "%s: %s", bkt_buf_str(&path), strerror(errno));
    return BKT_EXIT_OK;
}

static void json_verb(struct bkt_jout *j, const struct bkt_verb *v)
{
    const struct bkt_opt *o;
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "name:s args:s help:s text:s", v->name, v->args, v->help, v->text);
    bkt_jout_open(j, "options", '[');
    for (size_t i = 0; (o = bkt_verb_opt(v, i)) != NULL; i++) {
        char letter[2] = {o->letter, 0};
        bkt_jout_object(j, "name:s letter:s arg:s values:s help:s", o->name, o->letter ? letter : NULL,
                        o->arg, o->words, o->help);
    }
    bkt_jout_close(j);
    bkt_jout_close(j);
}

/* @p v NULL: all verbs */
static int print_json(struct bkt_jout *j, const struct bkt_verb *v)
{
    bkt_jout_open(j, NULL, '[');
    for (size_t i = 0; i < bkt_n_verbs; i++)
        if (!v || v == bkt_verbs[i])
            json_verb(j, bkt_verbs[i]);
    bkt_jout_close(j);
    return BKT_EXIT_OK;
}

static int run(struct bkt_tool *t)
{
    const struct bkt_verb *v      = t->n_args ? bkt_verb_find(t->args[0]) : NULL;
    const char            *folder = bkt_tool_opt(t, "write-man");
    if (t->n_args && !v)
        return bkt_tool_usage(t, "unknown verb '%s'", t->args[0]);
    if (folder) {
        int rc = write_man(t, folder, NULL);
        for (size_t i = 0; rc == BKT_EXIT_OK && i < bkt_n_verbs; i++)
            rc = write_man(t, folder, bkt_verbs[i]);
        return rc;
    }
    if (t->json)
        return print_json(&t->j, v);
    if (bkt_tool_has(t, "completion"))
        bkt_help_completion(stdout);
    else if (bkt_tool_has(t, "markdown"))
        bkt_help_markdown(stdout);
    else if (bkt_tool_has(t, "man"))
        bkt_help_man(stdout, v);
    else if (v)
        bkt_help_verb(stdout, v);
    else
        bkt_help_program(stdout);
    return BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {0, "man", NULL, "the man page of the program, or of VERB", NULL},
    {0, "completion", NULL, "a script that makes bash complete verbs and options", NULL},
    {0, "markdown", NULL, "the verbs as a table, for docs/tool.md", NULL},
    {0, "write-man", "FOLDER", "write all man pages into FOLDER", NULL},
};
const struct bkt_verb bkt_verb_help = {
    .name = "help",
    .args = "[VERB]",
    .max_args = 1,
    .help = "list the verbs, or describe VERB",
    .text = "JSON: [{\"name\", \"args\", \"help\", \"text\", \"options\": [{\"name\", \"letter\", \"arg\",\n"
            "\"values\", \"help\"}]}].",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
