/* `h5bucket load`: what its files share. */
#ifndef LOAD_H
#define LOAD_H

#include "chunk_map.h"
#include "interrupt.h"
#include "progress.h"
#include "source.h"
#include "survey.h"
#include "tool.h"
#include "vol.h"

struct load_options {
    bool        link, flatten, append, force, no_data, no_snapshot, ignore, verbose;
    const char *link_path;     /* what references call the file instead of its name */
    const char *driver;
    const char *extend;        /* append along this dimension */
    bool        has_offset;
    uint64_t    extend_offset;
    const char *chunk_map;     /* NULL: none */
    uint64_t    jobs;          /* sources at once; with extend: fetched ahead */
    bool        in_crowd;      /* one of several processes: somebody else shows how far they all are */
};
struct load_flat;
/** One source on its way into one domain. */
struct load {
    const struct load_options *o;
    struct bkt_settings       *set;
    struct source             *src;
    hid_t                      dst;  /* the domain, open */
    struct bkt_file           *file; /* the connector's view of it */
    const struct bkt_chunk_map *map; /* locations from there, not from the file; NULL: none */
    struct progress           *progress;
    uint64_t                   n_linked, n_copied;
    uint64_t                   due; /* progress->bytes when the dataset under way is done */
    uint64_t                   n_left_out; /* with ignore: what can't be read */
    bool                       told_allow;
    bool                       journal; /* one is stored (load_journal_write()) */
    struct load_flat          *flat; /* how the virtual dataset being made is flattened (load_flat.h) */
};

/** The connector's object behind an id of it. */
struct bkt_vobj *load_vobj(hid_t id);
void load_tell(void *load, const char *path, const char *what);

/* ---- load_uri.c ---- */
/** What references in the domain call a file; free().  BKT_EACCES: the domain can't refer to it. */
BKT_NODISCARD int load_file_uri(struct load *l, const char *uri, char **out, struct bkt_err *err);

/** The file that references of the source call @p name; for struct tree_hooks. */
BKT_NODISCARD int load_open_beside(void *load, const char *name, hid_t *out, struct bkt_err *err);

/* ---- load_link.c ---- */
/** Make a new dataset refer to where the source's data lie.  1: done; 0: they have to be copied (told why); negative: failed. */
BKT_NODISCARD int load_link(struct load *l, hid_t src_dset, hid_t dst_dset, const char *path, struct bkt_err *err);
/** The same from a survey made elsewhere (a chunk map). */
BKT_NODISCARD int load_link_survey(struct load *l, const struct survey *s, size_t elem_size, hid_t dst_dset, const char *path,
                                   struct bkt_err *err);

/* ---- load_table.c ---- */
/** One row of a chunk table.  uri, etag: borrowed; NULL: as the layout says. */
struct load_row {
    uint64_t    index; /* row-major in the grid */
    uint64_t    off, size;
    uint32_t    mask;
    const char *uri, *etag;
};
/** The rows of a table, made when they are wanted (twice): a million of them take no memory. */
struct load_rows {
    size_t n;
    void (*get)(void *arg, size_t i, struct load_row *out); /* by index, ascending */
    void  *arg;
};
/** Make the chunk table of a dataset, filled with @p rows, and give its id.
 * @param maxgrid  chunks that there can ever be per dimension (BKT_UNLIMITED) */
BKT_NODISCARD int load_table(struct load *l, unsigned rank, const uint64_t *grid, const uint64_t *maxgrid,
                             const struct load_rows *rows, struct bkt_id *out, struct bkt_err *err);

/** One without rows yet, left open: @p uri and @p etag are as long as any there can be. */
BKT_NODISCARD int load_table_empty(struct load *l, unsigned rank, const uint64_t *grid, const uint64_t *maxgrid, const char *uri,
                                   const char *etag, struct bkt_id *out, hid_t *dset, struct bkt_err *err);
/** Open an object of the domain by its id. */
BKT_NODISCARD int load_open_id(struct load *l, const struct bkt_id *id, hid_t *out, struct bkt_err *err);

/* ---- load_copy.c ---- */
/** Move stored chunks as they are, many at a time.  1: done; 0: not possible; negative: failed. */
BKT_NODISCARD int load_chunks(struct load *l, hid_t src_dset, hid_t dst_dset, const char *path, struct bkt_err *err);

#endif
