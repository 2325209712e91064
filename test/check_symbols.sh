#!/bin/sh
# check_symbols.sh PLUGIN: the plugin exports HDF5's two entry points and nothing else, and does without the parts that a libhdf5 may lack.
set -eu
got=$(nm -D --defined-only "$1" | awk '{print $3}' | grep -v -e '^__' -e '^_init$' -e '^_fini$' | sort | tr '\n' ' ')
want="H5PLget_plugin_info H5PLget_plugin_type "
[ "$got" = "$want" ] || { echo "exported: $got"; echo "wanted:   $want"; exit 1; }
needed=$(nm -D --undefined-only "$1" | awk '$1 == "U" && tolower($2) ~ /^h5.*(ros3|mpio|subfiling|direct_init|mirror|hdfs)/ {print $2}')
[ -z "$needed" ] || { echo "needed, though not in every libhdf5 (make them weak): $needed"; exit 1; }
echo "only the two entry points are exported, no part of HDF5 that can be left out is needed"
