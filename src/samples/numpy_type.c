#include "samples/numpy_type.h"

#include "base/err.h"
#include "vol/core/hid.h"

enum kind { INTEGER, FLOAT, COMPLEX, BOOLEAN };

/* In a search, the first type counts: long is 7 and 8, long long is 9 and 10. */
static const struct {
    int number;
    enum kind kind;
    size_t size; /* bytes; of a complex number's parts */
    bool is_signed;
} types[] = {
    {0, BOOLEAN, 1, true},
    {1, INTEGER, 1, true},
    {2, INTEGER, 1, false},
    {3, INTEGER, 2, true},
    {4, INTEGER, 2, false},
    {5, INTEGER, 4, true},
    {6, INTEGER, 4, false},
    {7, INTEGER, 8, true},
    {8, INTEGER, 8, false},
    {9, INTEGER, 8, true},
    {10, INTEGER, 8, false},
    {11, FLOAT, 4, true},
    {12, FLOAT, 8, true},
    {13, FLOAT, sizeof(long double), true},
    {14, COMPLEX, 4, true},
    {15, COMPLEX, 8, true},
    {16, COMPLEX, sizeof(long double), true},
    {23, FLOAT, 2, true},
};

hid_t bkt_numpy_bool(void)
{
    int8_t no = 0, yes = 1;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    if (type < 0 || H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0)
        return H5I_INVALID_HID;
    return bkt_hid_take(&type);
}

static hid_t integer_of(size_t size, bool is_signed)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64);
    return type < 0 || H5Tset_size(type, size) < 0 ? H5I_INVALID_HID : bkt_hid_take(&type);
}

/* IEEE 754's half precision: sign, 5 bits of exponent, 10 of mantissa. */
static hid_t half(void)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    if (type < 0 || H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_precision(type, 16) < 0 ||
        H5Tset_ebias(type, 15) < 0 || H5Tset_size(type, 2) < 0)
        return H5I_INVALID_HID;
    return bkt_hid_take(&type);
}

static hid_t float_of(size_t size)
{
    return size == 2   ? half()
           : size == 4 ? H5Tcopy(H5T_NATIVE_FLOAT)
           : size == 8 ? H5Tcopy(H5T_NATIVE_DOUBLE)
                       : H5Tcopy(H5T_NATIVE_LDOUBLE);
}

static hid_t complex_of(hid_t real)
{
    size_t size = H5Tget_size(real);
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Tcreate(H5T_COMPOUND, 2 * size);
    if (type < 0 || H5Tinsert(type, "r", 0, real) < 0 || H5Tinsert(type, "i", size, real) < 0)
        return H5I_INVALID_HID;
    return bkt_hid_take(&type);
}

/* In the byte order @p order. */
static hid_t make(size_t i, H5T_order_t order)
{
    if (types[i].kind == BOOLEAN)
        return bkt_numpy_bool();
    BKT_CLEANUP(bkt_hid_closep)
    hid_t part =
        types[i].kind == INTEGER ? integer_of(types[i].size, types[i].is_signed) : float_of(types[i].size);
    if (part < 0 || H5Tset_order(part, order) < 0)
        return H5I_INVALID_HID;
    return types[i].kind == COMPLEX ? complex_of(part) : bkt_hid_take(&part);
}

hid_t bkt_numpy_type(int64_t num)
{
    for (size_t i = 0; i < BKT_COUNT(types); i++)
        if (types[i].number == num)
            return make(i, H5Tget_order(H5T_NATIVE_INT));
    return H5I_INVALID_HID;
}

static bool is_type(hid_t type, size_t i, H5T_order_t order)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t made = make(i, order);
    return made >= 0 && H5Tequal(made, type) > 0;
}

/* BKT_COUNT(types): numpy has none. */
static size_t find(hid_t type)
{
    size_t i = 0;
    while (i < BKT_COUNT(types) && !is_type(type, i, H5T_ORDER_LE) && !is_type(type, i, H5T_ORDER_BE))
        i++;
    return i;
}

int bkt_numpy_number(hid_t type)
{
    size_t i = find(type);
    return i < BKT_COUNT(types) ? types[i].number : -1;
}

static void letter_of(size_t i, char *letter, size_t *size)
{
    static const char letters[] = {[INTEGER] = 'u', [FLOAT] = 'f', [COMPLEX] = 'c', [BOOLEAN] = 'b'};
    *letter = types[i].kind == INTEGER && types[i].is_signed ? 'i' : letters[types[i].kind];
    *size = types[i].kind == COMPLEX ? 2 * types[i].size : types[i].size;
}

hid_t bkt_numpy_of_letter(char letter, size_t size, H5T_order_t order)
{
    for (size_t i = 0; i < BKT_COUNT(types); i++) {
        char has;
        size_t bytes;
        letter_of(i, &has, &bytes);
        if (has == letter && bytes == size)
            return make(i, order);
    }
    return H5I_INVALID_HID;
}

bool bkt_numpy_letter(hid_t type, char *letter, size_t *size)
{
    size_t i = find(type);
    if (i < BKT_COUNT(types))
        letter_of(i, letter, size);
    return i < BKT_COUNT(types);
}
