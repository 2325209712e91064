/* Random calls on datasets: the contents that another process sees once the files are flushed.  HDF5's files
 * are copied for it, since they can't be opened while they are written. */
#include <inttypes.h>

#include "h5tests/helpers/compare_write.h"
#include "h5tests/random/data.h"

static bool say_list(const struct run *run, const char *list)
{
    char  name[9100];
    FILE *to = fopen(list, "w");
    if (!to)
        return false;
    (void)fprintf(to, "%s\n", run->info);
    for (int f = 0; f < FILES; f++)
        (void)fprintf(to, "%s.look\n%s\n", file_name(run, f, 0), file_name(run, f, 1));
    for (int k = 0; k < run->n; k++) {
        const struct dset *d = &run->d[k];
        if (!*d->name)
            continue;
        (void)snprintf(name, sizeof name, "%s.%d", list, k);
        FILE *known = d->known ? fopen(name, "w") : NULL;
        if (known && (fwrite(d->known, 1, d->n, known) != d->n || fclose(known) != 0))
            return false;
        (void)fprintf(to, "%d %s %s\n", d->file, d->name, d->known ? name : "-");
    }
    return fclose(to) == 0;
}

void look(struct run *run)
{
    char      list[9000], command[30000];
    long long rc[SIDES];
    note(run, "H5Fflush, and another process ");
    for (int f = 0; f < FILES; f++) {
        EACH(i)
        {
            rc[i] = H5Fflush(run->file[f][i], H5F_SCOPE_GLOBAL);
            if (run->twice[f][i] >= 0) /* HDF5 leaves out objects opened there */
                H5Fflush(run->twice[f][i], H5F_SCOPE_GLOBAL);
        }
        if (!both(run, "H5Fflush", rc))
            return;
        (void)snprintf(command, sizeof command, "cp '%s' '%s.look'", file_name(run, f, 0), file_name(run, f, 0));
        CHECK(system(command) == 0, "%s", command);
    }
    (void)snprintf(list, sizeof list, "%s.list", file_name(run, 0, 0));
    CHECK(say_list(run, list), "%s can't be written", list);
    (void)snprintf(command, sizeof command, "'%s' --look '%s'", run->self, list);
    if (system(command) != 0)
        differ(run, "another process sees something else");
    (void)snprintf(command, sizeof command, "rm -f '%s' '%s'.*", list, list);
    CHECK(system(command) == 0, "%s", command);
    for (int f = 0; f < FILES; f++) {
        (void)snprintf(command, sizeof command, "%s.look", file_name(run, f, 0));
        (void)remove(command);
    }
}

/* ---- the other process ---- */

static bool next_line(FILE *from, char *to, size_t room)
{
    if (!fgets(to, (int)room, from))
        return false;
    to[strcspn(to, "\n")] = 0;
    return true;
}

static void compare_one(struct run *run, struct dset *d, const char *known)
{
    hid_t space;
    EACH(i) { d->id[i] = H5Dopen2(run->file[d->file][i], d->name, H5P_DEFAULT); }
    if (d->id[0] < 0 || d->id[1] < 0) {
        differ(run, "%s can't be opened", d->name);
        return;
    }
    d->type = H5Dget_type(d->id[0]);
    d->var  = is_var(d->type);
    d->dcpl = H5Dget_create_plist(d->id[0]);
    space   = H5Dget_space(d->id[0]);
    d->cls  = H5Sget_simple_extent_type(space);
    d->rank = H5Sget_simple_extent_dims(space, d->dims, d->max);
    d->n    = (size_t)H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    FILE *from = strcmp(known, "-") == 0 ? NULL : fopen(known, "r");
    d->known   = from ? calloc(1, d->n + 1) : NULL;
    if (from && fread(d->known, 1, d->n, from) != d->n)
        differ(run, "%s has another extent", d->name);
    if (from)
        (void)fclose(from);
    if (!run->differs)
        compare_whole(run, d);
    dset_close(d);
    H5Tclose(d->type);
    H5Pclose(d->dcpl);
    free(d->known);
}

int look_main(const char *list)
{
    static struct run run;
    static char       info[300], name[9000], line[9000];
    FILE             *from = fopen(list, "r");
    if (!from || !next_line(from, info, sizeof info))
        return 1;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    run.info                = info;
    const hid_t fapl[SIDES] = {fapl_native(), fapl_ours(info)};
    for (int f = 0; f < FILES; f++)
        EACH(i)
        {
            if (!next_line(from, name, sizeof name) || (run.file[f][i] = H5Fopen(name, H5F_ACC_RDONLY, fapl[i])) < 0)
                differ(&run, "%s can't be opened: %s", name, error_text());
        }
    while (!run.differs && next_line(from, line, sizeof line)) {
        struct dset d = {.name = ""};
        if (sscanf(line, "%d %15s %8999s", &d.file, d.name, name) == 3)
            compare_one(&run, &d, name);
    }
    (void)fclose(from);
    for (int f = 0; f < FILES; f++)
        EACH(i)
        {
            if (run.file[f][i] >= 0)
                H5Fclose(run.file[f][i]);
        }
    H5Pclose(fapl[0]);
    H5Pclose(fapl[1]);
    return run.differs;
}
