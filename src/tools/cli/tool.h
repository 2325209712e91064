/* Shared by all verbs of h5bucket: the table of verbs, options, settings, exit codes, messages.
 *
 * A verb is one `const struct bkt_verb bkt_verb_NAME` in cmd_NAME.c and one line X(NAME) in BKT_VERBS below.
 * From these rows come dispatch, option parsing, `h5bucket VERB --help`, the man pages, bash's completion and
 * the list of docs/tool.md. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "base/settings.h"
#include "tools/show/json_out.h"

/* In the order in which help and docs/tool.md list them. */
#define BKT_VERBS(X) \
    X(ls)            \
    X(info)          \
    X(stat)          \
    X(cp)            \
    X(mv)            \
    X(rm)            \
    X(touch)         \
    X(acl)           \
    X(verify)        \
    X(diff)          \
    X(catalog)       \
    X(snapshot)      \
    X(get)           \
    X(load)          \
    X(export)        \
    X(chunks)        \
    X(sample)        \
    X(pointer)       \
    X(settings)      \
    X(doctor)        \
    X(help)

/* ---- a verb ---- */

/** One option. Long names are unique in a verb and differ from the common ones (bkt_tool_common). */
struct bkt_opt {
    char        letter; /* 0: none */
    const char *name;   /* without the dashes */
    const char *arg;    /* its argument's name in help; NULL: a flag */
    const char *help;   /* one sentence, small initial, no full stop */
    const char *words;  /* the values it may have, separated by blanks; checked and completed; NULL: any */
};
#define BKT_OPT_MAX 40 /* of one verb, the common ones included */

/* ---- numbers that several verbs share ---- */

/** Small objects that are read or stored at once; as many as the default of setting connections. */
#define BKT_TOOL_BATCH 256
/** Bytes of values, of each side, that are read at once to be compared or stored elsewhere.  Less takes
 *  longer and more requests, more takes more memory. */
#define BKT_TOOL_BLOCK ((uint64_t)16 << 20)
/** Depth of folders that a verb goes down into: each level takes some KiB of stack, and links in a directory
 *  can make a circle. */
#define BKT_TOOL_FOLDERS 200

struct bkt_tool;
struct bkt_verb {
    const char           *name;
    const char           *args;     /* "DOMAIN [FILE]"; "" for none */
    int                   min_args, max_args; /* max -1: any number */
    const char           *help;     /* one line, small initial, no full stop */
    const char *text; /* paragraphs separated by an empty line, for --help and man page; lines that begin with
                         two blanks are kept as they are; NULL: none */
    const struct bkt_opt *opts;     /* n_opts, in the order of help */
    size_t                n_opts;
    bool                  json;     /* --json is one of its options */
    bool shared;                    /* processes that mpirun started share the work (tools/share) */
    int trouble;                    /* exit code of a failure, if 1 has another meaning; 0: BKT_EXIT_FAIL */
    char *(*reword)(const char *word); /* another word for one that isn't an option's argument, on the heap;
                                          NULL: it stays. May itself be NULL */
    int (*run)(struct bkt_tool *t); /* an exit code; negative: it failed, and t->err has the reason */
};

/** Exit codes.  The texts of diff and verify define their meaning of 1 and 2. */
enum bkt_exit { BKT_EXIT_OK = 0, BKT_EXIT_FAIL = 1, BKT_EXIT_USAGE = 2 };

/** One call of the program: the verb's row, its arguments and options, and the settings in force. */
struct bkt_tool {
    const struct bkt_verb *verb;
    struct bkt_settings    set;
    char                 **args; /* arguments without options */
    int                    n_args;
    bool                   json; /* --json was given */
    struct bkt_jout        j;    /* the output as JSON; silent without --json */
    struct bkt_err         err;
    struct bkt_given {
        const struct bkt_opt *opt;
        const char           *value; /* NULL for a flag */
    }     *given; /* options in the order given */
    size_t n_given;
    struct bkt_strs words; /* words of the command line that were replaced */
};

/* ---- the command line ---- */

/** How often an option was given, by its long name. */
unsigned bkt_tool_has(const struct bkt_tool *t, const char *name);
/** The value of the last one given, or NULL. */
const char *bkt_tool_opt(const struct bkt_tool *t, const char *name);
/** Get a whole number in @p lo .. @p hi.  *out stays unchanged if the option isn't given.  False: not such a
 *  number; reported on stderr. */
bool bkt_tool_number(const struct bkt_tool *t, const char *name, uint64_t lo, uint64_t hi, uint64_t *out);

/** Set the connector's info string of the environment (copied; NULL: the environment has none).  Its settings
 * precede all others, except those of the command line.  Call it before bkt_tool_init(). */
void bkt_tool_set_info(const char *info);
/** HDF5_VOL_CONNECTOR as the program found it; NULL: it is not set.  The variable itself is removed. */
const char *bkt_tool_connector(void);
/** The settings of the command line as an info string of the connector (h5_start()), which then reads
 *  environment and configuration itself; free().  NULL: out of memory. */
char *bkt_tool_info(const struct bkt_tool *t);

/** h5_start() with these settings. */
BKT_NODISCARD int bkt_tool_start(const struct bkt_tool *t, hid_t *fapl, struct bkt_err *err);
/** As bkt_tool_start(), and open a file or domain for reading with HDF5. */
BKT_NODISCARD int bkt_tool_open(const struct bkt_tool *t, const char *name, hid_t *out, struct bkt_err *err);

struct plain_file;
/** plain_file_instead() with these settings. */
BKT_NODISCARD int bkt_tool_instead(const struct bkt_tool *t, struct plain_file *p, bool inside, int rc,
                                   const struct bkt_err *why, struct bkt_err *err);

/* ---- messages, all to stderr ---- */

/** "h5bucket VERB: text".  @return BKT_EXIT_FAIL */
int bkt_tool_fail(const struct bkt_tool *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** As bkt_tool_fail(), with the text of the error, root cause last.  @p what: the name that it is about, or
 * NULL. */
int bkt_tool_error(const struct bkt_tool *t, const char *what, const struct bkt_err *err);
/** Wrong usage: text and how to get help.  @return BKT_EXIT_USAGE */
int bkt_tool_usage(const struct bkt_tool *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- the table, options (options.c), texts made from it (help.c) ---- */

extern const struct bkt_verb *const bkt_verbs[];
extern const size_t                 bkt_n_verbs;
const struct bkt_verb *bkt_verb_find(const char *name); /* NULL: not found */

/** Options that every verb has (json: only those with .json). */
extern const struct bkt_opt bkt_tool_common[];
extern const size_t         bkt_tool_n_common;
/** The @p i-th option of a verb, its own first, then the common ones; NULL: past the last. */
const struct bkt_opt *bkt_verb_opt(const struct bkt_verb *v, size_t i);
/** The letter of the @p i-th option; 0: none, or an earlier option of the verb has it. */
char bkt_verb_letter(const struct bkt_verb *v, size_t i);

/** Parse a command line; argv[0] is the verb's name.  Settings are read too.
 * @return -1: go on; else the exit code (--help was printed, or wrong usage reported).  bkt_tool_fini(),
 *     whatever is returned */
int  bkt_tool_init(struct bkt_tool *t, const struct bkt_verb *v, int argc, char **argv);
void bkt_tool_fini(struct bkt_tool *t);

#define X(name) extern const struct bkt_verb bkt_verb_##name;
BKT_VERBS(X)
#undef X
