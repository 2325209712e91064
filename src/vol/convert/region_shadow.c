#include "vol/convert/region_shadow.h"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <stdlib.h>
#include <string.h>

#include "vol/convert/values_to_memory.h"
#include "base/map.h"
#include "vol/core/object_refs.h"
#include "vol/core/token.h"
#include "schema/json/reference_text.h"

struct shadow {
    unsigned char address[8];
};

/* HDF5's global lock guards all of this. */
static struct bkt_map *shadows;           /* id and extent -> struct shadow */
static struct bkt_map *texts, *handles;   /* handle -> text; text -> handle */
static bool            old_call;

void bkt_region_shadow_was_asked_for_class(void)
{
    old_call = true;
}
void bkt_region_shadow_was_asked_for_token_size(void)
{
    old_call = false;
}
bool bkt_region_shadow_is_old_call(void)
{
    return old_call;
}

/* ---- shadows ---- */

static int key_of(const struct bkt_object *dset, struct bkt_buf *out)
{
    const struct bkt_space *s = &dset->dset.space;
    BKT_PASS(bkt_buf_add(out, dset->id.text, sizeof dset->id.text));
    BKT_PASS(bkt_buf_add(out, s->dims, s->rank * sizeof *s->dims));
    return bkt_buf_add(out, s->maxdims, s->rank * sizeof *s->maxdims);
}

/* Linked and closed: an open dataset would hold HDF5's own types and lists, and HDF5 waits for these when
 * it ends. */
static bool make(const struct bkt_object *dset, void *file, struct shadow *s)
{
    static unsigned long   made;
    char                   name[32];
    H5VL_loc_params_t      loc  = {.obj_type = H5I_FILE, .type = H5VL_OBJECT_BY_SELF};
    H5VL_loc_params_t      self = {.obj_type = H5I_DATASET, .type = H5VL_OBJECT_BY_SELF};
    H5O_info2_t            info;
    H5VL_object_get_args_t get = {.op_type = H5VL_OBJECT_GET_INFO,
                                  .args.get_info = {.fields = H5O_INFO_BASIC, .oinfo = &info}};
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID, dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t one[BKT_MAX_RANK];
    int     rank = (int)dset->dset.space.rank;
    for (int i = 0; i < BKT_MAX_RANK; i++)
        one[i] = 1;
    if (dcpl < 0 || bkt_convert_space(&dset->dset.space, &space, NULL) < 0 ||
        (rank > 0 && H5Pset_chunk(dcpl, rank, one) < 0))
        return false;
    (void)snprintf(name, sizeof name, "%lu", made++);
    void *shadow =
        H5VLdataset_create(file, &loc, H5VL_NATIVE, name, H5P_LINK_CREATE_DEFAULT, H5T_STD_I8LE, space, dcpl,
                           H5P_DATASET_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, NULL);
    if (!shadow)
        return false;
    bool known = H5VLobject_get(shadow, &self, H5VL_NATIVE, &get, H5P_DATASET_XFER_DEFAULT, NULL) >= 0;
    if (H5VLdataset_close(shadow, H5VL_NATIVE, H5P_DATASET_XFER_DEFAULT, NULL) < 0 || !known)
        return false;
    memcpy(s->address, info.token.__data, sizeof s->address);
    return true;
}

static void drop(void *arg)
{
    struct shadow *s = arg;
    bkt_token_unalias(s->address);
    free(s);
}

static void forget_all(void)
{
    bkt_map_free(shadows, drop);
    bkt_map_free(texts, free);
    bkt_map_free(handles, free);
    shadows = texts = handles = NULL;
}

bool bkt_region_shadow_token(const struct bkt_object *dset, H5O_token_t *out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    void *file = bkt_native_header_file();
    if (!file || dset->kind != BKT_DATASET || key_of(dset, &key) < 0 ||
        (!shadows && !(shadows = bkt_map_new())))
        return false;
    bkt_native_header_at_close(forget_all);
    struct shadow *s = bkt_map_get(shadows, key.ptr, key.len);
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s)
            return false;
        if (!make(dset, file, s) || !bkt_token_alias(s->address, &dset->id) ||
            bkt_map_put(shadows, key.ptr, key.len, s, NULL) < 0) {
            (void)H5Eclear2(H5E_DEFAULT);
            drop(s);
            return false;
        }
    }
    memset(out, 0, sizeof *out);
    memcpy(out->__data, s->address, sizeof s->address);
    return true;
}

/* ---- handles ---- */

static bool is_null(const unsigned char *handle)
{
    static const unsigned char null[H5R_DSET_REG_REF_BUF_SIZE];
    return memcmp(handle, null, sizeof null) == 0;
}

static int remember(const unsigned char *handle, const unsigned char *text, size_t n, struct bkt_err *err)
{
    bkt_native_header_at_close(forget_all);
    if ((!texts && !(texts = bkt_map_new())) || (!handles && !(handles = bkt_map_new())))
        BKT_NOMEM(err);
    char          *t   = strndup((const char *)text, n);
    unsigned char *h   = malloc(H5R_DSET_REG_REF_BUF_SIZE);
    void          *old = NULL;
    if (h)
        memcpy(h, handle, H5R_DSET_REG_REF_BUF_SIZE);
    if (!t || !h || bkt_map_put(texts, handle, H5R_DSET_REG_REF_BUF_SIZE, t, &old) < 0) {
        free(t);
        free(h);
        BKT_NOMEM(err);
    }
    free(old);
    old = NULL;
    if (bkt_map_put(handles, text, n, h, &old) < 0) {
        free(h);
        BKT_NOMEM(err);
    }
    free(old);
    return BKT_OK;
}

/* If old calls are off or the dataset was deleted, the bytes only distinguish regions.  The last 4 are 0,
 * which is not an index into a heap, so that HDF5 gives up before it looks for one (H5HG_read). */
static void made_up(const unsigned char *text, size_t n, unsigned char *out)
{
    uint64_t hash = 0;
    for (size_t k = 0; k < n; k++)
        hash = hash * 31 + text[k];
    memset(out, 0, H5R_DSET_REG_REF_BUF_SIZE);
    do
        bkt_put_le(out, 8, hash++ | 1);
    while (texts && bkt_map_get(texts, out, H5R_DSET_REG_REF_BUF_SIZE));
}

int bkt_region_shadow_handle(struct bkt_vobj *in_file, const struct bkt_slice *text,
                             unsigned char out[H5R_DSET_REG_REF_BUF_SIZE], struct bkt_err *err)
{
    size_t               n     = text->n ? strnlen((const char *)text->p, text->n) : 0;
    const unsigned char *known = n && handles ? bkt_map_get(handles, text->p, n) : NULL;
    memset(out, 0, H5R_DSET_REG_REF_BUF_SIZE);
    if (known)
        memcpy(out, known, H5R_DSET_REG_REF_BUF_SIZE);
    if (known || n == 0)
        return BKT_OK;
    struct bkt_err why = {.n = 0};
    int rc = bkt_native_header_file() ? bkt_convert_old_region(in_file, text, out, &why) : BKT_ENOENT;
    if (rc == BKT_ENOENT) /* if the dataset was deleted, the reference stays valid and leads nowhere */
        made_up(text->p, n, out);
    else if (rc < 0)
        return bkt_err_copy(err, rc, &why);
    return is_null(out) ? BKT_OK : remember(out, text->p, n, err);
}

/* A reference that the program made with H5Rcreate() */
static int follow(struct bkt_vobj *in_file, const unsigned char *handle, struct bkt_regref *r,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t loc = H5I_INVALID_HID, obj = H5I_INVALID_HID, space = H5I_INVALID_HID;
    unsigned long fileno;
    H5O_token_t   token;
    BKT_PASS(bkt_vobj_root_id(in_file, &loc, err));
    BKT_PASS(BKT_PASS_H5(err, obj = H5Rdereference2(loc, H5P_DEFAULT, H5R_DATASET_REGION, handle),
                         "following a region reference"));
    BKT_PASS(BKT_PASS_H5(err, space = H5Rget_region(loc, H5R_DATASET_REGION, handle),
                         "opening the region of a reference"));
    BKT_PASS(bkt_vobj_identify(obj, &fileno, &token, err));
    BKT_FAIL_IF(err, !bkt_token_id(in_file->file->dom, &token, &r->dset), BKT_EINVAL,
                "region reference: it leads to no dataset of the domain");
    return bkt_convert_from_region(space, r, err);
}

int bkt_region_shadow_text(struct bkt_vobj *in_file, const unsigned char handle[H5R_DSET_REG_REF_BUF_SIZE],
                           struct bkt_buf *out, struct bkt_err *err)
{
    struct bkt_regref r     = {.kind = BKT_REGION_NULL};
    const char       *known = texts ? bkt_map_get(texts, handle, H5R_DSET_REG_REF_BUF_SIZE) : NULL;
    if (known)
        return BKT_MADE(err, bkt_buf_add_str(out, known) >= 0);
    if (is_null(handle))
        return BKT_OK;
    BKT_FAIL_IF(err, !bkt_native_header_file(), BKT_EINVAL,
                "region reference: it is unknown; old calls are not served with this version of HDF5");
    int rc = follow(in_file, handle, &r, err);
    if (rc == BKT_OK)
        rc = bkt_regref_emit(&r, out, err);
    bkt_regref_fini(&r);
    return rc;
}
