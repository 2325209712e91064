/* cmocka with the includes that it wants */
#ifndef CM_H
#define CM_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#endif
