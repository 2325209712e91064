#!/bin/sh
# check_order.sh: check_order.py, where there is a Python.
command -v python3 > /dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 "$(dirname "$0")/check_order.py"
