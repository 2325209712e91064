/* ranks FILE: netCDF-4 parallel: processes create, define, write and read together, by netCDF's own names. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES 60
#define WIDTH 32

static void must(int rc, const char *what)
{
    if (rc == NC_NOERR)
        return;
    printf("%s: %s\n", what, nc_strerror(rc));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    int nc, dims[2], var, rank, size, wrong = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *name = argc > 1 ? argv[1] : "ranks.nc";
    size_t chunk[2] = {7, 32}, start[2] = {(size_t)rank, 0}, count[2] = {(size_t)(LINES / size), WIDTH};
    ptrdiff_t stride[2] = {size, 1};
    float *v = malloc(count[0] * WIDTH * sizeof *v), *back = calloc((size_t)LINES * WIDTH, sizeof *back);
    must(nc_create_par(name, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &nc), "nc_create_par");
    must(nc_def_dim(nc, "line", LINES, &dims[0]), "nc_def_dim");
    must(nc_def_dim(nc, "width", WIDTH, &dims[1]), "nc_def_dim");
    must(nc_def_var(nc, "v", NC_FLOAT, 2, dims, &var), "nc_def_var");
    must(nc_def_var_chunking(nc, var, NC_CHUNKED, chunk), "nc_def_var_chunking");
    must(nc_def_var_deflate(nc, var, 1, 1, 3), "nc_def_var_deflate");
    must(nc_put_att_text(nc, var, "units", 1, "m"), "nc_put_att_text");
    must(nc_enddef(nc), "nc_enddef");
    must(nc_var_par_access(nc, var, NC_COLLECTIVE), "nc_var_par_access");
    for (size_t i = 0; i < count[0] * WIDTH; i++)
        v[i] = (float)(((size_t)rank + i / WIDTH * (size_t)size) * WIDTH + i % WIDTH);
    must(nc_put_vars_float(nc, var, start, count, stride, v), "nc_put_vars_float");
    must(nc_close(nc), "nc_close");
    must(nc_open_par(name, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &nc), "nc_open_par");
    must(nc_inq_varid(nc, "v", &var), "nc_inq_varid");
    must(nc_var_par_access(nc, var, NC_COLLECTIVE), "nc_var_par_access");
    must(nc_get_var_float(nc, var, back), "nc_get_var_float");
    must(nc_close(nc), "nc_close");
    for (size_t i = 0; i < (size_t)LINES * WIDTH; i++)
        wrong += back[i] != (float)i;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("netcdf: %d processes, %d wrong\n", size, all);
    free(v);
    free(back);
    MPI_Finalize();
    return all != 0;
}
