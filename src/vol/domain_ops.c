/* The operations of objects in domains: the tables of the classes are in the files of their code. */
#include "vol/open/file_calls.h"
#include "vol/open/permission_and_flush.h"

const struct bkt_ops bkt_domain_ops = {.open = &bkt_domain_open_ops,
                                       .attr = &bkt_domain_attr_ops,
                                       .dataset = &bkt_domain_dataset_ops,
                                       .datatype = &bkt_domain_datatype_ops,
                                       .file = &bkt_domain_file_ops,
                                       .group = &bkt_domain_group_ops,
                                       .link = &bkt_domain_link_ops,
                                       .object = &bkt_domain_object_ops,
                                       .token = &bkt_domain_token_ops,
                                       .is_same_file = bkt_file_is_same,
                                       .may_create = bkt_change_may_create,
                                       .flush = bkt_change_flush_object,
                                       .refresh = bkt_change_refresh};
