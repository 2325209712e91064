#!/bin/sh
# recipes.sh SOURCE: the recipes for systems that aren't here (RPM, conda, spack): their syntax, that they have the project's version, that they name
# what the build needs, and files that exist.
set -eu
source=$1
cd "$source/packaging"
bad=0
fail() { echo "FAILED: $*"; bad=1; }
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
spec=rpm/hdf5-vol-bucket.spec

grep -q "^Version: *$version$" $spec || fail "$spec has another version"
grep -q "^  version: \"$version\"" conda/recipe.yaml || fail "conda/recipe.yaml has another version"
grep -q "version(\"$version\"" spack/package.py || fail "spack/package.py has another version"

# libraries of config/packages/build.txt, under their names elsewhere: in Debian, Fedora, conda, spack
while read -r debian fedora conda spack; do
    grep -q "^$debian$" "$source/config/packages/build.txt" || fail "$debian isn't in config/packages/build.txt"
    grep -q "^BuildRequires: *$fedora" $spec || fail "$spec lacks $fedora"
    grep -q "^    - $conda" conda/recipe.yaml || fail "conda/recipe.yaml lacks $conda"
    grep -q "depends_on(\"$spack" spack/package.py || fail "spack/package.py lacks $spack"
done << 'NAMES'
libaec-dev libaec-devel libaec libaec
libblosc-dev blosc-devel blosc c-blosc
libbz2-dev bzip2-devel bzip2 bzip2
libcurl4-openssl-dev libcurl-devel libcurl curl
libdeflate-dev libdeflate-devel libdeflate libdeflate
libexpat1-dev expat-devel expat expat
libisal-dev isa-l-devel isa-l isa-l
libjansson-dev jansson-devel jansson jansson
liblmdb-dev lmdb-devel lmdb lmdb
liblz4-dev lz4-devel lz4-c lz4
libssl-dev openssl-devel openssl openssl
libxxhash-dev xxhash-devel xxhash xxhash
libzstd-dev libzstd-devel zstd zstd
zlib1g-dev zlib-devel zlib zlib-api
NAMES
[ "$(grep -c '^lib.*-dev$\|^zlib1g-dev$' "$source/config/packages/build.txt")" = 14 ] || fail "config/packages/build.txt has another library: add it to the recipes, and here"

python3 - << 'PY' || fail "spack/package.py or the wheel's Python files"
import ast, pathlib
for path in [pathlib.Path("spack/package.py"), *pathlib.Path("python").rglob("*.py")]:
    ast.parse(path.read_text(), str(path))
PY
for script in conda/build.sh conda/activate.sh conda/deactivate.sh debian/build debian/tree debian/in_tree python/build python/curl.sh; do
    sh -n $script || fail "$script"
done
# conda's scripts add the folder and take it away again
got=$(CONDA_PREFIX=/c HDF5_PLUGIN_PATH=/a:/b sh -euc '. ./conda/activate.sh; . ./conda/activate.sh; printf "%s " "$HDF5_PLUGIN_PATH"
    . ./conda/deactivate.sh; echo "$HDF5_PLUGIN_PATH"')
[ "$got" = "/a:/b:/c/lib/plugins /a:/b" ] || fail "conda's scripts make: $got"
if python3 -c 'import yaml' 2> /dev/null; then
    python3 - << 'PY' || fail "conda/recipe.yaml"
import os, yaml
recipe = yaml.safe_load(open("conda/recipe.yaml"))
assert recipe["schema_version"] == 1 and {"package", "source", "build", "requirements", "tests", "about"} <= set(recipe), list(recipe)
root = os.path.join("conda", recipe["source"]["path"])
for name in recipe["build"]["script"], recipe["about"]["license_file"]:
    assert os.path.isfile(os.path.join(root, name)), name
PY
else
    echo "no python3-yaml: the conda recipe is not parsed"
fi
if command -v rpmspec > /dev/null; then
    rpmspec -P $spec > /dev/null || fail "rpmspec can't expand $spec"
    rpmspec -q $spec > /dev/null || fail "rpmspec finds no packages in $spec"
else
    echo "no rpmspec (Debian: rpm): the spec is not expanded"
fi
if command -v rpmlint > /dev/null; then
    rpmlint $spec || fail "rpmlint"
else
    echo "no rpmlint: it is not asked"
fi
[ $bad = 0 ] && echo "recipes agree with the build"
exit $bad
