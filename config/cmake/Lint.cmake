# Target `lint`: clang-tidy (by .clang-tidy) and cppcheck over our own sources; target `format` for changed
# files.
find_program(BKT_RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-19 run-clang-tidy-14)
find_program(BKT_CPPCHECK cppcheck)
mark_as_advanced(BKT_RUN_CLANG_TIDY BKT_CPPCHECK)
if(BKT_RUN_CLANG_TIDY AND BKT_CPPCHECK)
    add_custom_target(lint
        COMMAND "${CMAKE_SOURCE_DIR}/config/lint.sh" "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}"
            "${BKT_RUN_CLANG_TIDY}" "${BKT_CPPCHECK}"
        USES_TERMINAL VERBATIM)
else()
    add_custom_target(lint COMMAND "${CMAKE_COMMAND}" -E echo
        "clang-tidy and cppcheck are needed: config/packages/lint.txt" COMMAND "${CMAKE_COMMAND}" -E false VERBATIM)
endif()
