/* ncread FILE DATASET WHAT [NUMBER [NUMBER]]: the scenarios of h5read.c by netCDF-C; prints the same two
 * words. bench/run compiles it if it finds a netCDF-C that reads files on web servers (FILE:
 * URL#mode=bytes). */
#include <inttypes.h>
#include <netcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seconds.h"

static uint64_t sum;

static void must(int rc, const char *what)
{
    if (rc == NC_NOERR)
        return;
    fprintf(stderr, "ncread: %s: %s\n", what, nc_strerror(rc));
    exit(1);
}

static void add(const float *data, size_t n, size_t step)
{
    uint32_t bits;
    for (size_t i = 0; i < n; i += step) {
        memcpy(&bits, data + i, sizeof bits);
        sum = sum * 1099511628211U + bits;
    }
}

/* One value of each step x step of a variable of two dimensions; sums every skip-th value read */
static double field(int file, const char *name, ptrdiff_t step, int one, size_t skip)
{
    int    var, dim[2];
    size_t start[2] = {0, 0}, count[2];
    double t = seconds();
    must(nc_inq_varid(file, name, &var), name);
    must(nc_inq_vardimid(file, var, dim), "the dimensions");
    for (int d = 0; d < 2; d++) {
        must(nc_inq_dimlen(file, dim[d], &count[d]), "a dimension");
        count[d] = one ? 1 : count[d] / (size_t)step;
    }
    size_t    n       = count[0] * count[1];
    ptrdiff_t both[2] = {step, step};
    float    *data    = malloc(n * sizeof *data);
    if (!data)
        exit(1);
    if (!one)
        t = seconds();
    must(step == 1 ? nc_get_vara_float(file, var, start, count, data) : nc_get_vars_float(file, var, start, count, both, data), "reading");
    t = seconds() - t;
    add(data, n, skip);
    free(data);
    return t;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

/* All attributes of all variables; netCDF-C doesn't always have them in the order of their names, in which
 * h5read sums them */
static double header(int file)
{
    double t = seconds();
    int    n_vars, n_atts;
    char   names[64][NC_MAX_NAME + 1];
    must(nc_inq_nvars(file, &n_vars), "the variables");
    for (int v = 0; v < n_vars; v++) {
        must(nc_inq_varnatts(file, v, &n_atts), "the attributes");
        n_atts = n_atts < 64 ? n_atts : 64;
        for (int a = 0; a < n_atts; a++)
            must(nc_inq_attname(file, v, a, names[a]), "an attribute");
        qsort(names, (size_t)n_atts, sizeof names[0], by_name);
        for (int a = 0; a < n_atts; a++) {
            const char   *name     = names[a];
            unsigned char text[24] = {0};
            size_t        len;
            must(nc_inq_attlen(file, v, name, &len), name);
            if (len > sizeof text)
                must(NC_EBADTYPE, name);
            must(nc_get_att_text(file, v, name, (char *)text), name);
            for (size_t i = 0; i < sizeof text; i++)
                sum = sum * 1099511628211U + text[i];
        }
    }
    return seconds() - t;
}

int main(int argc, char **argv)
{
    int file;
    if (argc < 4)
        return fprintf(stderr, "usage: ncread FILE DATASET WHAT [NUMBER [NUMBER]]\n"), 2;
    must(nc_open(argv[1], NC_NOWRITE, &file), argv[1]);
    const char *what = argv[3];
    double      t    = strcmp(what, "header") == 0    ? header(file)
                       : strcmp(what, "strided") == 0 ? field(file, argv[2], argc > 4 ? strtol(argv[4], NULL, 10) : 1, 0, 1)
                       : strcmp(what, "first") == 0   ? field(file, argv[2], 1, 1, 1)
                                                      : field(file, argv[2], 1, 0, 61);
    printf("%016" PRIx64 " %.6f\n", sum, t);
    must(nc_close(file), "closing");
    return 0;
}
