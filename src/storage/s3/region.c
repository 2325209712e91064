#include "storage/s3/region.h"

#include <stdlib.h>
#include <string.h>

#include "storage/aws/cred/cred.h"
#include "storage/s3/address.h"
#include "storage/store_impl.h"

struct known {
    struct known *next;
    char         *endpoint, *bucket;
    char          region[40];
};
static struct known *all; /* under bkt_state_lock() */

static void free_known(struct known *k)
{
    if (!k)
        return;
    free(k->endpoint);
    free(k->bucket);
    free(k);
}

static struct known *find(const char *endpoint, const char *bucket)
{
    struct known *k = all;
    while (k && (strcmp(k->endpoint, endpoint) != 0 || strcmp(k->bucket, bucket) != 0))
        k = k->next;
    return k;
}

bool bkt_s3_region_known(const char *endpoint, const char *bucket, char region[40])
{
    bkt_state_lock();
    const struct known *k = find(endpoint, bucket);
    if (k)
        memcpy(region, k->region, sizeof k->region);
    bkt_state_unlock();
    return k != NULL;
}

void bkt_s3_region_learn(const char *endpoint, const char *bucket, const char *region)
{
    if (!bkt_s3_region_ok(region))
        return;
    bkt_state_lock();
    struct known *k = find(endpoint, bucket);
    if (!k && (k = calloc(1, sizeof *k))) {
        k->endpoint = strdup(endpoint);
        k->bucket   = strdup(bucket);
        if (k->endpoint && k->bucket) {
            k->next = all;
            all     = k;
        } else {
            free_known(k);
            k = NULL;
        }
    }
    if (k)
        memcpy(k->region, region, strlen(region) + 1);
    bkt_state_unlock();
}

void bkt_s3_region_forget(void)
{
    bkt_state_lock();
    for (struct known *k = all, *next; k; k = next) {
        next = k->next;
        free_known(k);
    }
    all = NULL;
    bkt_state_unlock();
}

void bkt_s3_region_of_profile(const struct bkt_settings *set, char **out)
{
    *out = NULL;
    if (!set->anonymous && bkt_cred_region(set, out, NULL) < 0)
        *out = NULL; /* a bad profile is reported when credentials are wanted */
}
