"""Tests that start jobs and programs with torch themselves."""

import os
import sys

# jobs.py, which starts them, is that of the tests without torch.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "outside"))
