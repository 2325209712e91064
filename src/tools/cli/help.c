/* --help and the list of docs/tool.md of verbs. */
#include "tools/cli/help.h"

#include <string.h>

#include "bkt_config.h"

void bkt_help_program(FILE *to)
{
    fputs("usage: h5bucket VERB [OPTION]... [ARGUMENT]...\n\n", to);
    for (size_t i = 0; i < bkt_n_verbs; i++)
        fprintf(to, "  %-10s %s\n", bkt_verbs[i]->name, bkt_verbs[i]->help);
    fputs("\nh5bucket VERB --help describes a verb; h5bucket --version prints the version.\n"
          "To use a bucket with any program that uses HDF5, set HDF5_PLUGIN_PATH to the folder of\n"
          "libhdf5_vol_bucket.so and HDF5_VOL_CONNECTOR=" BKT_CONNECTOR_NAME ".\n",
          to);
}

/* Columns of an option: "  -b, --bucket BUCKET" */
#define COLUMN 30

/* Prints the words of @p text in lines of at most 100; the first line goes on at column @p at. */
static void wrap(FILE *to, const char *text, int at, int indent)
{
    for (const char *s = text; *s;) {
        int n = (int)strcspn(s, " ");
        bool first = at == indent;
        if (!first && at + 1 + n > 100) {
            fprintf(to, "\n%*s", indent, "");
            at    = indent;
            first = true;
        }
        fprintf(to, "%s%.*s", first ? "" : " ", n, s);
        at += n + !first;
        s += n + (s[n] == ' ');
    }
    fputc('\n', to);
}

static void print_option(FILE *to, const struct bkt_opt *o)
{
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    int n = fprintf(to, "  %s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    if (n >= COLUMN - 1)
        fprintf(to, "\n%*s", COLUMN, "");
    else
        fprintf(to, "%*s", COLUMN - n, "");
    wrap(to, o->help, COLUMN, COLUMN);
}

void bkt_help_verb(FILE *to, const struct bkt_verb *v)
{
    fprintf(to, "usage: h5bucket %s [OPTION]...%s%s\n\n", v->name, *v->args ? " " : "", v->args);
    fprintf(to, "%c%s.\n", v->help[0] & ~0x20, v->help + 1);
    if (v->text)
        fprintf(to, "\n%s\n", v->text);
    fputs("\noptions:\n", to);
    for (size_t i = 0; bkt_verb_opt(v, i); i++)
        print_option(to, bkt_verb_opt(v, i));
}

/* A bar would end the table's cell, also in code. */
static void put_cell(FILE *to, const char *text)
{
    for (; *text; text++)
        fprintf(to, *text == '|' ? "\\%c" : "%c", *text);
}

void bkt_help_markdown(FILE *to)
{
    fputs("| command | what it does |\n|---|---|\n", to);
    for (size_t i = 0; i < bkt_n_verbs; i++) {
        fprintf(to, "| `h5bucket %s%s", bkt_verbs[i]->name, *bkt_verbs[i]->args ? " " : "");
        put_cell(to, bkt_verbs[i]->args);
        fputs("` | ", to);
        put_cell(to, bkt_verbs[i]->help);
        fputs(" |\n", to);
    }
}
