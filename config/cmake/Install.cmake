# What `cmake --install` puts where, beside the plugin and the tool: documents, and the files by which other builds
# find them (CMake package, pkg-config).
