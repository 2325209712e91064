#include "tools/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void findings_fini(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        bkt_buf_fini(&f->v[i].text);
        bkt_buf_fini(&f->v[i].remedy);
    }
    free(f->v);
    *f = (struct findings){.n = 0};
}

__attribute__((format(printf, 3, 0))) static void fill(struct findings *f, struct bkt_buf *b, const char *fmt,
                                                       va_list args)
{
    char text[2048];
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is set */
    (void)vsnprintf(text, sizeof text, fmt, args);
    if (bkt_buf_addf(b, "%s", text) < 0)
        f->short_of_memory = true;
}

void finding_add(struct findings *f, const char *about, enum finding_state state, const char *fmt, ...)
{
    struct finding *v = realloc(f->v, (f->n + 1) * sizeof *v);
    va_list args;
    if (!v) {
        f->short_of_memory = true;
        return;
    }
    f->v = v;
    v[f->n] = (struct finding){.about = about, .state = state};
    va_start(args, fmt);
    fill(f, &v[f->n++].text, fmt, args);
    va_end(args);
}

void finding_remedy(struct findings *f, const char *fmt, ...)
{
    va_list args;
    if (!f->n)
        return;
    va_start(args, fmt);
    fill(f, &f->v[f->n - 1].remedy, fmt, args);
    va_end(args);
}

void finding_failed(struct findings *f, const char *about, enum finding_state state,
                    const struct bkt_err *err)
{
    finding_add(f, about, state, "%s", err->n ? err->frame[0].msg : bkt_err_text(err->code));
}
