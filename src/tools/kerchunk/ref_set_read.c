/* Reading a reference set from where it lies (ref_set.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/kerchunk/ref_set_files.h"
#include "tools/source/hdf5_source.h"
#include "vol/vfd/store_driver.h"

int kc_file_read(const char *uri, const struct bkt_settings *set, struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_store *st = NULL;
    BKT_CLEANUP(bkt_freep) char *key = NULL;
    uint64_t size = 0;
    BKT_PASS(vfd_open_store(uri, set, &st, &key, err));
    int rc = bkt_store_head(st, key, &size, err);
    if (rc == BKT_OK && size > KC_SET_BYTES)
        rc = BKT_ERR(err, BKT_EFORMAT, "a set of %llu bytes; at most %llu are read", (unsigned long long)size,
                     (unsigned long long)KC_SET_BYTES);
    if (rc == BKT_OK && size) /* by a range, since the size of objects that others wrote is limited */
        rc = bkt_store_get(st, key, 0, size, out, err);
    bkt_store_close(st);
    return rc;
}

/* A folder on this machine, or a name with such a folder's ending. */
static bool is_parquet(const char *uri)
{
    static const char *const ends[] = {".parq", ".parquet", "/"};
    struct stat there;
    size_t n = strlen(uri);
    if (strncmp(uri, "file://", 7) == 0)
        return stat(uri + 7, &there) == 0 && S_ISDIR(there.st_mode);
    for (size_t i = 0; i < BKT_COUNT(ends); i++)
        if (n > strlen(ends[i]) && strcmp(uri + n - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

int kc_set_read(const char *name, const struct bkt_settings *set, struct kc_set *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *uri = source_uri(name);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    if (!uri)
        BKT_NOMEM(err);
    if (is_parquet(uri)) {
        for (size_t n = strlen(uri); n && uri[n - 1] == '/'; n--)
            uri[n - 1] = 0;
        return kc_set_read_parquet(uri, set, out, err);
    }
    BKT_PASS(kc_file_read(uri, set, &json, err));
    return kc_set_parse(json.ptr, json.len, out, err);
}
