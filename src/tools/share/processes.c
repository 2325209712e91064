#include "tools/share/processes.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/os/comm.h"
#include "base/err.h"
#include "base/files.h"
#include "bkt_config.h"
#include "tools/share/share_impl.h"
#include "vol/parallel/adapter_file.h"
#include "vol/parallel/group.h"

/* ---- launchers of MPI programs: mpirun, mpiexec, srun ---- */

#define CHOICE "H5BUCKET_MPI"
#define REMEDY "with " CHOICE "=no each process works for itself"

/* The environment of a launched process.  The first row that fits counts. */
struct launcher {
    const char *size;    /* variable with the number of processes */
    const char *sign;    /* another one that is set, too; NULL: none */
    const char *mpis[2]; /* the adapters that may serve */
};
static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", NULL, {"openmpi", NULL}},           /* Open MPI's mpirun */
    {"PMI_SIZE", "SLURM_STEP_ID", {"mpich", "openmpi"}},         /* srun --mpi=pmi2 */
    {"PMI_SIZE", NULL, {"mpich", NULL}}, /* mpiexec of MPICH and of MPIs made from it */
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", {"openmpi", "mpich"}}, /* srun --mpi=pmix */
};
static const struct {
    const char *name, *mpi;
} mpis[] = {{"openmpi", "Open MPI"}, {"mpich", "MPICH"}};

static const char *variable(const char *name)
{
    const char *v = getenv(name); /* NOLINT(concurrency-mt-unsafe): no other thread changes the environment */
    return v && *v ? v : NULL;
}

/* NULL: no launcher, or one process. */
static const struct launcher *find_launcher(unsigned long *size)
{
    for (size_t i = 0; i < BKT_COUNT(launchers); i++) {
        const struct launcher *l = &launchers[i];
        const char *n = variable(l->size);
        if (!n || (l->sign && !variable(l->sign)))
            continue;
        *size = strtoul(n, NULL, 10);
        return *size > 1 ? l : NULL;
    }
    return NULL;
}

#define FOLDERS 3

/* Candidates for the plugin's folder, relative to this program: an installation, Debian's package for that
 * MPI, a build. */
static void plugin_folders(const char *mpi, char folders[FOLDERS][PATH_MAX])
{
    char exe[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[len < 0 ? 0 : len] = 0;
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = 0;
    const bool whole = BKT_PLUGIN_DIR[0] == '/';
    const char *from = whole ? "" : exe, *up = whole ? "" : "/../";
    int n[FOLDERS] = {snprintf(folders[0], PATH_MAX, "%s%s" BKT_PLUGIN_DIR, from, up),
                      snprintf(folders[1], PATH_MAX, "%s%s" BKT_PLUGIN_DIR "/../%s/plugins", from, up, mpi),
                      snprintf(folders[2], PATH_MAX, "%s/../plugin", exe)};
    for (size_t i = 0; i < FOLDERS; i++)
        if (n[i] >= PATH_MAX)
            folders[i][0] = 0;
}

static const char *full_name(const char *name)
{
    for (size_t i = 0; i < BKT_COUNT(mpis); i++)
        if (strcmp(mpis[i].name, name) == 0)
            return mpis[i].mpi;
    return NULL;
}

/* Two MPIs have functions of the same names. */
static int check_program(const char *name, struct bkt_err *err)
{
    const char *has = bkt_group_program_mpi();
    BKT_FAIL_IF(err, has && strcmp(has, name) != 0, BKT_EUNSUP,
                "the HDF5 of this h5bucket was built with %s, so h5bucket can't run under %s; use the other "
                "mpirun, or an h5bucket with an HDF5 without MPI",
                full_name(has), full_name(name));
    return BKT_OK;
}

/* The first error counts. */
static int load_mpi(const char *const *names, size_t n, const struct bkt_comm_ops **out, struct bkt_err *err)
{
    char found[FOLDERS][PATH_MAX];
    const char *const folders[] = {found[0], found[1], found[2], NULL};
    int first = BKT_EUNSUP;
    for (size_t i = 0; i < n && names[i]; i++) {
        struct bkt_err why = {.n = 0};
        plugin_folders(names[i], found);
        struct bkt_adapter a = {names[i], full_name(names[i]), folders, true};
        int rc = check_program(names[i], &why);
        rc = rc < 0 ? rc : bkt_adapter_load(&a, out, &why);
        if (rc == BKT_OK)
            return rc;
        if (i == 0)
            first = bkt_err_copy(err, rc, &why);
    }
    return first;
}

static int begin_mpi(const struct bkt_comm_ops *ops, unsigned long size, struct bkt_comm **out,
                     struct bkt_err *err)
{
    BKT_PASS(ops->world(out, err));
    if ((*out)->size == size)
        return BKT_OK;
    unsigned n = (*out)->size;
    bkt_comm_close(*out);
    *out = NULL;
    BKT_FAIL(
        err, BKT_EINVAL,
        "the launcher started %lu processes, but %s knows %u of them; start h5bucket with this MPI's own "
        "mpirun, or name the launcher's MPI by " CHOICE "; " REMEDY,
        size, ops->library, n);
}

/* Find the launcher by the environment, and begin its MPI.
 *  @param out  all processes that it started; NULL: this one was started alone
 *  @return BKT_OK; BKT_EUNSUP, BKT_EINVAL: the message has the remedy */
static int join_launcher(struct bkt_comm **out, struct bkt_err *err)
{
    unsigned long size = 1;
    const char *choice = variable(CHOICE);
    const struct bkt_comm_ops *ops = NULL;
    *out = NULL;
    if (choice && strcmp(choice, "no") == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, choice && !full_name(choice), BKT_EINVAL,
                CHOICE "=%s: one of openmpi, mpich, no is expected", choice);
    const struct launcher *l = find_launcher(&size);
    if (!l)
        return BKT_OK;
    int rc = choice ? load_mpi(&choice, 1, &ops, err) : load_mpi(l->mpis, BKT_COUNT(l->mpis), &ops, err);
    BKT_FAIL_IF(err, rc < 0 || !ops, rc,
                "%lu processes were started, which need the adapter to share the work; " REMEDY, size);
    return begin_mpi(ops, size, out, err);
}

/* ---- texts of another process than the first ---- */

#define LONG 65536 /* bytes of text that are sent before a unit ends */

/* A stream's own file, and the memory that stands in for it. */
struct stream {
    int fd, own, memory;
};
static struct stream streams[2] = {{STDOUT_FILENO, -1, -1}, {STDERR_FILENO, -1, -1}};

static bool capture(struct stream *s)
{
    s->own = dup(s->fd);
    s->memory = memfd_create("h5bucket", MFD_CLOEXEC);
    return s->own >= 0 && s->memory >= 0 && dup2(s->memory, s->fd) >= 0;
}

static size_t text_length(const struct stream *s)
{
    struct stat sb;
    return s->memory >= 0 && fstat(s->memory, &sb) == 0 ? (size_t)sb.st_size : 0;
}

static void take_text(struct stream *s, struct bkt_buf *out)
{
    size_t n = text_length(s), had = out->len;
    if (n && bkt_buf_resize(out, had + n) == BKT_OK && !bkt_read_at(s->memory, out->ptr + had, n, 0))
        bkt_buf_cut(out, had);
    if (n && ftruncate(s->memory, 0) == 0)
        (void)lseek(s->fd, 0, SEEK_SET);
}

/* Take the texts since the last call: appended, and forgotten. */
static void take_texts(struct bkt_buf *out, struct bkt_buf *errors)
{
    (void)fflush(stdout);
    take_text(&streams[0], out);
    take_text(&streams[1], errors);
}

static void release(struct stream *s)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf rest = {0};
    if (s->memory >= 0)
        take_text(s, &rest);
    if (s->own >= 0) {
        (void)dup2(s->own, s->fd);
        (void)close(s->own);
    }
    if (s->memory >= 0)
        (void)close(s->memory);
    s->own = s->memory = -1;
    for (size_t at = 0; at < rest.len;) {
        ssize_t n = write(s->fd, rest.ptr + at, rest.len - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
}

/* End; texts that nobody took go to the process's own outputs. */
static void release_texts(void)
{
    (void)fflush(stdout);
    release(&streams[0]);
    release(&streams[1]);
}

/* Begin.  BKT_EIO: not possible here. */
static int capture_texts(struct bkt_err *err)
{
    (void)fflush(stdout);
    if (capture(&streams[0]) && capture(&streams[1])) {
        (void)atexit(release_texts); /* after an early exit(), too */
        return BKT_OK;
    }
    int e = errno;
    release_texts();
    BKT_FAIL(err, BKT_EIO, "the texts of a process can't be collected: %s", strerror(e));
}

/* ---- the processes ---- */

static struct bkt_comm *comm;

bool bkt_processes_several(void)
{
    return comm != NULL;
}

bool bkt_processes_first(void)
{
    return bkt_comm_is_first(comm);
}

unsigned bkt_processes_rank(void)
{
    return comm ? comm->rank : 0;
}

unsigned bkt_processes_size(void)
{
    return comm ? comm->size : 1;
}

int bkt_processes_join(struct bkt_err *err)
{
    BKT_PASS(join_launcher(&comm, err));
    return bkt_processes_first() ? BKT_OK : capture_texts(err);
}

/* ---- messages ---- */

/* kind, code, lengths of both texts; then the texts, and the body */
#define HEAD 25

int bkt_msg_send(unsigned to, enum bkt_msg_kind kind, int64_t code, const void *body, size_t n,
                 struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf out = {0}, errors = {0}, all = {0};
    if (!bkt_processes_first())
        take_texts(&out, &errors);
    BKT_NEED(err, bkt_buf_add_le(&all, 1, (unsigned)kind) >= 0 &&
                      bkt_buf_add_le(&all, 8, (uint64_t)code) >= 0 && bkt_buf_add_le(&all, 8, out.len) >= 0 &&
                      bkt_buf_add_le(&all, 8, errors.len) >= 0 && bkt_buf_add(&all, out.ptr, out.len) >= 0 &&
                      bkt_buf_add(&all, errors.ptr, errors.len) >= 0 && bkt_buf_add(&all, body, n) >= 0);
    return comm->ops->post(comm, to, all.ptr, all.len, err);
}

static void print(FILE *to, struct bkt_rd *r, uint64_t n)
{
    const void *text = n <= SIZE_MAX ? bkt_rd_take(r, (size_t)n) : NULL;
    if (!text || !n)
        return;
    (void)fwrite(text, 1, (size_t)n, to);
    (void)fflush(to);
}

static int parse(struct bkt_msg *m, struct bkt_err *err)
{
    m->body = bkt_rd_of(m->bytes.ptr, m->bytes.len);
    uint64_t kind = bkt_rd_le(&m->body, 1);
    m->kind = kind < BKT_MSG_KINDS ? (enum bkt_msg_kind)kind : BKT_MSG_KINDS;
    m->code = (int64_t)bkt_rd_le(&m->body, 8);
    uint64_t n_out = bkt_rd_le(&m->body, 8), n_errors = bkt_rd_le(&m->body, 8);
    print(stdout, &m->body, n_out);
    print(stderr, &m->body, n_errors);
    BKT_FAIL_IF(err, !m->body.ok || m->kind == BKT_MSG_KINDS, BKT_EFORMAT,
                "process %u: its message is malformed; all processes must run the same version", m->from);
    return BKT_OK;
}

int bkt_msg_poll(struct bkt_msg *m, struct bkt_err *err)
{
    *m = (struct bkt_msg){.kind = BKT_MSG_KINDS};
    int rc = comm->ops->poll(comm, &m->from, &m->bytes, err);
    if (rc > 0 && parse(m, err) < 0)
        rc = BKT_EFORMAT;
    if (rc <= 0)
        bkt_msg_fini(m);
    return rc;
}

void bkt_msg_fini(struct bkt_msg *m)
{
    bkt_buf_fini(&m->bytes);
}

/* MPI's own waiting would take a whole processor. */
void bkt_msg_rest(unsigned tries)
{
    const long most = 2000000;
    struct timespec t = {.tv_nsec = tries < 100 ? 20000L * (tries + 1) : most};
    (void)nanosleep(&t, NULL);
}

int bkt_msg_wait(struct bkt_msg *m, struct bkt_err *err)
{
    int rc;
    for (unsigned tries = 0; (rc = bkt_msg_poll(m, err)) == 0; tries++)
        bkt_msg_rest(tries);
    return rc;
}

int bkt_msg_to_all(enum bkt_msg_kind kind, int64_t code, const void *body, size_t n, struct bkt_err *err)
{
    for (unsigned r = 1; r < bkt_processes_size(); r++)
        BKT_PASS(bkt_msg_send(r, kind, code, body, n, err));
    return BKT_OK;
}

int bkt_msg_send_long_text(struct bkt_err *err)
{
    bool is_long = text_length(&streams[0]) + text_length(&streams[1]) > LONG;
    return is_long ? bkt_msg_send(0, BKT_MSG_TEXT, 0, NULL, 0, err) : BKT_OK;
}

/* ---- the end ---- */

static int leave_first(int *rc, struct bkt_err *err)
{
    BKT_PASS(bkt_msg_to_all(BKT_MSG_OVER, 0, NULL, 0, err));
    for (unsigned left = comm->size - 1; left;) {
        struct bkt_msg m;
        BKT_PASS(bkt_msg_wait(&m, err));
        if (m.kind == BKT_MSG_BYE) {
            left--;
            *rc = *rc ? *rc : (int)m.code;
        }
        bkt_msg_fini(&m);
    }
    return bkt_msg_to_all(BKT_MSG_LEAVE, *rc, NULL, 0, err);
}

static int leave_other(int *rc, struct bkt_err *err)
{
    struct bkt_msg m;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf same = {0};
    BKT_PASS(bkt_serve_end(err));
    if (*rc != 1) /* help and wrong usage: the first process prints the same */
        take_texts(&same, &same);
    BKT_PASS(bkt_msg_send(0, BKT_MSG_BYE, *rc, NULL, 0, err));
    BKT_PASS(bkt_msg_wait(&m, err));
    if (m.kind == BKT_MSG_LEAVE)
        *rc = (int)m.code;
    bkt_msg_fini(&m);
    return BKT_OK;
}

int bkt_processes_leave(int rc)
{
    struct bkt_err err = {.n = 0};
    if (!comm)
        return rc;
    (void)fflush(stdout);
    int failed = comm->rank == 0 ? leave_first(&rc, &err) : leave_other(&rc, &err);
    if (comm->rank)
        release_texts();
    if (failed < 0) { /* the launcher ends the others, which may wait for this one */
        (void)fprintf(stderr, "h5bucket: process %u: %s\n", comm->rank, bkt_err_reason(&err, failed));
        return rc ? rc : 1;
    }
    for (unsigned tries = 0; !comm->ops->idle(comm); tries++)
        bkt_msg_rest(tries);
    const struct bkt_comm_ops *ops = comm->ops;
    bkt_comm_close(comm);
    comm = NULL;
    ops->finish();
    return rc;
}
