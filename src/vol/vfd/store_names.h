/* Names of files that libhdf5 opens through the driver: the program's, and those that links in it name. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "base/settings.h"

/** Find the file that libhdf5 means by @p name when it follows a link (external, virtual or raw data) in the
 *  file @p base.  libhdf5 puts folders, and its working folder, before a link's text; that is undone.
 *  A relative name counts from base's folder, and a name with a leading '/' from its bucket or host.
 * @param base  the full name of the file that the program opened
 * @param set   setting `allow` names the stores besides base's own that links may lead to
 * @param out   the full name is appended
 * @return BKT_OK; BKT_ENOENT: the name leads to no place in a store; BKT_EACCES: to a store that links must
 *         not name */
BKT_NODISCARD int store_name_of(const char *base, const struct bkt_settings *set, const char *name,
                                struct bkt_buf *out, struct bkt_err *err);
