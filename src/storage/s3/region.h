/* Buckets' regions, learned from servers or set in the user's profile. */
#ifndef BKT_S3_REGION_H
#define BKT_S3_REGION_H

#include <stdbool.h>

#include "base/settings.h"

/** Regions learned in this process for a bucket at an endpoint ("" for AWS); any thread. */
bool bkt_s3_region_known(const char *endpoint, const char *bucket, char region[40]);
void bkt_s3_region_learn(const char *endpoint, const char *bucket, const char *region);
void bkt_s3_region_forget(void);

/** The region of the profile in the AWS config file.  *out belongs to the caller; NULL: there is no
 * region. */
void bkt_s3_region_of_profile(const struct bkt_settings *set, char **out);

#endif
