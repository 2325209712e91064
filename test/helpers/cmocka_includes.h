/* cmocka with the includes that it wants */
#ifndef BKT_CMOCKA_INCLUDES_H
#define BKT_CMOCKA_INCLUDES_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#endif
