#include "h5tests/api/callbacks_seen.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1024 /* more than sizeof(H5VL_class_t), and than there are operations of a kind */

static const H5VL_class_t *real;
static bool                was_seen[SEEN_KINDS][ROOM];

static void mark(enum seen_kind kind, size_t which)
{
    if (which < ROOM)
        was_seen[kind][which] = true;
}

static void mark_loc(const H5VL_loc_params_t *loc)
{
    if (loc)
        mark(SEEN_LOC, (size_t)loc->type);
}

void seen_clear(void) { memset(was_seen, 0, sizeof was_seen); }
bool seen(enum seen_kind kind, size_t which) { return which < ROOM && was_seen[kind][which]; }

bool seen_absent(size_t member)
{
    void *p;
    memcpy(&p, (const char *)real + member, sizeof p);
    return !p;
}

#define MARK(member) mark(SEEN_MEMBER, offsetof(H5VL_class_t, member))
#define OBJ  void *obj
#define LOC  const H5VL_loc_params_t *loc
#define TAIL hid_t dxpl, void **req

/* ---- attributes ---- */
static void *attr_create(OBJ, LOC, const char *name, hid_t type, hid_t space, hid_t acpl, hid_t aapl, TAIL)
{
    return MARK(attr_cls.create), mark_loc(loc), real->attr_cls.create(obj, loc, name, type, space, acpl, aapl, dxpl, req);
}
static void *attr_open(OBJ, LOC, const char *name, hid_t aapl, TAIL)
{
    return MARK(attr_cls.open), mark_loc(loc), real->attr_cls.open(obj, loc, name, aapl, dxpl, req);
}
static herr_t attr_read(OBJ, hid_t type, void *buf, TAIL) { return MARK(attr_cls.read), real->attr_cls.read(obj, type, buf, dxpl, req); }
static herr_t attr_write(OBJ, hid_t type, const void *buf, TAIL)
{
    return MARK(attr_cls.write), real->attr_cls.write(obj, type, buf, dxpl, req);
}
static herr_t attr_get(OBJ, H5VL_attr_get_args_t *args, TAIL)
{
    if (args->op_type == H5VL_ATTR_GET_NAME)
        mark_loc(&args->args.get_name.loc_params);
    if (args->op_type == H5VL_ATTR_GET_INFO)
        mark_loc(&args->args.get_info.loc_params);
    return MARK(attr_cls.get), mark(SEEN_ATTR_GET, (size_t)args->op_type), real->attr_cls.get(obj, args, dxpl, req);
}
static herr_t attr_specific(OBJ, LOC, H5VL_attr_specific_args_t *args, TAIL)
{
    return MARK(attr_cls.specific), mark_loc(loc), mark(SEEN_ATTR_SPECIFIC, (size_t)args->op_type),
           real->attr_cls.specific(obj, loc, args, dxpl, req);
}
static herr_t attr_optional(OBJ, H5VL_optional_args_t *args, TAIL)
{
    return MARK(attr_cls.optional), real->attr_cls.optional(obj, args, dxpl, req);
}
static herr_t attr_close(OBJ, TAIL) { return MARK(attr_cls.close), real->attr_cls.close(obj, dxpl, req); }

/* ---- datasets ---- */
static void *dataset_create(OBJ, LOC, const char *name, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl, hid_t dapl, TAIL)
{
    return MARK(dataset_cls.create), mark_loc(loc),
           real->dataset_cls.create(obj, loc, name, lcpl, type, space, dcpl, dapl, dxpl, req);
}
static void *dataset_open(OBJ, LOC, const char *name, hid_t dapl, TAIL)
{
    return MARK(dataset_cls.open), mark_loc(loc), real->dataset_cls.open(obj, loc, name, dapl, dxpl, req);
}
static herr_t dataset_read(size_t n, void *dset[], hid_t type[], hid_t mem[], hid_t file[], hid_t dxpl, void *buf[], void **req)
{
    return MARK(dataset_cls.read), real->dataset_cls.read(n, dset, type, mem, file, dxpl, buf, req);
}
static herr_t dataset_write(size_t n, void *dset[], hid_t type[], hid_t mem[], hid_t file[], hid_t dxpl, const void *buf[], void **req)
{
    return MARK(dataset_cls.write), real->dataset_cls.write(n, dset, type, mem, file, dxpl, buf, req);
}
static herr_t dataset_get(OBJ, H5VL_dataset_get_args_t *args, TAIL)
{
    return MARK(dataset_cls.get), mark(SEEN_DATASET_GET, (size_t)args->op_type), real->dataset_cls.get(obj, args, dxpl, req);
}
static herr_t dataset_specific(OBJ, H5VL_dataset_specific_args_t *args, TAIL)
{
    return MARK(dataset_cls.specific), mark(SEEN_DATASET_SPECIFIC, (size_t)args->op_type), real->dataset_cls.specific(obj, args, dxpl, req);
}
static herr_t dataset_optional(OBJ, H5VL_optional_args_t *args, TAIL)
{
    return MARK(dataset_cls.optional), real->dataset_cls.optional(obj, args, dxpl, req);
}
static herr_t dataset_close(OBJ, TAIL) { return MARK(dataset_cls.close), real->dataset_cls.close(obj, dxpl, req); }

/* ---- committed types ---- */
static void *datatype_commit(OBJ, LOC, const char *name, hid_t type, hid_t lcpl, hid_t tcpl, hid_t tapl, TAIL)
{
    return MARK(datatype_cls.commit), mark_loc(loc), real->datatype_cls.commit(obj, loc, name, type, lcpl, tcpl, tapl, dxpl, req);
}
static void *datatype_open(OBJ, LOC, const char *name, hid_t tapl, TAIL)
{
    return MARK(datatype_cls.open), mark_loc(loc), real->datatype_cls.open(obj, loc, name, tapl, dxpl, req);
}
static herr_t datatype_get(OBJ, H5VL_datatype_get_args_t *args, TAIL)
{
    return MARK(datatype_cls.get), mark(SEEN_DATATYPE_GET, (size_t)args->op_type), real->datatype_cls.get(obj, args, dxpl, req);
}
static herr_t datatype_specific(OBJ, H5VL_datatype_specific_args_t *args, TAIL)
{
    return MARK(datatype_cls.specific), mark(SEEN_DATATYPE_SPECIFIC, (size_t)args->op_type),
           real->datatype_cls.specific(obj, args, dxpl, req);
}
static herr_t datatype_close(OBJ, TAIL) { return MARK(datatype_cls.close), real->datatype_cls.close(obj, dxpl, req); }

/* ---- files ---- */
static void *file_create(const char *name, unsigned flags, hid_t fcpl, hid_t fapl, TAIL)
{
    return MARK(file_cls.create), real->file_cls.create(name, flags, fcpl, fapl, dxpl, req);
}
static void *file_open(const char *name, unsigned flags, hid_t fapl, TAIL)
{
    return MARK(file_cls.open), real->file_cls.open(name, flags, fapl, dxpl, req);
}
static herr_t file_get(OBJ, H5VL_file_get_args_t *args, TAIL)
{
    return MARK(file_cls.get), mark(SEEN_FILE_GET, (size_t)args->op_type), real->file_cls.get(obj, args, dxpl, req);
}
static herr_t file_specific(OBJ, H5VL_file_specific_args_t *args, TAIL)
{
    return MARK(file_cls.specific), mark(SEEN_FILE_SPECIFIC, (size_t)args->op_type), real->file_cls.specific(obj, args, dxpl, req);
}
static herr_t file_optional(OBJ, H5VL_optional_args_t *args, TAIL)
{
    return MARK(file_cls.optional), real->file_cls.optional(obj, args, dxpl, req);
}
static herr_t file_close(OBJ, TAIL) { return MARK(file_cls.close), real->file_cls.close(obj, dxpl, req); }

/* ---- groups ---- */
static void *group_create(OBJ, LOC, const char *name, hid_t lcpl, hid_t gcpl, hid_t gapl, TAIL)
{
    return MARK(group_cls.create), mark_loc(loc), real->group_cls.create(obj, loc, name, lcpl, gcpl, gapl, dxpl, req);
}
static void *group_open(OBJ, LOC, const char *name, hid_t gapl, TAIL)
{
    return MARK(group_cls.open), mark_loc(loc), real->group_cls.open(obj, loc, name, gapl, dxpl, req);
}
static herr_t group_get(OBJ, H5VL_group_get_args_t *args, TAIL)
{
    if (args->op_type == H5VL_GROUP_GET_INFO)
        mark_loc(&args->args.get_info.loc_params);
    return MARK(group_cls.get), mark(SEEN_GROUP_GET, (size_t)args->op_type), real->group_cls.get(obj, args, dxpl, req);
}
static herr_t group_specific(OBJ, H5VL_group_specific_args_t *args, TAIL)
{
    return MARK(group_cls.specific), mark(SEEN_GROUP_SPECIFIC, (size_t)args->op_type), real->group_cls.specific(obj, args, dxpl, req);
}
static herr_t group_optional(OBJ, H5VL_optional_args_t *args, TAIL)
{
    return MARK(group_cls.optional), real->group_cls.optional(obj, args, dxpl, req);
}
static herr_t group_close(OBJ, TAIL) { return MARK(group_cls.close), real->group_cls.close(obj, dxpl, req); }

/* ---- links ---- */
static herr_t link_create(H5VL_link_create_args_t *args, OBJ, LOC, hid_t lcpl, hid_t lapl, TAIL)
{
    return MARK(link_cls.create), mark_loc(loc), mark(SEEN_LINK_CREATE, (size_t)args->op_type),
           real->link_cls.create(args, obj, loc, lcpl, lapl, dxpl, req);
}
static herr_t link_copy(OBJ, LOC, void *to, const H5VL_loc_params_t *loc2, hid_t lcpl, hid_t lapl, TAIL)
{
    return MARK(link_cls.copy), mark_loc(loc), real->link_cls.copy(obj, loc, to, loc2, lcpl, lapl, dxpl, req);
}
static herr_t link_move(OBJ, LOC, void *to, const H5VL_loc_params_t *loc2, hid_t lcpl, hid_t lapl, TAIL)
{
    return MARK(link_cls.move), mark_loc(loc), real->link_cls.move(obj, loc, to, loc2, lcpl, lapl, dxpl, req);
}
static herr_t link_get(OBJ, LOC, H5VL_link_get_args_t *args, TAIL)
{
    return MARK(link_cls.get), mark_loc(loc), mark(SEEN_LINK_GET, (size_t)args->op_type), real->link_cls.get(obj, loc, args, dxpl, req);
}
static herr_t link_specific(OBJ, LOC, H5VL_link_specific_args_t *args, TAIL)
{
    return MARK(link_cls.specific), mark_loc(loc), mark(SEEN_LINK_SPECIFIC, (size_t)args->op_type),
           real->link_cls.specific(obj, loc, args, dxpl, req);
}

/* ---- objects ---- */
static void *object_open(OBJ, LOC, H5I_type_t *type, TAIL)
{
    return MARK(object_cls.open), mark_loc(loc), real->object_cls.open(obj, loc, type, dxpl, req);
}
static herr_t object_copy(OBJ, LOC, const char *name, void *to, const H5VL_loc_params_t *loc2, const char *name2, hid_t ocpypl, hid_t lcpl,
                          TAIL)
{
    return MARK(object_cls.copy), mark_loc(loc), real->object_cls.copy(obj, loc, name, to, loc2, name2, ocpypl, lcpl, dxpl, req);
}
static herr_t object_get(OBJ, LOC, H5VL_object_get_args_t *args, TAIL)
{
    return MARK(object_cls.get), mark_loc(loc), mark(SEEN_OBJECT_GET, (size_t)args->op_type),
           real->object_cls.get(obj, loc, args, dxpl, req);
}
static herr_t object_specific(OBJ, LOC, H5VL_object_specific_args_t *args, TAIL)
{
    return MARK(object_cls.specific), mark_loc(loc), mark(SEEN_OBJECT_SPECIFIC, (size_t)args->op_type),
           real->object_cls.specific(obj, loc, args, dxpl, req);
}
static herr_t object_optional(OBJ, LOC, H5VL_optional_args_t *args, TAIL)
{
    return MARK(object_cls.optional), mark_loc(loc), real->object_cls.optional(obj, loc, args, dxpl, req);
}

/* ---- the rest ---- */
static herr_t get_conn_cls(OBJ, H5VL_get_conn_lvl_t level, const H5VL_class_t **out)
{
    return MARK(introspect_cls.get_conn_cls), real->introspect_cls.get_conn_cls(obj, level, out);
}
static herr_t get_cap_flags(const void *info, uint64_t *flags)
{
    return MARK(introspect_cls.get_cap_flags), real->introspect_cls.get_cap_flags(info, flags);
}
static herr_t opt_query(OBJ, H5VL_subclass_t cls, int op, uint64_t *flags)
{
    return MARK(introspect_cls.opt_query), real->introspect_cls.opt_query(obj, cls, op, flags);
}
static herr_t token_cmp(OBJ, const H5O_token_t *a, const H5O_token_t *b, int *out)
{
    return MARK(token_cls.cmp), real->token_cls.cmp(obj, a, b, out);
}
static herr_t token_to_str(OBJ, H5I_type_t type, const H5O_token_t *token, char **out)
{
    return MARK(token_cls.to_str), real->token_cls.to_str(obj, type, token, out);
}
static herr_t token_from_str(OBJ, H5I_type_t type, const char *text, H5O_token_t *out)
{
    return MARK(token_cls.from_str), real->token_cls.from_str(obj, type, text, out);
}
static void  *info_copy(const void *info) { return MARK(info_cls.copy), real->info_cls.copy(info); }
static herr_t info_cmp(int *out, const void *a, const void *b) { return MARK(info_cls.cmp), real->info_cls.cmp(out, a, b); }
static herr_t info_free(void *info) { return MARK(info_cls.free), real->info_cls.free(info); }
static herr_t info_to_str(const void *info, char **out) { return MARK(info_cls.to_str), real->info_cls.to_str(info, out); }
static herr_t info_from_str(const char *text, void **out) { return MARK(info_cls.from_str), real->info_cls.from_str(text, out); }
static herr_t optional(OBJ, H5VL_optional_args_t *args, TAIL) { return MARK(optional), real->optional(obj, args, dxpl, req); }
static herr_t initialize(hid_t vipl) { return MARK(initialize), real->initialize(vipl); }
static herr_t terminate(void) { return MARK(terminate), real->terminate(); }

static void listen_to(H5VL_class_t *c)
{
    c->initialize     = initialize;
    c->terminate      = terminate;
    c->info_cls       = (H5VL_info_class_t){c->info_cls.size, info_copy, info_cmp, info_free, info_to_str, info_from_str};
    c->attr_cls       = (H5VL_attr_class_t){attr_create, attr_open, attr_read, attr_write, attr_get, attr_specific, attr_optional, attr_close};
    c->dataset_cls    = (H5VL_dataset_class_t){dataset_create, dataset_open,     dataset_read,     dataset_write,
                                               dataset_get,    dataset_specific, dataset_optional, dataset_close};
    c->datatype_cls   = (H5VL_datatype_class_t){datatype_commit, datatype_open, datatype_get, datatype_specific, NULL, datatype_close};
    c->file_cls       = (H5VL_file_class_t){file_create, file_open, file_get, file_specific, file_optional, file_close};
    c->group_cls      = (H5VL_group_class_t){group_create, group_open, group_get, group_specific, group_optional, group_close};
    c->link_cls       = (H5VL_link_class_t){link_create, link_copy, link_move, link_get, link_specific, NULL};
    c->object_cls     = (H5VL_object_class_t){object_open, object_copy, object_get, object_specific, object_optional};
    c->introspect_cls = (H5VL_introspect_class_t){get_conn_cls, get_cap_flags, opt_query};
    c->token_cls      = (H5VL_token_class_t){token_cmp, token_to_str, token_from_str};
    c->optional       = optional;
}

hid_t seen_register(void)
{
    static H5VL_class_t mine;
    char                path[4200];
    const void *(*info)(void);
    snprintf(path, sizeof path, "%s/libhdf5_vol_bucket.so", getenv("HDF5_PLUGIN_PATH") ? getenv("HDF5_PLUGIN_PATH") : "");
    void *lib = dlopen(path, RTLD_NOW), *at = lib ? dlsym(lib, "H5PLget_plugin_info") : NULL;
    if (!at) {
        printf("the plugin is not there: %s\n", dlerror());
        return H5I_INVALID_HID;
    }
    memcpy(&info, &at, sizeof info); /* ISO C has no cast from object to function pointers */
    (void)H5open(); /* the plugin gives itself to a running HDF5 only */
    real = info();
    mine = *real;
    listen_to(&mine);
    return H5VLregister_connector(&mine, H5P_DEFAULT);
}
