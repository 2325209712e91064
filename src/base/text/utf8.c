#include "base/text/utf8.h"

#include <stdio.h>
#include <string.h>

size_t bkt_utf8_at(const unsigned char *p, size_t n, uint32_t *cp)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t k = 0; k < BKT_COUNT(forms) && k < n; k++) {
        if ((p[0] & forms[k].mask) != forms[k].lead)
            continue;
        uint32_t v = p[0] & (unsigned char)~forms[k].mask;
        for (size_t i = 1; i <= k; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return 0;
            v = v << 6 | (p[i] & 0x3f);
        }
        if (v < forms[k].least || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
            return 0;
        *cp = v;
        return k + 1;
    }
    return 0;
}

size_t bkt_utf8_put(uint32_t cp, unsigned char out[4])
{
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n; --i > 0; cp >>= 6)
        out[i] = (unsigned char)(0x80 | (cp & 0x3f));
    out[0] = (unsigned char)(n > 1 ? (0xf00 >> n & 0xff) | cp : cp);
    return n;
}

bool bkt_utf8_is(const void *text, size_t n)
{
    const unsigned char *p = text;
    uint32_t cp;
    for (size_t k; n; p += k, n -= k)
        if ((k = bkt_utf8_at(p, n, &cp)) == 0)
            return false;
    return true;
}

size_t bkt_utf8_plain(const unsigned char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

void bkt_utf8_escape(uint32_t cp, char out[BKT_UTF8_ESCAPED])
{
    static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = cp && cp < 0x80 ? strchr(names, (int)cp) : NULL;
    if (at)
        (void)snprintf(out, BKT_UTF8_ESCAPED, "\\%c", letters[at - names]);
    else if (cp >= 0x20 && cp < 0x7f)
        (void)snprintf(out, BKT_UTF8_ESCAPED, "%c", (int)cp);
    else if (cp < 0x10000)
        (void)snprintf(out, BKT_UTF8_ESCAPED, "\\u%04x", (unsigned)cp);
    else
        (void)snprintf(out, BKT_UTF8_ESCAPED, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (cp >> 10)) & 0xffff,
                       (unsigned)(0xdc00 + (cp & 0x3ff)));
}

int bkt_utf8_quote(struct bkt_buf *out, const void *text, size_t n)
{
    BKT_PASS(bkt_buf_add(out, "\"", 1));
    for (const unsigned char *p = text; n;) {
        char one[BKT_UTF8_ESCAPED];
        uint32_t cp = 0;
        size_t run = bkt_utf8_plain(p, n);
        BKT_PASS(bkt_buf_add(out, p, run));
        p += run, n -= run;
        if (!n)
            break;
        size_t k = bkt_utf8_at(p, n, &cp);
        bkt_utf8_escape(k ? cp : 0xdc00u + p[0], one);
        BKT_PASS(bkt_buf_add_str(out, one));
        k = k ? k : 1;
        p += k, n -= k;
    }
    return bkt_buf_add(out, "\"", 1);
}

void bkt_one_line(char *to, size_t room, const void *p, size_t n)
{
    const unsigned char *s = p;
    size_t k = 0;
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = 0;
        len = bkt_utf8_at(s + i, n - i, &c);
        bool shown = len && c >= ' ' && (c < 0x7f || c > 0x9f);
        len = len ? len : 1;
        if (k + len >= room)
            break;
        memcpy(to + k, shown ? (const char *)s + i : "    ", shown ? len : 1);
        k += shown ? len : 1;
    }
    while (k && to[k - 1] == ' ')
        k--;
    to[k] = 0;
}
