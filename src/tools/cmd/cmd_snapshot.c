/* h5bucket snapshot: all metadata of a domain in one object, for programs that walk through it; see
 * schema/snapshot/snapshot.h. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/bucket/bucket_names.h"
#include "tools/bucket/snapshots.h"
#include "tools/cli/tool.h"

static int run(struct bkt_tool *t)
{
    struct bkt_err                              *err  = &t->err;
    BKT_CLEANUP(bkt_bucket_place_fini) struct bkt_bucket_place p = {0};
    BKT_CLEANUP(bkt_doc_fini) struct bkt_doc     doc  = {0};
    struct snapshot_report reported = {0};
    BKT_PASS(bkt_bucket_place_open(t->args[0], &t->set, &p, err));
    BKT_PASS(bkt_doc_get(p.store, p.path, &doc, err));
    BKT_FAIL_IF(err, doc.what == BKT_IS_FOLDER, BKT_EUNSUP, "%s is a folder, not a domain", t->args[0]);
    if (doc.what != BKT_IS_DOMAIN)
        return bkt_bucket_place_absent(&p, t->args[0], "no such domain", err);
    BKT_PASS(bkt_doc_may(&doc.doc, p.path, &t->set, BKT_ACL_UPDATE, err));
    BKT_FAIL_IF(err, !bkt_id_is_v2(&doc.doc.root), BKT_EUNSUP,
                "%s: objects of schema version 1 can't be listed, so a snapshot of them can't be checked",
                t->args[0]);
    BKT_PASS(bkt_bucket_place_writable(&p, err));
    struct snapshot_domain of = {p.store, p.path, &doc.doc.root};
    if (bkt_tool_has(t, "remove"))
        return snapshot_drop(&of, err);
    BKT_FAIL_IF(err, bkt_store_is_local(p.store), BKT_EUNSUP,
                "%s: a folder needs no snapshot, since its objects are read without round "
                "trips",
                t->args[0]);
    BKT_PASS(snapshot_make(&of, NULL, false, 0, &reported, err));
    if (bkt_tool_has(t, "verbose"))
        printf("%" PRIu64 " objects, %" PRIu64 " keys, %" PRIu64 " bytes\n", reported.n_objects,
               reported.n_keys, reported.bytes);
    return BKT_OK;
}

static const struct bkt_opt opts[] = {
    {0, "remove", NULL, "remove the snapshot", NULL},
    {'v', "verbose", NULL, "print what was gathered", NULL},
};
const struct bkt_verb bkt_verb_snapshot = {
    .name = "snapshot", .args = "DOMAIN", .min_args = 1, .max_args = 1,
    .help = "gather a domain's metadata in one object, so that reading all of it takes few requests",
    .text = "Programs that read all of a domain with many objects (h5ls -r, h5dump -H, opening thousands of\n"
            "small datasets) request each object. With a snapshot they read one object and list the\n"
            "domain's keys, which takes one request per thousand objects. Objects that the list shows\n"
            "unchanged are taken from the snapshot; all others are read as usual. So a snapshot never gives\n"
            "wrong results. An outdated one only helps less, until it is made again. Setting snapshot=trust\n"
            "leaves out the list, for domains that never change; snapshot=no ignores the snapshot.\n\n"
            "  h5bucket snapshot s3://b/home/run7.h5",
    .opts = opts, .n_opts = BKT_COUNT(opts), .run = run,
};
