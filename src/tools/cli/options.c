/* Parses command lines by the rows of the table, with getopt_long(). */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/url.h"
#include "tools/cli/help.h"
#include "tools/cli/tool.h"
#include "tools/show/show.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/plain_name.h"
#include "vol/core/hid.h"

const struct bkt_opt bkt_tool_common[] = {
    {0, "json", NULL, "print JSON, for programs", NULL},
    {'b', "bucket", "BUCKET", "default bucket (setting bucket)", NULL},
    {'u', "user", "NAME", "user whose permissions are checked (setting user)", NULL},
    {'e', "endpoint", "URL", "S3 server (setting endpoint)", NULL},
    {0, "set", "NAME=VALUE", "any setting, see h5bucket settings; may be repeated", NULL},
    {'h', "help", NULL, "show this", NULL},
};
const size_t bkt_tool_n_common = sizeof bkt_tool_common / sizeof *bkt_tool_common;

const struct bkt_opt *bkt_verb_opt(const struct bkt_verb *v, size_t i)
{
    if (i < v->n_opts)
        return &v->opts[i];
    i = i - v->n_opts + !v->json; /* --json is the first of the common ones */
    return i < bkt_tool_n_common ? &bkt_tool_common[i] : NULL;
}

static const struct bkt_opt *option_of_letter(const struct bkt_verb *v, int letter)
{
    size_t i = 0;
    while (bkt_verb_opt(v, i) && bkt_verb_opt(v, i)->letter != letter)
        i++;
    return bkt_verb_opt(v, i);
}

char bkt_verb_letter(const struct bkt_verb *v, size_t i)
{
    const struct bkt_opt *o = bkt_verb_opt(v, i);
    return option_of_letter(v, o->letter) == o ? o->letter : '\0';
}

/* ---- the command line ---- */

unsigned bkt_tool_has(const struct bkt_tool *t, const char *name)
{
    unsigned n = 0;
    for (size_t i = 0; i < t->n_given; i++)
        n += t->given[i].opt && strcmp(t->given[i].opt->name, name) == 0;
    return n;
}

/* The value of the one given as number @p at, from 0, or NULL. */
static const char *opt_at(const struct bkt_tool *t, const char *name, unsigned at)
{
    for (size_t i = 0; i < t->n_given; i++)
        if (t->given[i].opt && strcmp(t->given[i].opt->name, name) == 0 && at-- == 0)
            return t->given[i].value;
    return NULL;
}

const char *bkt_tool_opt(const struct bkt_tool *t, const char *name)
{
    unsigned n = bkt_tool_has(t, name);
    return n ? opt_at(t, name, n - 1) : NULL;
}

bool bkt_tool_number(const struct bkt_tool *t, const char *name, uint64_t lo, uint64_t hi, uint64_t *out)
{
    const char *text = bkt_tool_opt(t, name);
    char       *end  = NULL;
    if (!text)
        return true;
    unsigned long long v = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == 0 && v >= lo && v <= hi) {
        *out = v;
        return true;
    }
    (void)bkt_tool_usage(t, "--%s=%s: a whole number from %llu to %llu is expected", name, text,
                         (unsigned long long)lo,
                         (unsigned long long)hi);
    return false;
}

/* ---- messages ---- */

/* Prints a line; names and stored text in it must not move the terminal's cursor. */
static void put_line(const struct bkt_tool *t, const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_url(&b, text);
    fflush(stdout);
    fprintf(stderr, "h5bucket %s: %s\n", t->verb->name, bkt_buf_str(&b));
}

static void __attribute__((format(printf, 2, 0))) say(const struct bkt_tool *t, const char *fmt, va_list ap)
{
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, ap);
    put_line(t, text ? text : fmt);
}

int bkt_tool_fail(const struct bkt_tool *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(t, fmt, ap);
    va_end(ap);
    return BKT_EXIT_FAIL;
}

int bkt_tool_usage(const struct bkt_tool *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(t, fmt, ap);
    va_end(ap);
    fprintf(stderr, "usage: h5bucket %s%s%s%s\n       h5bucket %s --help describes it\n", t->verb->name,
            t->verb->n_opts ? " [OPTION]..." : "", *t->verb->args ? " " : "", t->verb->args, t->verb->name);
    return BKT_EXIT_USAGE;
}

int bkt_tool_error(const struct bkt_tool *t, const char *what, const struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    BKT_CLEANUP(bkt_freep) char *name = what ? strdup(what) : NULL;
    if (name)
        (void)bkt_url_shown(name, strlen(what) + 1, what, false);
    /* the root cause often names the thing itself */
    if (name && !(err->n && strstr(err->frame[err->n - 1].msg, name)))
        bkt_say(&b, "%s: ", name);
    bkt_say_err(&b, err);
    put_line(t, bkt_buf_str(&b));
    return BKT_EXIT_FAIL;
}

/* ---- parsing ---- */

#define LONG_BASE 1000 /* getopt_long() gives LONG_BASE + i for the i-th option */

static bool is_word(const char *words, const char *value)
{
    size_t n = strlen(value);
    for (const char *s = words; *s;) {
        size_t len = strcspn(s, " ");
        if (len == n && strncmp(s, value, n) == 0)
            return true;
        s += len + strspn(s + len, " ");
    }
    return false;
}

static const char *const named[] = {"bucket", "user", "endpoint",
                                    "retries"}; /* options that are settings, of any verb */

static char *env_info;

void bkt_tool_set_info(const char *info)
{
    free(env_info);
    env_info = info ? strdup(info) : NULL;
}

char *bkt_tool_info(const struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf out = {0};
    int                                      rc  = env_info ? bkt_buf_addf(&out, "%s;", env_info) : BKT_OK;
    for (size_t i = 0; rc == BKT_OK && i < BKT_COUNT(named); i++)
        if (bkt_tool_opt(t, named[i]))
            rc = bkt_buf_addf(&out, "%s=%s;", named[i], bkt_tool_opt(t, named[i]));
    for (unsigned i = 0; rc == BKT_OK && opt_at(t, "set", i); i++)
        rc = bkt_buf_addf(&out, "%s;", opt_at(t, "set", i));
    return rc == BKT_OK ? strdup(bkt_buf_str(&out)) : NULL;
}

int bkt_tool_start(const struct bkt_tool *t, hid_t *fapl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *info = bkt_tool_info(t);
    return info ? h5_start(info, fapl, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

int bkt_tool_open(const struct bkt_tool *t, const char *name, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    BKT_PASS(bkt_tool_start(t, &fapl, err));
    return h5_open_native(name, fapl, out, err);
}

int bkt_tool_instead(const struct bkt_tool *t, struct plain_file *p, bool inside, int rc,
                     const struct bkt_err *why, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *info = bkt_tool_info(t);
    return info ? plain_file_instead(p, &t->set, info, inside, rc, why, err)
                : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

static int take_settings(struct bkt_tool *t)
{
    int rc = bkt_settings_init(&t->set, env_info, &t->err);
    for (size_t i = 0; rc == BKT_OK && i < BKT_COUNT(named); i++)
        if (bkt_tool_opt(t, named[i]))
            rc = bkt_settings_set(&t->set, named[i], bkt_tool_opt(t, named[i]), "the command line", &t->err);
    for (unsigned i = 0; rc == BKT_OK && opt_at(t, "set", i); i++) {
        const char *text = opt_at(t, "set", i), *eq = strchr(text, '=');
        if (!eq)
            return bkt_tool_usage(t, "--set=%s: NAME=VALUE is expected", text);
        char *name = strndup(text, (size_t)(eq - text));
        rc = name ? bkt_settings_set(&t->set, name, eq + 1, "the command line", &t->err)
                  : BKT_ERR(&t->err, BKT_ENOMEM, "out of memory");
        free(name);
    }
    if (rc < 0) {
        (void)bkt_tool_error(t, NULL, &t->err);
        return rc == BKT_EINVAL ? BKT_EXIT_USAGE : BKT_EXIT_FAIL;
    }
    return -1;
}

/* Makes getopt_long()'s table from the rows. */
static size_t fill(const struct bkt_verb *v, struct option *longs, char *shorts)
{
    size_t n = 0;
    *shorts++ = ':';
    for (const struct bkt_opt *o; n < BKT_OPT_MAX && (o = bkt_verb_opt(v, n)) != NULL; n++) {
        longs[n] =
            (struct option){o->name, o->arg ? required_argument : no_argument, NULL, LONG_BASE + (int)n};
        if (o->letter) {
            *shorts++ = o->letter;
            if (o->arg)
                *shorts++ = ':';
        }
    }
    *shorts  = 0;
    longs[n] = (struct option){NULL, 0, NULL, 0};
    return n;
}

static const struct bkt_opt *option_of(const struct bkt_verb *v, int c)
{
    return c >= LONG_BASE ? bkt_verb_opt(v, (size_t)(c - LONG_BASE)) : option_of_letter(v, c);
}

static int bad_option(const struct bkt_tool *t, int c, char **argv)
{
    const char *what = c == ':' ? "needs an argument" : "is unknown, ambiguous, or takes no argument";
    if (optopt && optopt < LONG_BASE)
        return bkt_tool_usage(t, "option -%c %s", optopt, c == ':' ? what : "is unknown");
    return bkt_tool_usage(t, "option %s %s", argv[optind - 1], what);
}

static int parse(struct bkt_tool *t, int argc, char **argv)
{
    struct option longs[BKT_OPT_MAX + 1];
    char          shorts[2 * BKT_OPT_MAX + 2];
    int           c;
    fill(t->verb, longs, shorts);
    opterr = 0;
    optind = 0; /* GNU's word for: from the start */
    while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct bkt_opt *o = c == '?' || c == ':' ? NULL : option_of(t->verb, c);
        if (!o)
            return bad_option(t, c, argv);
        if (o->words && !is_word(o->words, optarg))
            return bkt_tool_usage(t, "--%s=%s: one of %s is expected", o->name, optarg, o->words);
        t->given[t->n_given++] = (struct bkt_given){o, o->arg ? optarg : NULL};
    }
    t->args   = argv + optind;
    t->n_args = argc - optind;
    t->json   = bkt_tool_has(t, "json") > 0;
    bkt_jout_init(&t->j, t->json ? stdout : NULL);
    return -1;
}

/* Whether the next word belongs to it. */
static bool takes_next(const struct bkt_verb *v, const char *word)
{
    if (word[0] == '-' && word[1] && word[1] != '-' && !word[2]) {
        const struct bkt_opt *o = option_of(v, word[1]);
        return o && o->arg;
    }
    for (size_t i = 0; strncmp(word, "--", 2) == 0 && bkt_verb_opt(v, i); i++)
        if (strcmp(bkt_verb_opt(v, i)->name, word + 2) == 0)
            return bkt_verb_opt(v, i)->arg != NULL;
    return false;
}

static int reword(struct bkt_tool *t, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *other = takes_next(t->verb, argv[i - 1]) && i > 1 ? NULL : t->verb->reword(argv[i]);
        if (other && bkt_strs_take(&t->words, other) < 0)
            return bkt_tool_fail(t, "out of memory");
        if (other)
            argv[i] = other;
    }
    return -1;
}

int bkt_tool_init(struct bkt_tool *t, const struct bkt_verb *v, int argc, char **argv)
{
    *t = (struct bkt_tool){.verb = v};
    size_t most = 0;
    for (int i = 1; i < argc; i++)
        most += strlen(argv[i]);
    t->given = calloc(most + 1, sizeof *t->given); /* an option is a letter at least */
    if (!t->given)
        return bkt_tool_fail(t, "out of memory");
    int rc = v->reword ? reword(t, argc, argv) : -1;
    if (rc < 0)
        rc = parse(t, argc, argv);
    if (rc >= 0)
        return rc;
    if (bkt_tool_has(t, "help")) {
        bkt_help_verb(stdout, v);
        return BKT_EXIT_OK;
    }
    if (t->n_args < v->min_args)
        return bkt_tool_usage(t, "%s", t->n_args ? "an argument is missing" : "no argument is given");
    if (v->max_args >= 0 && t->n_args > v->max_args)
        return bkt_tool_usage(t, "too many arguments: %s", t->args[v->max_args]);
    return take_settings(t);
}

void bkt_tool_fini(struct bkt_tool *t)
{
    bkt_settings_fini(&t->set);
    bkt_tool_set_info(NULL);
    bkt_strs_fini(&t->words);
    free(t->given);
}

/* ---- the verbs; each row is in the file of its verb ---- */

const struct bkt_verb *const bkt_verbs[] = {
#define X(name) &bkt_verb_##name,
    BKT_VERBS(X)
#undef X
};
const size_t bkt_n_verbs =
    sizeof bkt_verbs / sizeof(bkt_verbs[0]); /* NOLINT(bugprone-sizeof-expression): pointers */

const struct bkt_verb *bkt_verb_find(const char *name)
{
    for (size_t i = 0; i < bkt_n_verbs; i++)
        if (strcmp(bkt_verbs[i]->name, name) == 0)
            return bkt_verbs[i];
    return NULL;
}
