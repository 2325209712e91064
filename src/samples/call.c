#include "samples/call.h"

herr_t bkt_samples_done(int rc, const struct bkt_err *err)
{
    if (rc >= 0)
        return 0;
    (void)bkt_h5err_init();
    (void)H5Eclear2(H5E_DEFAULT); /* errors of an earlier call */
    return bkt_h5err_publish(err);
}
