/* Lists of named entries (links, attributes) with fast lookup; name_list.c describes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** The common first members of struct bkt_attr and struct bkt_link. */
struct __attribute__((may_alias)) bkt_named {
    char    *name; /* NULL: a hole */
    double   created;
    uint32_t seq;       /* number in the order of creation: increases, with gaps where some were removed */
    bool     name_utf8; /* declared character set; by default: whether the name has more than ASCII */
};
#define BKT_UNNUMBERED UINT32_MAX /* seq of an entry just read that declares no number */
#define BKT_NUMBER_MAX INT32_MAX  /* a larger number isn't accepted */
struct bkt_named_edit;
/** The lists of model.h, without regard to their elements.  All functions take the elements' size. */
struct bkt_named_list {
    void                  *v;
    size_t                 n;
    uint32_t              *order;
    struct bkt_named_edit *edit; /* NULL: never changed */
    uint32_t               next; /* seq of the next element; before sorting: the declared seq, or 0 */
};
/** The members of a list whose elements are @p type; `list` is the same, for the functions here. */
#define BKT_NAMED_LIST(type)            \
    union {                             \
        struct bkt_named_list list;     \
        struct {                        \
            type                  *v;     \
            size_t                 n;     \
            uint32_t              *order; \
            struct bkt_named_edit *edit;  \
            uint32_t               next;  \
        };                              \
    }

/** Sort a list just read, by name, and number it.  order[] has the places sorted by (created, place
 *  before). */
BKT_NODISCARD int bkt_named_sort(struct bkt_named_list *l, size_t size);
/** The place in order[] of a settled list of number @p seq, or of the next larger one. */
size_t      bkt_named_place(const struct bkt_named_list *l, size_t size, uint32_t seq);
/** The entry of that name, borrowed until the list changes; NULL: none. */
const void *bkt_named_find(const struct bkt_named_list *l, size_t size, const char *name);

/** Add @p what (moved in by bytes, then zeroed) as the latest; its name must be new.  BKT_ENOMEM leaves both
 *  as they were. */
BKT_NODISCARD int bkt_named_add(struct bkt_named_list *l, size_t size, void *what);
/** Rename an entry, which keeps its place in the order of creation; the name must be new.  BKT_ENOENT,
 *  BKT_ENOMEM.
 *  @param to   malloc'ed, taken on success
 *  @param was  receives the old name */
BKT_NODISCARD int bkt_named_rename(struct bkt_named_list *l, size_t size, const char *from, char *to,
                                   char **was);
/** Move an entry out of the list into @p out.  BKT_ENOENT, BKT_ENOMEM. */
BKT_NODISCARD int bkt_named_remove(struct bkt_named_list *l, size_t size, const char *name, void *out);
/** Sort v and update order of a list that was changed; numbers stay.  The contents stay the same, so it is
 *  constant for readers. */
void   bkt_named_settle(const struct bkt_named_list *l, size_t size);
size_t bkt_named_used(const struct bkt_named_list *l); /* entries of v, holes included */
/* bytes of memory that a list under change takes besides the list */
size_t bkt_named_edit_bytes(const struct bkt_named_list *l, size_t size);
/** Free the list, whose elements are released, and clear it. */
void bkt_named_fini(struct bkt_named_list *l);
