"""Claims about h5bucket: rm, cp, mv.  Run by tool.py."""
import json, os, re, shutil, signal, subprocess, tempfile, time

from sandbox import dir_only, fails, ok, own_bucket


def test_rm_removes_domains_and_folders(b):
    d, f = b.copy("groups.h5"), b.new()
    assert "would remove domain" in ok(b.run("rm", "-n", d)) and b.json("info", d)
    assert "removed domain" in ok(b.run("rm", "-v", d))
    fails(b.run("ls", d), "no such")
    fails(b.run("rm", d), "no such")
    ok(b.run("touch", f))
    ok(b.run("touch", f + "/sub"))
    ok(b.run("cp", b.fx("acl.h5"), f + "/sub/"))
    ok(b.run("cp", b.fx("schema1.h5"), f + "/sub"))
    fails(b.run("rm", f), "not empty")
    fails(b.run("rm", "-r", f), "--yes")
    assert "/sub/acl.h5" in ok(b.run("rm", "-rn", f))
    ok(b.run("rm", "-r", "--yes", f))
    fails(b.run("ls", f), "no such")
    fails(b.run("rm", "-r", "--yes", b.bucket), "whole bucket")
    fails(b.run("rm", f"{b.bucket}/db"), "objects of all")


def test_rm_leaves_nothing(b):
    d = b.copy("partition.h5")
    root = b.json("info", d)[0]["root"]
    ok(b.run("catalog", d))
    ok(b.run("rm", d))
    if b.store == "dir":
        assert not os.path.exists(b.path(f"db/{root[2:19]}")) and not os.path.exists(d)


@own_bucket
def test_rm_of_version_1_leaves_nothing(b):
    keys = set(os.listdir(b.bucket))
    ok(b.run("rm", b.fx("schema1.h5")))
    left = [k for k in os.listdir(b.bucket) if k[5:6] == "-"]
    assert len(left) <= 1, left  # the root is another's too, in this sample
    assert not keys <= set(os.listdir(b.bucket))


def test_cp_within_a_bucket_and_into_another(b):
    other = os.path.join(b.tmp, "other")
    os.makedirs(other, exist_ok=True)
    for name in ("attrs.h5", "groups.h5", "types.h5", "special.h5", "highlevel.h5", "partition.h5", "strings.h5", "schema1.h5", "linked.h5"):
        a = b.copy(name)
        c = f"{other}/{name}"
        ok(b.run("cp", b.fx(name), c))
        want, got = b.json("info", b.fx(name))[0], b.json("info", a)[0]
        for key in ("num_groups", "num_datasets", "num_datatypes", "num_links", "num_attributes", "num_linked_chunks"):
            assert got[key] == want[key], (name, key)
        assert got["root"] != want["root"] and b.json("info", c)[0]["num_links"] == want["num_links"]
        old, new = want["root"][2:19], got["root"][2:19]
        text = json.dumps(b.json("ls", "-r", "--showattrs", a))
        assert old not in text or want["schema"] == "v1", name
        assert b.json("verify", "--deep", "--min-age", "0", a, rc=1 if name == "special.h5" else 0)[0]["n_problems"] == 0
        assert new in text
        fails(b.run("cp", b.fx(name), a), "--force")
    ok(b.run("cp", "--force", b.fx("attrs.h5"), a))
    assert b.json("info", a)[0]["num_attributes"] == b.json("info", b.fx("attrs.h5"))[0]["num_attributes"]
    fails(b.run("cp", a, a), "same")
    fails(b.run("cp", b.fx("nothing.h5"), b.new()), "nothing.h5")


def test_cp_follows_references(b):
    d = b.copy("highlevel.h5")
    old, new = b.json("info", b.fx("highlevel.h5"))[0]["root"][2:19], b.json("info", d)[0]["root"][2:19]

    def named(domain):
        return [a["value"] for o in b.json("ls", "-r", "--showattrs", domain)[0]["objects"] for a in o.get("attributes", [])
                if "reference" in a["type"]]
    want, got = json.dumps(named(b.fx("highlevel.h5"))), json.dumps(named(d))
    assert old in want and want.replace(old, new) == got


def references_of_a_copy(b, path):
    d, to, env = b.new(), b.new(), {"HDF5_PLUGIN_PATH": path}

    def run(*names):
        ok(b.run_any(b.two_refs, *(re.sub("^s3:", "hsds+s3:", n) for n in names), env={**env, "HDF5_VOL_CONNECTOR": "bucket"}))
    run(d)
    ok(b.run("cp", d, to, env=env))
    run(d, to)
    return d, to


def test_references_of_a_copy_stay_in_it_while_both_are_open(b):
    if b.two_refs:
        references_of_a_copy(b, b.plugin)


def test_chunks_through_a_filter_plugin_are_read_and_written(b):
    if not b.two_refs:
        return
    d, _ = references_of_a_copy(b, f"{b.plugin}:{b.filters}")
    env = {"HDF5_PLUGIN_PATH": b.filters}
    ok(b.run("verify", "--deep", d, env=env))
    fails(b.run("cp", d, b.new()), "filter 305 (turned) has no decoder here")


def test_mv_renames_and_moves(b):
    d, to = b.copy("groups.h5"), b.new()
    root = b.json("info", d)[0]["root"]
    ok(b.run("mv", d, to))
    fails(b.run("ls", d), "no such")
    assert b.json("info", to)[0]["root"] == root
    ok(b.run("touch", b.mine + "/into"))
    ok(b.run("mv", to, b.mine + "/into"))
    name = to.rsplit("/", 1)[1]
    assert b.json("info", f"{b.mine}/into/{name}")[0]["root"] == root
    away = os.path.join(b.tmp, "away")
    os.makedirs(away)
    ok(b.run("mv", f"{b.mine}/into/{name}", away + "/x.h5"))
    fails(b.run("ls", f"{b.mine}/into/{name}"), "no such")
    assert b.json("verify", "--deep", away + "/x.h5")[0]["n_problems"] == 0
    fails(b.run("mv", away + "/x.h5", b.fx("acl.h5")), "exists")


@dir_only
def test_the_name_of_a_killed_load_is_not_a_folder(b):
    for verb in "cp", "mv":
        d, to = b.copy("groups.h5"), b.new()
        os.makedirs(to)
        open(to + "/.h5bucket-load", "w").write("g-00000000-00000000-0000-000000-000000")
        ok(b.run(verb, d, to))
        assert os.path.exists(to + "/.domain.json"), verb
        ok(b.run("info", to))
        ok(b.run("rm", to))


@dir_only
def test_what_a_killed_load_left_does_no_harm_to_a_domain_that_moved(b):
    """A load whose last request, the journal's DELETE, was never sent: then the domain moves, and another one
    gets its name."""
    h5 = os.path.join(b.tmp, "of-types.h5")
    ok(b.run("get", b.fx("numeric.h5"), h5))
    for verb in (["mv"], ["rm", "--keep-objects"]):
        d, to = b.copy("groups.h5"), b.new()
        root, document = b.json("info", d)[0]["root"], open(d + "/.domain.json").read()
        open(d + "/.h5bucket-load", "w").write(root)
        ok(b.run(*verb, d, *([to] if verb == ["mv"] else [])))
        assert not os.path.exists(d), verb
        if verb != ["mv"]:  # its objects, under another document
            os.makedirs(to)
            open(to + "/.domain.json", "w").write(document)
        ok(b.run("load", h5, d))
        assert b.json("verify", "--deep", to)[0]["n_problems"] == 0 and b.json("info", to)[0]["root"] == root, verb
    d, to = b.copy("groups.h5"), b.new()
    open(d + "/.h5bucket-load", "w").write("append\n3 d-00000000-00000000-0000-000000-000000\n")
    ok(b.run("mv", d, to))
    assert not os.path.exists(d) and open(to + "/.h5bucket-load").read().startswith("append\n3 ")
    ok(b.run("rm", to))
    assert not os.path.exists(to)


def test_rm_goes_on_after_what_it_may_not_remove(b):
    f = b.new()
    ok(b.run("touch", f))
    for n in ("a.h5", "kept.h5", "z.h5"):
        ok(b.run("cp", b.fx("acl.h5"), f"{f}/{n}"))
    ok(b.run("acl", f"{f}/kept.h5", "--revoke=crudep", "default", "bob"))
    for n in ("a.h5", "z.h5"):
        ok(b.run("acl", f"{f}/{n}", "+d", "bob"))
    ok(b.run("acl", f, "+d", "bob"))
    r = b.run("rm", "-r", "--yes", "-u", "bob", "--json", f)
    fails(r, "kept.h5", "bob", "kept, since not everything")
    got = {x["name"].rsplit("/", 1)[1]: x["removed"] for x in json.loads(r.stdout)}
    assert got == {"a.h5": True, "kept.h5": False, "z.h5": True, f.rsplit("/", 1)[1]: False}, got
    assert [e["path"].rsplit("/", 1)[1] for e in b.json("ls", f)[0]["entries"]] == ["kept.h5"]
    got = b.json("rm", "-rn", f)
    assert len(got) == 2 and not [x for x in got if x["removed"]], got
    fails(b.run("rm", "-r", f), "--yes")
    ok(b.run("rm", "-r", "--yes", f))
    ok(b.run("rm", "-f", f))
    fails(b.run("rm", f), "no such")


@dir_only
def test_rm_takes_what_is_damaged(b):
    d = b.copy("groups.h5")
    root = b.object_of(d)
    os.remove(root)
    fails(b.run("ls", d), "root group")
    ok(b.run("rm", d))
    assert not os.path.exists(d) and not os.path.exists(os.path.dirname(root))
    d = b.copy("acl.h5")
    open(d + "/.domain.json", "w").write("{")
    fails(b.run("rm", d), "--force")
    ok(b.run("rm", "--force", d))
    assert not os.path.exists(d)


@dir_only
def test_force_replaces_only_when_the_copy_is_whole(b):
    d = b.copy("acl.h5")
    src = b.copy("groups.h5")
    os.remove(b.object_of(src, "/a/b/ds2"))
    before = b.json("ls", "-r", d)
    fails(b.run("cp", "--force", src, d))
    assert b.json("ls", "-r", d) == before
    old = os.path.dirname(b.object_of(d))
    ok(b.run("mv", "--force", b.copy("attrs.h5"), d))
    assert not os.path.exists(old), "what was replaced is gone"
    assert b.json("info", d)[0]["num_attributes"] == b.json("info", b.fx("attrs.h5"))[0]["num_attributes"]
    assert b.json("verify", "--deep", d)[0]["n_problems"] == 0


@dir_only
def test_names_that_share_objects_keep_them(b):
    a, c = b.copy("acl.h5"), b.new("_second.h5")
    shutil.copytree(a, c)  # as HSDS's linked domains: a second document with the same root
    want = b.json("info", a)[0]["num_datasets"]
    ok(b.run("cp", "--force", a, c))
    assert b.json("info", a)[0]["num_datasets"] == want == b.json("info", c)[0]["num_datasets"]
    shutil.copy(a + "/.domain.json", c + "/.domain.json")
    ok(b.run("mv", "--force", a, c))
    assert b.json("verify", c)[0]["n_problems"] == 0 and b.json("info", c)[0]["num_datasets"] == want
    shutil.copytree(c, a)
    ok(b.run("rm", "--keep-objects", c))
    assert b.json("info", a)[0]["num_datasets"] == want


def test_mv_says_what_it_did_as_json(b):
    d, to = b.copy("acl.h5"), b.new()
    got = b.json("mv", d, to)
    assert got["domain"].endswith(to.split("/")[-1]) and got["objects"] == got["chunks"] == 0, got
    got = b.json("mv", to, os.path.join(b.tmp, "x.h5"))
    assert got["objects"] > 0, got


def test_cp_makes_the_folders_above(b):
    f = b.new()
    ok(b.run("touch", "-o", "joe", f))
    ok(b.run("acl", f, "+c", "ann"))
    ok(b.run("cp", "-u", "ann", b.fx("acl.h5"), f + "/p/q/x.h5"))
    assert b.json("acl", f + "/p/q")["owner"] == "ann" and b.json("acl", f + "/p")["acls"]["joe"]["delete"]
    fails(b.run("cp", "-u", "bob", b.fx("acl.h5"), f + "/p/q/y.h5"), "bob")
    fails(b.run("cp", b.fx("acl.h5"), f + "/p/q/x.h5/inner.h5"), "is a domain")


@own_bucket
def test_ctrl_c_leaves_nothing_half_done(b):
    d = b.copy("filters.h5")
    trees = set(os.listdir(b.path("db")))
    to = b.new("_stopped.h5")
    for wait in (0.02, 0.05, 0.1, 0.2):
        p = subprocess.Popen([b.tool, "cp", d, to], stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=600)[1]
        assert p.returncode in (0, 130, -signal.SIGINT), (p.returncode, err)
        if p.returncode == 130:
            assert "stopped" in err and not os.path.exists(to) and set(os.listdir(b.path("db"))) == trees, err
        elif p.returncode == 0:
            assert b.json("verify", "--deep", to)[0]["n_problems"] == 0
            ok(b.run("rm", to))
    assert b.json("verify", "--min-age=0", b.bucket)[0]["n_orphans"] == 0


@own_bucket
def test_ctrl_c_ends_rm_with_one_word(b):
    """Whenever the signal comes: steps that weren't begun stay undone, and the same command can do them
    again."""
    f, one = b.new(), b.copy("groups.h5")
    with open(one + "/.domain.json", "rb") as doc:
        text = doc.read()
    for wait in (0.01, 0.03, 0.1):
        for i in range(1, 600):
            os.makedirs(f"{f}/{i}.h5", exist_ok=True)
            with open(f"{f}/{i}.h5/.domain.json", "wb") as doc:
                doc.write(text)
        p = subprocess.Popen([b.tool, "rm", "-r", "--yes", f], stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=600)[1]
        assert p.returncode in (0, 130, -signal.SIGINT), (p.returncode, err)
        assert err.count("stopped by Ctrl-C") == (p.returncode == 130), err
    ok(b.run("rm", "-rf", "--yes", f, one))
    assert not any(files for _, _, files in os.walk(f))


@own_bucket
def test_ctrl_c_leaves_no_part_of_a_file(b):
    d = b.copy("filters.h5")
    folder = tempfile.mkdtemp()
    try:
        for i, wait in enumerate((0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.05, 0.1)):
            how = signal.SIGHUP if i % 2 else signal.SIGINT  # a terminal that is closed sends SIGHUP
            to = os.path.join(folder, "x.h5")
            p = subprocess.Popen([b.tool, "get", d, to], stderr=subprocess.PIPE, text=True)
            time.sleep(wait)
            p.send_signal(how)
            err = p.communicate(timeout=600)[1]
            assert p.returncode in (0, 128 + how, -how), (p.returncode, err)
            assert os.listdir(folder) == ([] if p.returncode else ["x.h5"]), (p.returncode, os.listdir(folder))
            if p.returncode == 0:
                os.remove(to)
    finally:
        shutil.rmtree(folder)


@dir_only
def test_what_cp_replaces_may_refuse_to_go(b):
    """The copy is there by then, and stays."""
    if not b.no_delete:
        return
    a, to = b.copy("groups.h5"), b.copy("acl.h5")
    keep = os.path.dirname(b.json("stat", to, "/")["key"])
    fails(b.run("cp", "--force", a, to, env={"LD_PRELOAD": b.no_delete, "BKT_TEST_KEEP": keep}), "is stored, but", keep)
    assert b.json("verify", "--deep", to)[0]["n_problems"] == 0
    assert b.json("info", to)[0]["num_groups"] == b.json("info", a)[0]["num_groups"]


@own_bucket
def test_rm_of_version_1_goes_on_where_it_was_cut_off(b):
    """Its objects lie scattered, and only links lead to them."""
    if not b.no_delete:
        return
    native = next(d["native"] for d in json.load(open(os.path.join(b.fixtures, "manifest.json")))["domains"] if d["domain"].endswith("/groups.h5"))
    d, v1 = b.new(), {"H5BUCKET_SCHEMA": "v1"}
    before = {f for f in os.listdir(b.path("")) if re.match("[0-9a-f]{5}-", f)}
    ok(b.run("load", os.path.join(b.fixtures, native), d, env=v1))
    mine = {f for f in os.listdir(b.path("")) if re.match("[0-9a-f]{5}-", f)} - before
    keys = [b.json("stat", d, p)["key"] for p in ("/a/b/ds2", "/a/b", "/")]
    for key in keys:
        fails(b.run("rm", d, env={"LD_PRELOAD": b.no_delete, "BKT_TEST_KEEP": key}), key)
        assert not os.path.exists(b.path(os.path.relpath(d, b.bucket) + "/.domain.json")) and os.path.exists(b.path(keys[-1]))
        assert len(mine & set(os.listdir(b.path("")))) < len(mine)
    ok(b.run("rm", d))
    assert {f for f in os.listdir(b.path("")) if re.match("[0-9a-f]{5}-", f)} == before
    fails(b.run("rm", d), "no such domain")


def test_cp_has_objects_of_its_own_where_no_condition_is_sent(b):
    """writers=one: no PUT of the copy may replace one of the original's objects."""
    a, to = b.copy("groups.h5"), b.new("_one")
    ok(b.run("cp", "--set", "writers=one", a, to))
    assert b.json("stat", a, "/")["id"] != b.json("stat", to, "/")["id"]
    ok(b.run("rm", "--yes", a))
    ok(b.run("verify", "--deep", to))
