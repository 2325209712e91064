# HDF5 searches the folders of HDF5_PLUGIN_PATH, and where it is set no others.
# shellcheck shell=sh
case ":${HDF5_PLUGIN_PATH:-}:" in
*":$CONDA_PREFIX/lib/plugins:"*) ;;
*) export HDF5_PLUGIN_PATH="${HDF5_PLUGIN_PATH:+$HDF5_PLUGIN_PATH:}$CONDA_PREFIX/lib/plugins" ;;
esac
