# bkt_layer(NAME [SOURCES a.c...] [DEPENDS lower...] [LIBS target...])
#   Static library bkt_NAME from the current folder.  Includes have their path from src/.  A layer sees its own folder and those
#   of the layers below, so an include that goes upward does not compile.  LIBS stay private: no other layer sees their headers.
# bkt_test(NAME [SOURCES a.c...] [LAYER x] [LIBS target...] [ARGS ...] [COMMAND ...] [LABELS ...] [TIMEOUT seconds]
#          [FIXTURES name...] [ENVIRONMENT A=b...] [SERIAL])
#   One CTest entry; exit code 77 is a skip.  SOURCES makes a program linked with bkt_LAYER and cmocka; COMMAND runs
#   something else (target names inside generator expressions).  FIXTURES are set up before and cleaned after: `fixtures` (unpacked sample buckets), `radosgw`.
#   A test with `radosgw` exists twice: NAME over http, and NAME_tls over https.  The second is the same command with BKT_S3_TLS=yes
#   in its environment, and label `tls`.  Tests that aren't in BKT_TLS_SAMPLE (test/CMakeLists.txt) have label `tls_rest`: ./check
#   --all alone runs these.  A test that names the label `tls` itself exists once.
#   TIMEOUT is what it may take on a machine that has other work; a hang ends after four times that, or 30 minutes, since no test
#   may fail for lack of time.  The test with the longest time starts first.  Label `quick` is added if it is 60 or less, so that
#   `ctest -L quick` is worth its name.
function(bkt_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LIBS")
    if(NOT arg_SOURCES)
        file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.c" "extern int bkt_${name}_empty;\n")
        set(arg_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/empty.c")
    endif()
    add_library(bkt_${name} STATIC ${arg_SOURCES})
    bkt_layer_root(${name} bkt_${name})
    list(TRANSFORM arg_DEPENDS PREPEND bkt_)
    target_link_libraries(bkt_${name} PUBLIC ${arg_DEPENDS} PRIVATE bkt_build ${arg_LIBS})
    set_property(GLOBAL APPEND PROPERTY BKT_LAYERS ${name})
    if(BUILD_TESTING)
        bkt_check_headers(${name})
    endif()
endfunction()

# Let @p target and its users see src/NAME, the current folder, and no other folder of src/.
function(bkt_layer_root name target)
    set(root "${PROJECT_BINARY_DIR}/layers/${name}/src")
    file(MAKE_DIRECTORY "${root}")
    file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${root}/${name}" SYMBOLIC)
    target_include_directories(${target} PUBLIC "${root}" "${PROJECT_BINARY_DIR}/generated")
endfunction()

# Every header must compile alone: one object per header, built with the layer's own include path.
function(bkt_check_headers name)
    file(GLOB_RECURSE headers RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*.h")
    set(sources "")
    foreach(header IN LISTS headers)
        set(source "${CMAKE_CURRENT_BINARY_DIR}/alone/${header}.c")
        file(CONFIGURE OUTPUT "${source}" CONTENT
            "#include \"${name}/${header}\"\n#include \"${name}/${header}\"\nextern int bkt_alone;\n")
        list(APPEND sources "${source}")
    endforeach()
    if(sources)
        add_library(bkt_${name}_headers OBJECT EXCLUDE_FROM_ALL ${sources})
        target_link_libraries(bkt_${name}_headers PRIVATE bkt_build bkt_${name})
        target_include_directories(bkt_${name}_headers PRIVATE
            $<TARGET_PROPERTY:bkt_${name},INCLUDE_DIRECTORIES>)
        target_compile_options(bkt_${name}_headers PRIVATE -Werror)
        add_test(NAME headers_${name}
            COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target bkt_${name}_headers)
        set_tests_properties(headers_${name} PROPERTIES LABELS "habits;quick" TIMEOUT 480 RESOURCE_LOCK build)
    endif()
endfunction()

function(bkt_test name)
    if(NOT BUILD_TESTING)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "LAYER;TIMEOUT"
        "SOURCES;LIBS;ARGS;COMMAND;LABELS;FIXTURES;ENVIRONMENT")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(arg_SOURCES)
        add_executable(${name} ${arg_SOURCES})
        target_link_libraries(${name} PRIVATE bkt_build PkgConfig::CMOCKA ${arg_LIBS})
        if(arg_LAYER)
            target_link_libraries(${name} PRIVATE bkt_${arg_LAYER})
        endif()
    endif()
    if(NOT arg_COMMAND)
        set(arg_COMMAND ${name})
    endif()
    if("radosgw" IN_LIST arg_FIXTURES)
        list(APPEND arg_FIXTURES fixtures)
        if(TARGET "${arg_COMMAND}")
            set(arg_COMMAND $<TARGET_FILE:${arg_COMMAND}>)
        endif()
        list(PREPEND arg_COMMAND "${CMAKE_SOURCE_DIR}/test/s3/run.sh" "${CMAKE_BINARY_DIR}/s3")
        list(APPEND arg_LABELS s3)
    endif()
    if("s3" IN_LIST arg_LABELS AND NOT "tls" IN_LIST arg_LABELS)
        set(labels ${arg_LABELS} tls)
        if(NOT name IN_LIST BKT_TLS_SAMPLE)
            list(APPEND labels tls_rest)
        endif()
        bkt_add_entry(${name}_tls "${labels}" ${arg_TIMEOUT} "${arg_FIXTURES}" "${arg_ENVIRONMENT};BKT_S3_TLS=yes"
            ${arg_COMMAND} ${arg_ARGS})
    endif()
    if(arg_TIMEOUT LESS_EQUAL 60)
        list(APPEND arg_LABELS quick)
    endif()
    bkt_add_entry(${name} "${arg_LABELS}" ${arg_TIMEOUT} "${arg_FIXTURES}" "${arg_ENVIRONMENT}" ${arg_COMMAND} ${arg_ARGS})
    if(arg_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()

# test_needs.txt in the build folder: a line per entry of bkt_test(), its name and the targets in its command and its environment.
# `check` builds the programs that the tests of a suite need.
function(bkt_write_test_needs)
    get_property(needs GLOBAL PROPERTY BKT_NEEDS)
    file(WRITE "${CMAKE_BINARY_DIR}/test_needs.txt" "${needs}")
endfunction()

# For bkt_test(): one entry of CTest's; its command follows.
function(bkt_add_entry name labels timeout fixtures environment)
    add_test(NAME ${name} COMMAND ${ARGN})
    string(REGEX MATCHALL "TARGET_FILE(_DIR)?:[^>]+" needs "${ARGN};${environment}")
    list(TRANSFORM needs REPLACE "TARGET_FILE(_DIR)?:" "")
    if(TARGET "${ARGV5}")
        list(APPEND needs "${ARGV5}")
    endif()
    list(REMOVE_DUPLICATES needs)
    list(JOIN needs " " needs)
    set_property(GLOBAL APPEND_STRING PROPERTY BKT_NEEDS "${name} ${needs}\n")
    math(EXPR patience "4 * ${timeout}")
    if(patience GREATER 1800)
        set(patience 1800)
    elseif(patience LESS 240)
        set(patience 240)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${patience} COST ${timeout} SKIP_RETURN_CODE 77 LABELS "${labels}"
        FIXTURES_REQUIRED "${fixtures}")
    # Tests must not see the settings of the user who runs them.  On a busy machine no request is sent again
    # because an answer came late.
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
        "BKT_FIXTURES=${CMAKE_BINARY_DIR}/fixtures;BKT_SOURCE=${CMAKE_SOURCE_DIR};H5BUCKET_TEST=hedge=0;H5BUCKET_DEADLINE_MS=3600000;${environment}")
    set(unset "")
    foreach(var H5BUCKET_BUCKET H5BUCKET_STATS H5BUCKET_TRACE HS_BUCKET HS_USERNAME HDF5_VOL_CONNECTOR HDF5_PLUGIN_PATH
            HDF5_DRIVER AWS_PROFILE AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
            AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION AWS_S3_GATEWAY AWS_CA_BUNDLE BKT_S3_TLS http_proxy https_proxy all_proxy HTTPS_PROXY
            ALL_PROXY)
        if(NOT environment MATCHES "(^|;)${var}=")
            list(APPEND unset "${var}=unset:")
        endif()
    endforeach()
    set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION "${unset}")
endfunction()
