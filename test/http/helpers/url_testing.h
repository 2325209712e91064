/* For tests that are programs: one file of a scripted server, opened by its address. */
#ifndef BKT_URL_TESTING_H
#define BKT_URL_TESTING_H

#include "helpers/store_testing.h"
#include "http/helpers/server.h"

/** Open or end the test.  @p key is to be freed. */
static inline struct bkt_store *open_url(const char *url, const char *more, char **key)
{
    struct bkt_settings set;
    struct bkt_err      err = {0};
    struct bkt_store   *st  = NULL;
    char                text[600];
    (void)snprintf(text, sizeof text, "retries=2;test.backoff_ms=1;test.hedge=0;%s", more);
    if (bkt_settings_init(&set, text, &err) < 0 || bkt_url_open(url, &set, &st, key, &err) < 0) {
        (void)printf("%s with '%s': %s\n", url, text, first_line(&err));
        exit(1);
    }
    bkt_settings_fini(&set);
    return st;
}

/** The address of a path on the server. */
static inline const char *url_of(struct server *s, const char *path)
{
    static _Thread_local char url[4][5000];
    static _Thread_local unsigned i;
    char *to = url[i++ % 4];
    (void)snprintf(to, sizeof url[0], "%s%s", server_url(s), path);
    return to;
}

#endif
