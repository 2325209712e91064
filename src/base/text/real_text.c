#include "base/text/real_text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int bkt_buf_add_real(struct bkt_buf *b, double v)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    return bkt_buf_add_str(b, text);
}

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t bkt_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_c_locale);
    return c_locale;
}
