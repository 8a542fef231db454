"""Make the scripted transcripts again, or those whose names are given.

python -m tests.stages.diagnose.scripted [NAME ...] [--into FOLDER] [--home HOME]

HOME is a state folder, where the MCP servers of some tasks are installed.
"""

import argparse
import sys
from pathlib import Path

from tests.stages.diagnose.labelled import FOLDER, load
from tests.stages.diagnose.scripted.playing import play, stage_set, write
from tests.stages.diagnose.scripted.scripts import SCRIPTS


def main() -> None:
    """Play the scripts, and print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--into", type=Path, default=FOLDER)
    parser.add_argument("--home", type=Path)
    given = parser.parse_args()
    wanted = [one for one in SCRIPTS if not given.names or one.name in given.names]
    with stage_set() as (store, wire, folder):
        for script in wanted:
            trial = play(script, store, wire, given.home or folder)
            try:
                made = load(write(script, store, trial, given.into))
            except ValueError as error:
                sys.stdout.write(f"{error}\n")
                continue
            score = made.result.root_score
            said = "lost" if score is None else f"{score:.1f}"
            outcome = made.stored.outcome
            ended = outcome and (outcome.error or outcome.ending)
            sys.stdout.write(f"{script.half:8} {script.name:34} {said:>4}  {ended}\n")


if __name__ == "__main__":
    main()
