#include "info.h"

#include <stdlib.h>
#include <string.h>

#include "h5err.h"
#include "settings.h"

/* All that are held; HDF5's global lock guards it.  Programs have one or two. */
static struct held {
    struct held *next;
    size_t       n;
    char         text[];
} *all;

void *bkt_info_copy(const void *info)
{
    struct held *h   = all;
    size_t       len = info ? strlen(info) : 0;
    if (!info)
        return NULL;
    while (h && strcmp(h->text, info) != 0)
        h = h->next;
    if (!h) {
        h = malloc(sizeof *h + len + 1);
        if (!h)
            return NULL;
        memcpy(h->text, info, len + 1);
        h->n    = 0;
        h->next = all;
        all     = h;
    }
    h->n++;
    return h->text;
}

herr_t bkt_info_cmp(int *cmp, const void *a, const void *b)
{
    *cmp = strcmp(a ? a : "", b ? b : "");
    return 0;
}

herr_t bkt_info_free(void *info)
{
    struct held **at = &all;
    while (*at && (*at)->text != info)
        at = &(*at)->next;
    if (*at && --(*at)->n == 0) {
        struct held *h = *at;
        *at            = h->next;
        free(h);
    }
    return 0;
}

herr_t bkt_info_to_str(const void *info, char **str)
{
    *str = strdup(info ? info : "");
    return *str ? 0 : -1;
}

herr_t bkt_info_from_str(const char *str, void **info)
{
    struct bkt_err      err = {.n = 0};
    struct bkt_settings set;
    while (*str == ' ')
        str++;
    int rc = bkt_settings_init(&set, str, &err);
    if (rc < 0)
        return bkt_h5err_publish(&err);
    bkt_settings_fini(&set);
    *info = bkt_info_copy(str);
    return *info ? 0 : -1;
}
