#include "vol/open/ros3_list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "storage/aws/partition.h"
#include "vol/core/h5err.h"

#ifdef H5_HAVE_ROS3_VFD

/* An installed connector also serves a libhdf5 that was built without the driver, and so lacks its names. */
#pragma weak H5Pget_fapl_ros3
#pragma weak H5Pget_fapl_ros3_token
#if H5_VERSION_GE(2, 0, 0)
#pragma weak H5FD_ROS3_id_g
#else
#pragma weak H5FD_ros3_init
#endif

static int give(struct bkt_settings *set, const char *setting, const char *value, struct bkt_err *err)
{
    return bkt_settings_set(set, setting, value, "the file access list (H5Pset_fapl_ros3)", err);
}

/* "bucket" of "bucket.s3.region.amazonaws.com"; 0: the bucket is in the path. */
static size_t bucket_of_host(const char *host, size_t n)
{
    for (size_t i = 1; bkt_aws_has_host(host, n) && i + 3 < n; i++)
        if (strncasecmp(host + i, ".s3", 3) == 0 && (host[i + 3] == '.' || host[i + 3] == '-'))
            return i;
    return 0;
}

/* https://bucket.s3.region.amazonaws.com/key, or https://host/bucket/key with the host as endpoint. */
static int from_address(const char *name, struct bkt_settings *set, struct bkt_buf *as, struct bkt_err *err)
{
    const char *host = strstr(name, "://") + 3;
    size_t n = strcspn(host, "/"), bucket = bucket_of_host(host, n);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf endpoint = {0};
    BKT_FAIL_IF(err, !host[n] || !host[n + 1], BKT_EINVAL,
                "%s: an address of S3 needs a bucket and a key; use s3://bucket/key", name);
    if (bucket ? bkt_buf_addf(as, "s3://%.*s%s", (int)bucket, host, host + n) < 0
               : bkt_buf_addf(as, "s3:/%s", host + n) < 0)
        BKT_NOMEM(err);
    if (bkt_aws_has_host(host, n))
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_buf_addf(&endpoint, "%.*s", (int)(host + n - name), name));
    return give(set, "endpoint", bkt_buf_str(&endpoint), err);
}

static int take_keys(hid_t fapl, const H5FD_ros3_fapl_t *list, struct bkt_settings *set, struct bkt_err *err)
{
    char token[H5FD_ROS3_MAX_SECRET_TOK_LEN + 1] = "";
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf keys = {0};
    if (!H5Pget_fapl_ros3_token ||
        BKT_PASS_H5(NULL, H5Pget_fapl_ros3_token(fapl, sizeof token, token), "H5Pget_fapl_ros3_token") < 0)
        token[0] = 0; /* the list has no token */
    BKT_PASS_MEM(err, bkt_buf_addf(&keys, "%s\n%s\n%s", list->secret_id, list->secret_key, token));
    BKT_PASS(give(set, "anonymous", "no", err));
    return give(set, "test.keys", bkt_buf_str(&keys), err);
}

int bkt_ros3_take(hid_t fapl, const char *name, struct bkt_settings *set, struct bkt_buf *as,
                  struct bkt_err *err)
{
    H5FD_ros3_fapl_t list = {.version = H5FD_CURR_ROS3_FAPL_T_VERSION};
    if (fapl == H5P_DEFAULT || !H5Pget_fapl_ros3 || H5Pget_driver(fapl) != H5FD_ROS3)
        return BKT_OK;
    BKT_PASS(BKT_PASS_H5(err, H5Pget_fapl_ros3(fapl, &list), "H5Pget_fapl_ros3"));
    if (list.aws_region[0])
        BKT_PASS(give(set, "region", list.aws_region, err));
    if (!list.authenticate || !list.secret_id[0])
        return list.authenticate ? BKT_OK : give(set, "anonymous", "yes", err);
    BKT_PASS(take_keys(fapl, &list, set, err));
    return strncasecmp(name, "http", 4) == 0 && strstr(name, "://") ? from_address(name, set, as, err)
                                                                    : BKT_OK;
}

#else

int bkt_ros3_take(hid_t fapl, const char *name, struct bkt_settings *set, struct bkt_buf *as,
                  struct bkt_err *err)
{
    (void)fapl, (void)name, (void)set, (void)as, (void)err;
    return BKT_OK;
}

#endif
