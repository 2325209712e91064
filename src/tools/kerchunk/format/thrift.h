/* Thrift's compact protocol, as Parquet's metadata use it.
 * https://github.com/apache/thrift/blob/master/doc/specs/ */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum thrift_type {
    THRIFT_STOP,
    THRIFT_TRUE,
    THRIFT_FALSE,
    THRIFT_BYTE,
    THRIFT_I16,
    THRIFT_I32,
    THRIFT_I64,
    THRIFT_DOUBLE,
    THRIFT_BINARY,
    THRIFT_LIST,
    THRIFT_SET,
    THRIFT_MAP,
    THRIFT_STRUCT
};
#define THRIFT_DEPTH 16 /* structs and lists in each other */

/** A reader; ok is false after the first fault, and all further values are zero then. */
struct thrift {
    struct bkt_rd rd;
    unsigned depth;
};
struct thrift_field {
    enum thrift_type type;
    int id;
};

/** An unsigned number of 7 bits a byte. */
uint64_t thrift_varint(struct thrift *t);
/** An integer of any width. */
int64_t thrift_int(struct thrift *t);
/** Take the value if the field is integer @p id, of any width: some writers choose it by the value. */
bool thrift_take_int(struct thrift *t, const struct thrift_field *f, int id, int64_t *to);
/** The next field of a struct; false: its end.  Begin with id 0.  The caller reads or skips the value. */
bool thrift_next(struct thrift *t, struct thrift_field *f);
/** The header of a list: the number of its entries, each of at least a byte. */
uint64_t thrift_list(struct thrift *t, enum thrift_type *entry);
/** Bytes, borrowed; NULL: a fault. */
const void *thrift_binary(struct thrift *t, size_t *n);
/** Any value. */
void thrift_skip(struct thrift *t, enum thrift_type type);
/** Whether a value is of the type that is wanted; another one is skipped. */
bool thrift_is(struct thrift *t, enum thrift_type type, enum thrift_type want);
