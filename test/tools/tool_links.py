"""Claims about h5bucket: symbolic links in a bucket's folder, and a bucket that HSDS was just given.  Run by tool.py."""
import json, os, shutil

from sandbox import dir_only, fails, ok


def victim(b):
    """A folder outside with a file in it, and how to see that both are whole."""
    outside = os.path.join(b.tmp, f"outside{b.count}")
    os.makedirs(outside + "/e")
    for name in ("precious", "e/0_0"):
        with open(f"{outside}/{name}", "w") as f:
            f.write("secret")

    def whole():
        assert sorted(os.listdir(outside)) == ["e", "precious"] and os.listdir(outside + "/e") == ["0_0"]
        assert open(outside + "/e/0_0").read() == "secret"
    return outside, whole


def tree_of(b, domain):
    return os.path.dirname(b.path(b.json("stat", domain, "/")["key"]))


@dir_only
def test_rm_leaves_what_links_lead_to(b):
    d, (outside, whole) = b.copy("types.h5"), victim(b)
    tree = tree_of(b, d)
    os.symlink(outside, tree + "/d/planted")
    os.symlink(outside + "/precious", tree + "/leaf")
    ok(b.run("rm", d))
    whole()
    assert not os.path.lexists(tree), "the links themselves go with the domain"


@dir_only
def test_a_domain_that_is_replaced_takes_nothing_behind_links(b):
    d, (outside, whole) = b.copy("types.h5"), victim(b)
    os.symlink(outside, tree_of(b, d) + "/d/planted")
    ok(b.run("cp", "--force", b.fx("acl.h5"), d))
    whole()


@dir_only
def test_with_links_follow_nothing_is_deleted_through_one(b):
    d, (outside, whole) = b.copy("types.h5"), victim(b)
    os.symlink(outside, tree_of(b, d) + "/d/planted")
    fails(b.run("rm", d, env={"H5BUCKET_LINKS": "follow"}), "nothing is deleted through one")
    whole()


@dir_only
def test_rm_and_mv_of_a_link_are_refused(b):
    d = b.copy("types.h5")
    link = b.new("_link.h5")
    os.symlink(os.path.basename(d), link)
    assert b.json("stat", link, "/")["kind"] == "group", "our own link in a name is followed"
    for links in ("refuse", "follow"):
        fails(b.run("rm", link, env={"H5BUCKET_LINKS": links}), "nothing is deleted through one")
        fails(b.run("mv", link, b.new(), env={"H5BUCKET_LINKS": links}), "nothing is deleted through one")
    ok(b.run("stat", d, "/"))


@dir_only
def test_a_reference_reads_no_file_through_a_link(b):
    """A file_uri names a file in the bucket; its place is then taken by a link to one elsewhere."""
    outside, whole = victim(b)
    plain, d = b.new("_plain.h5"), b.new("_linked.h5")
    ok(b.run("get", b.fx("types.h5"), plain))
    ok(b.run("load", "--link", plain, d))
    shutil.move(plain, outside + "/copy.h5")
    os.symlink(outside + "/copy.h5", plain)
    fails(b.run("get", d, b.new("_back.h5")), os.path.basename(plain) + " is a symbolic link", "links=follow")
    assert b.hdf5("h5dump", d, user="").returncode != 0, "read through the link"
    ok(b.run("get", d, b.new("_back.h5"), env={"H5BUCKET_LINKS": "follow"}))


@dir_only
def test_scratch_folders_behind_links_are_refused(b):
    bucket, (outside, whole) = os.path.join(b.tmp, "scratch"), victim(b)
    os.makedirs(bucket + "/db/00000000-00000000")
    os.symlink(outside, bucket + "/.h5bucket")
    fails(b.run("cp", b.fx("types.h5"), bucket + "/x.h5"), ".h5bucket is a symbolic link")
    whole()
    os.remove(bucket + "/.h5bucket")
    ok(b.run("cp", b.fx("types.h5"), bucket + "/x.h5"))


@dir_only
def test_a_fresh_bucket_of_hsds_is_found_by_its_folders_documents(b):
    bucket = os.path.join(b.tmp, "fresh")
    os.makedirs(bucket + "/home/joe")
    acls = {k: True for k in ("create", "read", "update", "delete", "readACL", "updateACL")}
    for folder in ("home", "home/joe"):
        with open(f"{bucket}/{folder}/.domain.json", "w") as f:
            json.dump({"owner": "joe", "acls": {"joe": acls}, "created": 1.0, "lastModified": 1.0}, f)
    ok(b.run("cp", b.fx("types.h5"), bucket + "/home/joe/x.h5"))
    assert sorted(os.listdir(bucket)) == [".h5bucket", "db", "home"] and sorted(os.listdir(bucket + "/home/joe")) == [".domain.json", "x.h5"]
    plain = b.new("_plain.h5")
    ok(b.run("get", b.fx("types.h5"), plain))
    shutil.rmtree(bucket + "/db")
    ok(b.run("load", plain, bucket + "/home/joe/y.h5"))
    assert sorted(os.listdir(bucket)) == [".h5bucket", "db", "home"]


@dir_only
def test_what_hsds_made_of_the_objects_goes_when_they_change(b):
    d = b.copy("types.h5")
    tree = tree_of(b, d)
    made = [tree + "/.info.json", tree + "/.summary.json"]
    for path in made:
        with open(path, "w") as f:
            f.write("{}")
    ok(b.run("ls", d))
    assert all(map(os.path.exists, made)), "reading leaves them alone"
    plain = b.new("_more.h5")
    ok(b.run("get", b.fx("types.h5"), plain))
    copied = b.hdf5("h5copy", "-i", plain, "-o", d, "-s", "/", "-d", "/more", user="")
    assert copied.returncode == 0, copied.stderr
    assert not any(map(os.path.exists, made)), "they are out of date"
