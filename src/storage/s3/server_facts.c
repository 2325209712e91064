#include "storage/s3/server_facts.h"

#include <stdlib.h>
#include <string.h>

#include "storage/s3/s3_impl.h"

static struct bkt_s3_server *servers; /* under bkt_state_lock() */

static struct bkt_s3_server *find(const char *where) /* state locked */
{
    for (struct bkt_s3_server *v = servers; v; v = v->next)
        if (strcmp(v->where, where) == 0)
            return v;
    struct bkt_s3_server *v = calloc(1, sizeof *v);
    if (!v || !(v->where = strdup(where))) {
        free(v);
        return NULL;
    }
    v->next = servers;
    return servers = v;
}

struct bkt_s3_server *bkt_s3_server_find(const struct bkt_s3_place *p, const char *setting)
{
    static const struct {
        const char *setting;
        enum bkt_s3_condition is;
    } fixed[] = {{"quoted", BKT_COND_QUOTED}, {"bare", BKT_COND_BARE}};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf where = {0};
    if (bkt_buf_addf(&where, "%s %s %s %s %s", setting ? setting : "auto", p->scheme, p->host ? p->host : "",
                     p->host ? p->base : "", p->bucket) < 0)
        return NULL;
    bkt_state_lock();
    struct bkt_s3_server *v = find(bkt_buf_str(&where));
    if (v && !p->host)
        v->condition = BKT_COND_QUOTED; /* AWS itself */
    for (size_t i = 0; v && setting && i < BKT_COUNT(fixed); i++)
        if (strcmp(setting, fixed[i].setting) == 0)
            v->condition = fixed[i].is;
    if (v)
        v->stores++;
    bkt_state_unlock();
    return v;
}

void bkt_s3_server_leave(struct bkt_s3_server *v)
{
    bkt_state_lock();
    if (v)
        v->stores--;
    bkt_state_unlock();
}

bool bkt_s3_server_region(struct bkt_s3_server *v, char region[BKT_S3_REGION_SIZE])
{
    bkt_state_lock();
    memcpy(region, v->region, sizeof v->region);
    bkt_state_unlock();
    return region[0] != 0;
}

void bkt_s3_region_set(struct bkt_s3 *s, const char *region)
{
    size_t n = strlen(region) + 1;
    bkt_state_lock();
    memcpy(s->region, region, n);
    memcpy(s->server->region, region, n);
    bkt_state_unlock();
}

void bkt_s3_region_get(struct bkt_s3 *s, char region[BKT_S3_REGION_SIZE])
{
    bkt_state_lock();
    memcpy(region, s->region, sizeof s->region);
    bkt_state_unlock();
}

/* Entries that open stores still use stay. */
void bkt_s3_shutdown(void)
{
    bkt_state_lock();
    for (struct bkt_s3_server **at = &servers, *v; (v = *at);) {
        if (!v->stores && v->condition != BKT_COND_ASKING) {
            *at = v->next;
            free(v->where);
            free(v);
            continue;
        }
        at = &v->next;
        v->region[0] = 0;
        if (v->condition != BKT_COND_ASKING && strncmp(v->where, "auto ", 5) == 0)
            v->condition = BKT_COND_UNKNOWN;
    }
    bkt_state_unlock();
}
