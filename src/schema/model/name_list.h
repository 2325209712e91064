/* Lists of named things (links, attributes) with fast lookup, inside src/schema; name_list.c describes them. */
#ifndef BKT_NAMED_H
#define BKT_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** The common first members of struct bkt_attr and struct bkt_link. */
struct __attribute__((may_alias)) bkt_named {
    char    *name; /* NULL: a hole */
    double   created;
    uint32_t seq;
};
#define BKT_UNNUMBERED UINT32_MAX /* seq of a thing just read that declares no number */
#define BKT_NUMBER_MAX INT32_MAX  /* a larger number isn't accepted */
struct bkt_named_edit;
/** struct bkt_attrs and struct bkt_links, without regard to their elements. */
struct bkt_named_list {
    void                  *v;
    size_t                 n;
    uint32_t              *order;
    struct bkt_named_edit *edit;
    uint32_t               next;
};

/** Sort a list just read, by name, and number it.  order[] (caller's, free()) has the places sorted by
 *  (created, place before).
 *  @param next  in: the declared next number (0: none); out: the right one */
BKT_NODISCARD int bkt_named_sort(void *v, size_t n, size_t size, uint32_t **order, uint32_t *next);
/** The place in order[] of a settled list of number @p seq, or of the next larger one. */
size_t            bkt_named_place(const void *v, size_t n, size_t size, const uint32_t *order, uint32_t seq);
const void       *bkt_named_find(const void *v, size_t n, size_t size, const struct bkt_named_edit *e, const char *name);

/** Add @p what (moved in by bytes) as the latest; its name must be new.  BKT_ENOMEM leaves the list as it
 *  was. */
BKT_NODISCARD int bkt_named_add(struct bkt_named_list *l, size_t size, const void *what);
/** Rename one thing, which keeps its place in the order of creation; the name must be new.  BKT_ENOENT,
 *  BKT_ENOMEM.
 *  @param to   malloc'ed, taken on success
 *  @param was  receives the old name */
BKT_NODISCARD int bkt_named_rename(struct bkt_named_list *l, size_t size, const char *from, char *to, char **was);
/** Move one thing out of the list into @p out.  BKT_ENOENT, BKT_ENOMEM. */
BKT_NODISCARD int bkt_named_remove(struct bkt_named_list *l, size_t size, const char *name, void *out);
/** Sort v and update order; numbers stay.  Returns n. */
size_t bkt_named_settle(void *v, size_t size, uint32_t *order, size_t n, struct bkt_named_edit *e);
size_t bkt_named_used(size_t n, const struct bkt_named_edit *e); /* entries of v, holes included */
/* bytes of memory that a list under change takes besides the list */
size_t bkt_named_edit_bytes(const struct bkt_named_edit *e, size_t size);
void   bkt_named_edit_free(struct bkt_named_edit *e);

#endif
