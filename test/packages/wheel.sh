#!/bin/sh
# wheel.sh SOURCE [s3://BUCKET/FOLDER]: the wheel is built, installed by pip into a tree of Debian 13, used there with xarray and dask, and
# removed.  That Debian has neither this machine's libraries nor a plugin in HDF5's folders.
set -eu
source=$1 base=${2:-}
. "$source/test/packages/in_a_tree.sh"
need_tree "the wheel is built and tried whole by ./check --all (some minutes); packages_python has its Python part" patchelf
. "$source/config/setup.sh"
# shellcheck disable=SC2046 # words
tree=$("$source/packaging/debian/tree" trixie $(listed "$source/config/packages/clients.txt"))
work_folder
"$source/packaging/python/build" --out "$work"
cp "$source/test/packages/test_h5bucket.py" "$source/test/h5tests/helpers/web_folder.py" "$work/"
cat > "$work/in_tree.sh" <<'E2'
set -eu
folder=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$folder" && find / -xdev -path /proc -prune -o -path /tmp -prune -o -print | sort > /tmp/before
pip install --no-index --no-deps --break-system-packages --no-compile --root-user-action=ignore /mnt/*.whl
pip show h5bucket | grep -q '^License: BSD-3-Clause'
cd /tmp
OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 NEED_XARRAY=1 python3 -B /mnt/test_h5bucket.py "$@"
pip uninstall -y --break-system-packages --root-user-action=ignore h5bucket
find / -xdev -path /proc -prune -o -path /tmp -prune -o -print | sort | comm -13 /tmp/before - > /tmp/left
[ ! -s /tmp/left ] || { echo "pip leaves:"; head /tmp/left; exit 1; }
E2
"$source/packaging/debian/in_tree" "$tree" "$work" sh /mnt/in_tree.sh ${base:+"$base"}
