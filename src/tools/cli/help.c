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

static void print_option(FILE *to, const struct bkt_verb *v, size_t i)
{
    const struct bkt_opt *o = bkt_verb_opt(v, i);
    char letter[8] = "    ";
    if (bkt_verb_letter(v, i))
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
        print_option(to, v, i);
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

/* ---- man pages ---- */

/* Text for troff: backslash, dash and quotes are themselves; a line can't begin with a control character. */
static void roff(FILE *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\')
            fputs("\\e", to);
        else if (s[i] == '-')
            fputs("\\-", to);
        else if (s[i] == '\'')
            fputs("\\(aq", to);
        else if (s[i] == '.' && i == 0)
            fputs("\\&.", to);
        else
            fputc(s[i], to);
    }
}
static void roff_str(FILE *to, const char *s) { roff(to, s, strlen(s)); }

/* Paragraphs as in bkt_verb.text. */
static void paragraphs(FILE *to, const char *text)
{
    bool kept = false;
    for (const char *s = text; *s;) {
        size_t n     = strcspn(s, "\n");
        bool   asis  = n > 2 && s[0] == ' ' && s[1] == ' ';
        if (asis != kept)
            fputs(asis ? ".RS\n.nf\n" : ".fi\n.RE\n", to);
        kept = asis;
        if (n == 0)
            fputs(".PP\n", to);
        else {
            roff(to, s + 2 * asis, n - 2 * asis);
            fputc('\n', to);
        }
        s += n + (s[n] == '\n');
    }
    if (kept)
        fputs(".fi\n.RE\n", to);
}

static void man_head(FILE *to, const char *name, const char *help)
{
    fprintf(to,
            ".TH H5BUCKET%s%s 1 \"\" \"vol-bucket " BKT_VERSION
            "\" \"vol-bucket\"\n.SH NAME\nh5bucket%s%s \\- ",
            *name ? "-" : "", name, *name ? "\\-" : "", name);
    roff_str(to, help);
    fputs("\n.SH SYNOPSIS\n", to);
}

static void man_options(FILE *to, const struct bkt_verb *v)
{
    fputs(".SH OPTIONS\n", to);
    const struct bkt_opt *o;
    for (size_t i = 0; (o = bkt_verb_opt(v, i)) != NULL; i++) {
        fputs(".TP\n", to);
        if (bkt_verb_letter(v, i))
            fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
        fputs("\\fB\\-\\-", to);
        roff_str(to, o->name);
        fputs("\\fR", to);
        if (o->arg)
            fprintf(to, " \\fI%s\\fR", o->arg);
        fputc('\n', to);
        roff_str(to, o->help);
        fputc('\n', to);
    }
}

static void man_settings(FILE *to)
{
    fputs(".SH ENVIRONMENT\nAWS's own variables are honoured. Each setting may be given by a variable, in\n"
          ".IR ~/.config/h5bucket/config ,\nor with \\fB\\-\\-set\\fR.\n", to);
#define X(kind, name, file, env, def, lo, hi, text)                                                          \
    fputs(".TP\n\\fB" #name "\\fR (" env ")\n", to), roff_str(to, text), fputc('\n', to);
    BKT_SETTINGS(X)
#undef X
}

static void man_verb(FILE *to, const struct bkt_verb *v)
{
    man_head(to, v->name, v->help);
    fprintf(to, "\\fBh5bucket %s\\fR [\\fIOPTION\\fR]...", v->name);
    fputs(" \\fI", to);
    roff_str(to, v->args);
    fputs("\\fR\n.SH DESCRIPTION\n", to);
    fprintf(to, "%c", v->help[0] & ~0x20);
    roff_str(to, v->help + 1);
    fputs(".\n", to);
    if (v->text) {
        fputs(".PP\n", to);
        paragraphs(to, v->text);
    }
    man_options(to, v);
    fputs(
        ".SH EXIT STATUS\n0 done, 1 failed (the standard error has the reason), 2 wrong usage, unless stated "
        "otherwise above.\n.SH SEE ALSO\n.BR h5bucket (1)\n",
        to);
}

void bkt_help_man(FILE *to, const struct bkt_verb *v)
{
    if (v) {
        man_verb(to, v);
        return;
    }
    man_head(to, "", "work with HDF5 domains in buckets");
    fputs("\\fBh5bucket\\fR \\fIVERB\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n.SH DESCRIPTION\n"
          "A domain is an HDF5 file in the HSDS object\\-storage schema, in S3 or in a folder.\n"
          "It is named as for the connector: s3://bucket/path, a path, file:///path, https://host/path,\n"
          "or hdf5://path in the default bucket.\n.SH VERBS\n", to);
    for (size_t i = 0; i < bkt_n_verbs; i++) {
        fprintf(to, ".TP\n\\fBh5bucket\\-%s\\fR(1)\n", bkt_verbs[i]->name);
        roff_str(to, bkt_verbs[i]->help);
        fputc('\n', to);
    }
    man_settings(to);
    fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n.SH SEE ALSO\n.BR h5dump (1),\n.BR h5ls (1)\n",
          to);
}

/* ---- bash ---- */

static void completion_words(FILE *to, const struct bkt_verb *v)
{
    const struct bkt_opt *o;
    for (size_t i = 0; (o = bkt_verb_opt(v, i)) != NULL; i++)
        if (o->words)
            fprintf(to, "        %s:--%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", v->name,
                    o->name, o->words);
}

/* Completes folders and domains in a bucket.  Bash cuts words at ':', and the part in front of it stays. */
static const char names_function[] =
    "# bash completion for h5bucket, made from its table of verbs\n_h5bucket_names()\n{\n"
    "    local word=${COMP_LINE:0:COMP_POINT} name\n"
    "    word=${word##*[[:space:]]}\n"
    "    [[ $word == *://*/* ]] || return\n"
    "    compopt -o nospace 2> /dev/null\n"
    "    while IFS= read -r name; do\n"
    "        [[ $name == \"$word\"* ]] || continue\n"
    "        [[ $COMP_WORDBREAKS == *:* ]] && name=${name#*:}\n"
    "        COMPREPLY+=(\"$name\")\n"
    "    done < <(h5bucket ls -n --set deadline_ms=3000 \"${word%/*}/\" 2> /dev/null)\n}\n";

void bkt_help_completion(FILE *to)
{
    fputs(names_function, to);
    fputs("_h5bucket()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W '", to);
    for (size_t i = 0; i < bkt_n_verbs; i++)
        fprintf(to, "%s ", bkt_verbs[i]->name);
    fputs("--help --version' -- \"$cur\"))\n        return\n    fi\n    case \"$verb:$prev\" in\n", to);
    for (size_t i = 0; i < bkt_n_verbs; i++)
        completion_words(to, bkt_verbs[i]);
    fputs("        *:--set) compopt -o nospace; COMPREPLY=($(compgen -S = -W '", to);
#define X(kind, name, file, env, def, lo, hi, text) fputs(#name " ", to);
    BKT_SETTINGS(X)
#undef X
    fputs("' -- \"$cur\")); return ;;\n    esac\n    if [[ $cur != -* ]]; then _h5bucket_names; return; fi\n "
          "   case \"$verb\" in\n",
          to);
    for (size_t i = 0; i < bkt_n_verbs; i++) {
        fprintf(to, "        %s) COMPREPLY=($(compgen -W '", bkt_verbs[i]->name);
        for (size_t k = 0; bkt_verb_opt(bkt_verbs[i], k); k++)
            fprintf(to, "--%s ", bkt_verb_opt(bkt_verbs[i], k)->name);
        fputs("' -- \"$cur\")) ;;\n", to);
    }
    fputs("    esac\n}\ncomplete -o default -F _h5bucket h5bucket\n", to);
}
