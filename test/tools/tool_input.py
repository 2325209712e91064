"""Claims about h5bucket: plain web servers, bad input, usage.  Run by tool.py."""
import fcntl, functools, glob, http.server, json, os, re, stat, subprocess, threading

from sandbox import FX, dir_only, fails, ok


def test_sources_of_the_same_name_are_both_named(b):
    for options in (), ("--append",):
        fails(b.run("load", *options, "here/a.h5", "there/b.h5", "there/a.h5", b.new() + "/"), "here/a.h5", "there/a.h5",
              "would both become", "under another name", rc=2)


def test_a_request_for_the_wrong_kind_of_object_is_reported(b):
    d, plain = b.fx("groups.h5"), os.path.join(b.fixtures, "native", "groups.h5")
    fails(b.run("stat", d, "/a/nothing"), 'no link "nothing" in group /a')
    fails(b.run("stat", d, "nothing"), 'no link "nothing" in group /')
    fails(b.run("stat", d, "/a/ds1/x"), '/a/ds1 is not a group, so "x" is not in it')
    fails(b.run("get", d, "s3://somewhere/x.h5"), "s3://somewhere/x.h5", "h5bucket cp")
    fails(b.run("get", "-f", d, b.tmp), f"{b.tmp} is a folder")
    os.mkfifo(b.tmp + "/pipe")
    fails(b.run("get", "-f", d, b.tmp + "/pipe"), "not a regular file")
    assert stat.S_ISFIFO(os.stat(b.tmp + "/pipe").st_mode)
    for verb in ("load", "chunks"):
        fails(b.run(verb, d, *([b.new()] if verb == "load" else [])), f"{d} is a domain, not an HDF5 file", "h5bucket cp")
    for both in ("-a", "-n"), ("-a", "--force"), ("-n", "--force"):
        fails(b.run("load", *both, plain, b.new()), "--append", "--force", "--no-clobber", rc=2)
    fails(b.run("snapshot", b.mine), f"{b.mine} is a folder, not a domain")
    r = b.run("chunks", plain, "/a/ds1", "/nothing")
    fails(r, "/nothing")
    assert r.stdout == "", "half a text"


def test_get_removes_what_a_killed_get_left(b):
    """Files of other names stay, and files that a process still writes, here or elsewhere."""
    d, out = b.fx("groups.h5"), b.tmp + "/got.h5"
    gone = subprocess.Popen(["true"])
    gone.wait()
    mine = out + ".h5bucket-part"
    parts = {f"{mine}-{gone.pid}": False, f"{mine}-{os.getpid()}": True, f"{mine}-{gone.pid}x": True, mine: True,
             f"{b.tmp}/other.h5.h5bucket-part-{gone.pid}": True, f"{out}.part-{gone.pid}": True}
    for part in parts:
        with open(part, "w") as f:
            f.write("half")
        os.utime(part, (1e9, 1e9))
    ok(b.run("get", d, out))
    assert {part: os.path.exists(part) for part in parts} == parts
    new = f"{mine}-{gone.pid}"
    with open(new, "w") as f:
        f.write("half")
        f.flush()
        ok(b.run("get", "-f", d, out))
        assert os.path.exists(new), "it was written just now"
        os.utime(new, (1e9, 1e9))
        fcntl.flock(f, fcntl.LOCK_EX)
        ok(b.run("get", "-f", d, out))
        assert os.path.exists(new), "a process elsewhere has locked it"
    ok(b.run("get", "-f", d, out))
    assert not os.path.exists(new) and len(glob.glob(out + "*")) == 5


# ---- a plain web server ----
@dir_only
def test_domains_on_a_plain_web_server_are_read_and_not_written(b):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *a):
            pass
    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

        def handle_error(self, *a):  # the client hangs up when it has its bytes: ranges aren't known here
            pass
    Quiet.protocol_version = "HTTP/1.1"
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=b.bucket))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        web = f"http://127.0.0.1:{server.server_port}"
        of = lambda n: f"{web}/{FX}/{n}"
        assert b.json("ls", "-rv", of("groups.h5"))[0]["objects"] == b.json("ls", "-rv", b.fx("groups.h5"))[0]["objects"]
        assert b.json("info", of("types.h5"))[0]["num_chunks"] == b.json("info", b.fx("types.h5"))[0]["num_chunks"]
        assert b.json("stat", of("groups.h5"), "/a/ds1")["storage"]["chunks"] == 1
        got = b.json("verify", "--deep", of("types.h5"))[0]
        assert got["n_problems"] == 0 and got["chunks_decoded"] == 30 and got["problems"][0]["kind"] == "unchecked"
        assert "owner" in b.json("acl", of("acl.h5"))
        d = b.new()
        ok(b.run("cp", of("highlevel.h5"), d))
        assert b.json("diff", of("highlevel.h5"), d) == []
        fails(b.run("ls", f"{web}/home"), "can't be listed")
        fails(b.run("catalog", of("types.h5")), "the store is read-only; --output")
        for argv in (["rm", of("acl.h5")], ["touch", f"{web}/home/x"], ["acl", of("acl.h5"), "+r", "ted"],
                     ["cp", b.fx("acl.h5"), f"{web}/home/x.h5"], ["mv", of("acl.h5"), d + "x"], ["verify", "--repair", of("acl.h5")]):
            assert b.run(*argv).returncode == 1, argv
    finally:
        server.shutdown()

# ---- bad input ----
@dir_only
def test_hostile_metadata_is_an_error_and_no_more(b):
    root = b.path("home/bad")
    hostile = ['{"root": "../../etc"}', "[]", "{" * 100000, '{"root": 7}', "", '{"acls": 5, "owner": "x"}',
               '{"root": "g-00000000-00000000-8888-888888-888888", "acls": {"\\u0000": {}}}', '{"acls": {"a": {"read": "yes"}}}']
    for i, text in enumerate(hostile):
        os.makedirs(f"{root}/{i}")
        open(f"{root}/{i}/.domain.json", "w").write(text)
        for argv in (["ls"], ["info"], ["stat"], ["verify"], ["acl"], ["catalog"], ["rm", "-n"], ["cp", f"{root}/{i}", b.new()]):
            r = b.run(argv[0], *argv[1:], *([] if argv[0] == "cp" else [f"{root}/{i}"]))
            assert r.returncode in (0, 1), (text[:40], argv, r.returncode, r.stderr)
    r = b.run("ls", root, "--json")
    assert r.returncode == 1 and len(json.loads(r.stdout)[0]["entries"]) >= 1
    assert b.run("rm", "-r", "--yes", root).returncode in (0, 1)


@dir_only
def test_deep_and_cyclic_links_end(b):
    d = b.copy("acl.h5")
    key = b.object_of(d)
    doc = json.load(open(key))
    gid = doc["id"]
    doc["links"]["me"] = {"class": "H5L_TYPE_HARD", "id": gid, "created": 1}
    doc["links"]["\x1b[31m\n"] = {"class": "H5L_TYPE_SOFT", "h5path": "/me/me", "created": 2}
    base, last = gid[2:19], doc
    for i in range(1500):  # deeper than anybody's stack likes
        new = f"g-{base}-{i:04x}-000000-000001"
        last["links"]["n"] = {"class": "H5L_TYPE_HARD", "id": new, "created": 3}
        path = os.path.dirname(key) + f"/g/{i:04x}-000000-000001"
        if last is not doc:
            os.makedirs(folder)
            json.dump(last, open(folder + "/.group.json", "w"))
        folder, last = path, {"id": new, "root": gid, "created": 1, "lastModified": 1, "links": {}, "attributes": {}}
    os.makedirs(folder)
    json.dump(last, open(folder + "/.group.json", "w"))
    json.dump(doc, open(key, "w"))
    r = b.run("ls", "-r", d)
    fails(r, "nested deeper")
    assert "\x1b" not in r.stdout and "\\x1b[31m\\x0a" in r.stdout
    assert json.loads(b.run("ls", "-r", d, "--json").stdout)
    assert b.json("info", d)[0]["num_groups"] == 1501
    assert b.json("verify", d)[0]["n_problems"] == 0


def test_wrong_usage_says_so(b):
    for argv in (["ls", "--nonsense"], ["info"], ["stat"], ["stat", "a", "b", "c"], ["cp", "a"], ["rm"], ["touch"], ["acl"],
                 ["verify", "--min-age=soon", b.fx("acl.h5")], ["ls", "--set", "nonsense"], ["ls", "--set", "nonsense=1"],
                 ["help", "nonsense"], ["nonsense"], ["ls", "--pattern"]):
        r = b.run(*argv)
        assert r.returncode == 2 and "h5bucket" in r.stderr, (argv, r.returncode, r.stderr)
    fails(b.run("ls", f"{b.bucket}/nothing/here"), "no such")
    assert b.run().returncode == 2 and b.run("--help").returncode == 0
    assert "connections = 5" in ok(b.run("settings", "--set", "connections=5"))
    assert "bucket = x" in ok(b.run("settings", "-b", "x"))
    r = b.run("settings", env={"H5BUCKET_CONECTIONS": "5", "H5BUCKET_": "x", "H5BUCKET_ALLOW": "*"})
    ok(r)
    assert "unknown environment variable H5BUCKET_CONECTIONS\n" in r.stderr and "unknown environment variable H5BUCKET_\n" in r.stderr and r.stderr.count("\n") == 2, r.stderr
    assert not b.run("settings").stderr


def test_secrets_in_urls_are_not_repeated(b):
    """User, password, signature: in messages, traces, text and JSON."""
    for name in ("https://me:s3cret@h.invalid/x.h5", "https://s3cret@h.invalid/x.h5", "s3://AKIA:s3cret@bucket/x.h5", "s3://AKIA:s3/cret@b/x",
                 "https://h.invalid/x.h5?X-Amz-Signature=s3cret", "x.h5?AWSAccessKeyId=s3cret&Signature=s3cret", "ftp://me:s3cret@h.invalid/x"):
        for argv in (["ls", name], ["info", name, "--json"], ["verify", name, "--json"], ["get", name, b.tmp + "/no.h5"],
                     ["cp", name, b.new()], ["load", name, b.new()], ["rm", "--yes", name], ["pointer", name, b.tmp + "/no.h5"]):
            if argv[0] == "pointer" and ("?" in name or "s3/cret" in name):
                continue  # names a domain that may be there
            r = b.run(*argv, env={"H5BUCKET_TRACE": "all", "H5BUCKET_RETRIES": "0"})
            assert r.returncode and r.stderr and not re.search("s3/?cret", r.stdout + r.stderr), (argv, r.stdout, r.stderr)
    for endpoint in ("http://me:s3cret@127.0.0.1:9", "me:s3cret@127.0.0.1:9"):
        env = {"AWS_ENDPOINT_URL": endpoint}
        r = b.run("ls", "s3://bucket/x.h5", env=env)
        assert r.returncode == 1 and "endpoint" in r.stderr and "s3cret" not in r.stderr, r.stderr
        text, rows = ok(b.run("settings", env=env)), b.json("settings", env=env)
        assert "***@127.0.0.1:9" in text and "s3cret" not in text, text
        assert [x["value"] for x in rows if x["name"] == "endpoint"][0] == endpoint.replace("me:s3cret", "***")


def test_default_bucket_names_folders_and_domains(b):
    for name in ("hdf5:/" + "/" + FX, "/" + FX, FX):
        assert b.json("ls", "-b", b.bucket, name)[0]["folder"].strip("/") == FX
    assert b.json("info", "-b", b.bucket, f"hdf5://{FX}/acl.h5")[0]["num_datasets"] == 1


def test_the_connectors_own_variables_do_no_harm(b):
    """A user who has set up the connector for other programs has set it up for the tool: its settings count,
    its plugin isn't loaded."""
    if not b.plugin:
        print("without the plugin beside a sanitizer: not tried")
        return
    env = {"HDF5_VOL_CONNECTOR": "bucket connections=7;user=ann", "HDF5_PLUGIN_PATH": b.plugin}
    assert "connections = 7" in ok(b.run("settings", env=env)) and "connections = 8" in ok(b.run("settings", "--set", "connections=8", env=env))
    d = b.copy("acl.h5")
    ok(b.run("acl", d, "--revoke=crudep", "default"))
    fails(b.run("get", d, b.tmp + "/env.h5", env=env), "ann")
    fails(b.run("ls", d, env=env), "ann")
    env["HDF5_VOL_CONNECTOR"] = "bucket"
    ok(b.run("get", d, b.tmp + "/env.h5", env=env))
    ok(b.run("load", b.tmp + "/env.h5", d + ".2", env=env))
    assert b.json("diff", d, d + ".2", env=env) == []
    env["HDF5_VOL_CONNECTOR"] = "no_such_connector"
    assert b.json("diff", d, d + ".2", env=env) == []


@dir_only
def test_a_missing_name_and_a_full_disk_are_reported(b):
    fails(b.run("load", b.fx("acl.h5"), ""), "the target's name is empty", rc=2)
    fails(b.run("diff", b.fx("acl.h5"), b.fx("acl.h5"), env={"H5BUCKET_TRACE": "nonsense"}), "trace category", rc=2)
    same = ["diff", "--json", b.fx("acl.h5"), b.fx("acl.h5")]  # 1 would mean a difference
    for argv, rc in (["--help"], 1), (["--version"], 1), (["help"], 1), (["settings"], 1), (same, 2):
        with open("/dev/full", "w") as full:
            r = subprocess.run([b.tool, *argv], stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
        assert r.returncode == rc and "the standard output can't be written" in r.stderr, (argv, r.returncode, r.stderr)
