/* The meaning of a file name: a table of URI schemes, and local evidence for plain paths. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/name/uri.h"
#include "schema/name/pointer_file.h"

int bkt_name_clean(const char *path, struct bkt_buf *out)
{
    for (const char *s = path; *s;) {
        size_t n = strcspn(s, "/");
        if (n == 2 && s[0] == '.' && s[1] == '.') {
            if (out->len == 0)
                return BKT_EINVAL;
            const char *cut = memrchr(out->ptr, '/', out->len);
            BKT_PASS(bkt_buf_resize(out, cut ? (size_t)(cut - (const char *)out->ptr) : 0));
        } else if (n && !(n == 1 && s[0] == '.')) {
            if ((out->len && bkt_buf_add_str(out, "/") < 0) || bkt_buf_add(out, s, n) < 0)
                return BKT_ENOMEM;
        }
        s += n + (s[n] == '/');
    }
    return BKT_OK;
}

static int clean_path(const char *name, const char *path, char **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    int rc = bkt_name_clean(path, &b);
    BKT_FAIL_IF(err, rc == BKT_EINVAL, rc, "%s: \"..\" leads out of the bucket", name);
    BKT_PASS_MEM(err, rc);
    BKT_PASS_MEM(err, bkt_buf_reserve(&b, 0));
    *out = bkt_buf_steal(&b);
    return BKT_OK;
}

bool bkt_name_is_reserved(const char *path)
{
    return strncmp(path, "db", 2) == 0 && (!path[2] || path[2] == '/');
}

int bkt_name_absolute(const char *path, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);
    BKT_FAIL_IF(err, *path != '/' && !cwd, BKT_EIO, "%s: the working directory is unknown", path);
    BKT_PASS_MEM(err, bkt_buf_addf(out, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path));
    return BKT_OK;
}

static int need_path(const char *name, const struct bkt_name *out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !*out->path && out->use != BKT_NAME_BUCKET, BKT_EINVAL,
                "%s names a bucket; a domain's path must follow", name);
    return BKT_OK;
}

static int set_uri(struct bkt_name *out, const char *scheme, const char *rest, size_t n, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_text(&out->store_uri, "%s%.*s", scheme, (int)n, rest));
    return BKT_OK;
}

/* ---- schemes; rest is the text behind the prefix ---- */

typedef int parse_fn(const char *name, const char *rest, const struct bkt_settings *set, struct bkt_name *out,
                     struct bkt_err *err);

static int parse_bucket(const char *name, const char *rest, const struct bkt_settings *set,
                        struct bkt_name *out, struct bkt_err *err)
{
    size_t n = strcspn(rest, "/");
    (void)set;
    BKT_FAIL_IF(err, n == 0, BKT_EINVAL, "%s: the bucket's name is missing", name);
    if (memchr(rest, '@', n)) /* the text before it may be a secret: not to be repeated */
        BKT_FAIL(err, BKT_EINVAL, "a bucket's name can't hold '@'; credentials are not part of file names");
    out->local = strncasecmp(name, "mem:", 4) == 0;
    BKT_PASS(set_uri(out, out->local ? "mem:" : "s3://", rest, n, err));
    BKT_PASS(clean_path(name, rest + n, &out->path, err));
    return need_path(name, out, err);
}

static bool is_hdf5_file(const char *path)
{
    char        head[8] = {0};
    struct stat sb;
    int fd = stat(path, &sb) == 0 && S_ISREG(sb.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    bool is = fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head &&
              memcmp(head, BKT_HDF5_SIGNATURE, sizeof head) == 0;
    if (fd >= 0)
        (void)close(fd);
    return is;
}

/* Local evidence: a domain is a directory with .domain.json in it. */
static int need_domain_file(const char *name, const char *dir, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf file = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&file, "%s/.domain.json", dir));
    if (access(bkt_buf_str(&file), F_OK) == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, errno == EACCES, BKT_EACCES, "%s: no permission to look for %s", name,
                bkt_buf_str(&file));
    BKT_FAIL_IF(err, is_hdf5_file(dir), BKT_ENOENT,
                "%s is an HDF5 file, not a domain; `h5bucket load` makes a domain of it", name);
    BKT_FAIL(err, BKT_ENOENT, "%s is not a domain: no file %s, and no default bucket is set (bucket=, "
             "H5BUCKET_BUCKET or HS_BUCKET)",
             name, bkt_buf_str(&file));
}

/* Refuse names at which the first flush would fail, so that a program doesn't work in vain.  A directory that
 * holds something isn't a deleted domain, and its contents would come to be below a domain. */
static int need_free(const char *name, const char *dir, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *held = NULL;
    struct stat sb;
    bool there = stat(dir, &sb) == 0;
    BKT_FAIL_IF(err, there && !S_ISDIR(sb.st_mode), BKT_EEXIST,
                "%s: a file with this name exists, and it is not a domain", name);
    BKT_FAIL_IF(err, !there && errno == ENOTDIR, BKT_ENOENT, "%s: a part of the name is a file, not a folder",
                name);
    for (const char *s = dir; *s; s += strcspn(s, "/"), s += *s == '/')
        BKT_FAIL_IF(err, strcspn(s, "/") > NAME_MAX, BKT_EINVAL,
                    "%s: a component of the name is longer than %d bytes", name, NAME_MAX);
    DIR           *d  = opendir(dir);
    struct dirent *e;
    bool           is = false; /* domain or folder of the schema: its document decides */
    while (d && (e = readdir(d))) {
        is = is || strcmp(e->d_name, ".domain.json") == 0;
        if (!held && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strncmp(e->d_name, ".h5bucket", 9) != 0)
            held = strdup(e->d_name);
    }
    if (d)
        (void)closedir(d);
    BKT_FAIL_IF(err, held && !is, BKT_EEXIST,
                "%s: a folder with this name exists, and it is not empty (%s is in it)", name, held);
    return BKT_OK;
}

/* A domain may be made there: the directory that will hold it exists, and no file is in its place. */
static int need_room(const char *name, const char *dir, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *parent = strdup(dir);
    struct stat                  sb;
    BKT_NEED(err, parent);
    size_t n = strlen(parent);
    while (n > 1 && parent[n - 1] == '/')
        parent[--n] = 0;
    char *cut = strrchr(parent, '/');
    BKT_PASS(need_free(name, dir, err));
    if (cut)
        cut[cut == parent] = 0;
    BKT_FAIL_IF(err, stat(cut ? parent : ".", &sb) < 0 || !S_ISDIR(sb.st_mode), BKT_ENOENT,
                "%s: no directory %s", name, cut ? parent : ".");
    return BKT_OK;
}

static int need_local(const struct bkt_name *out, const char *name, const char *dir, struct bkt_err *err)
{
    return out->use == BKT_NAME_CREATE ? need_room(name, dir, err) : need_domain_file(name, dir, err);
}

static bool has_dotdot(const char *path)
{
    for (const char *s = path; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
        if (strncmp(s, "..", 2) == 0 && (s[2] == '/' || s[2] == 0))
            return true;
    return false;
}

char *bkt_name_real(const char *path)
{
    char *real = realpath(path, NULL);
    if (real)
        return real;
    BKT_CLEANUP(bkt_freep) char *parent = strdup(path);
    char                        *cut    = parent ? strrchr(parent, '/') : NULL;
    if (!cut || strcmp(cut, "/..") == 0)
        return NULL;
    *cut                             = 0;
    BKT_CLEANUP(bkt_freep) char *dir = realpath(*parent ? parent : "/", NULL);
    if (!dir || asprintf(&real, "%s/%s", dir, cut + 1) < 0)
        return NULL;
    return real;
}

/* Make a path absolute as it is written; the file system, which knows symbolic links, resolves "..". */
static int parse_local(const char *name, const char *path, struct bkt_name *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf abs  = {0};
    BKT_CLEANUP(bkt_freep) char             *real = NULL;
    BKT_PASS(bkt_name_absolute(path, &abs, err));
    if (has_dotdot(bkt_buf_str(&abs))) {
        real = out->use == BKT_NAME_CREATE ? bkt_name_real(bkt_buf_str(&abs))
                                           : realpath(bkt_buf_str(&abs), NULL);
        BKT_FAIL_IF(err, !real, BKT_ENOENT, "%s: no such file or directory", name);
    }
    BKT_PASS(need_local(out, name, real ? real : bkt_buf_str(&abs), err));
    BKT_PASS(clean_path(name, real ? real : bkt_buf_str(&abs), &out->path, err));
    out->search = out->local = true;
    return set_uri(out, "file://", "/", 1, err);
}

static int parse_file(const char *name, const char *rest, const struct bkt_settings *set,
                      struct bkt_name *out, struct bkt_err *err)
{
    (void)set;
    BKT_FAIL_IF(err, *rest != '/', BKT_EINVAL, "%s: an absolute path must follow file://", name);
    return parse_local(name, rest, out, err);
}

bool bkt_name_decode(char *s)
{
    char *to = s;
    for (; *s; s++) {
        *to++ = *s;
        if (*s != '%')
            continue;
        int hi = bkt_hex_digit(s[1]), lo = hi < 0 ? -1 : bkt_hex_digit(s[2]);
        if (lo < 0 || !(hi | lo))
            return false;
        to[-1] = (char)(hi * 16 + lo);
        s += 2;
    }
    *to = 0;
    return true;
}

static int parse_web(const char *name, const char *rest, const struct bkt_settings *set, struct bkt_name *out,
                     struct bkt_err *err)
{
    size_t n = strcspn(rest, "/");
    BKT_CLEANUP(bkt_freep) char *path = strdup(rest + n);
    (void)set;
    BKT_FAIL_IF(err, n == 0 || memchr(rest, '@', n) || strpbrk(rest, "?#"), BKT_EINVAL,
                "%.*s…: a web address of a domain is host and path, without user, query or fragment",
                (int)(rest - name), name);
    BKT_NEED(err, path);
    BKT_FAIL_IF(err, !bkt_name_decode(path), BKT_EINVAL, "%s: a %% is not followed by two hex digits", name);
    BKT_PASS(clean_path(name, path, &out->path, err));
    BKT_PASS(set_uri(out, strncasecmp(name, "https", 5) == 0 ? "https://" : "http://", rest, n, err));
    for (char *s = out->store_uri; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            *s = (char)(*s + 32);
    out->search = true;
    return need_path(name, out, err);
}

static int parse_default(const char *name, const char *rest, const struct bkt_settings *set,
                         struct bkt_name *out, struct bkt_err *err);

static const struct scheme {
    const char *prefix;
    parse_fn   *parse;
} schemes[] = {
    {"s3://", parse_bucket},      {"hsds+s3://", parse_bucket}, {"file://", parse_file},
    {"hsds+file://", parse_file}, {"https://", parse_web},      {"http://", parse_web},
    {"mem:", parse_bucket},       {"hdf5:/", parse_default},
};

static const struct scheme *scheme_of(const char *name)
{
    for (size_t i = 0; i < BKT_COUNT(schemes); i++)
        if (strncasecmp(name, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
            return &schemes[i];
    return NULL;
}

/* A directory as the default bucket: to be opened, the domain must exist already. */
static int parse_default_dir(const char *name, const char *dir, const char *path, struct bkt_name *out,
                             struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    BKT_CLEANUP(bkt_freep) char             *root = NULL;
    BKT_PASS(bkt_name_absolute(dir, &full, err));
    BKT_PASS(clean_path(dir, bkt_buf_str(&full), &root, err));
    BKT_PASS(clean_path(name, path, &out->path, err));
    bkt_buf_clear(&full);
    BKT_PASS_MEM(err, bkt_buf_addf(&full, "/%s/%s", root, out->path));
    BKT_PASS(need_path(name, out, err));
    BKT_PASS(out->use == BKT_NAME_CREATE ? need_free(name, bkt_buf_str(&full), err)
                                         : need_domain_file(name, bkt_buf_str(&full), err));
    out->local = true;
    BKT_PASS_MEM(err, bkt_text(&out->store_uri, "file:///%s", root));
    return BKT_OK;
}

/* The default bucket as a directory; NULL: it isn't one. */
static const char *dir_of(const char *bucket)
{
    if (strncmp(bucket, "file://", 7) == 0)
        return bucket + 7;
    return *bucket == '/' || *bucket == '.' ? bucket : NULL;
}

/* The default bucket: a URI of one of the schemes, a directory, or the bare name of an S3 bucket. */
static int parse_default(const char *name, const char *rest, const struct bkt_settings *set,
                         struct bkt_name *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    const char                              *b    = set->bucket;
    BKT_FAIL_IF(err, !b || !*b, BKT_EINVAL,
                "%s: no default bucket is set (bucket=, H5BUCKET_BUCKET or HS_BUCKET)", name);
    if (dir_of(b))
        return parse_default_dir(name, dir_of(b), rest, out, err);
    const struct scheme *s = scheme_of(b);
    BKT_PASS_MEM(err, bkt_buf_addf(&full, "%s/%s", b, rest));
    if (s && s->parse != parse_default)
        return s->parse(bkt_buf_str(&full), bkt_buf_str(&full) + strlen(s->prefix), set, out, err);
    return parse_bucket(name, bkt_buf_str(&full), set, out, err);
}

bool bkt_name_has_scheme(const char *name)
{
    return scheme_of(name) != NULL;
}

bool bkt_name_is_uri(const char *name)
{
    const char *sep = strstr(name, "://");
    return sep && !memchr(name, '/', (size_t)(sep - name));
}

static int parse_any(const char *name, const struct bkt_settings *set, struct bkt_name *out,
                     struct bkt_err *err)
{
    const struct scheme *s = scheme_of(name);
    if (s)
        return s->parse(name, name + strlen(s->prefix), set, out, err);
    BKT_FAIL_IF(err, bkt_name_is_uri(name), BKT_ENOENT,
                "%s: names of stores begin with s3://, hsds+s3://, https://, http://, file:// or hdf5://",
                name);
    BKT_FAIL_IF(err, !*name, BKT_ENOENT, "the file name is empty");
    return set->bucket && *set->bucket ? parse_default(name, name, set, out, err)
                                       : parse_local(name, name, out, err);
}

int bkt_name_parse(const char *name, const struct bkt_settings *set, enum bkt_name_use use,
                   struct bkt_name *out, struct bkt_err *err)
{
    *out = (struct bkt_name){.use = use};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf target = {0};
    int rc = bkt_pointer_follow(name, set, &target, err); /* one step: its target isn't followed again */
    if (rc >= 0)
        rc = parse_any(rc ? bkt_buf_str(&target) : name, set, out, err);
    if (rc < 0)
        bkt_name_fini(out);
    return rc;
}

/* ---- plain HDF5 files ---- */

const char *bkt_name_local_path(const char *name)
{
    return strncasecmp(name, "file:///", 8) == 0 ? name + strlen("file://") : NULL;
}

static int add_local(const char *path, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_buf_add_str(out, "file://"));
    return bkt_name_absolute(path, out, err);
}

static int file_in_default(const char *rest, const struct bkt_settings *set, struct bkt_buf *out,
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    const char *b = set->bucket ? set->bucket : "", *dir = dir_of(b);
    rest += strspn(rest, "/");
    if (!*b || !*rest)
        return BKT_ENOENT;
    if (dir)
        b = dir;
    size_t n = strlen(b);
    while (n > 1 && b[n - 1] == '/')
        n--;
    const char *scheme = dir || bkt_name_has_scheme(b) ? "" : "s3://";
    BKT_PASS_MEM(err, bkt_buf_addf(dir ? &path : out, "%s%.*s/%s", scheme, (int)n, b, rest));
    return dir ? add_local(bkt_buf_str(&path), out, err) : BKT_OK;
}

static int file_by_name(const char *name, const struct bkt_settings *set, bool pointed, struct bkt_buf *out,
                        struct bkt_err *err)
{
    const char *here = strncasecmp(name, "hsds+", 5) == 0 ? name + 5 : name;
    if (strncasecmp(here, "file://", 7) == 0)
        return add_local(here + 7, out, err);
    if (strncasecmp(name, "hdf5:/", 6) == 0)
        return file_in_default(name + 6, set, out, err);
    if (bkt_name_has_scheme(name)) {
        return BKT_MADE(err, bkt_buf_add_str(out, here) >= 0);
    }
    if (set->bucket && *set->bucket)
        return file_in_default(name, set, out, err);
    return pointed ? add_local(name, out, err) : BKT_ENOENT;
}

int bkt_name_of_file(const char *name, const struct bkt_settings *set, struct bkt_buf *out,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf target = {0};
    int rc = bkt_pointer_follow(name, set, &target, err);
    return rc < 0 ? rc : file_by_name(rc ? bkt_buf_str(&target) : name, set, rc > 0, out, err);
}

bool bkt_name_up(char *path)
{
    char *cut = strrchr(path, '/');
    if (cut)
        *cut = 0;
    else if (*path)
        *path = 0;
    else
        return false;
    return true;
}

void bkt_name_fini(struct bkt_name *n)
{
    free(n->store_uri);
    free(n->path);
    memset(n, 0, sizeof *n);
}
