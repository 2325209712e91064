#include "samples/repository.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "base/os/pool.h"
#include "samples/sample_filters.h"
#include "vol/core/hid.h"
#include "vol/h5bucket.h"

#define OPEN_MAX_FILES 512 /* more are closed after a call, if it did not use them */

/* ---- names ---- */

static bool is_folder(const char *name, const char *below)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    struct stat st;
    return bkt_buf_addf(&path, "%s%s", name, below) == BKT_OK && stat(bkt_buf_str(&path), &st) == 0 &&
           S_ISDIR(st.st_mode);
}

const char *const bkt_sample_places[] = {"data", ".hangar/data"};

static void find_data(struct h5bucket_repository *repo)
{
    repo->local = !strstr(repo->name, "://") || strncmp(repo->name, "file://", 7) == 0;
    if (!repo->local)
        return;
    const char *path = repo->name + (strstr(repo->name, "://") ? 7 : 0);
    bool checkout = !is_folder(path, "/data") && is_folder(path, "/.hangar");
    repo->data = bkt_sample_places[checkout];
}

int bkt_repository_file_name(const struct h5bucket_repository *repo, const char *data, int format,
                             const char *uid, struct bkt_buf *out, struct bkt_err *err)
{
    data = data ? data : repo->data ? repo->data : bkt_sample_places[0];
    BKT_PASS_MEM(err, bkt_buf_addf(out, "%s/%s/0%d/%s.hdf5", repo->name, data, format, uid));
    return BKT_OK;
}

/* ---- open files ---- */

struct file_name {
    struct h5bucket_repository *repo;
    int format;
    const char *uid;
};

static int open_at(const struct file_name *n, const char *data, struct bkt_sample_file *f,
                   struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    BKT_PASS(bkt_repository_file_name(n->repo, data, n->format, n->uid, &name, err));
    return bkt_sample_file_open(f, bkt_buf_str(&name), n->repo->fapl, n->repo->local, err);
}

static int file_open(void *item, const void *arg, struct bkt_err *err)
{
    const struct file_name *n = arg;
    struct bkt_sample_file *f = item;
    struct bkt_err why = {.n = 0};
    int first = BKT_OK; /* the outcome at the first place, with its reason */
    f->id = H5I_INVALID_HID;
    if (n->repo->data)
        return open_at(n, n->repo->data, f, err);
    for (size_t i = 0; i < BKT_SAMPLE_PLACES; i++) {
        int rc = open_at(n, bkt_sample_places[i], f, i ? NULL : &why);
        if (rc == BKT_OK) {
            n->repo->data = bkt_sample_places[i];
            return BKT_OK;
        }
        first = i ? first : rc;
    }
    return bkt_err_copy(err, first, &why);
}

static size_t key_of(int format, const char *uid, char key[H5BUCKET_UID_MAX + 4])
{
    return (size_t)snprintf(key, H5BUCKET_UID_MAX + 4, "0%d/%s", format, uid);
}

int bkt_repository_file(struct h5bucket_repository *repo, int format, const char *uid,
                        struct bkt_sample_file **out, struct bkt_err *err)
{
    static const struct bkt_open_item_kind kind = {sizeof **out, file_open, bkt_sample_file_free};
    char key[H5BUCKET_UID_MAX + 4];
    struct bkt_sample_file *f;
    void *item = NULL;
    int rc = bkt_open_item_get(&repo->files, key, key_of(format, uid, key), repo->calls, &kind,
                               &(struct file_name){repo, format, uid}, &item, err);
    if ((f = item))
        f->used = repo->calls;
    if (rc == BKT_OK)
        *out = f;
    return rc;
}

void bkt_repository_forget(struct h5bucket_repository *repo, int format, const char *uid)
{
    char key[H5BUCKET_UID_MAX + 4];
    size_t n = key_of(format, uid, key);
    bkt_sample_file_free(bkt_map_del(repo->files, key, n));
}

/* The file whose last use is the longest ago, not in this call. */
static bool close_oldest(struct h5bucket_repository *repo)
{
    struct bkt_map_at oldest = {0};
    uint64_t used = repo->calls;
    for (struct bkt_map_at at = {0}; bkt_map_walk(repo->files, &at);) {
        const struct bkt_sample_file *f = at.value;
        if (f->used < used) {
            used = f->used;
            oldest = at;
        }
    }
    bkt_sample_file_free(bkt_map_del(repo->files, oldest.key, oldest.n));
    return oldest.key != NULL;
}

void bkt_repository_trim(struct h5bucket_repository *repo)
{
    while (bkt_map_count(repo->files) > OPEN_MAX_FILES && close_oldest(repo))
        continue;
}

/* ---- repositories ---- */

/* The form of new files is the repository's own key, and all others are the connector's. */
static int take_backend(struct h5bucket_repository *repo, const char *value, size_t n, struct bkt_err *err)
{
    repo->plain = n == 4 && memcmp(value, "file", n) == 0;
    BKT_FAIL_IF(err, !repo->plain && (n != 6 || memcmp(value, "domain", n) != 0), BKT_EINVAL,
                "backend=%.*s: unknown form of new files; give domain or file", (int)bkt_min_u64(n, 100),
                value);
    return BKT_OK;
}

static int take_info(struct h5bucket_repository *repo, const char *info, struct bkt_err *err)
{
    static const char own[] = "backend=";
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf rest = {0};
    for (size_t n; *info; info += n + (info[n] == ';')) {
        info += strspn(info, " \t");
        n = strcspn(info, ";");
        if (strncmp(info, own, sizeof own - 1) == 0)
            BKT_PASS(take_backend(repo, info + sizeof own - 1, n - (sizeof own - 1), err));
        else if (bkt_buf_addf(&rest, "%s%.*s", rest.len ? ";" : "", (int)n, info) < 0)
            BKT_NOMEM(err);
    }
    repo->info = strdup(rest.len ? bkt_buf_str(&rest) : "");
    return BKT_MADE(err, repo->info);
}

static int init(struct h5bucket_repository *repo, const char *name, const char *info, struct bkt_err *err)
{
    size_t n = strlen(name);
    while (n > 1 && name[n - 1] == '/')
        n--;
    repo->name = strndup(name, n);
    BKT_NEED(err, repo->name);
    BKT_PASS(take_info(repo, info ? info : "", err));
    BKT_PASS(bkt_sample_filters_register(err));
    find_data(repo);
    repo->fapl = H5Pcreate(H5P_FILE_ACCESS);
    BKT_NEED_H5(err, repo->fapl >= 0 && H5Pset_fapl_bucket(repo->fapl, repo->info) >= 0,
                "the bucket connector");
    bkt_pool_hook_fork();
    return BKT_OK;
}

int bkt_repository_open(const char *name, const char *info, struct h5bucket_repository **out,
                        struct bkt_err *err)
{
    BKT_FAIL_IF(err, !name || !*name, BKT_EINVAL,
                "a repository's name is missing; give s3://bucket/name, a web address or a folder");
    struct h5bucket_repository *repo = calloc(1, sizeof *repo);
    BKT_NEED(err, repo);
    repo->fapl = H5I_INVALID_HID;
    int rc = init(repo, name, info, err);
    if (rc < 0)
        bkt_repository_close(repo);
    else
        *out = repo;
    return rc;
}

void bkt_repository_close(struct h5bucket_repository *repo)
{
    if (!repo)
        return;
    bkt_map_free(repo->files, bkt_sample_file_free);
    bkt_hid_closep(&repo->fapl);
    free(repo->name);
    free(repo->info);
    free(repo);
}

/* ---- public calls ---- */

herr_t bkt_samples_done(int rc, const struct bkt_err *err)
{
    if (rc >= 0)
        return 0;
    (void)bkt_h5err_init();
    (void)H5Eclear2(H5E_DEFAULT); /* errors of an earlier call */
    return bkt_h5err_publish(err, rc);
}

h5bucket_repository *h5bucket_repository_open(const char *name, const char *info)
{
    h5bucket_repository *repo = NULL;
    return BKT_SAMPLES_CALL(bkt_repository_open(name, info, &repo, &err)) < 0 ? NULL : repo;
}

herr_t h5bucket_repository_close(h5bucket_repository *repository)
{
    struct bkt_h5err_print print;
    bkt_h5err_mute(&print);
    bkt_repository_close(repository);
    bkt_h5err_unmute(&print);
    return 0;
}
