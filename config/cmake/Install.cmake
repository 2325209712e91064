# Files that `cmake --install` installs beside the plugin, the header and the tool: documents, and the files
# by which other builds find them (CMake package, pkg-config).
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/vol-bucket")
configure_package_config_file(config/vol-bucketConfig.cmake.in generated/vol-bucketConfig.cmake
    INSTALL_DESTINATION "${package_dir}" PATH_VARS H5BUCKET_PLUGIN_DIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/generated/vol-bucketConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_BINARY_DIR}/generated/vol-bucketConfig.cmake"
    "${CMAKE_BINARY_DIR}/generated/vol-bucketConfigVersion.cmake" DESTINATION "${package_dir}")

foreach(pair PLUGINDIR=H5BUCKET_PLUGIN_DIR INCLUDEDIR=CMAKE_INSTALL_INCLUDEDIR LIBDIR=CMAKE_INSTALL_LIBDIR)
    string(REGEX MATCH "^(.*)=(.*)$" pair "${pair}")
    set(BKT_PC_${CMAKE_MATCH_1} "${${CMAKE_MATCH_2}}")
    if(NOT IS_ABSOLUTE "${${CMAKE_MATCH_2}}")
        set(BKT_PC_${CMAKE_MATCH_1} "\${prefix}/${${CMAKE_MATCH_2}}")
    endif()
endforeach()
set(BKT_PC_LIBS "")
if(TARGET h5bucket_samples)
    set(BKT_PC_LIBS " -L\"\${libdir}\" -lh5bucket_samples")
endif()
set(prefix "@prefix@")
configure_file(config/vol-bucket.pc.in generated/vol-bucket.pc @ONLY)
# The prefix is known for sure only when `cmake --install --prefix` runs.  Removing the files in the manifest
# removes everything.
set(pc "${CMAKE_INSTALL_LIBDIR}/pkgconfig/vol-bucket.pc")
if(NOT IS_ABSOLUTE "${pc}")
    set(pc "\${CMAKE_INSTALL_PREFIX}/${pc}")
endif()
install(CODE "
    file(READ \"${CMAKE_BINARY_DIR}/generated/vol-bucket.pc\" text)
    string(REPLACE \"@prefix@\" \"\${CMAKE_INSTALL_PREFIX}\" text \"\${text}\")
    file(WRITE \"\$ENV{DESTDIR}${pc}\" \"\${text}\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"${pc}\")")

foreach(doc README.md CHANGELOG.md LICENSE)
    if(EXISTS "${CMAKE_SOURCE_DIR}/${doc}")
        install(FILES "${doc}" TYPE DOC)
    endif()
endforeach()
install(DIRECTORY docs TYPE DOC FILES_MATCHING PATTERN "*.md")
