"""Compares the list with the expected one; the exit code is the verdict."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from .lines import lines_of

parser = ArgumentParser()
for name in ("agent_workspace", "groundtruth_workspace", "res_log_file", "launch_time"):
    parser.add_argument(f"--{name}", required=True)
given = parser.parse_args()

found = lines_of(Path(given.agent_workspace) / "sorted.txt")
expected = lines_of(Path(given.groundtruth_workspace) / "sorted.txt")
assert found == expected, f"expected {expected}, found {found}"
sys.stdout.write("the list is in order\n")
