/* Shared by store_driver.c and store_file.c: the files that HDF5 has open through the driver. */
#pragma once

#include <H5FDdevelop.h>

#include "vol/vfd/foresight.h"
#include "vol/vfd/page_cache.h"
#include "vol/vfd/store_driver.h"

#define BKT_VFD_MEMBERS 1024u /* of a family, at most: as many as a process may open on disk */

/* Shared by access lists and files: the file that the program opened, and how. */
struct bkt_vfd_shared {
    unsigned            refs; /* under HDF5's lock */
    struct bkt_settings set;
    char               *base; /* links in other files of the list are resolved from it (store_names.c) */
};

struct bkt_vfd_file {
    H5FD_t            pub; /* must be first for HDF5 */
    struct bkt_store *st;
    char             *name, *key;
    uint64_t          size, part; /* part: knob part_size */
    struct bkt_version version; /* of all answers */
    haddr_t           eoa;
    struct bkt_page_cache *pages;
    struct bkt_foresight *fore;
    struct bkt_vfd_shared *shared;
    int               lock;         /* descriptor that holds the lock; -1: none */
    bool              may_not_lock; /* true: a file system without locks is accepted */
    struct bkt_vfd_file *other;     /* list of all open files */
    struct bkt_domain *dom;         /* bkt_vfd_domain(); NULL: not needed yet */
    struct bkt_comm *group;         /* NULL: this process alone */
    struct bkt_node_reads *reads;   /* shared by processes of this node; NULL: none */
    struct bkt_vfd_recorded *record; /* NULL: raw data are read */
    int failed; /* code of the last read that failed since bkt_vfd_failure(), or BKT_OK */
};
extern struct bkt_vfd_file *vfd_all_open; /* under HDF5's lock */

/** The file, if it is open for links of the same program's file. */
struct bkt_vfd_file *bkt_vfd_open_twin(const struct bkt_vfd_shared *shared, const char *name);
/** Whether the id is this driver's; a driver that joins files, as a family's does, is another one. */
bool bkt_vfd_is_driver(hid_t driver);

/** Find the file that libhdf5 means by @p name when it follows a link (external, virtual or raw data) in the
 *  file @p base.  libhdf5 puts folders, and its working folder, before a link's text.  They are removed.
 *  A relative name counts from base's folder, and a name with a leading '/' from its bucket or host.
 * @param base  the full name of the file that the program opened
 * @param set   setting `allow` names the stores besides base's own that links may lead to
 * @param out   the full name is appended
 * @return BKT_OK; BKT_ENOENT: the name leads to no place in a store; BKT_EACCES: to a store that links must
 *         not name */
BKT_NODISCARD int bkt_vfd_store_name(const char *base, const struct bkt_settings *set, const char *name,
                                     struct bkt_buf *out, struct bkt_err *err);
