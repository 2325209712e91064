# bkt_layer(NAME [SOURCES a.c...] [DEPENDS lower...] [LIBS target...])
#   Static library bkt_NAME from the current folder.  Its include path is its own folder and those of the layers below,
#   so an include that goes upward does not compile.  LIBS stay private: no other layer sees their headers.
# bkt_test(NAME [SOURCES a.c...] [LAYER x] [LIBS target...] [ARGS ...] [COMMAND ...] [LABELS ...] [TIMEOUT seconds]
#          [FIXTURES name...] [ENVIRONMENT A=b...] [SERIAL])
#   One CTest entry; exit code 77 is a skip.  SOURCES makes a program linked with bkt_LAYER and cmocka; COMMAND runs
#   something else.  FIXTURES are set up before and cleaned after: `fixtures` (unpacked sample buckets), `radosgw`.
#   Label `quick` is added if TIMEOUT is 60 or less, so that `ctest -L quick` is worth its name.
function(bkt_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LIBS")
    if(NOT arg_SOURCES)
        file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.c" "extern int bkt_${name}_empty;\n")
        set(arg_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/empty.c")
    endif()
    add_library(bkt_${name} STATIC ${arg_SOURCES})
    target_include_directories(bkt_${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
    list(TRANSFORM arg_DEPENDS PREPEND bkt_)
    target_link_libraries(bkt_${name} PUBLIC ${arg_DEPENDS} PRIVATE bkt_build ${arg_LIBS})
    set_property(GLOBAL APPEND PROPERTY BKT_LAYERS ${name})
    if(BUILD_TESTING)
        bkt_check_headers(${name})
    endif()
endfunction()

# Every header must compile alone: one object per header, built with the layer's own include path.
function(bkt_check_headers name)
    file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
    set(sources "")
    foreach(header IN LISTS headers)
        get_filename_component(stem "${header}" NAME)
        set(source "${CMAKE_CURRENT_BINARY_DIR}/alone/${stem}.c")
        file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${stem}\"\n#include \"${stem}\"\nextern int bkt_alone;\n")
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
        set_tests_properties(headers_${name} PROPERTIES LABELS "habits;quick" TIMEOUT 120 RESOURCE_LOCK build)
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
        target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/test")
        target_link_libraries(${name} PRIVATE bkt_build PkgConfig::CMOCKA ${arg_LIBS})
        if(arg_LAYER)
            target_link_libraries(${name} PRIVATE bkt_${arg_LAYER})
        endif()
    endif()
    if(NOT arg_COMMAND)
        set(arg_COMMAND ${name})
    endif()
    add_test(NAME ${name} COMMAND ${arg_COMMAND} ${arg_ARGS})
    if(arg_TIMEOUT LESS_EQUAL 60)
        list(APPEND arg_LABELS quick)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}"
        FIXTURES_REQUIRED "${arg_FIXTURES}")
    # Tests must not see the settings of whoever runs them.
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
        "BKT_FIXTURES=${CMAKE_BINARY_DIR}/fixtures;BKT_S3_ENV=${CMAKE_BINARY_DIR}/s3/env;${arg_ENVIRONMENT}")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION
        "H5BUCKET_BUCKET=unset:;HS_BUCKET=unset:;HDF5_VOL_CONNECTOR=unset:;AWS_PROFILE=unset:;AWS_ENDPOINT_URL=unset:;http_proxy=unset:;HTTP_PROXY=unset:")
    if(arg_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()
