#include "samples/names/repository_names.h"

#include <stdlib.h>
#include <string.h>

#include "samples/names/literal.h"
#include "schema/name/uri.h"
#include "vol/vfd/store_driver.h"

#define FILE_MAX_BYTES ((uint64_t)4 << 30) /* of an LMDB file; it is in memory twice while it is opened */

/* ---- files ---- */

static int fetch(const char *name, const struct bkt_settings *set, struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_store           *st   = NULL;
    BKT_CLEANUP(bkt_freep) char *key = NULL;
    uint64_t                    size = 0;
    BKT_PASS(bkt_vfd_open_store(name, set, &st, &key, err));
    int rc = bkt_store_head(st, key, &size, err);
    if (rc == BKT_OK && size > FILE_MAX_BYTES)
        rc = BKT_ERR(err, BKT_EUNSUP, "%s: %llu bytes; at most 4 GiB are read", name,
                     (unsigned long long)size);
    if (rc == BKT_OK && size)
        rc = bkt_store_get(st, key, 0, size, out, err);
    bkt_store_close(st);
    return rc;
}

static int open_file(const char *folder, const char *name, const struct bkt_settings *set,
                     struct bkt_lmdb **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0}, bytes = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&path, "%s/%s", folder, name));
    BKT_PASS(fetch(bkt_buf_str(&path), set, &bytes, err));
    BKT_TRY(err, bkt_lmdb_open(bytes.ptr, bytes.len, out, err), "%s", bkt_buf_str(&path));
    return BKT_OK;
}

/* A name with a scheme, without slashes at its end. */
static int folder_of(const char *repository, const char *below, struct bkt_buf *out, struct bkt_err *err)
{
    const bool path = !strstr(repository, "://");
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf absolute = {0};
    BKT_CLEANUP(bkt_freep) char *real = path ? realpath(repository, NULL) : NULL;
    const bool known = path && !real && bkt_name_absolute(repository, &absolute, NULL) == BKT_OK;
    const char *name = real ? real : known ? bkt_buf_str(&absolute) : repository;
    size_t      n    = strlen(name);
    while (n > 1 && name[n - 1] == '/')
        n--;
    BKT_PASS_MEM(err, bkt_buf_addf(out, "%s%.*s%s", path ? "file://" : "", (int)n, name, below));
    return BKT_OK;
}

/* ---- branches ---- */

/* Letters, digits and signs of ASCII: names are printed, and compared with what a user types. */
static bool is_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] <= ' ' || p[i] > '~')
            return false;
    return n > 0;
}

static int add_branch(void *arg, const char *key, size_t n, const void *value, size_t n_value)
{
    struct bkt_repository_names *names = arg;
    const size_t      skip  = strlen("branch:");
    if (!is_name(key + skip, n - skip) || (n_value && !is_name(value, n_value)))
        return BKT_EFORMAT;
    struct bkt_branch *v = reallocarray(names->branches, names->n_branches + 1, sizeof *v);
    if (!v)
        return BKT_ENOMEM;
    names->branches = v;
    v += names->n_branches++;
    *v = (struct bkt_branch){strndup(key + skip, n - skip), strndup(n_value ? value : "", n_value)};
    return v->name && v->commit ? BKT_OK : BKT_ENOMEM;
}

static int read_branches(struct bkt_repository_names *names, struct bkt_lmdb *file, struct bkt_err *err)
{
    const void *head  = NULL;
    size_t      n     = 0;
    const char *begin = "branch:";
    int         rc    = bkt_lmdb_each(file, begin, add_branch, names, err);
    if (rc < 0)
        return err && err->n ? rc : BKT_ERR(err, rc, "branch.lmdb: a branch's name or commit is not text");
    rc = bkt_lmdb_get(file, "head", 4, &head, &n, err);
    if (rc < 0 && rc != BKT_ENOENT)
        return rc;
    bool known =
        rc == BKT_OK && n > strlen(begin) && memcmp(head, begin, strlen(begin)) == 0 && is_name(head, n);
    names->head = known ? strndup((const char *)head + strlen(begin), n - strlen(begin)) : strdup("");
    BKT_NEED(err, names->head);
    return BKT_OK;
}

static int open_all(struct bkt_repository_names *names, const char *folder, const struct bkt_settings *set,
                    struct bkt_err *err)
{
    struct bkt_lmdb *branch = NULL;
    int rc = open_file(folder, "branch.lmdb", set, &branch, err);
    if (rc == BKT_OK)
        rc = read_branches(names, branch, err);
    bkt_lmdb_close(branch);
    if (rc == BKT_OK)
        rc = open_file(folder, "ref.lmdb", set, &names->ref, err);
    return rc == BKT_OK ? open_file(folder, "hash.lmdb", set, &names->hash, err) : rc;
}

int bkt_repository_names_open(const char *repository, const struct bkt_settings *set,
                              struct bkt_repository_names **out, struct bkt_err *err)
{
    static const char *const places[] = {"/.hangar", ""};
    struct bkt_repository_names *names = calloc(1, sizeof *names);
    int               rc    = BKT_ENOENT;
    BKT_NEED(err, names);
    for (size_t i = 0; i < BKT_COUNT(places) && rc == BKT_ENOENT; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf folder = {0};
        bkt_err_clear(err);
        rc = folder_of(repository, places[i], &folder, err);
        if (rc == BKT_OK)
            rc = open_all(names, bkt_buf_str(&folder), set, err);
        if (rc == BKT_ENOENT && names->head)
            rc = BKT_ERR(err, BKT_EFORMAT, "%s: it has branch.lmdb, but not ref.lmdb and hash.lmdb",
                         bkt_buf_str(&folder));
    }
    if (rc < 0)
        bkt_repository_names_close(names);
    else
        *out = names;
    return rc;
}

void bkt_repository_names_close(struct bkt_repository_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->n_branches; i++) {
        free(names->branches[i].name);
        free(names->branches[i].commit);
    }
    free(names->branches);
    free(names->head);
    bkt_lmdb_close(names->ref);
    bkt_lmdb_close(names->hash);
    free(names);
}

/* ---- commits ---- */

int bkt_repository_names_commit(struct bkt_repository_names *names, const char *branch,
                                struct bkt_commit *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    const struct bkt_branch *b = NULL;
    const void *value;
    size_t      n;
    memset(out, 0, sizeof *out);
    branch = branch ? branch : names->head;
    for (size_t i = 0; i < names->n_branches; i++)
        b = strcmp(names->branches[i].name, branch) == 0 ? &names->branches[i] : b;
    BKT_FAIL_IF(err, !b && !*branch, BKT_ENOENT,
                "the repository: its head names no branch; name one as BRANCH:COLUMN");
    BKT_FAIL_IF(err, !b, BKT_ENOENT,
                "branch %s: the repository lacks it; `h5bucket sample ls` prints its branches", branch);
    if (!*b->commit)
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_buf_addf(&key, "%s:ref", b->commit));
    int rc = bkt_lmdb_get(names->ref, key.ptr, key.len, &value, &n, err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_EFORMAT, "branch %s: its commit %s is missing", branch, b->commit);
    if (rc == BKT_OK)
        rc = bkt_commit_parse(value, n, out, err);
    BKT_FAIL_IF(err, rc < 0, rc, "branch %s: commit %s", branch, b->commit);
    return BKT_OK;
}

void bkt_commit_fini(struct bkt_commit *c)
{
    bkt_buf_fini(&c->text);
    free(c->columns);
    free(c->samples);
    memset(c, 0, sizeof *c);
}

const struct bkt_sample_column *bkt_commit_column(const struct bkt_commit *c, const char *name)
{
    for (size_t i = 0; i < c->n_columns; i++)
        if (strcmp(c->columns[i].name, name) == 0)
            return &c->columns[i];
    return NULL;
}

/* 2: equal; 1: equal but for the '#' of a number. */
static int same_name(const char *stored, const char *given)
{
    return strcmp(stored, given) == 0 ? 2 : *stored == '#' && strcmp(stored + 1, given) == 0;
}

const struct bkt_named_sample *bkt_commit_sample(const struct bkt_commit *c,
                                                 const struct bkt_sample_column *column, const char *sample,
                                                 const char *sub)
{
    const struct bkt_named_sample *found = NULL;
    int best = 0;
    for (size_t i = column->first; i < column->first + column->n; i++) {
        const struct bkt_named_sample *s = &c->samples[i];
        if (!s->sub != !sub)
            continue;
        int a = same_name(s->sample, sample), b = sub ? same_name(s->sub, sub) : 2;
        if (a && b && a + b > best) {
            best  = a + b;
            found = s;
        }
    }
    return found;
}

/* ---- records and schemas ---- */

static int get_hash(struct bkt_repository_names *names, char kind, const char *digest, const void **value,
                    size_t *n, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&key, "%c:%s", kind, digest));
    int rc = bkt_lmdb_get(names->hash, key.ptr, key.len, value, n, err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_EFORMAT, "hash.lmdb has no entry of digest %s", digest);
    return rc;
}

int bkt_repository_names_record(struct bkt_repository_names *names, const char *digest,
                                char record[H5BUCKET_RECORD_MAX], struct bkt_err *err)
{
    const void *value;
    size_t      n;
    BKT_PASS(get_hash(names, 'h', digest, &value, &n, err));
    BKT_FAIL_IF(err, n >= H5BUCKET_RECORD_MAX || memchr(value, 0, n), BKT_EFORMAT,
                "hash.lmdb: the record of digest %s is too long, or not text", digest);
    memcpy(record, value, n);
    record[n] = 0;
    return BKT_OK;
}

int bkt_repository_names_schema(struct bkt_repository_names *names, const char *digest,
                                struct bkt_sample_column_schema *out, struct bkt_err *err)
{
    const void *value;
    size_t      n;
    char        kind[32] = "";
    struct bkt_literal found;
    memset(out, 0, sizeof *out);
    BKT_PASS(get_hash(names, 's', digest, &value, &n, err));
    struct bkt_literal dict = {value, n};
    BKT_TRY(err, bkt_literal_check(dict, err), "hash.lmdb: schema %s", digest);
    if (bkt_literal_find(dict, "dtype", &found))
        (void)bkt_literal_text(found, out->type, sizeof out->type);
    if (bkt_literal_find(dict, "backend", &found))
        (void)bkt_literal_text(found, out->backend, sizeof out->backend);
    if (bkt_literal_find(dict, "schema_type", &found))
        (void)bkt_literal_text(found, kind, sizeof kind);
    out->variable  = strcmp(kind, "variable_shape") == 0;
    out->has_shape =
        bkt_literal_find(dict, "shape", &found) && bkt_literal_shape(found, &out->rank, out->shape);
    return BKT_OK;
}

bool bkt_sample_record_in_hdf5(const char *record)
{
    return strncmp(record, "00:", 3) == 0 || strncmp(record, "01:", 3) == 0;
}
