/* h5bucket doctor: checks of the installation, of the settings and of a store. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "bkt_config.h"
#include "tools/doctor/findings.h"
#include "tools/show/show.h"

/* ---- findings ---- */

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
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, args);
    if (!text || bkt_buf_add_str(b, text) < 0)
        f->short_of_memory = true;
}

void finding_add(struct findings *f, const char *about, enum finding_state state, const char *fmt, ...)
{
    va_list args;
    if (bkt_list_room(&f->v, f->n, &f->cap, sizeof *f->v) < 0) {
        f->short_of_memory = true;
        return;
    }
    f->v[f->n] = (struct finding){.about = about, .state = state};
    va_start(args, fmt);
    fill(f, &f->v[f->n++].text, fmt, args);
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

/* ---- the verb ---- */

static const char *const states[] = {
    [FINDING_OK] = "ok", [FINDING_NOTE] = "note", [FINDING_WARN] = "warning", [FINDING_BAD] = "fault"};

static void print_json(const struct findings *f, struct bkt_jout *j)
{
    bkt_jout_open(j, NULL, '{');
    bkt_jout_str(j, "version", BKT_VERSION);
    bkt_jout_open(j, "checks", '[');
    for (size_t i = 0; i < f->n; i++)
        bkt_jout_object(j, "about:s state:s found:s remedy:s", f->v[i].about, states[f->v[i].state],
                        bkt_buf_str(&f->v[i].text),
                        f->v[i].remedy.len ? bkt_buf_str(&f->v[i].remedy) : NULL);
    bkt_jout_close(j);
    bkt_jout_close(j);
}

/* Text from a server can hold what a terminal obeys. */
static void print_safe(const char *before, const struct bkt_buf *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_url(&b, bkt_buf_str(text));
    printf("%s%s\n", before, bkt_buf_str(&b));
}

static void print_text(const struct findings *f)
{
    unsigned todo = 0;
    printf("vol-bucket  %s\n", BKT_VERSION);
    for (size_t i = 0; i < f->n; i++) {
        char before[40];
        (void)snprintf(before, sizeof before, "%-11s %-8s ", f->v[i].about, states[f->v[i].state]);
        print_safe(before, &f->v[i].text);
    }
    for (size_t i = 0; i < f->n; i++) {
        char before[80];
        if (!f->v[i].remedy.len)
            continue;
        if (!todo++)
            printf("\nWhat to do:\n");
        (void)snprintf(before, sizeof before, "%3u. %s: ", todo, f->v[i].about);
        print_safe(before, &f->v[i].remedy);
    }
    if (!todo)
        printf("\nNothing has to be done.\n");
}

static int run(struct bkt_tool *t)
{
    struct findings f = {.n = 0};
    int code = BKT_EXIT_OK;
    check_program(&f, t);
    for (int i = 0; i < t->n_args; i++)
        check_store(&f, t, t->args[i], !bkt_tool_has(t, "read-only"));
    if (t->json)
        print_json(&f, &t->j);
    else
        print_text(&f);
    for (size_t i = 0; i < f.n; i++)
        code = f.v[i].state == FINDING_BAD ? BKT_EXIT_FAIL : code;
    if (f.short_of_memory)
        code = bkt_tool_fail(t, "out of memory");
    findings_fini(&f);
    return code;
}

static const struct bkt_opt opts[] = {
    {'r', "read-only", NULL, "try no writing", NULL},
};
const struct bkt_verb bkt_verb_doctor = {
    .name = "doctor",
    .args = "[NAME...]",
    .max_args = -1,
    .help = "check HDF5, the plugin, settings, and how a store answers; print what to do",
    .text = "Without a NAME only this machine is looked at. With a name (a bucket, folder, domain or plain\n"
            "HDF5 file, in a store or a folder) its store is asked: credentials, region, TLS, latency,\n"
            "clock, rate, and whether conditional PUTs work. For that two small objects and one of 16 MiB\n"
            "are stored below the name, and deleted; --read-only leaves that out. No secret is printed:\n"
            "the output can go into a report of a fault.\n\n"
            "Exit code 1: something prevents programs from working.\n\n"
            "JSON: {\"version\", \"checks\": [{\"about\", \"state\": ok, note, warning or fault, \"found\",\n"
            "\"remedy\": or null}]}.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
