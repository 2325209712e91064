/* Catalogs beside a domain (cmd_catalog.c). */
#pragma once

#include "storage/store.h"

/** Delete the files beside the document of the domain at @p path (catalogs, a load's journal), so that its
 *  folder disappears. */
BKT_NODISCARD int bkt_catalog_delete(struct bkt_store *st, const char *path, struct bkt_err *err);
