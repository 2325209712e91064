"""Claims about h5bucket doctor: an installation, a store, and what to do.  Run by tool.py."""
import os, sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path += [os.path.join(TESTS, "h5tests", "helpers")]
from sandbox import dir_only, ok, s3_only
from web_folder import WebFolder

HERE = {"HDF5_VOL_CONNECTOR": "bucket"}


def doctor(b, *argv, code=0, env=None):
    """The findings by what they are about; those of the last name count."""
    r = b.run("doctor", "--json", *argv, env={**HERE, "HDF5_PLUGIN_PATH": b.plugin or "", **(env or {})})
    assert r.returncode == (code if b.plugin else 1), (r.returncode, r.stdout, r.stderr)
    import json
    return {c["about"]: c for c in json.loads(r.stdout)["checks"]}, r.stdout


def states(found, *names):
    return [found[n]["state"] for n in names]


@dir_only
def test_installation(b):
    found, _ = doctor(b)
    assert states(found, "HDF5", "connector", "settings") == ["ok"] * 3 and "libhdf5" in found["HDF5"]["found"], found
    if b.plugin:
        assert states(found, "plugin") == ["ok"] and b.plugin in found["plugin"]["found"], found
    found, _ = doctor(b, code=1, env={"HDF5_PLUGIN_PATH": b.tmp})
    assert found["plugin"]["state"] == "fault" and "HDF5_PLUGIN_PATH" in found["plugin"]["remedy"], found
    os.mkdir(f"{b.tmp}/spoilt")
    with open(f"{b.tmp}/spoilt/libhdf5_vol_bucket.so", "wb") as f:
        f.write(b"not a library")
    found, _ = doctor(b, code=1, env={"HDF5_PLUGIN_PATH": f"{b.tmp}/spoilt"})
    assert "does not load" in found["plugin"]["found"], found
    for want in ("", "pass_through under_vol=0;under_info={}"):
        found, _ = doctor(b, env={"HDF5_VOL_CONNECTOR": want})
        assert found["connector"]["state"] == "warning" and "HDF5_VOL_CONNECTOR=bucket" in found["connector"]["remedy"], found


@dir_only
def test_settings_without_secrets(b):
    found, out = doctor(b, env={"H5BUCKET_RETRIES": "3", "H5BUCKET_TOKEN": "data.example:VERYSECRET"})
    assert "retries=3" in found["settings"]["found"] and "workers" not in found["settings"]["found"], found
    assert "token=data.example:***" in found["settings"]["found"] and "VERYSECRET" not in out, found
    found, _ = doctor(b)
    assert "retries" not in found["settings"]["found"], found


@dir_only
def test_folder(b):
    place = b.new()
    os.makedirs(place)
    before = sorted(os.listdir(b.bucket))
    found, _ = doctor(b, place)
    assert states(found, "object", "server", "latency", "clock", "writing", "upload", "rate")[1:] == ["ok"] * 6, found
    assert os.path.isdir(place) and sorted(os.listdir(b.bucket)) == before, "it leaves things as they were"
    found, _ = doctor(b, b.fx("groups.h5"), "--read-only")
    assert "is a domain" in found["object"]["found"] and found["writing"]["state"] == "note" and "upload" not in found, found


@dir_only
def test_web_server(b):
    with WebFolder(os.path.join(b.fixtures, "native")) as web:
        found, out = doctor(b, f"{web.url}/groups.h5?X-Amz-Signature=VERYSECRET")
        assert "is a plain HDF5 file" in found["object"]["found"] and "VERYSECRET" not in out, found
        assert found["server"]["found"].startswith(web.url) and states(found, "TLS", "writing") == ["note", "note"], found
        found, _ = doctor(b, f"{web.url}/groups.h5")
        assert found["rate"]["state"] == "ok" and "bytes in" in found["rate"]["found"], found


@dir_only
def test_dead_server(b):
    found, _ = doctor(b, "s3://some-bucket/x.h5", code=1, env={"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "H5BUCKET_RETRIES": "0",
                                                                "AWS_NO_SIGN_REQUEST": "1"})
    assert found["object"]["state"] == "fault" and "AWS_ENDPOINT_URL" in found["object"]["remedy"], found
    assert "latency" not in found and "127.0.0.1:1" in found["server"]["found"], found


@dir_only
def test_text(b):
    r = b.run("doctor", env={"HDF5_VOL_CONNECTOR": "", "HDF5_PLUGIN_PATH": b.tmp})
    assert r.returncode == 1 and "What to do:\n  1. plugin: set HDF5_PLUGIN_PATH" in r.stdout, r.stdout
    r = b.run("touch", "s3://some-new-bucket/")
    assert r.returncode == 1 and "h5bucket doctor" in r.stderr and "aws s3 mb" in r.stderr, r.stderr


@s3_only
def test_server(b):
    name = b.new(".h5")
    found, out = doctor(b, name)
    about = ("server", "login", "latency", "clock", "writing", "upload", "rate")
    assert states(found, *about) == ["ok"] * len(about), found
    assert "region" in found["server"]["found"] and "environment" in found["login"]["found"], found
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in out
    assert "doctor" not in b.run("ls", "-r", b.mine).stdout
    found, out = doctor(b, name, code=1, env={"AWS_SECRET_ACCESS_KEY": "WRONGSECRET"})
    assert found["object"]["state"] == "fault" and "AWS_PROFILE" in found["object"]["remedy"] and "WRONGSECRET" not in out, found
    ok(b.run("doctor", "s3://hsopen", env={**HERE, "HDF5_PLUGIN_PATH": b.plugin}) if b.plugin else b.run("settings"))
