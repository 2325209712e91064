/* Fuzz target: LMDB files.  A file that passes the check of its pages can be listed and looked up by liblmdb. */
#include <stdlib.h>

#include "samples/names/lmdb_file.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct seen {
    struct bkt_lmdb *file;
    unsigned         sum, n;
};

static int each(void *arg, const char *key, size_t n, const void *value, size_t n_value)
{
    struct seen *s = arg;
    const void  *again;
    size_t       n_again;
    for (size_t i = 0; i < n; i++)
        s->sum += (unsigned char)key[i];
    for (size_t i = 0; i < n_value; i++)
        s->sum += ((const unsigned char *)value)[i];
    int rc = bkt_lmdb_get(s->file, key, n, &again, &n_again, NULL);
    if (rc == BKT_OK && again == value && n_again != n_value)
        abort();
    return ++s->n > 100000 ? -1 : 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bkt_err err  = {.n = 0};
    struct seen    seen = {0};
    int            rc   = bkt_lmdb_open(data, size, &seen.file, &err);
    if (rc < 0 && err.n == 0)
        abort();
    if (rc < 0)
        return 0;
    const void *value;
    size_t      n;
    if (bkt_lmdb_each(seen.file, "", each, &seen, NULL) < 0 && seen.n > 100000)
        abort();
    if (bkt_lmdb_each(seen.file, "h:0", each, &seen, NULL) > 0 || bkt_lmdb_get(seen.file, "head", 4, &value, &n, NULL) > 0)
        abort();
    bkt_lmdb_close(seen.file);
    return 0;
}
