"""Is there a poster?"""

import sys
from argparse import ArgumentParser
from pathlib import Path


def check_slides(folder):
    """Return whether the deck has one slide."""
    from pptx import Presentation

    return len(Presentation(Path(folder) / "poster.pptx").slides) == 1


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--agent_workspace")
    args, _ = parser.parse_known_args()
    sys.exit(0 if list(Path(args.agent_workspace).glob("*")) else 1)
