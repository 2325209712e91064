# If HDF5_PLUGIN_PATH is set, HDF5 searches only its folders.
# shellcheck shell=sh
case ":${HDF5_PLUGIN_PATH:-}:" in
*":$CONDA_PREFIX/lib/plugins:"*) ;;
*) export HDF5_PLUGIN_PATH="${HDF5_PLUGIN_PATH:+$HDF5_PLUGIN_PATH:}$CONDA_PREFIX/lib/plugins" ;;
esac
