/* h5bucket sample ls|cat|put|verify REPOSITORY ... */
#include <string.h>

#include "tools/cli/interrupt.h"
#include "tools/samples/sample.h"
#include "tools/source/hdf5_glue.h"

static const struct bkt_opt opts[] = {
    {'f', "format", "FORMAT", "cat: the form of each sample; default: text", "text raw npy"},
    {'o', "output", "FILE", "cat: write to FILE instead of standard output", NULL},
    {0, "records", "FILE", "cat, verify: take records from the lines of FILE (-: standard input)", NULL},
    {0, "backend", "CODE", "put: the format of new files; default: 00", "00 01"},
    {0, "plain", NULL, "put: new files are plain HDF5 files, in a folder only", NULL},
    {0, "variable", NULL, "put: shapes may differ; the largest extent of each dimension is the schema's",
     NULL},
    {0, "shape", "D,D...", "put: the shape of a raw sample, or with --variable the largest possible one",
     NULL},
    {0, "type", "TYPE", "put: the type of a raw sample's elements, in numpy's letters: u1, i2, f4, ...",
     NULL},
    {0, "rows", NULL, "put: each row of a FILE is a sample", NULL},
    {0, "complib", "CODEC", "put: the codec; default: blosc:lz4hc, or lzf for up to 16 bytes",
     "blosc:blosclz blosc:lz4 blosc:lz4hc blosc:zlib blosc:zstd lzf gzip none"},
    {0, "complevel", "N", "put: its level, 0 to 9; default: 5", NULL},
    {0, "shuffle", "WAY", "put: how bytes are rearranged before; default: the codec's", "none byte bit"},
    {'v', "verbose", NULL, "verify: print progress also where it is not shown on a terminal", NULL},
};

static const struct word {
    const char *name;
    int (*run)(struct sample_tool *s);
    bool names; /* it looks for the repository's names */
} words[] = {{"ls", sample_ls, true},
             {"cat", sample_cat, false},
             {"put", sample_put, false},
             {"verify", sample_verify, true}};

int sample_open_names(struct sample_tool *s, struct bkt_err *err)
{
    int rc = s->names ? BKT_OK : bkt_names_open(s->name, &s->t->set, &s->names, err);
    if (rc == BKT_ENOENT) {
        bkt_err_clear(err);
        return BKT_OK;
    }
    return rc;
}

static int open_and_run(struct sample_tool *s, const struct word *w, const char *info)
{
    struct bkt_err              *err  = &s->t->err;
    BKT_CLEANUP(h5_closep) hid_t fapl = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf own = {0};
    if (bkt_buf_addf(&own, "%s%s", bkt_tool_has(s->t, "plain") ? "backend=file;" : "", info) < 0)
        return bkt_tool_fail(s->t, "out of memory");
    BKT_PASS(h5_start(info, &fapl, err));
    BKT_PASS(bkt_repository_open(s->name, bkt_buf_str(&own), &s->repo, err));
    if (w->names)
        BKT_PASS(sample_open_names(s, err));
    return w->run(s);
}

static int run(struct bkt_tool *t)
{
    const struct word           *w    = NULL;
    BKT_CLEANUP(bkt_freep) char *info = bkt_tool_info(t);
    struct sample_tool s = {.t = t, .name = t->args[1], .args = t->args + 2, .n_args = t->n_args - 2};
    for (size_t i = 0; i < BKT_COUNT(words); i++)
        w = strcmp(words[i].name, t->args[0]) == 0 ? &words[i] : w;
    if (!w)
        return bkt_tool_usage(t, "%s: unknown word; use ls, cat, put or verify", t->args[0]);
    if (!*s.name)
        return bkt_tool_usage(t, "the repository's name is empty");
    if (!info)
        return bkt_tool_fail(t, "out of memory");
    interrupt_catch();
    int rc = open_and_run(&s, w, info);
    if (rc < 0)
        rc = bkt_tool_error(t, s.name, &t->err);
    bkt_names_close(s.names);
    bkt_repository_close(s.repo);
    return rc;
}

const struct bkt_verb bkt_verb_sample = {
    .name = "sample",
    .args = "ls|cat|put|verify REPOSITORY [NAME|FILE]...",
    .min_args = 2,
    .max_args = -1,
    .help = "list, print, append and check samples of a Hangar repository",
    .text =
        "A repository is the folder, s3:// or https:// name above data/00 and data/01, or above .hangar.\n"
        "Its files are plain HDF5 files or domains. docs/samples.md describes them.\n\n"
        "  h5bucket sample ls s3://b/flowers                      # branches, columns, files\n"
        "  h5bucket sample cat s3://b/flowers images/7            # one sample as text\n"
        "  h5bucket sample cat -f npy -o x.npy s3://b/flowers main:images/7\n"
        "  h5bucket sample put --complib=gzip s3://b/flowers a.npy b.npy\n"
        "  h5bucket sample verify s3://b/flowers\n\n"
        "A sample's NAME is its record, or [BRANCH:]COLUMN/SAMPLE, or [BRANCH:]COLUMN/SAMPLE/SUBSAMPLE in\n"
        "a nested column. [BRANCH:]COLUMN means all of its samples. Without BRANCH, the branch that was\n"
        "last checked out counts. Names are looked up in the repository's LMDB files, which are only\n"
        "read.\n\n"
        "ls prints branches with their columns, then files: how many rows are used, and how many records\n"
        "name them. A file that records name and that isn't there is reported, and the exit code is 1.\n\n"
        "cat compares each sample's digest. As text, a line that begins with # names the sample, its\n"
        "type and its shape. raw prints the bytes as they are stored, npy one array after the other, as\n"
        "numpy.load() reads them from an open file.\n\n"
        "put appends each FILE as a sample, and prints a record for each once all samples of a FILE are\n"
        "stored. FILE is numpy's .npy file, in C order, or raw bytes with --type and --shape. Samples go\n"
        "to new files with new names. Hangar's LMDB files don't change. With --plain, the new files are\n"
        "plain HDF5 files in a local repository, otherwise domains.\n\n"
        "verify compares the digests of all samples that the repository's names lead to, or of --records,\n"
        "many side by side. Damaged samples are listed, with the exit code 1. Samples in other formats\n"
        "than HDF5 are counted as foreign.\n\n"
        "JSON of ls: {\"head\", \"branches\": [{\"name\", \"commit\", \"columns\": [...]}], \"files\": "
        "[...]};\n"
        "of verify: {\"samples\", \"whole\", \"foreign\", \"damaged\": [{\"record\", \"names\", "
        "\"message\"}]}.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
