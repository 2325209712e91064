/* Ids, keys and references, with the values that HSDS itself computes. */
#include "unit/schema/json/json_testing.h"

static const struct {
    const char *id, *key;
} keys[] = {
    {"g-b03b24ef-69f244b6-38b3-ac67e1-7acc3e", "db/b03b24ef-69f244b6/.group.json"},
    {"g-b03b24ef-69f244b6-acd9-4df97b-37122a", "db/b03b24ef-69f244b6/g/acd9-4df97b-37122a/.group.json"},
    {"d-b03b24ef-69f244b6-56e5-25125a-89ba79", "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/.dataset.json"},
    {"t-b03b24ef-69f244b6-56e5-25125a-89ba79", "db/b03b24ef-69f244b6/t/56e5-25125a-89ba79/.datatype.json"},
    {"g-77c2c081-6dcbb0c4-ff4a-4809e5-43384c", "db/77c2c081-6dcbb0c4/.group.json"},
    {"g-0568d8c5-a77e-11e4-9f7a-3c15c2da029e", "8211e-g-0568d8c5-a77e-11e4-9f7a-3c15c2da029e"},
};

static void keys_are_hsds_own(void)
{
    for (size_t i = 0; i < BKT_COUNT(keys); i++) {
        struct bkt_id id;
        struct bkt_buf key = {0};
        CHECK(bkt_id_set(&id, keys[i].id) && bkt_id_key(&id, &key) == BKT_OK, "%s", keys[i].id);
        CHECK(strcmp(bkt_buf_str(&key), keys[i].key) == 0, "%s gave %s", keys[i].id, bkt_buf_str(&key));
        bkt_buf_fini(&key);
    }
}

static const struct {
    const char *dset;
    unsigned parts;
    const char *key;
} chunks[] = {
    {"d-b03b24ef-69f244b6-56e5-25125a-89ba79", 0, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/1_3"},
    {"d-b03b24ef-69f244b6-56e5-25125a-89ba79", 1, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/1_3"},
    {"d-b03b24ef-69f244b6-56e5-25125a-89ba79", 10, "db/b03b24ef-69f244b6/d/56e5-25125a-89ba79/p2/1_3"},
    {"d-4ab77230-9c0e-11e6-8fdd-0242ac110005", 0, "17674-c-4ab77230-9c0e-11e6-8fdd-0242ac110005_1_3"},
    {"d-4ab77230-9c0e-11e6-8fdd-0242ac110005", 66, "1aa76-c56-4ab77230-9c0e-11e6-8fdd-0242ac110005_1_3"},
};

static void chunk_keys_are_hsds_own(void)
{
    const uint64_t coord[2] = {1, 3}; /* (29 + 3 * 31) % 66 = 56 */
    for (size_t i = 0; i < BKT_COUNT(chunks); i++) {
        struct bkt_id id;
        struct bkt_buf key = {0};
        struct bkt_layout l = {.rank = 2, .partition_count = chunks[i].parts};
        CHECK(bkt_id_set(&id, chunks[i].dset) && bkt_chunk_key(&id, &l, coord, &key) == BKT_OK, "%s",
              chunks[i].dset);
        CHECK(strcmp(bkt_buf_str(&key), chunks[i].key) == 0, "gave %s, want %s", bkt_buf_str(&key),
              chunks[i].key);
        bkt_buf_fini(&key);
    }
}

static void huge_coordinates_do_not_overflow_the_partition(void)
{
    uint64_t coord[BKT_MAX_RANK];
    struct bkt_layout l = {.rank = BKT_MAX_RANK, .partition_count = UINT32_MAX};
    struct bkt_buf key = {0};
    struct bkt_id id;
    for (unsigned i = 0; i < BKT_MAX_RANK; i++)
        coord[i] = UINT64_MAX;
    CHECK(bkt_id_set(&id, DSET_ID) && bkt_chunk_key(&id, &l, coord, &key) == BKT_OK, "key");
    CHECK(strstr(bkt_buf_str(&key), "/p0/18446744073709551615_") != NULL, "%s", bkt_buf_str(&key));
    bkt_buf_fini(&key);
}

#define DB "db/b03b24ef-69f244b6/"

static const struct {
    const char *key, *id, *rest; /* rest NULL: the key of no object's document or chunk */
    bool        whole;           /* it is the document's key */
} split[] = {
    {DB ".group.json", ROOT_ID, ".group.json", true},
    {DB "g/acd9-4df97b-37122a/.group.json", "g-b03b24ef-69f244b6-acd9-4df97b-37122a", ".group.json", true},
    {DB "d/56e5-25125a-89ba79/.dataset.json", DSET_ID, ".dataset.json", true},
    {DB "t/56e5-25125a-89ba79/.datatype.json", TYPE_ID, ".datatype.json", true},
    {DB "d/56e5-25125a-89ba79/1_3", DSET_ID, "1_3", false},
    {DB "d/56e5-25125a-89ba79/p2/1_3", DSET_ID, "p2/1_3", false},
    {DB "d/56e5-25125a-89ba79/", DSET_ID, "", false},
    {DB "d/56e5-25125a-89ba79/.group.json", DSET_ID, ".group.json", false},
    {DB "d/56e5-25125a-89ba79/.dataset.json.bak", DSET_ID, ".dataset.json.bak", false},
    {"", NULL, NULL, false},
    {"db/", NULL, NULL, false},
    {"db/b03b24ef", NULL, NULL, false},
    {"db/b03b24ef-69f244b6", NULL, NULL, false},
    {DB, NULL, NULL, false},
    {DB ".group.jso", NULL, NULL, false},
    {DB ".group.json/", NULL, NULL, false},
    {DB ".h5bucket-snapshot", NULL, NULL, false},
    {DB "d", NULL, NULL, false},
    {DB "d/56e5-25125a-89ba7", NULL, NULL, false},
    {DB "d/56e5-25125a-89ba79", NULL, NULL, false},
    {DB "d/56e5-25125a-89ba7/.dataset.json", NULL, NULL, false},
    {DB "d/56e5-25125a-89ba799/.dataset.json", NULL, NULL, false},
    {DB "d/56e5-25125a-89ba7g/.dataset.json", NULL, NULL, false},
    {DB "d/56e5-25125a/89ba79/.dataset.json", NULL, NULL, false},
    {DB "d/../../../../../etc/x/.dataset.json", NULL, NULL, false},
    {DB "d-56e5-25125a-89ba79/.dataset.json", NULL, NULL, false},
    {DB "c/56e5-25125a-89ba79/.dataset.json", NULL, NULL, false},
    {"db/b03b24ef-69f244b6-d/56e5-25125a-89ba79/.dataset.json", NULL, NULL, false},
    {"db/b03b24ef-69f244b7/d/56e5-25125a-89ba79/.dataset.json", NULL, NULL, false},
    {"dbs" DB "d/56e5-25125a-89ba79/.dataset.json", NULL, NULL, false},
};

static void a_key_shows_whose_it_is(void)
{
    struct bkt_id root;
    CHECK(bkt_id_set(&root, ROOT_ID), "root");
    for (size_t i = 0; i < BKT_COUNT(split); i++) {
        struct bkt_id id;
        const char   *rest = NULL;
        bool          is   = bkt_id_split_key(&root, split[i].key, &id, &rest);
        CHECK(is == (split[i].rest != NULL), "'%s' %s", split[i].key, is ? "was taken for an object's" : "was not recognised");
        if (is && split[i].rest)
            CHECK(strcmp(id.text, split[i].id) == 0 && strcmp(rest, split[i].rest) == 0, "'%s' gave %s, '%s'", split[i].key, id.text, rest);
        is = bkt_id_of_key(&root, split[i].key, &id);
        CHECK(is == split[i].whole, "'%s' is %s document's", split[i].key, is ? "said to be a" : "a");
        CHECK(!is || strcmp(id.text, split[i].id) == 0, "'%s' gave %s", split[i].key, id.text);
    }
}

static const char *const not_ids[] = {
    "",
    "g",
    "g-",
    "x-b03b24ef-69f244b6-38b3-ac67e1-7acc3e",
    "g-b03b24ef-69f244b6-38b3-ac67e1-7acc3",
    "g-b03b24ef-69f244b6-38b3-ac67e1-7acc3ee",
    "g-b03b24ef/69f244b6-38b3-ac67e1-7acc3e",
    "g-b03b24ef-69f244b6-38b3-ac67e1-../../",
    "g-b03b24efg69f244b6-38b3-ac67e1-7acc3e",
    "gab03b24ef-69f244b6-38b3-ac67e1-7acc3e",
    "g-b03b24eg-69f244b6-38b3-ac67e1-7acc3e",
};

static void malformed_ids_are_refused(void)
{
    for (size_t i = 0; i < BKT_COUNT(not_ids); i++) {
        struct bkt_id id;
        CHECK(!bkt_id_set(&id, not_ids[i]) && id.text[0] == 0, "%s was taken for an id", not_ids[i]);
    }
}

static void a_root_follows_from_any_version_2_id(void)
{
    struct bkt_id id, root;
    CHECK(bkt_id_set(&id, DSET_ID) && bkt_id_root(&id, &root) && strcmp(root.text, ROOT_ID) == 0, "%s",
          root.text);
    CHECK(bkt_id_set(&id, V1_ID) && !bkt_id_root(&id, &root) && !bkt_id_is_v2(&id),
          "version 1 has no such rule");
    CHECK(bkt_id_set(&id, DSET_ID) && bkt_id_kind(&id) == BKT_DATASET && bkt_id_is_v2(&id), "kind");
}

static const struct {
    const char *what, *ref;
    int want;
    const char *id;
} refs[] = {
    {"a dataset", "datasets/" DSET_ID, BKT_OK, DSET_ID},
    {"a group", "groups/" ROOT_ID, BKT_OK, ROOT_ID},
    {"a type fills all 48 bytes", "datatypes/" TYPE_ID, BKT_OK, TYPE_ID},
    {"a bare id", DSET_ID, BKT_OK, DSET_ID},
    {"version 1", "groups/" V1_ID, BKT_OK, V1_ID},
    {"null", "", BKT_OK, ""},
    {"the REST VOL's cut reference", "datatypes/t-b03b24ef-69f244b6-56e5-25125a-89ba7", BKT_EFORMAT, ""},
    {"nonsense", "datasets/../../etc/passwd", BKT_EFORMAT, ""},
};

static void references_become_ids(void)
{
    for (size_t i = 0; i < BKT_COUNT(refs); i++) {
        char stored[48] = {0};
        struct bkt_id id;
        memcpy(stored, refs[i].ref, strlen(refs[i].ref));
        int rc = bkt_ref_parse(stored, sizeof stored, &id, NULL);
        CHECK(rc == refs[i].want && strcmp(id.text, refs[i].id) == 0, "%s: gave %d, %s", refs[i].what, rc,
              id.text);
    }
}

int main(void)
{
    keys_are_hsds_own();
    chunk_keys_are_hsds_own();
    huge_coordinates_do_not_overflow_the_partition();
    a_key_shows_whose_it_is();
    malformed_ids_are_refused();
    a_root_follows_from_any_version_2_id();
    references_become_ids();
    return failures != 0;
}
