/* Lists of named things (links, attributes) with fast names, inside src/schema; how they work: named.c. */
#ifndef BKT_NAMED_H
#define BKT_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/** What struct bkt_attr and struct bkt_link begin with. */
struct __attribute__((may_alias)) bkt_named {
    char    *name; /* NULL: a hole */
    double   created;
    uint32_t seq;
};
#define BKT_UNNUMBERED UINT32_MAX /* seq of something just read whose number isn't said */
#define BKT_NUMBER_MAX INT32_MAX  /* no larger one is believed */
struct bkt_named_edit;
/** struct bkt_attrs and struct bkt_links, whatever they hold. */
struct bkt_named_list {
    void                  *v;
    size_t                 n;
    uint32_t              *order;
    struct bkt_named_edit *edit;
    uint32_t               next;
};

/** Sort a list just read, by name, and number it; order[] (caller's, free()): the places sorted by (created, place before).
 * @param next  in: the number that is said to come next (0: none is); out: the one that does */
BKT_NODISCARD int bkt_named_sort(void *v, size_t n, size_t size, uint32_t **order, uint32_t *next);
/** Where in order[] of a settled list the number @p seq stands, or the next larger one. */
size_t            bkt_named_place(const void *v, size_t n, size_t size, const uint32_t *order, uint32_t seq);
const void       *bkt_named_find(const void *v, size_t n, size_t size, const struct bkt_named_edit *e, const char *name);

/** Add @p what (moved in by bytes) as the latest; its name isn't there yet.  BKT_ENOMEM leaves the list as it was. */
BKT_NODISCARD int bkt_named_add(struct bkt_named_list *l, size_t size, const void *what);
/** Give another name to one, which keeps its place in the order of creation; @p to (malloc'ed) is taken on success, @p was is
 *  the old one.  The name is known to be new.  BKT_ENOENT, BKT_ENOMEM. */
BKT_NODISCARD int bkt_named_rename(struct bkt_named_list *l, size_t size, const char *from, char *to, char **was);
/** Move one out into @p out.  BKT_ENOENT, BKT_ENOMEM. */
BKT_NODISCARD int bkt_named_remove(struct bkt_named_list *l, size_t size, const char *name, void *out);
/** Make v sorted and order right, numbers stay; back comes n. */
size_t bkt_named_settle(void *v, size_t size, uint32_t *order, size_t n, struct bkt_named_edit *e);
size_t bkt_named_used(size_t n, const struct bkt_named_edit *e); /* entries of v, holes included */
size_t bkt_named_edit_bytes(const struct bkt_named_edit *e, size_t size); /* of memory: what a change needs beside the list */
void   bkt_named_edit_free(struct bkt_named_edit *e);

#endif
