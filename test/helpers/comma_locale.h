/* A locale with a decimal comma, made for the test: machines of tests mostly have none. */
#ifndef BKT_COMMA_LOCALE_H
#define BKT_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Make and set it, in a folder of the present directory.  False: it can't be made here. */
static inline bool set_comma_locale(void)
{
    static const char source[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n";
    char  dir[] = "./comma-XXXXXX", cmd[300];
    if (!mkdtemp(dir) || setenv("LOCPATH", dir, 1) < 0)
        return false;
    (void)snprintf(cmd, sizeof cmd, "%s/source", dir);
    FILE *f = fopen(cmd, "we");
    if (!f || fputs(source, f) < 0 || fclose(f) != 0)
        return false;
    /* it warns of missing categories */
    (void)snprintf(cmd, sizeof cmd, "cd %s && localedef -c --no-archive -i ./source ./xx_XX >/dev/null 2>&1", dir);
    bool made = system(cmd) != -1 && setlocale(LC_NUMERIC, "xx_XX") && strcmp(localeconv()->decimal_point, ",") == 0;
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    return system(cmd) == 0 && made;
}

#endif
