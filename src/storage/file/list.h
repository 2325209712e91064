/* The keys of a directory store; the other half of file.c. */
#ifndef BKT_FILE_LIST_H
#define BKT_FILE_LIST_H

#include <sys/stat.h>

#include "storage/store.h"

#define BKT_FILE_SCRATCH ".h5bucket"

/** Whether a key stays inside the directory and outside the scratch directory. */
bool bkt_file_key_ok(const char *key);
void bkt_file_etag(const struct stat *sb, char etag[BKT_ETAG_MAX]);

struct bkt_file_store;

/** As bkt_store_list(), keys in binary order.  A symbolic link that is not followed is a key; files below it
 * are not keys. */
int bkt_file_list(const struct bkt_file_store *st, const char *prefix, bool roll_up, bkt_list_each_fn *each,
                  void *arg, struct bkt_err *err);

#endif
