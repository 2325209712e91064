/* H5Fopen, H5Fcreate, H5Fdelete and H5Fis_accessible by all processes of a file access list that names the
 * mpio driver. */
#include <string.h>

#include "base/os/clock.h"
#include "base/os/shared_memory.h"
#include "base/random.h"
#include "base/trace.h"
#include "vol/core/h5err.h"
#include "vol/core/hid.h"
#include "vol/open/file_calls.h"
#include "vol/parallel/group.h"
#include "vol/parallel/together.h"
#include "vol/plain/plain_file.h"
#include "vol/vfd/store_driver.h"

/* A call and its result. */
struct call {
    /* fapl: the program's, then in a group the list without it.  comm: several processes act as one; NULL or
     * a single one: as without MPI */
    struct bkt_file_call file;
    bool create;
    struct bkt_agreed agreed;
    struct bkt_vobj *out;
};

/* One process acts as without MPI, with the hints of its MPI_Info. */
static bool is_alone(const struct bkt_comm *c)
{
    return !c || c->size < 2;
}

static int open_or_create(void *arg, struct bkt_err *err)
{
    struct call *c = arg;
    c->file.agreed = is_alone(c->file.comm) ? NULL : &c->agreed;
    return c->create ? bkt_file_create_alone(&c->file, &c->out, err)
                     : bkt_file_open_alone(&c->file, &c->out, err);
}

/* Seed and clock of the first process. */
static int agree(struct bkt_comm *c, struct bkt_agreed *a, struct bkt_err *err)
{
    a->clock = bkt_time_of_day();
    a->seed[0] = bkt_random();
    a->seed[1] = bkt_random();
    return bkt_comm_bcast(c, a, sizeof *a, err);
}

static int call_together(struct call *c, struct bkt_err *err)
{
    int own = BKT_OK;
    BKT_PASS(agree(c->file.comm, &c->agreed, err));
    int rc = bkt_together(c->file.comm, open_or_create, c, &own, err);
    if (rc < 0 && own == BKT_OK) {
        bkt_vobj_free(c->out);
        c->out = NULL;
    }
    return rc;
}

/* H5Pset_all_coll_metadata_ops(); an HDF5 without MPI has no call for it. */
static bool reads_together(hid_t fapl)
{
    int value = 0; /* H5P_coll_md_read_flag_t */
    return BKT_PASS_H5(NULL, H5Pget(fapl, "collective_metadata_read", &value), "H5Pget") >= 0 && value > 0;
}

/* Memory of zeros that the processes of @p node have in common; NULL: the system has none.  It isn't a window
 * of MPI, which all processes would have to free together: a process may leave objects open. */
static void *node_memory_of(struct bkt_comm *node, size_t bytes)
{
    char name[BKT_SHARED_NAME] = "";
    bool first = bkt_comm_is_first(node);
    void *p = first ? bkt_shared_memory_make(bytes, name) : NULL;
    if (bkt_comm_bcast(node, name, sizeof name, NULL) == BKT_OK && !first)
        p = bkt_shared_memory_find(name, bytes);
    uint64_t all = p != NULL;
    int rc = bkt_comm_reduce(node, BKT_COMM_MIN, &all, 1, NULL);
    if (first)
        bkt_shared_memory_hide(name);
    if (rc == BKT_OK && all)
        return p;
    bkt_shared_memory_free(p, bytes);
    return NULL;
}

/* The same for those processes of @p c that are on this node; NULL also if no other one is.  Collective. */
static void *node_memory(struct bkt_comm *c, size_t bytes)
{
    struct bkt_comm *node = NULL;
    void *p = NULL;
    if (c->ops->split_node(c, &node, NULL) == BKT_OK && node->size > 1)
        p = node_memory_of(node, bytes);
    bkt_trace(BKT_TRACE_VOL, "%u processes of this node share %s", node ? node->size : 1,
              p ? "memory" : "nothing");
    bkt_comm_close(node);
    return p;
}

/* Structure that nobody here changes is read once a node. */
static struct bkt_node_reads *share_reads(struct bkt_comm *c)
{
    return bkt_node_reads_new(node_memory(c, BKT_NODE_TABLE_BYTES));
}

/* A plain file in a store.  If the program has it open already, it keeps its first group. */
static void equip_plain(struct call *c)
{
    struct bkt_vfd_file *v = bkt_vfd_behind(c->out->native_id);
    uint64_t can = v && !bkt_vfd_group(v);
    if (bkt_comm_reduce(c->file.comm, BKT_COMM_MIN, &can, 1, NULL) < 0 || !can || !v)
        return;
    bkt_vfd_set_group(v, c->file.comm, share_reads(c->file.comm));
    c->file.comm = NULL;
}

/* The file belongs to the group from now on. */
static void equip(struct call *c)
{
    struct bkt_file *f = c->out->file;
    if (!f) {
        equip_plain(c);
        return;
    }
    f->reads_together = reads_together(c->file.fapl);
    f->comm = c->file.comm;
    c->file.comm = NULL;
    if (f->flags & H5F_ACC_RDWR)
        bkt_edit_agree(f->dom, &c->agreed);
    else if (!f->reads_together && f->dom && (f->shared_reads = share_reads(f->comm)))
        bkt_domain_share(f->dom, f->shared_reads);
}

static int open_by_all(struct call *c, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t alone = H5I_INVALID_HID;
    bkt_domain_forget_probe();
    BKT_PASS(bkt_comm_agree(c->file.comm, bkt_group_take_out(c->file.fapl, c->file.comm, &alone, err), err));
    c->file.fapl = alone;
    BKT_PASS(call_together(c, err));
    equip(c);
    return BKT_OK;
}

/* A plain file of this machine is HDF5's own business: its connector gets the list as it is. */
static bool is_for_all(const char *name, hid_t fapl)
{
    return !bkt_file_opener && bkt_group_is_wanted(fapl) && strncmp(name, "native:", 7) != 0 &&
           !bkt_group_is_subfiled(name, fapl);
}

static int begin(struct call *c, struct bkt_vobj **out, struct bkt_err *err)
{
    int rc = is_alone(c->file.comm) ? open_or_create(c, err) : open_by_all(c, err);
    bkt_comm_close(c->file.comm);
    *out = rc == BKT_OK ? c->out : NULL;
    return rc;
}

int bkt_file_open_any(const char *name, unsigned flags, hid_t fapl, struct bkt_vobj **out,
                      struct bkt_err *err)
{
    struct call c = {.file = {.name = name, .flags = flags, .fapl = fapl}};
    if (is_for_all(name, fapl) && !bkt_native_is_plain(name))
        BKT_PASS(bkt_group_open(fapl, &c.file.comm, err));
    return begin(&c, out, err);
}

int bkt_file_create_any(const char *name, unsigned flags, hid_t fcpl, hid_t fapl, struct bkt_vobj **out,
                        struct bkt_err *err)
{
    struct call c = {.file = {.name = name, .flags = flags, .fcpl = fcpl, .fapl = fapl}, .create = true};
    if (is_for_all(name, fapl))
        BKT_PASS(bkt_group_open(fapl, &c.file.comm, err));
    return begin(&c, out, err);
}

/* ---- questions and deletions: one process does it, and all get its result ---- */

static int ask(void *arg, struct bkt_err *err)
{
    return bkt_file_accessible_alone(arg, err);
}

int bkt_file_accessible(H5VL_file_specific_args_t *args, struct bkt_err *err)
{
    struct bkt_comm *c = NULL;
    hid_t fapl = args->args.is_accessible.fapl_id;
    bool *yes = args->args.is_accessible.accessible;
    hid_t held = bkt_h5err_hold(); /* the reason why HDF5 itself could not open the file */
    int rc = is_for_all(args->args.is_accessible.filename, fapl) ? bkt_group_open(fapl, &c, err) : BKT_OK;
    bkt_h5err_restore(held);
    BKT_PASS(rc);
    if (!c)
        return bkt_file_accessible_alone(args, err);
    *yes = false;
    rc = bkt_by_first(c, ask, args, err);
    uint64_t any = *yes;
    if (rc == BKT_OK)
        rc = bkt_comm_reduce(c, BKT_COMM_MAX, &any, 1, err);
    *yes = any != 0;
    bkt_comm_close(c);
    return rc;
}

static int remove_it(void *arg, struct bkt_err *err)
{
    const struct call *c = arg;
    return bkt_file_delete_alone(c->file.name, c->file.fapl, err);
}

int bkt_file_delete_any(const char *name, hid_t fapl, struct bkt_err *err)
{
    struct call c = {.file = {.name = name, .fapl = fapl}};
    if (is_for_all(name, fapl))
        BKT_PASS(bkt_group_open(fapl, &c.file.comm, err));
    int rc = bkt_by_first(c.file.comm, remove_it, &c, err);
    bkt_comm_close(c.file.comm);
    return rc;
}
