/* Property lists as they were at creation: layout, filters, fill value, link and attribute order, file
 * properties. */
#include "h5tests/helpers/compare.h"

/* the twins of these hold the same values, stored with other filters */
static const char *const filter_opaque[] = {"filters.h5", "shuffle_only.h5", "strings.h5"};

static bool same_times(const struct out *o) { return strcmp(o->domain, "numeric.h5") == 0 || strcmp(o->domain, "tracked.h5") == 0; }

static void fill_value(struct out *o, hid_t dcpl, hid_t type)
{
    H5D_fill_value_t defined;
    H5D_fill_time_t  when;
    H5Pfill_value_defined(dcpl, &defined);
    if (same_times(o)) /* elsewhere the twin's writer set another time than HSDS's client */
        say(o, "fill time %d", H5Pget_fill_time(dcpl, &when) >= 0 ? (int)when : -1);
    if (H5Tdetect_class(type, H5T_VLEN) || H5Tis_variable_str(type) > 0)
        return;
    /* h5py can't set the fill value of strings and compounds: the twin has the values written out */
    if (H5Tdetect_class(type, H5T_STRING) || H5Tdetect_class(type, H5T_COMPOUND))
        return;
    say(o, "fill defined %d", H5Pfill_value_defined(dcpl, &defined) >= 0 ? (int)defined : -1);
    hid_t mem = H5Tget_native_type(type, H5T_DIR_ASCEND);
    void *buf = calloc(1, H5Tget_size(mem));
    if (defined != H5D_FILL_VALUE_UNDEFINED) {
        say(o, "fill %d", H5Pget_fill_value(dcpl, mem, buf));
        say_bytes(o, "fill value", buf, H5Tget_size(mem));
    }
    free(buf);
    H5Tclose(mem);
}

static void layout(struct out *o, hid_t dcpl)
{
    hsize_t chunk[H5S_MAX_RANK] = {0};
    say(o, "layout %d external %d", H5Pget_layout(dcpl), H5Pget_external_count(dcpl));
    if (H5Pget_layout(dcpl) == H5D_CHUNKED) {
        int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);
        say(o, "chunk rank %d", rank);
        for (int i = 0; i < rank; i++)
            say(o, "%llu", (unsigned long long)chunk[i]);
    }
    H5D_alloc_time_t when = H5D_ALLOC_TIME_ERROR;
    H5Pget_alloc_time(dcpl, &when);
    say(o, "allocated %d", when);
}

static void filters(struct out *o, hid_t dcpl)
{
    int n = H5Pget_nfilters(dcpl);
    say(o, "%d filters", n);
    for (int i = 0; i < n; i++) {
        unsigned     flags, values[20] = {0}, config;
        size_t       nvalues = 20;
        char         name[40] = "";
        H5Z_filter_t id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &nvalues, values, sizeof name, name, &config);
        say(o, "filter %d with %zu values", id, nvalues);
    }
}

static herr_t one_dataset(hid_t loc, const char *name, const H5O_info2_t *info, void *op_data)
{
    struct out *o  = op_data;
    hid_t       id = H5Oopen(loc, name, H5P_DEFAULT);
    bool        plain = true;
    (void)info;
    for (size_t i = 0; i < COUNT(filter_opaque); i++)
        plain &= strcmp(o->domain, filter_opaque[i]) != 0;
    if (H5Iget_type(id) == H5I_DATASET) {
        hid_t dcpl = H5Dget_create_plist(id), type = H5Dget_type(id), dapl = H5Dget_access_plist(id);
        say(o, "%s", name);
        layout(o, dcpl);
        if (plain)
            filters(o, dcpl);
        fill_value(o, dcpl, type);
        say(o, "access list %d", dapl >= 0);
        H5Pclose(dapl);
        H5Pclose(dcpl);
        H5Tclose(type);
    }
    H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
    return 0;
}

static void datasets(hid_t file, struct out *o)
{
    say(o, "%d", H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, one_dataset, o, H5O_INFO_BASIC));
}

static herr_t one_group(hid_t loc, const char *name, const H5O_info2_t *info, void *op_data)
{
    struct out *o = op_data;
    if (info->type != H5O_TYPE_GROUP)
        return 0;
    hid_t    g = H5Gopen2(loc, name, H5P_DEFAULT), gcpl = H5Gget_create_plist(g);
    unsigned link = 99; /* HSDS tracks attributes and links together, or neither */
    H5Pget_link_creation_order(gcpl, &link);
    say(o, "%s: links %u", name, link);
    H5Pclose(gcpl);
    H5Gclose(g);
    return 0;
}

static void groups(hid_t file, struct out *o)
{
    say(o, "%d", H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, one_group, o, H5O_INFO_BASIC));
}

static void file_properties(hid_t file, struct out *o)
{
    hid_t    fcpl = H5Fget_create_plist(file), fapl = H5Fget_access_plist(file);
    unsigned intent = 99;
    hsize_t  user   = 99;
    H5Pget_userblock(fcpl, &user);
    say(o, "user block %llu access list %d", (unsigned long long)user, fapl >= 0);
    say(o, "intent %d %u", H5Fget_intent(file, &intent), intent);
    H5Pclose(fcpl);
    H5Pclose(fapl);
    hsize_t size = 0;
    say(o, "size is an answer %d", H5Fget_filesize(file, &size) >= 0);
    unsigned long number = 0;
    say(o, "file number %d", H5Fget_fileno(file, &number));
    char    name[4096] = "";
    ssize_t n          = H5Fget_name(file, name, sizeof name);
    say(o, "name is the one it was opened by %d", strcmp(name, o->ours ? domain_name(o->domain) : twin_name(o->domain)) == 0);
    say(o, "its length %d", n == (ssize_t)strlen(name) && H5Fget_name(file, NULL, 0) == n);
    H5Eclear2(H5E_DEFAULT);
}

static const struct test_case cases[] = {
    {"datasets' properties", "shapes.h5", datasets},
    {"fill values", "special.h5", datasets},
    {"fill values of every number", "numeric.h5", datasets},
    {"layouts of filtered data", "filters.h5", datasets},
    {"layouts of strings", "strings.h5", datasets},
    {"layouts of types", "types.h5", datasets},
    {"h5pyd's datasets", "highlevel.h5", datasets},
    {"groups' properties", "groups.h5", groups},
    {"tracked groups", "tracked.h5", groups},
    {"the file's properties", "tracked.h5", file_properties},
    {"the file's properties, v1 ids", "schema1.h5", file_properties},
};

int main(void) { return compare_main(cases, COUNT(cases)); }
