/* Thrift's compact protocol, as Parquet's metadata use it.
 * https://github.com/apache/thrift/blob/master/doc/specs/ */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum tc_type {
    TC_STOP,
    TC_TRUE,
    TC_FALSE,
    TC_BYTE,
    TC_I16,
    TC_I32,
    TC_I64,
    TC_DOUBLE,
    TC_BINARY,
    TC_LIST,
    TC_SET,
    TC_MAP,
    TC_STRUCT
};
#define TC_DEPTH 16 /* structs and lists in each other */

/** A reader; ok is false after the first fault, and all further values are zero then. */
struct tc {
    struct bkt_rd rd;
    unsigned depth;
};
struct tc_field {
    enum tc_type type;
    int id;
};

/** An unsigned number of 7 bits a byte. */
uint64_t tc_varint(struct tc *t);
/** An integer of any width. */
int64_t tc_int(struct tc *t);
/** Take the value if the field is integer @p id, of any width: some writers choose it by the value. */
bool tc_take_int(struct tc *t, const struct tc_field *f, int id, int64_t *to);
/** The next field of a struct; false: its end.  Begin with id 0.  The caller reads or skips the value. */
bool tc_next(struct tc *t, struct tc_field *f);
/** The header of a list: the number of its entries, each of at least a byte. */
uint64_t tc_list(struct tc *t, enum tc_type *entry);
/** Bytes, borrowed; NULL: a fault. */
const void *tc_binary(struct tc *t, size_t *n);
/** Any value. */
void tc_skip(struct tc *t, enum tc_type type);
/** Whether a value is of the type that is wanted; another one is skipped. */
bool tc_is(struct tc *t, enum tc_type type, enum tc_type want);
