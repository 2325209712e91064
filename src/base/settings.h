/* All settings.  The parser, `h5bucket settings` and the table of docs/settings.md are made from the table
 * below.  Precedence: connector info string, environment, config file, default.  The name of a setting that
 * was removed is an error, whose message describes the replacement. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/trace.h"

/* The defaults of sizes were measured; bench/tuning.md has the figures for each setting. */
/* X(kind, name, file, environment variables (first set one wins), default, lowest, highest, help)
 *
 *  kinds: TEXT (char *, NULL when unset), BOOL, UINT (uint64_t; a suffix K, M, G, T multiplies by 1024 and
 *         its powers)
 *
 *  file:  SAME: a second open of a domain with another value returns the open file, with the first value.
 *         OTHER: another value makes it another file, since it changes what is stored, reached, read or
 *         allowed. */
#define BKT_SETTINGS(X)                                                                                      \
    X(TEXT, bucket, OTHER, "H5BUCKET_BUCKET,HS_BUCKET", NULL, 0, 0,                                          \
      "default bucket: plain paths and hdf5:// names are domains in it (s3://name, file:///dir or a bare "   \
      "S3 bucket name)")                                                                                     \
    X(TEXT, endpoint, OTHER, "AWS_ENDPOINT_URL_S3,AWS_ENDPOINT_URL,AWS_S3_GATEWAY", NULL, 0, 0,              \
      "S3 server to use instead of AWS, e.g. http://127.0.0.1:9000")                                         \
    X(TEXT, region, OTHER, "AWS_REGION,AWS_DEFAULT_REGION", NULL, 0, 0,                                      \
      "S3 region; if it is not set, taken from the server's answer")                                         \
    X(TEXT, profile, OTHER, "AWS_PROFILE,AWS_DEFAULT_PROFILE", NULL, 0, 0,                                   \
      "profile in the AWS config and credentials files")                                                     \
    X(BOOL, anonymous, OTHER, "AWS_NO_SIGN_REQUEST,H5BUCKET_ANONYMOUS", "no", 0, 1,                          \
      "send unsigned requests (public buckets)")                                                             \
    X(BOOL, requester_pays, OTHER, "H5BUCKET_REQUESTER_PAYS", "no", 0, 1,                                    \
      "agree to pay for requests to requester-pays buckets")                                                 \
    X(TEXT, addressing, OTHER, "H5BUCKET_ADDRESSING", "auto", 0, 0,                                          \
      "auto, path or virtual: bucket in the path or in the host name; auto is virtual on AWS, path "         \
      "elsewhere")                                                                                           \
    X(TEXT, ca_bundle, OTHER, "AWS_CA_BUNDLE,CURL_CA_BUNDLE,SSL_CERT_FILE", NULL, 0, 0,                      \
      "file of CA certificates that TLS trusts, instead of the system's")                                    \
    X(TEXT, token, OTHER, "H5BUCKET_TOKEN", NULL, 0, 0,                                                      \
      "HOST:TOKEN, several separated by spaces or commas: bearer tokens of web servers; "                    \
      "each goes to the host that it names, if the program named that host, too")                            \
    X(UINT, connections, SAME, "H5BUCKET_CONNECTIONS", "256", 1, 1024,                                       \
      "most connections to one server; 64 at first, 128 for metadata and uploaded chunks; "                  \
      "doubles while requests wait and answers come as quickly")                                             \
    X(UINT, workers, SAME, "H5BUCKET_WORKERS", "0", 0, 256,                                                  \
      "decoding threads; 0: one per processor, at most 64")                                                  \
    X(UINT, retries, SAME, "H5BUCKET_RETRIES", "8", 0, 100, "how often one request is sent again")           \
    X(UINT, deadline_ms, SAME, "H5BUCKET_DEADLINE_MS", "120000", 100, 86400000,                              \
      "time for one request with all its retries, ms; plus 1 s for each 4 KiB transferred; "                 \
      "one try connects for a twelfth of it, and waits for data for a sixth, 3 s at least")                  \
    X(UINT, meta_cache, SAME, "H5BUCKET_META_CACHE", "64M", 0, UINT64_MAX,                                   \
      "bytes of parsed objects kept per open domain; when changes take as much, they are stored before a "   \
      "flush; "                                                                                              \
      "an object of more than 256M is refused if it is larger than 4 times this")                            \
    X(UINT, chunk_cache, SAME, "H5BUCKET_CHUNK_CACHE", "96M", 0, UINT64_MAX,                                 \
      "bytes of decoded chunks kept per open domain; as many, 16M at least, for chunks being written, "      \
      "and for data in transfer (at most 1G)")                                                               \
    X(UINT, read_ahead, SAME, "H5BUCKET_READ_AHEAD", "64M", 0, UINT64_MAX,                                   \
      "bytes read ahead of a program that reads in steps; 0: none, and no group's members ahead of a "       \
      "traversal")                                                                                           \
    X(TEXT, writers, OTHER, "H5BUCKET_WRITERS", "many", 0, 0,                                                \
      "many or one: programs that write a domain at the same time; "                                         \
      "one sends no conditional PUTs, for servers without them and folders without locks")                   \
    X(BOOL, fsync, OTHER, "H5BUCKET_FSYNC", "yes", 0, 1,                                                     \
      "a PUT in a directory is on disk when it returns (fsync of the file and of its directory)")            \
    X(TEXT, links, OTHER, "H5BUCKET_LINKS", "refuse", 0, 0,                                                  \
      "refuse or follow: symbolic links inside a folder used as a bucket; "                                  \
      "nothing is deleted and no lock is kept through a link")                                               \
    X(TEXT, allow, OTHER, "H5BUCKET_ALLOW", NULL, 0, 0,                                                      \
      "stores that references may name besides the domain's own: URI prefixes, separated by spaces or "      \
      "commas; "                                                                                             \
      "*: any remote store")                                                                                 \
    X(TEXT, user, OTHER, "H5BUCKET_USERNAME,HS_USERNAME", NULL, 0, 0,                                        \
      "user name that a domain's (advisory) ACL is checked for")                                             \
    X(TEXT, schema, SAME, "H5BUCKET_SCHEMA", "v2", 0, 0,                                                     \
      "v2 or v1: the version of the schema that new domains are made in (v1: for old servers; objects lie "  \
      "flat in the bucket)")                                                                                 \
    X(TEXT, snapshot, OTHER, "H5BUCKET_SNAPSHOT", "check", 0, 0,                                             \
      "check, trust or no: take objects from the domain's snapshot (h5bucket snapshot) if a list shows "     \
      "them unchanged;"                                                                                      \
      " trust: without a list")                                                                              \
    X(BOOL, pointers, SAME, "H5BUCKET_POINTERS", "no", 0, 1,                                                 \
      "make a pointer file when a plain name is created in the default bucket, for programs that look for "  \
      "their file")                                                                                          \
    X(BOOL, stats, SAME, "H5BUCKET_STATS", "no", 0, 1, "print requests and bytes to stderr at exit")         \
    X(TEXT, trace, SAME, "H5BUCKET_TRACE", NULL, 0, 0,                                                       \
      "categories to trace to stderr, separated by commas: " BKT_TRACE_NAMES)

/* Knobs of tests and benchmarks, not supported for other uses (CONTRIBUTING.md, "Tests").
 * An info string has "test." before the name of a knob; H5BUCKET_TEST has the bare name.  If a knob has no
 * default, its value is derived: see bkt_settings_*() below, or the module that uses the knob. */
/* X(kind, name, file, default, lowest, highest, help) */
#define BKT_TEST_SETTINGS(X)                                                                                 \
    X(UINT, hedge, SAME, "5", 0, 100,                                                                        \
      "per cent of GETs that may be sent a second time: a late answer, a stuck body")                        \
    X(UINT, io_threads, SAME, NULL, 0, 16, "threads that talk to servers")                                   \
    X(UINT, connect_ms, SAME, NULL, 0, 600000, "time to connect, ms")                                        \
    X(UINT, stall_ms, SAME, NULL, 0, 600000, "a transfer without data is retried after this time, ms")       \
    X(UINT, backoff_ms, SAME, "50", 0, 60000, "first back-off, ms")                                          \
    X(UINT, write_cache, SAME, NULL, 0, UINT64_MAX, "bytes of written chunks kept per open domain")          \
    X(UINT, in_flight, SAME, NULL, 0, UINT64_MAX, "most bytes of chunk data in transfer")                    \
    X(UINT, part_size, SAME, "8M", 65536, UINT64_MAX, "longer ranges are split into parts of this size")     \
    X(UINT, merge_gap, SAME, "2M", 0, 67108864,                                                              \
      "widest gap between ranges that are fetched as one; 0: none")                                          \
    X(UINT, near, SAME, "64K", 0, 67108864, "bytes around a small read that are fetched with it; 0: none")   \
    X(UINT, max_object, OTHER, NULL, 4096, UINT64_MAX, "a metadata object larger than this is refused")      \
    X(TEXT, keys, OTHER, NULL, 0, 0,                                                                         \
      "access key, secret key and session token, one a line: those of a ros3 list")                          \
    X(TEXT, conditional, OTHER, NULL, 0, 0,                                                                  \
      "quoted or bare: ETags in conditional PUTs, without a test of the server")                             \
    X(TEXT, sign_payload, OTHER, NULL, 0, 0, "yes or no: whether a PUT's signature covers its bytes")        \
    X(UINT, upload_part, SAME, "32M", 65536, 5368709120, "longer objects are uploaded in parts of this size")

struct bkt_settings {
#define BKT_FIELD_TEXT(name) char *name;
#define BKT_FIELD_BOOL(name) bool name;
#define BKT_FIELD_UINT(name) uint64_t name;
#define X(kind, name, file, env, def, lo, hi, help) BKT_FIELD_##kind(name)
    BKT_SETTINGS(X)
#undef X
#define X(kind, name, file, def, lo, hi, help) BKT_FIELD_##kind(name)
    BKT_TEST_SETTINGS(X)
#undef X
};

/** Fill in all settings from default, config file, environment and @p info; later sources win.
 * @param info  "key=value;key=value"; NULL or "": no values
 * @return BKT_OK; BKT_EINVAL: an unknown key or a bad value, the message names it, its source and the known
 *     keys; BKT_ENOMEM.  @p s is empty (as after fini) on failure. */
BKT_NODISCARD int bkt_settings_init(struct bkt_settings *s, const char *info, struct bkt_err *err);

/** Set one setting by name; errors as for bkt_settings_init(), which leave it as it was.  @p where names the
 * source in the message. */
BKT_NODISCARD int bkt_settings_set(struct bkt_settings *s, const char *name, const char *value,
                                   const char *where, struct bkt_err *err);
/** Fill in @p to, whose former contents are not freed.  BKT_ENOMEM: @p to is empty. */
BKT_NODISCARD int bkt_settings_copy(struct bkt_settings *to, const struct bkt_settings *from,
                                    struct bkt_err *err);
/** Whether all settings have the same values in both. */
bool bkt_settings_equal(const struct bkt_settings *a, const struct bkt_settings *b);
void bkt_settings_fini(struct bkt_settings *s); /* NULL is allowed; texts are wiped */

/* Values that follow from settings, unless a test sets them. */
uint64_t bkt_settings_connect_ms(const struct bkt_settings *s);  /* for one try to connect */
uint64_t bkt_settings_stall_ms(const struct bkt_settings *s);    /* for one try to wait for a byte */
uint64_t bkt_settings_write_cache(const struct bkt_settings *s); /* bytes of written chunks kept per domain */
uint64_t bkt_settings_in_flight(const struct bkt_settings *s);   /* bytes of chunk data in transfer */
uint64_t bkt_settings_max_object(const struct bkt_settings *s);  /* bytes of the largest metadata object */

/** One row of the table; `value` is the value in force.  All texts are borrowed. */
struct bkt_setting_row {
    const char *name, *environment, *def, *help, *value;
    bool        is_default; /* the value is the default */
};
/** Call @p each for the rows of BKT_SETTINGS, in their order.  A return of @p each other than BKT_OK stops
 * and is returned; else BKT_OK or BKT_ENOMEM. */
int bkt_settings_each(const struct bkt_settings *s, int (*each)(const struct bkt_setting_row *row, void *arg),
                      void *arg);

/** Print the table as Markdown (docs/settings.md) or plain text (`h5bucket settings`), with current values if
 * @p s is not NULL. */
void bkt_settings_print(FILE *to, const struct bkt_settings *s, bool markdown);
