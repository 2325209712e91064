/* Checks of a store: credentials, region, latency, clock, rate, conditions. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/num.h"
#include "base/random.h"
#include "tools/doctor/findings.h"
#include "tools/show/show.h"
#include "tools/source/plain_name.h"

#define LATENCY_TRIES 5
#define RATE_BYTES    ((size_t)16 << 20) /* read to measure the rate: a second or less on most networks */
#define RATE_PARTS    16                 /* requests side by side */
#define SKEW_S        60 /* S3 refuses 15 minutes; a minute already confuses whoever compares times */

/* ---- what the name means ---- */

static const char *kind_of(const struct bkt_doc *doc, const struct bkt_bucket_place *p)
{
    switch (doc->what) {
    case BKT_IS_DOMAIN:
        return "a domain";
    case BKT_IS_FOLDER:
    case BKT_IS_PREFIX:
        return *p->path ? "a folder" : "a bucket";
    default:
        return NULL;
    }
}

/* A denial is the commonest trouble: its message says with which credentials. */
static void add_denied(struct findings *f, const struct bkt_err *err)
{
    finding_failed(f, "object", FINDING_BAD, err);
    if (err->code == BKT_EACCES)
        finding_remedy(f, "for a public bucket AWS_NO_SIGN_REQUEST=1; else credentials as AWS's programs "
                          "find them (AWS_PROFILE, "
                          "AWS_ACCESS_KEY_ID); for a requester-pays bucket H5BUCKET_REQUESTER_PAYS=1");
    else if (err->code == BKT_ENET || err->code == BKT_ETIME)
        finding_remedy(
            f, "check AWS_ENDPOINT_URL, the network, and proxies (http_proxy, https_proxy, no_proxy)");
    else if (err->code == BKT_ENOENT)
        finding_remedy(f, "check the bucket's name and AWS_ENDPOINT_URL");
}

/* @return whether the store answers */
static bool check_object(struct findings *f, const struct bkt_tool *t, const char *name,
                         const struct bkt_bucket_place *p, struct plain_file *plain)
{
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc doc = {0};
    struct bkt_err err = {.n = 0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf shown = {0};
    int rc = bkt_doc_get(p->store, p->path, &doc, &err);
    const char *kind = rc == BKT_OK ? kind_of(&doc, p) : NULL;
    if (!kind && plain_file_is(plain, &t->set))
        kind = "a plain HDF5 file";
    bkt_show_url(&shown, name);
    if (kind)
        finding_add(f, "object", FINDING_OK, "%s is %s", bkt_buf_str(&shown), kind);
    else if (rc < 0)
        add_denied(f, &err);
    else
        finding_add(f, "object", *p->path ? FINDING_NOTE : FINDING_OK, "%s: nothing is there yet",
                    bkt_buf_str(&shown));
    return kind || rc == BKT_OK;
}

/* ---- the server ---- */

static void check_server(struct findings *f, const struct bkt_tool *t, struct bkt_store *st, bool answers)
{
    struct bkt_store_facts facts;
    bkt_store_facts(st, &facts);
    if (!*facts.endpoint) {
        finding_add(f, "server", FINDING_OK, "none, a folder");
        return;
    }
    bool secure = strncmp(facts.endpoint, "https:", 6) == 0;
    finding_add(f, "server", FINDING_OK, "%s%s%s", facts.endpoint, *facts.region ? ", region " : "",
                facts.region);
    if (answers)
        finding_add(f, "TLS", secure ? FINDING_OK : FINDING_NOTE,
                    secure ? "the server's certificate was checked" : "none: http sends data as they are");
    if (strncmp(bkt_store_uri(st), "s3:", 3) == 0)
        finding_add(f, "login", FINDING_OK, "%s%s",
                    *facts.credentials ? "credentials from " : "requests are not signed",
                    *facts.credentials ? facts.credentials
                    : t->set.anonymous ? " (AWS_NO_SIGN_REQUEST)"
                                       : "");
}

static void check_clock(struct findings *f, struct bkt_store *st)
{
    int64_t ahead = bkt_store_ahead(st);
    if (ahead > SKEW_S || ahead < -SKEW_S) {
        finding_add(f, "clock", FINDING_WARN, "the store's clock is %" PRId64 " s %s this machine's",
                    ahead < 0 ? -ahead : ahead, ahead < 0 ? "behind" : "ahead of");
        finding_remedy(f, "set the machine's clock (NTP): S3 refuses requests that are 15 minutes off");
    } else {
        finding_add(f, "clock", FINDING_OK, "agrees with the store's within %d s", SKEW_S);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of a few small requests, after one that made the connection. */
static void check_latency(struct findings *f, struct bkt_store *st, const char *key)
{
    double took[LATENCY_TRIES];
    for (int i = 0; i < LATENCY_TRIES; i++) {
        struct bkt_req req = {.op = BKT_HEAD, .key = key};
        double begin = bkt_clock_now();
        (void)bkt_store_perform(st, &req, 1, NULL); /* a 404 takes as long */
        took[i] = bkt_clock_now() - begin;
        bkt_req_fini(&req);
    }
    qsort(took, LATENCY_TRIES, sizeof *took, ascending);
    finding_add(f, "latency", FINDING_OK, "%.1f ms a request", 1000 * took[LATENCY_TRIES / 2]);
}

/* ---- rate ---- */

static void check_rate(struct findings *f, struct bkt_store *st, const char *key, uint64_t size)
{
    struct bkt_req reqs[RATE_PARTS];
    struct bkt_err err = {.n = 0};
    size_t all = bkt_min_u64(size, RATE_BYTES), part = all / RATE_PARTS + 1;
    unsigned char *room = malloc(all ? all : 1);
    unsigned n = 0;
    if (!room) {
        f->short_of_memory = true;
        return;
    }
    for (size_t at = 0; at < all; at += part)
        reqs[n++] = (struct bkt_req){
            .op = BKT_GET, .key = key, .off = at, .len = bkt_min_u64(part, all - at), .dst = room + at};
    double begin = bkt_clock_now();
    if (bkt_store_perform(st, reqs, n, &err) < 0)
        finding_failed(f, "rate", FINDING_WARN, &err);
    else
        finding_add(f, "rate", FINDING_OK, "%.0f MB/s (%zu bytes in %u requests)",
                    (double)all / 1e6 / fmax(bkt_clock_now() - begin, 1e-6), all, n);
    for (unsigned i = 0; i < n; i++)
        bkt_req_fini(&reqs[i]);
    free(room);
}

/* ---- writing ---- */

static void without_conditions(struct findings *f, const char *found)
{
    finding_add(f, "writing", FINDING_WARN,
                "%s: several writers of one domain would lose each other's changes", found);
    finding_remedy(f, "if only one program writes at a time, set H5BUCKET_WRITERS=one; else use a server "
                      "with conditional PUTs");
}

/* A PUT must fail where an object is, and where it is another version. */
static void check_conditions(struct findings *f, struct bkt_store *st, const char *key)
{
    char etag[BKT_ETAG_MAX] = "";
    struct bkt_err err = {.n = 0};
    int rc = bkt_store_put(st, key, "1", 1, NULL, "*", etag, &err);
    if (rc == BKT_EUNSUP) {
        without_conditions(f, "the server has no conditional PUT");
    } else if (rc < 0) {
        finding_failed(f, "writing", FINDING_NOTE, &err);
        finding_remedy(f, rc == BKT_EACCES ? "these credentials only read; to write, use others"
                                           : "see the message");
    } else if (bkt_store_put(st, key, "2", 1, NULL, "*", NULL, NULL) != BKT_EPRECOND) {
        without_conditions(f, "If-None-Match is ignored");
    } else if (bkt_store_put(st, key, "3", 1, etag, NULL, NULL, NULL) < 0 ||
               bkt_store_put(st, key, "4", 1, etag, NULL, NULL, NULL) != BKT_EPRECOND) {
        without_conditions(f, "If-Match is ignored");
    } else {
        finding_add(f, "writing", FINDING_OK, "allowed, with conditional PUTs");
    }
}

/* In a directory the objects lie at the bucket's top: an empty folder goes with the last object in it, and
 * the user's own empty folder would go, too. */
static void check_writing(struct findings *f, struct bkt_store *st, const char *path)
{
    path = bkt_store_is_local(st) ? "" : path;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0}, big = {0};
    struct bkt_err err = {.n = 0};
    BKT_CLEANUP(bkt_freep) char *bytes = calloc(1, RATE_BYTES);
    if (!bytes ||
        bkt_buf_addf(&key, "%s%s.h5bucket-doctor-%016" PRIx64, path, *path ? "/" : "", bkt_random()) < 0 ||
        bkt_buf_addf(&big, "%s-rate", bkt_buf_str(&key)) < 0) {
        f->short_of_memory = true;
        return;
    }
    check_conditions(f, st, bkt_buf_str(&key));
    if (f->v[f->n - 1].state == FINDING_NOTE)
        return; /* it can't be written */
    double begin = bkt_clock_now();
    if (bkt_store_put(st, bkt_buf_str(&big), bytes, RATE_BYTES, NULL, NULL, NULL, &err) == BKT_OK) {
        finding_add(f, "upload", FINDING_OK, "%.0f MB/s",
                    (double)RATE_BYTES / 1e6 / fmax(bkt_clock_now() - begin, 1e-6));
        check_rate(f, st, bkt_buf_str(&big), RATE_BYTES);
    } else {
        finding_failed(f, "upload", FINDING_WARN, &err);
    }
    const char *keys[] = {bkt_buf_str(&key), bkt_buf_str(&big)};
    bkt_err_clear(&err);
    if (bkt_store_delete(st, keys, BKT_COUNT(keys), &err) < 0) {
        finding_failed(f, "deleting", FINDING_WARN, &err);
        finding_remedy(f, "delete %s and %s in %s", keys[0], keys[1], bkt_store_uri(st));
    }
}

/* ---- all of it ---- */

static void check_speed(struct findings *f, struct bkt_store *st, const struct bkt_bucket_place *p,
                        bool write)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf doc = {0};
    uint64_t size = 0;
    if (bkt_domain_doc_key(p->path, &doc) < 0) {
        f->short_of_memory = true;
        return;
    }
    check_latency(f, st, bkt_buf_str(&doc));
    check_clock(f, st);
    if (bkt_store_is_readonly(st))
        finding_add(f, "writing", FINDING_NOTE, "a web server is read only");
    else if (write)
        check_writing(f, st, p->path);
    else
        finding_add(f, "writing", FINDING_NOTE, "not tried (--read-only)");
    if ((bkt_store_is_readonly(st) || !write) && *p->path &&
        bkt_store_head(st, p->path, &size, NULL) == BKT_OK && size)
        check_rate(f, st, p->path, size);
}

/* A signed address names one file: no domain can be there.
 * @return whether the name is a web address */
static bool check_address(struct findings *f, const struct bkt_tool *t, const char *name, bool is_hdf5)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf shown = {0};
    struct bkt_err err = {.n = 0};
    uint64_t size = 0;
    int rc = bkt_url_open(name, &t->set, &p.store, &p.path, &err);
    if (rc == BKT_EINVAL)
        return false;
    if (rc < 0 || bkt_store_head(p.store, p.path, &size, &err) < 0) {
        add_denied(f, &err);
        return true;
    }
    bkt_show_url(&shown, name);
    finding_add(f, "object", is_hdf5 ? FINDING_OK : FINDING_BAD, "%s is %s", bkt_buf_str(&shown),
                is_hdf5 ? "a plain HDF5 file" : "not an HDF5 file");
    check_server(f, t, p.store, true);
    check_latency(f, p.store, p.path);
    check_clock(f, p.store);
    finding_add(f, "writing", FINDING_NOTE, "a web server is read only");
    check_rate(f, p.store, p.path, size);
    return true;
}

void check_store(struct findings *f, const struct bkt_tool *t, const char *name, bool write)
{
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(plain_file_fini) struct plain_file plain = {.file = H5I_INVALID_HID};
    struct bkt_err err = {.n = 0};
    if (plain_file_ask(name, &t->set, &plain, &err) < 0) {
        finding_failed(f, "object", FINDING_BAD, &err);
        return;
    }
    if (bkt_bucket_place_open(name, &t->set, &p, &err) < 0) {
        if (!check_address(f, t, name, plain_file_is(&plain, &t->set))) {
            finding_failed(f, "object", FINDING_BAD, &err);
            finding_remedy(f, "names are s3://BUCKET/PATH, https://HOST/PATH, or a path");
        }
        return;
    }
    bool answers = check_object(f, t, name, &p, &plain);
    check_server(f, t, p.store, answers);
    if (answers)
        check_speed(f, p.store, &p, write);
}
