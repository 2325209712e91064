/* h5bucket settings: the table of base/settings.h, with the current values. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/show/json_out.h"
#include "tools/cli/tool.h"

static int on_row(const struct bkt_setting_row *row, void *arg)
{
    bkt_jout_object(arg, "name:s value:s default:s environment:s help:s", row->name, row->value, row->def,
                    row->environment, row->help);
    return BKT_OK;
}

static int print_json(struct bkt_tool *t)
{
    bkt_jout_open(&t->j, NULL, '[');
    int rc = bkt_settings_each(&t->set, on_row, &t->j);
    bkt_jout_close(&t->j);
    return rc < 0 ? bkt_tool_fail(t, "out of memory") : BKT_EXIT_OK;
}

/* ---- variables that look like a setting's ---- */

struct variable {
    const char *name;
    size_t      n;
    bool        known;
};

static int look_for(const struct bkt_setting_row *row, void *arg)
{
    struct variable *v = arg;
    for (const char *s = row->environment; *s; s += strcspn(s, ","), s += *s == ',')
        v->known = v->known || (strcspn(s, ",") == v->n && strncmp(s, v->name, v->n) == 0);
    return BKT_OK;
}

/* Not an error, since another version of the connector may know the variable.  But a user who wonders why a
 * setting has no effect looks here. */
static void report_unknown(const struct bkt_tool *t)
{
    static const char *const others[] = {"H5BUCKET_CONFIG", "H5BUCKET_TEST"};
    for (char **e = environ; e && *e; e++) {
        struct variable v = {.name = *e, .n = strcspn(*e, "=")};
        if (strncmp(*e, "H5BUCKET_", 9) != 0)
            continue;
        for (size_t i = 0; i < BKT_COUNT(others); i++)
            v.known = v.known || (v.n == strlen(others[i]) && strncmp(*e, others[i], v.n) == 0);
        if (bkt_settings_each(&t->set, look_for, &v) == BKT_OK && !v.known)
            (void)fprintf(stderr, "h5bucket settings: unknown environment variable %.*s\n", (int)v.n, *e);
    }
}

static int run(struct bkt_tool *t)
{
    report_unknown(t);
    if (t->json)
        return print_json(t);
    bool markdown = bkt_tool_has(t, "markdown") > 0; /* for the README: defaults, not the user's values */
    bkt_settings_print(stdout, markdown ? NULL : &t->set, markdown);
    return BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {0, "markdown", NULL, "a Markdown table with the defaults", NULL},
};
const struct bkt_verb bkt_verb_settings = {
    .name = "settings", .args = "", .max_args = 0,
    .help = "show every setting: name, environment variable, value in force, meaning",
    .text = "A setting is taken from --set or an option that stands for it, else from the environment, else\n"
            "from ~/.config/h5bucket/config, or the file that H5BUCKET_CONFIG names. Unknown variables\n"
            "H5BUCKET_... are reported.\n\n"
            "JSON: [{\"name\", \"value\", \"default\", \"environment\", \"help\"}].",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
