"""`python -m dtrain` is the program dtrain."""

import os
import sys

from dtrain._binary import find_binary

binary = find_binary()
os.execv(binary, [binary, *sys.argv[1:]])
