#include "h5tests/helpers/compare.h"

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

char     first_error[8192];

const char *in_folder(const char *folder, const char *leaf)
{
    static char     names[4][128];
    static unsigned turn;
    char           *name = names[turn++ % COUNT(names)];
    snprintf(name, sizeof names[0], "%s/%s", folder, leaf);
    return name;
}

void say(struct out *o, const char *format, ...)
{
    va_list ap;
    for (;;) {
        va_start(ap, format);
        int n = vsnprintf(o->text ? o->text + o->len : NULL, o->text ? o->room - o->len : 0, format, ap);
        va_end(ap);
        if (n < 0)
            abort();
        if (o->text && o->len + (size_t)n + 2 < o->room) {
            o->len += (size_t)n;
            o->text[o->len++] = '\n';
            o->text[o->len]   = 0;
            return;
        }
        o->room = (o->room + (size_t)n) * 2 + 4096;
        if (!(o->text = realloc(o->text, o->room)))
            abort();
    }
}

void say_bytes(struct out *o, const char *what, const void *p, size_t len)
{
    static const char    digits[] = "0123456789abcdef";
    const unsigned char *b        = p;
    char                 hex[4096 * 2 + 1];
    uint64_t             sum = 14695981039346656037U; /* FNV-1a */
    for (size_t i = 0; i < len; i++) {
        sum = (sum ^ b[i]) * 1099511628211U;
        if (i < 4096) {
            hex[2 * i]     = digits[b[i] >> 4];
            hex[2 * i + 1] = digits[b[i] & 15];
        }
    }
    hex[2 * (len < 4096 ? len : 4096)] = 0;
    if (len <= 4096)
        say(o, "%s: %s", what, hex);
    else
        say(o, "%s: %zu bytes, sum %016" PRIx64, what, len, sum);
}

static void say_members(struct out *o, hid_t type, H5T_class_t class)
{
    int n = H5Tget_nmembers(type);
    for (int i = 0; i < n; i++) {
        char *name = H5Tget_member_name(type, (unsigned)i);
        if (class == H5T_COMPOUND) {
            hid_t member = H5Tget_member_type(type, (unsigned)i);
            say(o, "member %s at %zu", name, H5Tget_member_offset(type, (unsigned)i));
            say_type(o, member);
            H5Tclose(member);
        } else {
            unsigned char value[16] = {0};
            H5Tget_member_value(type, (unsigned)i, value);
            say_bytes(o, name, value, H5Tget_size(type));
        }
        H5free_memory(name);
    }
}

void say_type(struct out *o, hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    say(o, "type class %d size %zu", class, H5Tget_size(type));
    if (class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_BITFIELD)
        say(o, "order %d precision %zu offset %d", H5Tget_order(type), H5Tget_precision(type), H5Tget_offset(type));
    if (class == H5T_INTEGER)
        say(o, "sign %d", H5Tget_sign(type));
    if (class == H5T_STRING)
        say(o, "string variable %d cset %d pad %d", H5Tis_variable_str(type), H5Tget_cset(type), H5Tget_strpad(type));
    if (class == H5T_OPAQUE) {
        char *tag = H5Tget_tag(type);
        say(o, "tag %s", tag);
        H5free_memory(tag);
    }
    if (class == H5T_REFERENCE)
        say(o, "old object reference %d", H5Tequal(type, H5T_STD_REF_OBJ) > 0);
    if (class == H5T_COMPOUND || class == H5T_ENUM)
        say_members(o, type, class);
    if (class == H5T_ARRAY) {
        hsize_t dims[H5S_MAX_RANK] = {0};
        int     rank               = H5Tget_array_dims2(type, dims);
        for (int i = 0; i < rank; i++)
            say(o, "array dim %" PRIuHSIZE, dims[i]);
    }
    if (class == H5T_ARRAY || class == H5T_VLEN || class == H5T_ENUM) {
        hid_t super = H5Tget_super(type);
        say_type(o, super);
        H5Tclose(super);
    }
}

void say_space(struct out *o, hid_t space)
{
    hsize_t dims[H5S_MAX_RANK] = {0}, max[H5S_MAX_RANK] = {0};
    int     rank = H5Sget_simple_extent_dims(space, dims, max);
    say(o, "space class %d rank %d points %lld", H5Sget_simple_extent_type(space), rank,
        (long long)H5Sget_simple_extent_npoints(space));
    for (int i = 0; i < rank; i++)
        say(o, "dim %" PRIuHSIZE " max %lld", dims[i], (long long)max[i]);
}

/* 1.14's default: 2.x begins with the format of 1.8, which has no number for attributes where no order is
 * tracked */
static void set_bounds(hid_t fapl)
{
    CHECK(H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) >= 0, "H5Pset_libver_bounds");
}

hid_t fapl_native(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_vol(fapl, H5VL_NATIVE, NULL) >= 0, "H5Pset_vol native");
    set_bounds(fapl);
    return fapl;
}

hid_t fapl_ours(const char *info)
{
    hid_t fapl      = H5Pcreate(H5P_FILE_ACCESS);
    hid_t connector = H5VLregister_connector_by_name("bucket", H5P_DEFAULT);
    void *parsed    = NULL;
    if (connector < 0) {
        printf("the plugin is not found: is HDF5_PLUGIN_PATH set?\n");
        exit(1);
    }
    if (info && H5VLconnector_str_to_info(info, connector, &parsed) < 0) {
        snprintf(first_error, sizeof first_error, "%s", error_text()); /* the next call clears HDF5's stack */
        H5VLclose(connector);
        H5Pclose(fapl);
        return H5I_INVALID_HID;
    }
    CHECK(H5Pset_vol(fapl, connector, parsed) >= 0, "H5Pset_vol bucket");
    set_bounds(fapl);
    if (parsed)
        H5VLfree_connector_info(connector, parsed);
    H5VLclose(connector);
    return fapl;
}

const char *domain_name(const char *domain)
{
    static char name[4096];
    const char *base = getenv("BKT_H5_BASE");
    if (base)
        snprintf(name, sizeof name, "%s/%s", base, domain);
    else
        snprintf(name, sizeof name, "%s/hsopen/home/test_user1/fx/%s", getenv("BKT_FIXTURES"), domain);
    return name;
}

const char *twin_name(const char *domain)
{
    static char name[4096];
    snprintf(name, sizeof name, "%s/native/%s", getenv("BKT_FIXTURES"), domain);
    return name;
}

hid_t open_domain(const char *domain)
{
    char  name[64] = "";
    hid_t fapl     = fapl_ours(NULL);
    hid_t file     = H5Fopen(domain_name(domain), H5F_ACC_RDONLY, fapl);
    H5Pclose(fapl);
    if (file >= 0)
        H5VLget_connector_name(file, name, sizeof name);
    CHECK(file >= 0 && strcmp(name, "bucket") == 0, "%s is open by connector '%s', not by ours", domain, name);
    return file;
}

hid_t open_twin(const char *domain)
{
    hid_t fapl = fapl_native();
    hid_t file = H5Fopen(twin_name(domain), H5F_ACC_RDONLY, fapl);
    H5Pclose(fapl);
    CHECK(file >= 0, "native twin of %s does not open", domain);
    return file;
}

static herr_t one_error(unsigned n, const H5E_error2_t *e, void *text)
{
    char *to = text;
    (void)n;
    size_t used = strlen(to);
    snprintf(to + used, 8192 - used, "%s\n", e->desc ? e->desc : "");
    return 0;
}

const char *error_text(void)
{
    static char text[8192];
    text[0] = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, one_error, text);
    H5Eclear2(H5E_DEFAULT);
    return text;
}

static unsigned entries(const char *folder)
{
    unsigned n = 0;
    DIR     *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

unsigned open_fds(void) { return entries("/proc/self/fd"); }
unsigned live_threads(unsigned most)
{
    unsigned n = entries("/proc/self/task");
    for (int i = 0; i < 6000 && n > most; i++) {
        (void)usleep(10000);
        n = entries("/proc/self/task");
    }
    return n;
}

/* The first lines that differ, side by side. */
void show_difference(const char *a, const char *b)
{
    unsigned line = 1, shown = 0;
    while ((*a || *b) && shown < 6) {
        size_t la = strcspn(a, "\n"), lb = strcspn(b, "\n");
        if (la != lb || memcmp(a, b, la) != 0) {
            printf("    line %u: twin   %.*s\n    line %u: domain %.*s\n", line, (int)(la < 300 ? la : 300), a, line,
                   (int)(lb < 300 ? lb : 300), b);
            shown++;
        }
        a += la + (a[la] != 0);
        b += lb + (b[lb] != 0);
        line++;
    }
}

static void run_case(const struct test_case *c)
{
    struct out twin = {.domain = c->domain}, ours = {.domain = c->domain, .ours = true};
    hid_t      a = open_twin(c->domain), b = open_domain(c->domain);
    if (a >= 0 && b >= 0) {
        say(&twin, "%s", c->domain);
        say(&ours, "%s", c->domain);
        c->run(a, &twin);
        c->run(b, &ours);
        bool same = strcmp(twin.text, ours.text) == 0;
        CHECK(same, "%s (%s): the domain differs from its twin", c->what, c->domain);
        if (!same)
            show_difference(twin.text, ours.text);
        ssize_t left = H5Fget_obj_count(b, H5F_OBJ_ALL);
        CHECK(left == 1, "%s (%s): %zd objects are open after the case", c->what, c->domain, left);
        if (getenv("BKT_H5_SHOW"))
            printf("-- %s\n%s", c->what, ours.text);
    }
    if (a >= 0)
        H5Fclose(a);
    if (b >= 0)
        H5Fclose(b);
    free(twin.text);
    free(ours.text);
}

int compare_main(const struct test_case *cases, size_t n)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        int before = failures;
        run_case(&cases[i]);
        printf("%s %s (%s)\n", failures == before ? "ok  " : "FAIL", cases[i].what, cases[i].domain);
    }
    ssize_t left = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    CHECK(left == 0, "%zd HDF5 objects are still open", left);
    return failures != 0;
}
