#include "h5tests/helpers/compare_write.h"

#include <unistd.h>

static char folder[4096]; /* the place of the native side, and of the domains' side unless $BKT_H5_WRITE names
                             one */
static char base[4096];

const char *new_name(const struct out *o, const char *leaf)
{
    static char     names[8][8300];
    static unsigned next;
    char           *to = names[next++ % COUNT(names)];
    if (!*folder) { /* the name would lie in the root folder, and make that a bucket */
        printf("no folder yet for %s: call compare_write_main() or compare_write_extra() first\n", leaf);
        exit(1);
    }
    snprintf(to, sizeof names[0], "%s/%s", o->ours ? base : folder, leaf);
    return to;
}

hid_t new_fapl(const struct out *o) { return o->ours ? fapl_ours(NULL) : fapl_native(); }

void chunk_key(hid_t d, char *out, size_t n)
{
    H5O_info2_t info;
    char       *id = NULL;
    CHECK(H5Oget_info3(d, &info, H5O_INFO_BASIC) >= 0 && H5Otoken_to_str(d, &info.token, &id) >= 0, "no id: %s", error_text());
    snprintf(out, n, "db/%.17s/d/%.18s/0", id ? id + 2 : "", id ? id + 20 : "");
    H5free_memory(id);
}

void say_result(struct out *o, const char *call, long long result)
{
    say(o, "%s %s", call, result < 0 ? "fails" : "succeeds");
    if (result < 0 && getenv("BKT_H5_SHOW"))
        printf("   (%s, %s: %.*s)\n", call, o->ours ? "domain" : "file", (int)strcspn(error_text(), "\n"), error_text());
    H5Eclear2(H5E_DEFAULT);
}

/* ---- everything in a file ---- */

static herr_t say_link(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    struct out *o = arg;
    say(o, "link %s type %d order %d %lld set %d", name, info->type, info->corder_valid, info->corder_valid ? (long long)info->corder : 0,
        info->cset);
    if (info->type == H5L_TYPE_HARD)
        return 0;
    char value[512] = "";
    if (info->u.val_size <= sizeof value && H5Lget_val(group, name, value, sizeof value, H5P_DEFAULT) >= 0)
        say_bytes(o, "value", value, info->u.val_size);
    return 0;
}

/* Pointers differ from run to run. */
static bool has_pointers(hid_t type)
{
    H5T_class_t cls = H5Tget_class(type);
    bool        has = cls == H5T_VLEN || cls == H5T_REFERENCE || H5Tis_variable_str(type) > 0;
    if (cls == H5T_ARRAY) {
        hid_t of = H5Tget_super(type);
        has        = has_pointers(of);
        H5Tclose(of);
    }
    for (int i = 0; !has && cls == H5T_COMPOUND && i < H5Tget_nmembers(type); i++) {
        hid_t m = H5Tget_member_type(type, (unsigned)i);
        has     = has_pointers(m);
        H5Tclose(m);
    }
    return has;
}

static void say_values(struct out *o, hid_t id, hid_t type, hid_t space, bool attr)
{
    hssize_t n = H5Sget_simple_extent_npoints(space);
    if (n <= 0 || has_pointers(type))
        return;
    size_t         size = (size_t)n * H5Tget_size(type);
    unsigned char *p    = calloc(1, size);
    herr_t         rc   = attr ? H5Aread(id, type, p) : H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, p);
    say_result(o, "reading", rc);
    say_bytes(o, "values", p, size);
    free(p);
}

static herr_t say_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct out *o = arg;
    hid_t a = H5Aopen(obj, name, H5P_DEFAULT), t = H5Aget_type(a), s = H5Aget_space(a);
    /* HDF5 does not number them again when one is deleted; tests that mind ask for them by place. */
    say(o, "attribute %s order %d set %d size %" PRIuHSIZE, name, info->corder_valid, info->cset, info->data_size);
    say_type(o, t);
    say_space(o, s);
    say_values(o, a, t, s, true);
    H5Sclose(s);
    H5Tclose(t);
    H5Aclose(a);
    return 0;
}

static void say_dcpl(struct out *o, hid_t d)
{
    hid_t            p = H5Dget_create_plist(d);
    hsize_t          dims[H5S_MAX_RANK];
    H5D_fill_time_t  fill  = H5D_FILL_TIME_ERROR;
    H5D_alloc_time_t alloc = H5D_ALLOC_TIME_ERROR;
    H5D_fill_value_t value = H5D_FILL_VALUE_ERROR;
    H5Pget_fill_time(p, &fill);
    H5Pget_alloc_time(p, &alloc);
    H5Pfill_value_defined(p, &value);
    say(o, "layout %d fill time %d value %d alloc time %d", H5Pget_layout(p), fill, value, alloc);
    int rank = H5Pget_layout(p) == H5D_CHUNKED ? H5Pget_chunk(p, H5S_MAX_RANK, dims) : 0;
    for (int i = 0; i < rank; i++)
        say(o, "chunk dim %" PRIuHSIZE, dims[i]);
    for (int i = 0; i < H5Pget_nfilters(p); i++) {
        unsigned flags = 0, cd[20] = {0}, config = 0;
        size_t   n = COUNT(cd);
        int      f = (int)H5Pget_filter2(p, (unsigned)i, &flags, &n, cd, 0, NULL, &config);
        say(o, "filter %d flags %u", f, flags);
        say_bytes(o, "parameters", cd, (n < COUNT(cd) ? n : COUNT(cd)) * sizeof cd[0]);
    }
    H5Pclose(p);
}

static herr_t say_object(hid_t start, const char *name, const H5O_info2_t *info, void *arg)
{
    struct out *o            = arg;
    char        comment[257] = ""; /* HDF5 writes no NUL behind one that fills it */
    hsize_t     at           = 0;
    hid_t       id           = H5Oopen(start, name, H5P_DEFAULT);
    H5Oget_comment(id, comment, sizeof comment - 1);
    say(o, "object %s type %d links %u attributes %" PRIuHSIZE " comment '%s'", name, info->type, o->uncounted ? 0 : info->rc, info->num_attrs,
        comment);
    if (info->type == H5O_TYPE_DATASET) {
        hid_t t = H5Dget_type(id), s = H5Dget_space(id);
        say(o, "committed %d", H5Tcommitted(t) > 0);
        say_type(o, t);
        say_space(o, s);
        say_dcpl(o, id);
        say_values(o, id, t, s, false);
        H5Sclose(s);
        H5Tclose(t);
    } else if (info->type == H5O_TYPE_NAMED_DATATYPE) {
        say_type(o, id);
    } else {
        H5G_info_t g = {0};
        H5Gget_info(id, &g);
        say(o, "group of %" PRIuHSIZE, g.nlinks);
    }
    H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, &at, say_attr, o);
    H5Oclose(id);
    return 0;
}

void say_objects(hid_t file, struct out *o)
{
    say_result(o, "visiting objects", H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, say_object, o, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
}

void say_file(hid_t file, struct out *o)
{
    say_result(o, "visiting links", H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, say_link, o));
    say_objects(file, o);
}

/* ---- cases ---- */

static hid_t create(const struct out *o)
{
    char  name[64] = "";
    hid_t fapl     = new_fapl(o);
    hid_t file     = H5Fcreate(new_name(o, "case.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(file >= 0, "creating a file: %s", file >= 0 ? "" : error_text());
    H5Pclose(fapl);
    if (file >= 0 && o->ours)
        H5VLget_connector_name(file, name, sizeof name);
    CHECK(!o->ours || strcmp(name, "bucket") == 0, "the new file is served by connector '%s', not by ours", name);
    return file;
}

static void run_side(const struct write_case *c, struct out *o)
{
    hid_t file = create(o);
    if (file < 0)
        return;
    c->write(file, o);
    say(o, "open afterwards: %zd", H5Fget_obj_count(file, H5F_OBJ_ALL));
    say(o, "-- before closing");
    say_file(file, o);
    say_result(o, "closing", H5Fclose(file));
    hid_t fapl = new_fapl(o);
    file       = H5Fopen(new_name(o, "case.h5"), H5F_ACC_RDONLY, fapl);
    CHECK(file >= 0, "%s: it can't be opened again: %s", c->what, file >= 0 ? "" : error_text());
    if (file >= 0) {
        say(o, "-- opened again");
        say_file(file, o);
        if (c->read)
            c->read(file, o);
        H5Fclose(file);
    }
    if (o->ours && getenv("BKT_H5_KEEP")) { /* a domain in a directory is one: under another name it is the same */
        static unsigned kept;
        char            leaf[32];
        snprintf(leaf, sizeof leaf, "kept%u.h5", kept++);
        CHECK(rename(new_name(o, "case.h5"), new_name(o, leaf)) == 0, "%s can't be kept", leaf);
    } else {
        H5Fdelete(new_name(o, "case.h5"), fapl);
    }
    H5Pclose(fapl);
}

static void run_case(const struct write_case *c)
{
    struct out twin = {.text = NULL}, ours = {.ours = true};
    say(&twin, "%s", c->what);
    say(&ours, "%s", c->what);
    run_side(c, &twin);
    run_side(c, &ours);
    bool same = strcmp(twin.text, ours.text) == 0;
    CHECK(same, "%s: the domain differs from the file", c->what);
    if (!same)
        show_difference(twin.text, ours.text);
    if (getenv("BKT_H5_SHOW"))
        printf("-- %s\n%s", c->what, ours.text);
    free(twin.text);
    free(ours.text);
}

static void remove_folders(void)
{
    char command[9000];
    snprintf(command, sizeof command, "rm -rf '%s' '%s'", folder, strstr(base, "://") ? folder : base);
    CHECK(system(command) == 0, "%s", command);
}

static pid_t made_by; /* 0: they are gone */

/* A test that ends by exit() in the middle leaves nothing; one that it forked has nothing to remove. */
static void at_exit(void)
{
    if (made_by == getpid())
        remove_folders();
}

static void make_folders(void)
{
    char command[4200];
    if (*folder)
        return;
    const char *to = getenv("BKT_H5_WRITE"), *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/h5write.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        printf("no temporary folder\n");
        exit(1);
    }
    made_by = getpid();
    atexit(at_exit); /* registered before HDF5's, which closes open objects: so it runs after that */
    if (to)
        snprintf(base, sizeof base, "%s/%s", to, strrchr(folder, '/') + 1);
    else
        snprintf(base, sizeof base, "%.4000s/bucket", folder);
    setvbuf(stdout, NULL, _IOLBF, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (strstr(base, "://"))
        return;
    snprintf(command, sizeof command, "mkdir '%s'", base);
    CHECK(system(command) == 0, "%s", command);
}

/* The written files go to $BKT_H5_KEEP, or are removed. */
static void put_folders_away(void)
{
    char        command[9000];
    const char *keep = getenv("BKT_H5_KEEP"), *leaf = strrchr(folder, '/');
    if (keep && leaf) {
        snprintf(command, sizeof command, "mv '%s' '%s%s'", base, keep, leaf);
        CHECK(system(command) == 0, "%s", command);
    }
    remove_folders();
    made_by = 0;
}

void compare_write_extra(void (*run)(const struct out *o), const struct out *o)
{
    make_folders();
    run(o);
}

void compare_write_end(void)
{
    ssize_t left = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    CHECK(left == 0, "%zd HDF5 objects are still open", left);
    put_folders_away();
}

int compare_write_main(const struct write_case *cases, size_t n)
{
    char command[4200];
    const char *to = getenv("BKT_H5_WRITE");
    if (getenv("BKT_H5_KEEP") && to && strstr(to, "://")) {
        printf("BKT_H5_KEEP keeps what is written to a folder, and BKT_H5_WRITE=%s is not a folder\n", to);
        return 2;
    }
    make_folders();
    for (size_t i = 0; i < n; i++) {
        int before = failures;
        if (getenv("BKT_H5_CASE") && !strstr(cases[i].what, getenv("BKT_H5_CASE")))
            continue;
        run_case(&cases[i]);
        printf("%s %s\n", failures == before ? "ok  " : "FAIL", cases[i].what);
    }
    const char *schema = getenv("H5BUCKET_SCHEMA");
    snprintf(command, sizeof command, "test -e '%s/bucket/db'", folder);
    CHECK(!schema || strcmp(schema, "v1") != 0 || system(command) != 0, "there are objects of version 2");
    compare_write_end();
    return failures != 0;
}
