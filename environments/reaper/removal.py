"""Removal of a folder, whatever a hostile program left in it."""

import logging
import os
import subprocess
from pathlib import Path

logger = logging.getLogger(__name__)


def remove_tree(root: Path) -> bool:
    """Remove `root` with all that is in it; return whether it is gone."""
    # Not shutil.rmtree: agents can nest folders deeper than Python has stack and descriptors for.
    # And chmod for folders that an agent closed to its own user, which is ours.
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*command, "--", str(root)], check=False, capture_output=True)
        if not os.path.lexists(root):
            return True
    logger.warning("could not remove the folder %s", root)
    return False
