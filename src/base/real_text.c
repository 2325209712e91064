#include "base/real_text.h"

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
