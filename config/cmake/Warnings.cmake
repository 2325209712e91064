# Target bkt_build: the compile and link flags that every target of ours uses.
add_library(bkt_build INTERFACE)
target_compile_definitions(bkt_build INTERFACE _GNU_SOURCE)
target_compile_options(bkt_build INTERFACE
    -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wformat-nonliteral
    -Wvla -Wundef -Wwrite-strings -fno-common -fstack-protector-strong
    $<$<BOOL:${BKT_WERROR}>:-Werror>)
if(NOT BKT_SANITIZE AND CMAKE_BUILD_TYPE MATCHES "^Rel")
    target_compile_options(bkt_build INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(BKT_SANITIZE)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # gcc's manual: sanitizers cause false alarms of this warning
        target_compile_options(bkt_build INTERFACE -Wno-maybe-uninitialized)
    endif()
    target_compile_options(bkt_build INTERFACE -fsanitize=${BKT_SANITIZE} -fno-omit-frame-pointer -g)
    if(BKT_SANITIZE MATCHES undefined)
        target_compile_options(bkt_build INTERFACE -fno-sanitize-recover=undefined)
    endif()
    target_link_options(bkt_build INTERFACE -fsanitize=${BKT_SANITIZE})
endif()
if(BKT_FUZZ) # libFuzzer is guided by the code that it sees reached: that of the layers, not of its target alone
    target_compile_options(bkt_build INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(bkt_build INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(BKT_COVERAGE)
    target_compile_options(bkt_build INTERFACE --coverage)
    target_link_options(bkt_build INTERFACE --coverage)
endif()
