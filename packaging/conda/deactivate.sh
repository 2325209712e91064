# Take the folder out again.
# shellcheck shell=sh
HDF5_PLUGIN_PATH=$(printf '%s' "${HDF5_PLUGIN_PATH:-}" | tr ':' '\n' | grep -vxF "$CONDA_PREFIX/lib/plugins" | tr '\n' ':')
HDF5_PLUGIN_PATH=${HDF5_PLUGIN_PATH%:}
if [ -n "$HDF5_PLUGIN_PATH" ]; then export HDF5_PLUGIN_PATH; else unset HDF5_PLUGIN_PATH; fi
