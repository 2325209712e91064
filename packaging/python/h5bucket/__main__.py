"""python -m h5bucket: the command h5bucket."""
from ._tool import main

main()
