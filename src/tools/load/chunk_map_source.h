/* Chunk-location JSON in the place of a file's own index. */
#ifndef LOAD_MAP_H
#define LOAD_MAP_H

#include "schema/json/chunk_locations.h"
#include "vol/convert/convert.h"
#include "tools/load/load_domain.h"

/** Read and check a map; bkt_chunk_map_fini(). */
BKT_NODISCARD int load_map_read(const char *name, const struct bkt_settings *set, struct bkt_chunk_map *out,
                                struct bkt_err *err);
/** The map's data of a dataset; survey_fini(). */
BKT_NODISCARD int load_map_survey(const struct bkt_map_dset *d, struct survey *s, struct bkt_err *err);
/** The map's files as a source without an open HDF5 file; source_close(), also after a failure. */
BKT_NODISCARD int load_map_source(const struct bkt_chunk_map *m, const struct bkt_settings *set,
                                  struct source **out, struct bkt_err *err);
/** Make all datasets of l->map, with the groups above them. */
BKT_NODISCARD int load_map_all(struct load *l, struct bkt_err *err);

#endif
