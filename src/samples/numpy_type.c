#include "samples/numpy_type.h"

#include "base/err.h"
#include "vol/core/hid.h"

enum { BOOLEAN = 0, HALF = 23 };

static hid_t boolean(void)
{
    hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    int8_t no = 0, yes = 1;
    if (type >= 0 && (H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0)) {
        (void)H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/* IEEE 754's half precision: sign, 5 bits of exponent, 10 of mantissa. */
static hid_t half(void)
{
    hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    if (type >= 0 && (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_precision(type, 16) < 0 ||
                      H5Tset_ebias(type, 15) < 0 || H5Tset_size(type, 2) < 0)) {
        (void)H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

hid_t bkt_numpy_type(int64_t num)
{
    /* by number; long is 7 and 8, long long 9 and 10 */
    const hid_t numbers[] = {H5I_INVALID_HID,  H5T_NATIVE_INT8,   H5T_NATIVE_UINT8, H5T_NATIVE_INT16, H5T_NATIVE_UINT16,
                             H5T_NATIVE_INT32, H5T_NATIVE_UINT32, H5T_NATIVE_LONG,  H5T_NATIVE_ULONG, H5T_NATIVE_LLONG,
                             H5T_NATIVE_ULLONG, H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE, H5T_NATIVE_LDOUBLE};
    if (num == BOOLEAN)
        return boolean();
    if (num == HALF)
        return half();
    return num > 0 && (uint64_t)num < BKT_COUNT(numbers) ? H5Tcopy(numbers[num]) : H5I_INVALID_HID;
}

static int number_of_integer(hid_t type)
{
    int of_size = -1;
    switch (H5Tget_size(type)) {
    case 1:
        of_size = 1;
        break;
    case 2:
        of_size = 3;
        break;
    case 4:
        of_size = 5;
        break;
    case 8:
        of_size = 7;
        break;
    default:
        return -1;
    }
    return of_size + (H5Tget_sign(type) == H5T_SGN_NONE);
}

static int number_of_float(hid_t type)
{
    switch (H5Tget_size(type)) {
    case 2:
        return HALF;
    case 4:
        return 11;
    case 8:
        return 12;
    case sizeof(long double):
        return 13;
    default:
        return -1;
    }
}

int bkt_numpy_number(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return number_of_integer(type);
    case H5T_FLOAT:
        return number_of_float(type);
    case H5T_ENUM:
        return H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 ? BOOLEAN : -1;
    default:
        return -1;
    }
}
