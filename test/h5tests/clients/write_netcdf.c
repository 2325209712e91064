/* A netCDF-4 writer that knows nothing of connectors: write_netcdf FILE. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                               \
    do {                                                                        \
        int rc_ = (call);                                                       \
        if (rc_ != NC_NOERR) {                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, nc_strerror(rc_)); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

struct place {
    int    station;
    double height;
};

static void define_types(int nc)
{
    nc_type compound, list, kind, blob;
    signed char values[] = {0, 1};
    TRY(nc_def_compound(nc, sizeof(struct place), "place", &compound));
    TRY(nc_insert_compound(nc, compound, "station", NC_COMPOUND_OFFSET(struct place, station), NC_INT));
    TRY(nc_insert_compound(nc, compound, "height", NC_COMPOUND_OFFSET(struct place, height), NC_DOUBLE));
    TRY(nc_def_vlen(nc, "list", NC_INT, &list));
    TRY(nc_def_enum(nc, NC_BYTE, "kind", &kind));
    TRY(nc_insert_enum(nc, kind, "dry", &values[0]));
    TRY(nc_insert_enum(nc, kind, "wet", &values[1]));
    TRY(nc_def_opaque(nc, 5, "blob", &blob));
    int dim, v;
    TRY(nc_def_dim(nc, "place_n", 2, &dim));
    TRY(nc_def_var(nc, "places", compound, 1, &dim, &v));
    struct place places[] = {{1, 2.5}, {3, 4.5}};
    TRY(nc_put_var(nc, v, places));
    TRY(nc_def_var(nc, "lists", list, 1, &dim, &v));
    int           a[]     = {1, 2, 3};
    nc_vlen_t     lists[] = {{3, a}, {1, a + 1}};
    TRY(nc_put_var(nc, v, lists));
    TRY(nc_def_var(nc, "kinds", kind, 1, &dim, &v));
    TRY(nc_put_var(nc, v, values));
    TRY(nc_def_var(nc, "blobs", blob, 1, &dim, &v));
    TRY(nc_put_var(nc, v, "12345abcde"));
    TRY(nc_put_att(nc, NC_GLOBAL, "first_place", compound, 1, places));
}

static void create(const char *name)
{
    int         nc, time, lat, lon, group, v, w, s, dims[3];
    size_t      chunks[] = {2, 5, 6}, at[] = {0, 0, 0}, n[] = {3, 9, 11};
    static float data[3 * 9 * 11];
    double      lats[9];
    const char *words[] = {"one", "two", "three"};
    TRY(nc_create(name, NC_NETCDF4 | NC_CLOBBER, &nc));
    TRY(nc_def_dim(nc, "time", NC_UNLIMITED, &time));
    TRY(nc_def_dim(nc, "lat", 9, &lat));
    TRY(nc_def_dim(nc, "lon", 11, &lon));
    dims[0] = time, dims[1] = lat, dims[2] = lon;
    TRY(nc_def_var(nc, "lat", NC_DOUBLE, 1, &lat, &v));
    TRY(nc_put_att_text(nc, v, "units", 13, "degrees_north"));
    TRY(nc_def_var(nc, "wind", NC_FLOAT, 3, dims, &w));
    TRY(nc_def_var_chunking(nc, w, NC_CHUNKED, chunks));
    TRY(nc_def_var_deflate(nc, w, 1, 1, 4));
    float missing = -999;
    TRY(nc_def_var_fill(nc, w, 0, &missing));
    TRY(nc_def_var(nc, "names", NC_STRING, 1, &time, &s));
    TRY(nc_put_att_string(nc, NC_GLOBAL, "words", 3, words));
    TRY(nc_put_att_text(nc, NC_GLOBAL, "title", 5, "a try"));
    TRY(nc_enddef(nc));
    for (int i = 0; i < 9; i++)
        lats[i] = -40 + 10 * i;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        data[i] = (float)i / 4;
    TRY(nc_put_var_double(nc, v, lats));
    TRY(nc_put_vara_float(nc, w, at, n, data));
    TRY(nc_put_vara_string(nc, s, at, n, words));
    TRY(nc_redef(nc));
    define_types(nc);
    TRY(nc_def_grp(nc, "inner", &group));
    TRY(nc_def_var(group, "copy", NC_SHORT, 2, dims + 1, &v));
    TRY(nc_put_att_int(group, NC_GLOBAL, "level", NC_INT, 1, &(int){7}));
    TRY(nc_sync(nc));
    at[0] = 4; /* leaves a gap */
    n[0]  = 1;
    TRY(nc_put_vara_float(nc, w, at, n, data));
    TRY(nc_rename_att(nc, NC_GLOBAL, "title", "heading"));
    TRY(nc_close(nc));
}

/* netCDF-C opens a file for writing only if it keeps the order in which its links were made, from the root
 * on. */
static void append(const char *name)
{
    int          nc, w;
    size_t       at[] = {5, 0, 0}, n[] = {1, 9, 11};
    static float data[9 * 11];
    TRY(nc_open(name, NC_WRITE, &nc));
    TRY(nc_inq_varid(nc, "wind", &w));
    TRY(nc_put_vara_float(nc, w, at, n, data));
    TRY(nc_put_att_text(nc, NC_GLOBAL, "history", 8, "appended"));
    TRY(nc_close(nc));
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        return 2;
    if (argc == 3)
        append(argv[2]);
    else
        create(argv[1]);
    return 0;
}
