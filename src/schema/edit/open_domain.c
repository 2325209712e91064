/* Opening by name: an open domain carries changes. */
#include "schema/edit/edit_impl.h"

int bkt_domain_open(const char *name, const struct bkt_settings *set, struct bkt_domain **out,
                    struct bkt_err *err)
{
    return bkt_registry_open(&bkt_edit_ops, name, false, set, out, err);
}

int bkt_domain_open_only(const char *name, const struct bkt_settings *set, struct bkt_domain **out,
                         struct bkt_err *err)
{
    return bkt_registry_open(&bkt_edit_ops, name, true, set, out, err);
}

int bkt_domain_probe(const char *name, const struct bkt_settings *set, struct bkt_err *err)
{
    return bkt_registry_probe(&bkt_edit_ops, name, set, err);
}

int bkt_domain_of_file(struct bkt_store *store, const char *key, const struct bkt_settings *set,
                       struct bkt_domain **out, struct bkt_err *err)
{
    return bkt_domain_for_file(&bkt_edit_ops, store, key, set, out, err);
}
