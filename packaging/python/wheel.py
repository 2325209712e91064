#!/usr/bin/env python3
"""wheel.py: put a wheel together, for `build`.

The libraries that the programs need go along, but for those that every manylinux system has.  They get names of their own, as a process may
have others of the same name.  A connector is loaded from memory, from where no path leads to its libraries.  So the plugin needs them, too,
and the connector finds them by name.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile

# Libraries of the C library and compiler: PEP 600's lists have these, at the versions that the tag stands for.
SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libutil|libgcc_s|libstdc\+\+)\.so\.\d+$")
LIBS = "h5bucket.libs"


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[([^@\]]*)\]", run("readelf", "-dW", path))


def found(path):
    """Where this system has the libraries of a program, and theirs: name -> path."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", subprocess.run(["ldd", str(path)], capture_output=True, text=True).stdout, re.M))


def glibc_of(paths):
    """The newest version of the C library that the files ask for, and of the C++ library."""
    def newest(prefix, text):
        return max((tuple(map(int, v.split("."))) for v in re.findall(rf"{prefix}_(\d+(?:\.\d+)+)", text)), default=(0, 0))
    text = "".join(run("readelf", "-VW", path) for path in paths)
    return newest("GLIBC", text), newest("GLIBCXX", text)


class Libraries:
    """Copies of libraries below one folder, under new names."""

    def __init__(self, folder):
        self.folder, self.names, self.sources = folder, {}, {}
        folder.mkdir()

    def add(self, path):
        """All that a program needs."""
        for name, source in found(path).items():
            if not SYSTEM.match(name) and name not in self.names:
                digest = hashlib.sha256(pathlib.Path(source).read_bytes()).hexdigest()[:8]
                stem, dot, rest = name.partition(".so")
                self.names[name], self.sources[name] = f"{stem}-{digest}{dot}{rest}", source

    def copy(self):
        for name, new in self.names.items():
            target = self.folder / new
            shutil.copy(os.path.realpath(self.sources[name]), target)
            target.chmod(0o755)
            run("strip", "--strip-unneeded", target)
            run("patchelf", "--set-soname", new, target)
            self.rename(target, "$ORIGIN")

    def rename(self, path, rpath):
        for name in needed(path):
            if name in self.names:
                run("patchelf", "--replace-needed", name, self.names[name], path)
            elif not SYSTEM.match(name):
                raise SystemExit(f"{path} needs {name}, which is neither in the wheel nor on every system")
        run("patchelf", *(["--force-rpath", "--set-rpath", rpath] if rpath else ["--remove-rpath"]), path)


def licences(libraries, given):
    """Licences of all that is not ours: name -> text."""
    for pair in given:
        name, _, path = pair.partition("=")
        yield name, pathlib.Path(path).read_bytes()
    packages = set()
    for source in libraries.sources.values():
        for path in source, os.path.realpath(source), source.replace("/lib/", "/usr/lib/", 1), os.path.realpath(source).replace("/usr/lib/", "/lib/", 1):
            owner = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True).stdout
            if owner:
                packages.add(owner.split(":")[0])
                break
        else:
            raise SystemExit(f"{source}: no package of this system has it, so its licence is unknown")
    for package in sorted(packages):
        yield package, pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes()


METADATA = """Metadata-Version: 2.1
Name: h5bucket
Version: {version}
Summary: HDF5 and netCDF-4 straight in S3 or folders, for h5py and xarray
License: BSD-3-Clause
Classifier: License :: OSI Approved :: BSD License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering
Requires-Python: >=3.9
Requires-Dist: h5py>=3.9
Provides-Extra: xarray
Requires-Dist: xarray>=2023.1; extra == "xarray"
Requires-Dist: h5netcdf>=1.1; extra == "xarray"
Description-Content-Type: text/markdown

{readme}"""
ENTRY_POINTS = """[console_scripts]
h5bucket = h5bucket._tool:main

[xarray.backends]
h5bucket = h5bucket.xarray_backend:BucketEntrypoint
"""


def main():
    parser = argparse.ArgumentParser()
    for name in "source", "made", "out":
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("--licence", action="append", default=[])
    args = parser.parse_args()
    here = pathlib.Path(__file__).parent
    version = re.search(r"^project\(.* VERSION ([\d.]+)", (args.source / "CMakeLists.txt").read_text(), re.M)[1]
    with tempfile.TemporaryDirectory() as top:
        top = pathlib.Path(top)
        package = top / "h5bucket"
        shutil.copytree(here / "h5bucket", package, ignore=shutil.ignore_patterns("__pycache__"))
        init = package / "__init__.py"
        init.write_text(init.read_text().replace("@VERSION@", version))
        (package / "bin").mkdir()
        connectors = package / "plugins" / "h5bucket"
        connectors.mkdir(parents=True)
        plugin, tool = package / "plugins/libhdf5_vol_bucket.so", package / "bin/h5bucket"
        shutil.copy(args.made / "loader/libhdf5_vol_bucket.so", plugin)
        shutil.copy(args.made / "bin/h5bucket", tool)
        for real in sorted((args.made / "loader/h5bucket").glob("hdf5-*.so")):
            shutil.copy(real, connectors)
        real = sorted(connectors.iterdir())
        libraries = Libraries(top / LIBS)
        for path in [tool, *real]:
            run("strip", "--strip-unneeded", path)
            libraries.add(path)
        libraries.copy()
        wanted = sorted({libraries.names[n] for path in real for n in needed(path) if n in libraries.names})
        libraries.rename(tool, f"$ORIGIN/../../{LIBS}")
        for path in real:
            libraries.rename(path, None)
        run("strip", "--strip-unneeded", plugin)
        libraries.rename(plugin, f"$ORIGIN/../../{LIBS}")
        for name in wanted:
            run("patchelf", "--add-needed", name, plugin)

        binaries = [tool, plugin, *real, *(top / LIBS).iterdir()]
        glibc, cxx = glibc_of(binaries)
        tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{platform.machine()}"
        info = top / f"h5bucket-{version}.dist-info"
        (info / "licenses").mkdir(parents=True)
        (info / "METADATA").write_text(METADATA.format(version=version, readme=(here / "README.md").read_text()))
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: vol-bucket\nRoot-Is-Purelib: false\nTag: {tag}\n")
        (info / "entry_points.txt").write_text(ENTRY_POINTS)
        shutil.copy(args.source / "LICENSE", info / "licenses/LICENSE")
        for name, text in licences(libraries, args.licence):
            (info / "licenses" / name).write_bytes(text)
        wheel = args.out / f"h5bucket-{version}-{tag}.whl"
        pack(top, info, wheel)
        print(f"{len(libraries.names)} libraries; C library {'.'.join(map(str, glibc))}, C++ library {'.'.join(map(str, cxx))} or newer; "
              f"{wheel.stat().st_size >> 10} KiB")
        print(wheel)


def pack(top, info, wheel):
    """The archive, with its list of contents last.  Times are those of the zip format's beginning: equal input, equal wheel."""
    record = []
    for old in wheel.parent.glob("h5bucket-*.whl"):
        old.unlink()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        def put(name, data, mode=0o644):
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
        for path in sorted(p for p in top.rglob("*") if p.is_file()):
            data, name = path.read_bytes(), path.relative_to(top).as_posix()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
            put(name, data, 0o755 if data.startswith(b"\x7fELF") else 0o644)
        name = f"{info.name}/RECORD"
        put(name, "".join([*record, f"{name},,\n"]))


main()
