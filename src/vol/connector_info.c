#include "vol/connector_info.h"

#include <stdlib.h>
#include <string.h>

#include "vol/core/h5err.h"
#include "base/settings.h"

/* Texts that have copies, for the case that there is no memory for one more; HDF5's global lock guards
 * them.  Programs have one or two. */
static struct held {
    struct held *next;
    size_t       n; /* copies, including those that a program passed to free() */
    char         text[];
} *all;

static struct held **find(const char *text)
{
    struct held **at = &all;
    while (*at && strcmp((*at)->text, text) != 0)
        at = &(*at)->next;
    return at;
}

static struct held *hold(const char *text)
{
    struct held *h   = *find(text);
    size_t       len = strlen(text);
    if (h || !(h = malloc(sizeof *h + len + 1)))
        return h;
    memcpy(h->text, text, len + 1);
    h->n    = 0;
    h->next = all;
    return all = h;
}

void *bkt_info_copy(const void *info)
{
    struct held *h = info ? hold(info) : NULL;
    if (!h)
        return NULL;
    char *copy = strdup(info);
    h->n++;
    return copy ? copy : h->text;
}

herr_t bkt_info_cmp(int *cmp, const void *a, const void *b)
{
    *cmp = strcmp(a ? a : "", b ? b : "");
    return 0;
}

herr_t bkt_info_free(void *info)
{
    struct held **at = info ? find(info) : NULL, *h = at ? *at : NULL;
    if (!h || h->text != info)
        free(info);
    if (h && --h->n == 0) {
        *at = h->next;
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
        return bkt_h5err_publish(&err, rc);
    bkt_settings_fini(&set);
    *info = bkt_info_copy(str);
    return *info ? 0 : -1;
}
