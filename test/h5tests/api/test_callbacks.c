/* Every callback and every operation that HDF5 has for a connector, each by a call of HDF5's that reaches it:
 * on a new domain, where it must be seen to arrive, and on a new file of HDF5's own, with the same outcome.
 * check_callbacks.py compares the table with HDF5's header; test_capabilities.c has HDF5's optional
 * operations. */
#include "h5tests/api/callbacks_calls.h"
#include "h5tests/api/callbacks_seen.h"

static const struct row {
    const char     *name;
    enum seen_kind  kind;
    size_t          which;
    void (*call)(const struct things *t, struct out *o);
    const char *absent; /* why the connector has no such callback: the call works without it */
} rows[] = {
#define MEMBER(m, call)      {#m, SEEN_MEMBER, offsetof(H5VL_class_t, m), call, NULL}
#define NONE(m, call, why)   {#m, SEEN_MEMBER, offsetof(H5VL_class_t, m), call, why}
#define OP(kind, which, call) {#which, SEEN_##kind, (size_t)(which), call, NULL}
#define UNUSED(which, call, why) {#which, SEEN_KINDS, (size_t)(which), call, why}
    MEMBER(attr_cls.create, attr_create), MEMBER(attr_cls.open, attr_open), MEMBER(attr_cls.read, attr_read),
    MEMBER(attr_cls.write, attr_write), MEMBER(attr_cls.get, attr_name), MEMBER(attr_cls.specific, attr_exists),
    MEMBER(attr_cls.optional, attr_old), MEMBER(attr_cls.close, attr_open),
    OP(ATTR_GET, H5VL_ATTR_GET_ACPL, attr_acpl), OP(ATTR_GET, H5VL_ATTR_GET_INFO, attr_info),
    OP(ATTR_GET, H5VL_ATTR_GET_NAME, attr_name), OP(ATTR_GET, H5VL_ATTR_GET_SPACE, attr_space),
    OP(ATTR_GET, H5VL_ATTR_GET_STORAGE_SIZE, attr_storage), OP(ATTR_GET, H5VL_ATTR_GET_TYPE, attr_type),
    OP(ATTR_SPECIFIC, H5VL_ATTR_DELETE, attr_delete), OP(ATTR_SPECIFIC, H5VL_ATTR_DELETE_BY_IDX, attr_delete_idx),
    OP(ATTR_SPECIFIC, H5VL_ATTR_EXISTS, attr_exists), OP(ATTR_SPECIFIC, H5VL_ATTR_ITER, attr_iter),
    OP(ATTR_SPECIFIC, H5VL_ATTR_RENAME, attr_rename),

    MEMBER(dataset_cls.create, dataset_create), MEMBER(dataset_cls.open, dataset_open), MEMBER(dataset_cls.read, dataset_read),
    MEMBER(dataset_cls.write, dataset_write), MEMBER(dataset_cls.get, dataset_space), MEMBER(dataset_cls.specific, dataset_flush),
    MEMBER(dataset_cls.optional, dataset_chunks), MEMBER(dataset_cls.close, dataset_open),
    OP(DATASET_GET, H5VL_DATASET_GET_DAPL, dataset_dapl), OP(DATASET_GET, H5VL_DATASET_GET_DCPL, dataset_dcpl),
    OP(DATASET_GET, H5VL_DATASET_GET_SPACE, dataset_space), OP(DATASET_GET, H5VL_DATASET_GET_SPACE_STATUS, dataset_status),
    OP(DATASET_GET, H5VL_DATASET_GET_STORAGE_SIZE, dataset_storage), OP(DATASET_GET, H5VL_DATASET_GET_TYPE, dataset_type),
    OP(DATASET_SPECIFIC, H5VL_DATASET_SET_EXTENT, dataset_extent), OP(DATASET_SPECIFIC, H5VL_DATASET_FLUSH, dataset_flush),
    OP(DATASET_SPECIFIC, H5VL_DATASET_REFRESH, dataset_refresh),

    MEMBER(datatype_cls.commit, type_commit), MEMBER(datatype_cls.open, type_open), MEMBER(datatype_cls.get, type_tcpl),
    MEMBER(datatype_cls.specific, type_flush), MEMBER(datatype_cls.close, type_open),
    NONE(datatype_cls.optional, no_optional, "HDF5 has no such operation"),
    OP(DATATYPE_GET, H5VL_DATATYPE_GET_BINARY_SIZE, type_binary), OP(DATATYPE_GET, H5VL_DATATYPE_GET_BINARY, type_binary),
    OP(DATATYPE_GET, H5VL_DATATYPE_GET_TCPL, type_tcpl), OP(DATATYPE_SPECIFIC, H5VL_DATATYPE_FLUSH, type_flush),
    OP(DATATYPE_SPECIFIC, H5VL_DATATYPE_REFRESH, type_refresh),

    MEMBER(file_cls.create, file_create), MEMBER(file_cls.open, file_open), MEMBER(file_cls.get, file_name),
    MEMBER(file_cls.specific, file_flush), MEMBER(file_cls.optional, file_size), MEMBER(file_cls.close, file_open),
    OP(FILE_GET, H5VL_FILE_GET_CONT_INFO, file_cont), OP(FILE_GET, H5VL_FILE_GET_FAPL, file_fapl),
    OP(FILE_GET, H5VL_FILE_GET_FCPL, file_fcpl), OP(FILE_GET, H5VL_FILE_GET_FILENO, file_no),
    OP(FILE_GET, H5VL_FILE_GET_INTENT, file_intent), OP(FILE_GET, H5VL_FILE_GET_NAME, file_name),
    OP(FILE_GET, H5VL_FILE_GET_OBJ_COUNT, file_count), OP(FILE_GET, H5VL_FILE_GET_OBJ_IDS, file_ids),
    OP(FILE_SPECIFIC, H5VL_FILE_FLUSH, file_flush), OP(FILE_SPECIFIC, H5VL_FILE_REOPEN, file_reopen),
    OP(FILE_SPECIFIC, H5VL_FILE_IS_ACCESSIBLE, file_accessible), OP(FILE_SPECIFIC, H5VL_FILE_DELETE, file_delete),
    OP(FILE_SPECIFIC, H5VL_FILE_IS_EQUAL, file_equal),

    MEMBER(group_cls.create, group_create), MEMBER(group_cls.open, group_open), MEMBER(group_cls.get, group_info),
    MEMBER(group_cls.specific, group_flush), MEMBER(group_cls.optional, group_old), MEMBER(group_cls.close, group_open),
    OP(GROUP_GET, H5VL_GROUP_GET_GCPL, group_gcpl), OP(GROUP_GET, H5VL_GROUP_GET_INFO, group_info),
    OP(GROUP_SPECIFIC, H5VL_GROUP_MOUNT, group_mount), OP(GROUP_SPECIFIC, H5VL_GROUP_UNMOUNT, group_mount),
    OP(GROUP_SPECIFIC, H5VL_GROUP_FLUSH, group_flush), OP(GROUP_SPECIFIC, H5VL_GROUP_REFRESH, group_refresh),

    MEMBER(link_cls.create, link_soft), MEMBER(link_cls.copy, link_copy), MEMBER(link_cls.move, link_move),
    MEMBER(link_cls.get, link_info), MEMBER(link_cls.specific, link_exists),
    NONE(link_cls.optional, no_optional, "HDF5 has no such operation"),
    OP(LINK_CREATE, H5VL_LINK_CREATE_HARD, link_hard), OP(LINK_CREATE, H5VL_LINK_CREATE_SOFT, link_soft),
    OP(LINK_CREATE, H5VL_LINK_CREATE_UD, link_ud), OP(LINK_GET, H5VL_LINK_GET_INFO, link_info),
    OP(LINK_GET, H5VL_LINK_GET_NAME, link_name), OP(LINK_GET, H5VL_LINK_GET_VAL, link_val),
    OP(LINK_SPECIFIC, H5VL_LINK_DELETE, link_delete), OP(LINK_SPECIFIC, H5VL_LINK_EXISTS, link_exists),
    OP(LINK_SPECIFIC, H5VL_LINK_ITER, link_iter),

    MEMBER(object_cls.open, object_open), MEMBER(object_cls.copy, object_copy), MEMBER(object_cls.get, object_info),
    MEMBER(object_cls.specific, object_exists), MEMBER(object_cls.optional, any_optional),
    OP(OBJECT_GET, H5VL_OBJECT_GET_FILE, object_file), OP(OBJECT_GET, H5VL_OBJECT_GET_NAME, object_name),
    OP(OBJECT_GET, H5VL_OBJECT_GET_TYPE, object_type), OP(OBJECT_GET, H5VL_OBJECT_GET_INFO, object_info),
    OP(OBJECT_SPECIFIC, H5VL_OBJECT_CHANGE_REF_COUNT, object_refs), OP(OBJECT_SPECIFIC, H5VL_OBJECT_EXISTS, object_exists),
    OP(OBJECT_SPECIFIC, H5VL_OBJECT_LOOKUP, object_lookup), OP(OBJECT_SPECIFIC, H5VL_OBJECT_VISIT, object_visit),
    OP(OBJECT_SPECIFIC, H5VL_OBJECT_FLUSH, object_flush), OP(OBJECT_SPECIFIC, H5VL_OBJECT_REFRESH, object_refresh),

    OP(LOC, H5VL_OBJECT_BY_SELF, object_info), OP(LOC, H5VL_OBJECT_BY_NAME, object_info), OP(LOC, H5VL_OBJECT_BY_IDX, object_info),
    OP(LOC, H5VL_OBJECT_BY_TOKEN, object_open),

    MEMBER(info_cls.copy, infos), MEMBER(info_cls.cmp, infos), MEMBER(info_cls.free, infos), MEMBER(info_cls.to_str, infos),
    MEMBER(info_cls.from_str, infos),
    MEMBER(introspect_cls.get_conn_cls, introspect), MEMBER(introspect_cls.get_cap_flags, introspect),
    MEMBER(introspect_cls.opt_query, introspect),
    MEMBER(token_cls.cmp, tokens), MEMBER(token_cls.to_str, tokens), MEMBER(token_cls.from_str, tokens),
    MEMBER(optional, unknown_optional),

    NONE(wrap_cls.get_object, plain_call, "for connectors that pass calls on"), NONE(wrap_cls.get_wrap_ctx, plain_call, "the same"),
    NONE(wrap_cls.wrap_object, plain_call, "the same"), NONE(wrap_cls.unwrap_object, plain_call, "the same"),
    NONE(wrap_cls.free_wrap_ctx, plain_call, "the same"),
    NONE(request_cls.wait, asynchronous, "calls are done when they return"), NONE(request_cls.notify, asynchronous, "the same"),
    NONE(request_cls.cancel, asynchronous, "the same"), NONE(request_cls.specific, asynchronous, "the same"),
    NONE(request_cls.optional, asynchronous, "the same"), NONE(request_cls.free, asynchronous, "the same"),
    UNUSED(H5VL_REQUEST_GET_ERR_STACK, asynchronous, "the same"), UNUSED(H5VL_REQUEST_GET_EXEC_TIME, asynchronous, "the same"),
    UNUSED(H5VL_REQUEST_STATUS_IN_PROGRESS, asynchronous, "the same"), UNUSED(H5VL_REQUEST_STATUS_SUCCEED, asynchronous, "the same"),
    UNUSED(H5VL_REQUEST_STATUS_FAIL, asynchronous, "the same"), UNUSED(H5VL_REQUEST_STATUS_CANT_CANCEL, asynchronous, "the same"),
    UNUSED(H5VL_REQUEST_STATUS_CANCELED, asynchronous, "the same"),
    NONE(blob_cls.put, sequences, "sequences are stored with the values that have them"), NONE(blob_cls.get, sequences, "the same"),
    NONE(blob_cls.specific, sequences, "the same"), NONE(blob_cls.optional, sequences, "the same"),
    UNUSED(H5VL_BLOB_DELETE, sequences, "the same"), UNUSED(H5VL_BLOB_ISNULL, sequences, "the same"),
    UNUSED(H5VL_BLOB_SETNULL, sequences, "the same"),
};

static void run_side(const struct row *r, struct out *o)
{
    struct things t;
    open_things(o, &t);
    seen_clear();
    r->call(&t, o);
    if (o->ours && !r->absent)
        CHECK(seen(r->kind, r->which), "%s was not called", r->name);
    if (o->ours && r->kind == SEEN_MEMBER && r->absent)
        CHECK(seen_absent(r->which), "%s is there after all (%s)", r->name, r->absent);
    close_things(o, &t);
}

static void every_row(const struct out *o)
{
    (void)o;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int        before = failures;
        struct out twin = {.text = NULL}, ours = {.ours = true};
        say(&twin, "%s", rows[i].name);
        say(&ours, "%s", rows[i].name);
        run_side(&rows[i], &twin);
        run_side(&rows[i], &ours);
        bool same = strcmp(twin.text, ours.text) == 0;
        CHECK(same, "%s: the domain differs from the file", rows[i].name);
        if (!same)
            show_difference(twin.text, ours.text);
        printf("%s %s%s%s\n", failures == before ? "ok  " : "FAIL", rows[i].name, rows[i].absent ? ": absent, " : "",
               rows[i].absent ? rows[i].absent : "");
        free(twin.text);
        free(ours.text);
    }
}

int main(void)
{
    struct out o   = {.ours = true};
    hid_t      vol = seen_register();
    CHECK(vol >= 0 && seen(SEEN_MEMBER, offsetof(H5VL_class_t, initialize)), "initialize was not called");
    compare_write_extra(every_row, &o);
    int rc = compare_write_main(NULL, 0);
    seen_clear();
    H5VLclose(vol);
    H5close();
    CHECK(seen(SEEN_MEMBER, offsetof(H5VL_class_t, terminate)), "terminate was not called");
    return rc || failures;
}
