/* What an open domain is made of; inside src/schema. */
#ifndef BKT_DOMAIN_IMPL_H
#define BKT_DOMAIN_IMPL_H

#include <pthread.h>

#include "domain.h"
#include "map.h"
#include "objects.h"

struct bkt_links_count; /* links.c */
struct bkt_siblings;    /* siblings.c */

struct bkt_domain {
    struct bkt_domain *next; /* registry */
    unsigned           refs; /* under the registry's lock */
    char              *id;   /* what the registry finds it by: name and settings */
    char              *name, *path;
    struct bkt_settings    set;
    struct bkt_store      *store;
    struct bkt_domain_doc  doc;
    struct bkt_objects    *objects;
    struct bkt_links_count *links;
    struct bkt_siblings    *siblings; /* siblings.c; NULL: not used yet */

    pthread_mutex_t lock; /* guards what follows */
    void           *attached;
    void (*detach)(void *what);
    struct bkt_map *stores; /* that references name: URI -> struct bkt_store */
    struct bkt_map *usage;  /* dataset id -> struct bkt_usage */
};

void bkt_siblings_free(struct bkt_siblings *s);

/** Counter of hard links; counts what it is shown when the setting is "known". */
struct bkt_links_count *bkt_links_count_new(const struct bkt_domain *d);
void                    bkt_links_count_free(struct bkt_links_count *c);
void                    bkt_links_count_note(const struct bkt_object *o, void *count);

#endif
