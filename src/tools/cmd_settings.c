/* h5bucket settings: the table of base/settings.h, with the values that environment and config file give. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "err.h"
#include "settings.h"

int cmd_settings(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--markdown") == 0) { /* for the README: what holds by default, nobody's values */
        bkt_settings_print(stdout, NULL, true);
        return 0;
    }
    if (argc != 1) {
        fputs("usage: h5bucket settings [--markdown]\n", stderr);
        return 2;
    }
    struct bkt_settings s   = {0};
    struct bkt_err      err = {0};
    if (bkt_settings_init(&s, NULL, &err) < 0) {
        fprintf(stderr, "h5bucket: %s\n", err.n ? err.frame[0].msg : "settings could not be read");
        return 1;
    }
    bkt_settings_print(stdout, &s, false);
    bkt_settings_fini(&s);
    return 0;
}
