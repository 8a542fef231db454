"""Make the scripted transcripts again, or those whose names are given.

python -m tests.stages.diagnose.scripted [NAME ...] [--into FOLDER]
"""

import argparse
from pathlib import Path

from tests.stages.diagnose.labelled import FOLDER, load
from tests.stages.diagnose.scripted.playing import play, stage_set, write
from tests.stages.diagnose.scripted.scripts import SCRIPTS


def main() -> None:
    """Play the scripts, and print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--into", type=Path, default=FOLDER)
    given = parser.parse_args()
    wanted = [one for one in SCRIPTS if not given.names or one.name in given.names]
    with stage_set() as (store, wire, home):
        for script in wanted:
            trial = play(script, store, wire, home)
            made = load(write(script, store, trial, given.into))
            score = made.result.root_score
            said = "lost" if score is None else f"{score:.1f}"
            outcome = made.stored.outcome
            ended = outcome and (outcome.error or outcome.ending)
            print(f"{script.half:8} {script.name:34} {said:>4}  {ended}")


if __name__ == "__main__":
    main()
