/* The fields of one JSON object, the format of credential sources' answers. */
#include <string.h>

#include "base/text/json_scan.h"
#include "storage/aws/cred/cred_impl.h"

#define MAX_DEPTH 32 /* of JSON; AWS's answers are flat */

/* A string, or a number's or word's spelling. */
static int take_value(struct bkt_json_scan *s, struct bkt_cred_json_field *f)
{
    struct bkt_json_scan_text text;
    bkt_secret_fini(&f->value);
    f->present = f->text = false;
    int c = bkt_json_scan_peek(s);
    if (c == '{' || c == '[')
        return bkt_json_scan_skip(s);
    f->text = c == '"';
    if (f->text) {
        BKT_PASS(bkt_json_scan_string(s, &text));
    } else {
        text.p = (const char *)s->p;
        BKT_PASS(bkt_json_scan_skip(s));
        text.n = (size_t)((const char *)s->p - text.p);
    }
    BKT_PASS(bkt_secret_add(&f->value, text.p, text.n));
    f->present = f->text || strcmp(bkt_buf_str(&f->value), "null") != 0;
    return BKT_OK;
}

static struct bkt_cred_json_field *field_of(struct bkt_cred_json_field *fields, size_t n,
                                       const struct bkt_json_scan_text *name)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(fields[i].name) == name->n && memcmp(fields[i].name, name->p, name->n) == 0)
            return &fields[i];
    return NULL;
}

static int take_object(struct bkt_json_scan *s, struct bkt_cred_json_field *fields, size_t n)
{
    struct bkt_json_scan_text name;
    bool                 more = false;
    /* room for every string: a string may be a secret, and must not be left in memory that was outgrown */
    BKT_PASS(bkt_buf_reserve(&s->text, (size_t)(s->end - s->begin)));
    BKT_PASS(bkt_json_scan_enter(s, '{'));
    for (bool first = true;; first = false) {
        BKT_PASS(bkt_json_scan_member(s, first, &name, &more));
        if (!more)
            return bkt_json_scan_end(s);
        struct bkt_cred_json_field *f = field_of(fields, n, &name);
        BKT_PASS(f ? take_value(s, f) : bkt_json_scan_skip(s));
    }
}

int bkt_cred_json_fields(const void *text, size_t n, struct bkt_cred_json_field *fields, size_t n_fields,
                    struct bkt_err *err)
{
    struct bkt_json_scan s;
    bkt_json_scan_init(&s, text, n);
    s.unmarked = true;
    s.max_depth = MAX_DEPTH;
    int rc      = take_object(&s, fields, n_fields);
    bkt_secret_fini(&s.text);
    if (rc == BKT_OK)
        return BKT_OK;
    bkt_cred_json_fields_fini(fields, n_fields);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL(err, BKT_EFORMAT, "not a JSON object: %s at byte %zu of %zu", s.wrong, (size_t)(s.p - s.begin),
             n);
}

void bkt_cred_json_fields_fini(struct bkt_cred_json_field *fields, size_t n_fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        bkt_secret_fini(&fields[i].value);
        fields[i].present = fields[i].text = false;
    }
}
