/* The settings that a test opens its domains with, and the end of it. */
#ifndef BKT_DOMAINS_END_H
#define BKT_DOMAINS_END_H

#include "schema/domain/domain.h"
#include "base/os/pool.h"
#include "storage/store.h"

static struct bkt_settings set;

/* At the end of a test: no thread is left, and nothing that a sanitizer would miss. */
static inline void domains_end(void)
{
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    bkt_settings_fini(&set);
}

#endif
