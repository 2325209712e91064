/* Shared by the files of `h5bucket load`. */
#pragma once

#include <string.h>

#include "schema/json/chunk_locations.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/source/hdf5_source.h"
#include "tools/source/data_locations.h"
#include "tools/cli/tool.h"
#include "vol/convert/convert.h"
#include "vol/copy/copier.h"
#include "vol/core/vol.h"

struct load_options {
    bool        link, flatten, append, force, no_data, no_snapshot, ignore, verbose;
    const char *link_path;     /* name of the file in references, instead of its own */
    const char *driver;
    const char *extend;        /* append along this dimension */
    bool        has_offset;
    uint64_t    extend_offset;
    const char *chunk_map;     /* NULL: none */
    uint64_t    jobs;          /* sources at once; with extend: fetched ahead */
    bool        with_others;   /* one of several processes: the first one shows their common progress */
};
struct load_flat;
struct load_shared;
/** The load of one source into one domain. */
struct load_job {
    const struct load_options *o;
    struct bkt_settings       *set;
    struct source             *src;
    hid_t                      dst;  /* the domain, open */
    struct bkt_file           *file; /* the connector's view of it */
    const struct bkt_chunk_map *map; /* locations come from the map, not from the file; NULL: no map */
    struct progress           *progress;
    uint64_t                   n_linked, n_copied;
    uint64_t                   due; /* progress->bytes at the end of the current dataset */
    uint64_t                   n_left_out; /* with ignore: number of unreadable things */
    bool reported_allow;
    bool                       journal; /* a journal is stored (load_journal_write()) */
    /* data that wait for all processes of an mpirun (load_shared_wait()); NULL: none */
    struct load_shared *shared;
    struct load_flat          *flat; /* how the virtual dataset being made is flattened (flatten_vds.h) */
};

/** Print what happens to an object, for struct bkt_copier_hooks. */
void load_report(void *load, const char *path, const char *what);

/** The name of a file in references of the domain; free().  BKT_EACCES: the domain can't refer to it. */
BKT_NODISCARD int load_file_uri(struct load_job *l, const char *uri, char **out, struct bkt_err *err);
/** Append those of all files of a source. */
BKT_NODISCARD int load_part_uris(struct load_job *l, const struct source *s, struct bkt_strs *out,
                                 struct bkt_err *err);

/** Open the file that references of the source call @p name; for struct bkt_copier_hooks. */
BKT_NODISCARD int load_open_beside(void *load, const char *name, hid_t *out, struct bkt_err *err);

/** Make a new dataset refer to the places of the source's data.  1: done; 0: the data must be copied (reason
 *  reported); negative: failed. */
BKT_NODISCARD int load_link(struct load_job *l, hid_t src_dset, hid_t dst_dset, const char *path,
                            struct bkt_err *err);
/** As load_link(), from a survey made elsewhere (a chunk map). */
BKT_NODISCARD int load_link_survey(struct load_job *l, const struct survey *s, size_t elem_size,
                                   hid_t dst_dset, const char *path, struct bkt_err *err);

/* ---- chunk_table_write.c ---- */
/** One row of a chunk table.  uri, etag: borrowed; NULL: as in the layout. */
struct load_row {
    uint64_t    index; /* row-major in the grid */
    uint64_t    off, size;
    uint32_t    mask;
    const char *uri, *etag;
};
/** The rows of a table, made (twice) when they are needed, so that a million of them take no memory. */
struct load_rows {
    size_t n;
    void (*get)(void *arg, size_t i, struct load_row *out); /* by index, ascending */
    void  *arg;
};
/** `get` of rows in memory.  @p rows: struct load_row of each */
void load_row_at(void *rows, size_t i, struct load_row *out);

/** Fields of a table's row: offsets and lengths in bytes.  A length of 0: no such field. */
struct load_fields {
    size_t off, size, uri, etag, mask, size_n, uri_n, etag_n, mask_n, row;
};
/** Find them.  False: offset or size is not a number of HSDS's form. */
bool load_fields_of(hid_t type, struct load_fields *out);
/** Write a row, whose texts and numbers fit.  @p to: zeroed */
void load_put_row(const struct load_fields *f, const struct load_row *r, unsigned char *to);

/** The chunks of a dataset with a table: @p rank numbers each, borrowed. */
struct load_grid {
    unsigned rank;
    const uint64_t *cdims; /* shape of a chunk, in elements */
    const uint64_t *n;     /* chunks per dimension: the shape of the table */
    const uint64_t *max;   /* chunks that there can ever be per dimension (BKT_UNLIMITED) */
};
/** Make the chunk table of a dataset, filled with @p rows, and give its id. */
BKT_NODISCARD int load_table(struct load_job *l, const struct load_grid *g, const struct load_rows *rows,
                             struct bkt_id *out, struct bkt_err *err);
/** Make a table without rows, left open.
 *  @param widest  a row whose texts are as long as any that there can be
 *  @param dset    the open table, the caller's */
BKT_NODISCARD int load_table_empty(struct load_job *l, const struct load_grid *g, struct load_row *widest,
                                   struct bkt_id *out, hid_t *dset, struct bkt_err *err);

/** Set the layout of a dataset whose chunks are in files, by a table. */
static inline void load_set_table(struct bkt_layout *lay, const struct load_grid *g,
                                  const struct bkt_id *table)
{
    lay->cls         = BKT_D_CHUNKED_REF_INDIRECT;
    lay->rank = g->rank;
    lay->hdf5_chunks = false;
    lay->chunk_table = *table;
    memcpy(lay->dims, g->cdims, g->rank * sizeof *g->cdims);
}
/** Make a new dataset refer to chunks in many files, by a table that is made of @p rows. */
BKT_NODISCARD int load_link_table(struct load_job *l, hid_t dst, const struct load_grid *g,
                                  const struct load_rows *rows, struct bkt_err *err);
/** As load_link_table(); the dataset is counted as linked. */
BKT_NODISCARD int load_link_rows(struct load_job *l, hid_t dst, const struct load_grid *g,
                                 const struct load_rows *rows, struct bkt_err *err);
/** Open an object of the domain by its id. */
BKT_NODISCARD int load_open_id(struct load_job *l, const struct bkt_id *id, hid_t *out, struct bkt_err *err);

/** Move the stored chunks s->chunks[at] .. +n-1.  1: done; 0: not possible, found at the first chunk of all;
 *  negative: failed. */
BKT_NODISCARD int load_move_chunks(struct load_job *l, const struct survey *s, hid_t dst, size_t at, size_t n,
                                   struct bkt_err *err);
/** Move stored chunks unchanged, many at a time.  1: done; 0: not possible; negative: failed. */
BKT_NODISCARD int load_chunks(struct load_job *l, hid_t src_dset, hid_t dst_dset, const char *path,
                              struct bkt_err *err);

/* ---- a chunk map: chunk-location JSON in the place of a file's own index ---- */
/** Read and check a map; bkt_chunk_map_fini(). */
BKT_NODISCARD int load_map_read(const char *name, const struct bkt_settings *set, struct bkt_chunk_map *out,
                                struct bkt_err *err);
/** The map's data of a dataset; survey_fini(). */
BKT_NODISCARD int load_map_survey(const struct bkt_map_dset *d, struct survey *s, struct bkt_err *err);

/* ---- one source, or many, into one domain ---- */
/** Load a whole source into a new domain; @p source NULL: the content of l->map.
 *  @p l: options, settings and progress are set.  A failure leaves no domain. */
BKT_NODISCARD int load_one(struct load_job *l, const char *source, const char *domain, hid_t fapl,
                           struct bkt_err *err);

/** Load a domain without a source: @p fill makes its content.  A failure leaves no domain. */
BKT_NODISCARD int load_made(struct load_job *l, const char *domain, hid_t fapl,
                            int (*fill)(void *arg, struct bkt_err *err), void *arg, struct bkt_err *err);

/* ---- steps of all ---- */
/** Open the domain to append to, or create it from l->src.  Sets l->dst and l->file. */
BKT_NODISCARD int load_target(struct load_job *l, const char *domain, hid_t fapl, bool *is_new,
                              struct bkt_err *err);
/** Store the domain, or after a failure drop what was made of it; close it and l->src.
 *  @param rc  the outcome so far; returned, unless storing fails */
BKT_NODISCARD int load_end(struct load_job *l, int rc, bool is_new, struct bkt_err *err);
/** The options of a copier that works for this load; they refer to @p l. */
struct bkt_copier_options load_copier_options(struct load_job *l);

/** Read the journal, which lies beside the domain's document until a load has ended.  It has the root's id of
 *  a new domain, or the place where an append began (gather_plan.h).  If this run is killed, the next run
 *  deletes that root's objects.
 *  @param out  empty: the domain has no journal, or its user may not read it
 *  @return BKT_OK; BKT_ENOMEM; failures of the store */
BKT_NODISCARD int load_journal_read(struct load_job *l, struct bkt_buf *out, struct bkt_err *err);
/** Store it in place of any other one, and set l->journal. */
BKT_NODISCARD int load_journal_write(struct load_job *l, const char *text, struct bkt_err *err);

/* ---- load of one file by the processes of an mpirun ---- */
/* The first process makes the domain and copies small datasets.  Data of large ones wait
 * (load_shared_wait()). When all objects are stored, but not yet the document that shows the domain, all
 * processes copy parts of those data: chunks as they are stored, or elements (load_shared_share()).  Then the
 * first process ends the load as always. */
/** Begin to let datasets wait, if there are several processes and the load allows it.  Sets l->shared. */
BKT_NODISCARD int load_shared_begin(struct load_job *l, bool is_new, struct bkt_err *err);
/** 1: the dataset's data wait; 0: copy them now. */
BKT_NODISCARD int load_shared_wait(struct load_job *l, hid_t src, hid_t dst, const char *path,
                                   struct bkt_err *err);
/** Copy the data that wait. */
BKT_NODISCARD int load_shared_share(struct load_job *l, struct bkt_err *err);
void load_shared_free(struct load_shared *p); /* NULL is allowed */

/** The other processes: copy parts until the first process ends.  @p l: options and settings are set. */
BKT_NODISCARD int load_shared_serve(struct load_job *l, const char *source, const char *domain, hid_t fapl,
                                    struct bkt_err *err);
