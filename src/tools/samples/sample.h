/* Shared by the words of `h5bucket sample`. */
#pragma once

#include "samples/names/repository_names.h"
#include "samples/repository.h"
#include "tools/cli/tool.h"

struct sample_tool {
    struct bkt_tool     *t;
    const char          *name;  /* the repository's */
    h5bucket_repository *repo;
    struct bkt_repository_names *names; /* NULL: it has none, or they were not asked for */
    char               **args;  /* those behind the repository */
    int                  n_args;
};

/** Open the names; a repository without names leaves them NULL.  BKT_EFORMAT, ...: they can't be read. */
BKT_NODISCARD int sample_open_names(struct sample_tool *s, struct bkt_err *err);

/* The words sample_ls(), sample_cat(), sample_put() and sample_verify(): as the verb's function, each returns
 * an exit code, or a failure whose reason is in s->t->err. */
int sample_ls(struct sample_tool *s);
int sample_cat(struct sample_tool *s);
int sample_put(struct sample_tool *s);
int sample_verify(struct sample_tool *s);

/* ---- samples read in batches, each verified ---- */
#define SAMPLE_BATCH 256 /* samples that are read side by side */

/** Read @p n records, as many side by side as memory allows.  @p each is called for each, in order; a
 * negative return ends this and is returned.
 *  @param i  the number of the record; the sample's buffer is valid during the call, if its status is not
 *            negative */
BKT_NODISCARD int sample_read_each(struct sample_tool *s, char *const *records, size_t n,
                                   int (*each)(void *arg, size_t i, const struct h5bucket_sample *sample),
                                   void *arg, struct bkt_err *err);
