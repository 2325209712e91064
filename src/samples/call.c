#include "samples/call.h"

herr_t bkt_samples_done(int rc, const struct bkt_err *err)
{
    if (rc >= 0)
        return 0;
    (void)bkt_h5err_init();
    return bkt_h5err_publish(err);
}
