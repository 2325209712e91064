#!/bin/sh
# check_symbols.sh PLUGIN: the plugin exports HDF5's two entry points and nothing else.
set -eu
got=$(nm -D --defined-only "$1" | awk '{print $3}' | grep -v -e '^__' -e '^_init$' -e '^_fini$' | sort | tr '\n' ' ')
want="H5PLget_plugin_info H5PLget_plugin_type "
[ "$got" = "$want" ] || { echo "exported: $got"; echo "wanted:   $want"; exit 1; }
echo "only the two entry points are exported"
