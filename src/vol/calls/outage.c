#include "vol/calls/outage.h"

#include <H5VLconnector.h>

#include "vol/core/h5err.h"

#define OPERATION "h5bucket.outage"

/* The operation's number in HDF5; it is asked for each time, since H5close() forgets it.  False: unknown. */
static bool find(int *op)
{
    herr_t rc;
    H5E_BEGIN_TRY
    {
        rc = H5VLfind_opt_operation(H5VL_SUBCLS_FILE, OPERATION, op);
    }
    H5E_END_TRY
    return rc >= 0;
}

herr_t bkt_outage_register(void)
{
    int op;
    return find(&op) ? 0 : H5VLregister_opt_operation(H5VL_SUBCLS_FILE, OPERATION, &op);
}

bool bkt_outage_is_asked(const H5VL_optional_args_t *args)
{
    int op;
    return args->op_type >= H5VL_RESERVED_NATIVE_OPTIONAL && find(&op) && op == args->op_type;
}

void bkt_outage_answer(H5VL_optional_args_t *args)
{
    *(bool *)args->args = bkt_h5err_was_outage();
}

bool bkt_outage_ask(hid_t file)
{
    bool yes = false;
    H5VL_optional_args_t args;
    herr_t rc;
    if (!find(&args.op_type))
        return false;
    args.args = &yes;
    H5E_BEGIN_TRY
    {
        rc = H5VLfile_optional_op(file, &args, H5P_DEFAULT, H5ES_NONE);
    }
    H5E_END_TRY
    return rc >= 0 && yes;
}
