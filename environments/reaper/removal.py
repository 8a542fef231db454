"""Removal of a folder, whatever a hostile program left inside."""

import logging
import os
import shutil
import subprocess
from pathlib import Path

_logger = logging.getLogger(__name__)

_FEW_ENTRIES = 200
_FEW_LEVELS = 8


def remove_tree(root: Path) -> bool:
    """Remove `root` and everything below; return whether it is gone."""
    # Most folders are small, and starting a program costs more than removing them here.
    if _is_small(root):
        shutil.rmtree(root, ignore_errors=True)
        if not os.path.lexists(root):
            return True
    # Agents can nest folders deeper than Python's stack and descriptors allow, hence `rm`. And an
    # agent can close folders to its own user, which is ours, hence `chmod`.
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*command, "--", str(root)], check=False, capture_output=True)
        if not os.path.lexists(root):
            return True
    _logger.warning("could not remove the folder %s", root)
    return False


def _is_small(root: Path) -> bool:
    waiting, entries = [(str(root), 0)], 0
    while waiting:
        folder, level = waiting.pop()
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    entries += 1
                    if entries > _FEW_ENTRIES or level == _FEW_LEVELS:
                        return False
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, level + 1))
        except OSError:
            return False
    return True
