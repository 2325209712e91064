/* The common members of links and attributes in JSON: name, time, number in the order of creation. */
#include <string.h>

#include "schema/json/schema_json.h"

bool bkt_name_is_ascii(const char *name)
{
    while (*name && (unsigned char)*name < 0x80)
        name++;
    return !*name;
}

static bool is_word(const char *p, size_t n, const char *word)
{
    return p && n == strlen(word) && memcmp(p, word, n) == 0;
}

bool bkt_name_is_utf8(const char *name, const char *set, size_t n)
{
    if (is_word(set, n, "H5T_CSET_ASCII"))
        return false;
    return is_word(set, n, "H5T_CSET_UTF8") || !bkt_name_is_ascii(name);
}

void bkt_entry_read(const json_t *j, struct bkt_named *one)
{
    const char *set = bkt_json_word(j, "charSet");
    one->created   = bkt_json_seconds(j, "created");
    one->seq       = bkt_order_said(j);
    one->name_utf8 = bkt_name_is_utf8(one->name, set, set ? strlen(set) : 0);
}

int bkt_entry_say(json_t *j, const struct bkt_named *one)
{
    if (one->name_utf8 == bkt_name_is_ascii(one->name))
        BKT_PASS(
            bkt_json_set(j, "charSet", json_string(one->name_utf8 ? "H5T_CSET_UTF8" : "H5T_CSET_ASCII")));
    return bkt_json_set(j, "created", bkt_json_new_real(one->created));
}

int bkt_entry_put(json_t *list, const struct bkt_named *one, json_t *entry, uint32_t *number,
                  struct bkt_err *err)
{
    if (number && bkt_order_follow(entry, one->seq, number) < 0) {
        json_decref(entry);
        BKT_NOMEM(err);
    }
    if (bkt_json_set_named(list, one->name, entry) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}
