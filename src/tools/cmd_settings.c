/* h5bucket settings: the table of base/settings.h, with the values that are in force. */
#include <stdio.h>

#include "tool.h"

static int run(struct bkt_tool *t)
{
    bool markdown = bkt_tool_has(t, "markdown") > 0; /* for the README: what holds by default, nobody's values */
    bkt_settings_print(stdout, markdown ? NULL : &t->set, markdown);
    return BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {0, "markdown", NULL, "a table with the defaults, for the README", NULL},
};
const struct bkt_verb bkt_verb_settings = {
    .name = "settings", .args = "", .max_args = 0,
    .help = "show every setting: name, environment variable, value in force, meaning",
    .opts = opts, .n_opts = BKT_COUNT(opts), .run = run,
};
