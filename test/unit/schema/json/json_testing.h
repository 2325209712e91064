/* For the tests of the schema layer: CHECK, and objects made from a snippet of JSON. */
#ifndef BKT_JSON_TESTING_H
#define BKT_JSON_TESTING_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "helpers/check.h"
#include "schema/json/documents.h"
#include "schema/model/model.h"

#define ROOT_ID "g-b03b24ef-69f244b6-38b3-ac67e1-7acc3e"
#define DSET_ID "d-b03b24ef-69f244b6-56e5-25125a-89ba79"
#define TYPE_ID "t-b03b24ef-69f244b6-56e5-25125a-89ba79"
#define V1_ID   "g-0568d8c5-a77e-11e4-9f7a-3c15c2da029e"

/* JSON in C reads better with single quotes; here they become double ones.  To be freed. */
static inline char *json_of(const char *text)
{
    char *s = strdup(text);
    if (!s)
        abort();
    for (char *p = s; *p; p++)
        if (*p == '\'')
            *p = '"';
    return s;
}

/* {"id": ID, "root": …, BODY} parsed, quotes as above; NULL with the code in *rc on failure. */
static inline struct bkt_object *object_of(const char *id, const char *body, int *rc, struct bkt_err *err)
{
    struct bkt_object *o = NULL;
    char *text = NULL, *json;
    if (asprintf(&text, "{'id': '%s', 'root': '" ROOT_ID "', 'created': 1.5, 'lastModified': 2, %s}", id,
                 body) < 0)
        abort();
    json = json_of(text);
    *rc = bkt_object_parse(json, strlen(json), NULL, &o, err);
    free(json);
    free(text);
    return *rc == BKT_OK ? o : NULL;
}

/* All of a file, with a 0 behind it.  To be freed. */
static inline char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    struct stat sb;
    if (!f || fstat(fileno(f), &sb) < 0)
        abort();
    *n = (size_t)sb.st_size;
    char *p = malloc(*n + 1);
    if (!p || fread(p, 1, *n, f) != *n)
        abort();
    p[*n] = 0;
    (void)fclose(f);
    return p;
}

static inline char *hex_of(const struct bkt_buf *b)
{
    char *s = calloc(b->len + 1, 2);
    for (size_t i = 0; s && i < b->len; i++)
        (void)snprintf(s + 2 * i, 3, "%02x", b->ptr[i]);
    return s;
}

#endif
