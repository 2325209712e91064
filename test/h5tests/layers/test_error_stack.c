/* The connector's failures on HDF5's error stack. */
#include <hdf5.h>

#include "helpers/check.h"
#include "vol/core/h5err.h"

static void fail_with(int code)
{
    struct bkt_err err = {.n = 0};
    (void)BKT_ERR(&err, code, "the reason");
    (void)BKT_ERR(&err, code, "a frame");
    (void)H5Eclear2(H5E_DEFAULT);
    (void)bkt_h5err_publish(&err, code);
}

/* An outage belongs to the call that met it, not to the thread's next failure. */
static void outages(void)
{
    static const struct {
        int code;
        bool is;
    } cases[] = {
        {BKT_ENET, true}, {BKT_ETIME, true}, {BKT_EBUSY, true}, {BKT_ENOENT, false}, {BKT_EFORMAT, false}};
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        fail_with(cases[i].code);
        CHECK(bkt_h5err_is_on_stack(), "the connector's failure");
        CHECK(bkt_h5err_was_outage() == cases[i].is, "code %d", cases[i].code);
        CHECK(H5Eget_num(H5E_DEFAULT) == 2, "the stack has its entries");
        CHECK(H5Dget_space(H5I_INVALID_HID) < 0 && !bkt_h5err_is_on_stack(),
              "a call that fails before the connector");
    }
}

int main(void)
{
    CHECK(H5open() >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0 && bkt_h5err_init() >= 0, "no begin");
    outages();
    bkt_h5err_term();
    return failures ? 1 : 0;
}
