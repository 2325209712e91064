/* h5bucket COMMAND …: the table of commands, --help and --version. */
#include <stdio.h>
#include <string.h>

#include "bkt_config.h"
#include "cmd.h"

static const struct {
    const char *name, *usage, *help;
    cmd_fn     *run;
} commands[] = {
    {"pointer", "pointer DOMAIN FILE", "make FILE stand for DOMAIN, for programs that look at a file before HDF5 does", cmd_pointer},
    {"settings", "settings [--markdown]", "every setting: name, environment variable, value in force, meaning", cmd_settings},
};
static const size_t n_commands = sizeof commands / sizeof *commands;

static int usage(FILE *to)
{
    fputs("usage: h5bucket COMMAND ...\n\ncommands:\n", to);
    for (size_t i = 0; i < n_commands; i++)
        fprintf(to, "  %-28s %s\n", commands[i].usage, commands[i].help);
    fputs("  --version\n  --help\n\n"
          "To read a bucket with any program that uses HDF5, set HDF5_PLUGIN_PATH to the folder of\n"
          "libhdf5_vol_bucket.so and HDF5_VOL_CONNECTOR=" BKT_CONNECTOR_NAME ".\n",
          to);
    return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr);
    if (strcmp(argv[1], "--version") == 0) {
        puts("h5bucket " BKT_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return usage(stdout);
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "h5bucket: no command '%s'\n", argv[1]);
    return usage(stderr);
}
