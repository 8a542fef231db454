"""How well the rules of the diagnose stage agree with people, and how long 1,000 diagnoses take.

`python benchmarks/failure_labels.py [--diagnoses 1000] [--json]`

The trials are those of `tests/stages/diagnose/transcripts`, which have labels by people: precision,
recall and F1 of every label, and who gave which stage and type, for the two thirds that rules were
written by and for the third that was held out. The diagnoses run on copies of the trials in a new
store; their limit is 5 s for 1,000.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from load.planning import new_store

from stages.diagnose import work
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import Run, RunConfig, RunStatus, Trial
from taskdata.store import Store

sys.path.append(str(Path(__file__).parents[1]))

from tests.stages.diagnose.agreement_with_people import (
    Agreement,
    agreement,
    given_labels,
    rule_labels,
)
from tests.stages.diagnose.labelled import HALVES, LabelledTrial, labelled_trials

KINDS = ("stage", "type", "tool_use", "long_run", "arguments", "infrastructure")


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--diagnoses", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def figures_of(trials: Sequence[LabelledTrial], found: Agreement) -> dict[str, Any]:
    """Return what is printed of one half of the trials."""
    sound = [trial for trial in trials if not given_labels(trial)]
    return {
        "trials": len(trials),
        "macro_f1": round(found.macro_f1(), 3),
        "macro_f1_with_debatable": round(agreement(trials, counts_debatable=True).macro_f1(), 3),
        "macro_f1_by_kind": {kind: round(found.macro_f1(kind), 3) for kind in KINDS},
        "labels": {
            name: {
                "n": counts.given,
                "precision": round(counts.precision, 2),
                "recall": round(counts.recall, 2),
                "f1": round(counts.f1, 2),
                "rules_only": counts.rules_only,
                "people_only": counts.people_only,
            }
            for name, counts in found.labels.items()
            if counts.given or counts.rules_only
        },
        "never_seen": [
            name
            for name, counts in found.labels.items()
            if not counts.given and not counts.rules_only
        ],
        "people_then_rules": {
            kind: {f"{people} > {rules}": n for (people, rules), n in sorted(pairs.items())}
            for kind, pairs in found.confused.items()
        },
        "without_label": len(sound),
        "without_label_but_labelled": [trial.name for trial in sound if rule_labels(trial)],
    }


def seconds_for(count: int) -> tuple[float, float]:
    """Return how long the diagnose stage takes for so many copies of the trials: wall, CPU."""
    trials = [t for half in HALVES for t in labelled_trials(half) if t.record is not None]
    with new_store() as (store, _folder):
        fill(store, trials, count)
        started = time.perf_counter(), time.process_time()
        report = work.do(store, "night", 0)
        seconds = time.perf_counter() - started[0], time.process_time() - started[1]
    if (report.done, report.errors) != (count, 0):
        raise SystemExit(f"{report.done} of {count} trials were diagnosed: {report.note}")
    return seconds


def fill(store: Store, trials: Sequence[LabelledTrial], count: int) -> None:
    """Store a run of so many finished and scored trials."""
    tasks = {trial.task.content_hash: trial.task for trial in trials}
    run = Run(
        id="night",
        status=RunStatus.COMPLETED,
        config=RunConfig(bank="benchmark", agents=(AgentSpec.parse("nop"),), refinement_rounds=0),
        release_hash=store.add_release("benchmark", list(tasks.values()), {}).hash,
        code_version="benchmark",
        created_at=datetime.now(UTC),
    )
    store.add_run(run)
    copies = [copy_of(trials[n % len(trials)], run.id, n) for n in range(count)]
    store.plan_trials(copies)
    for number, copy in enumerate(copies):
        trial = trials[number % len(trials)]
        stored = trial.stored
        if stored.outcome is None or stored.score is None or trial.transcript is None:
            raise SystemExit(f"{trial.name} has no outcome, score or transcript")
        transcript = store.artifacts.put_bytes(trial.transcript.model_dump_json().encode())
        changes = {"trial_id": copy.id, "transcript_sha256": transcript}
        store.record_outcome(stored.outcome.model_copy(update=changes))
        score = stored.score.model_copy(update={"trial_id": copy.id})
        store.record_score(score, stored.views)


def copy_of(trial: LabelledTrial, run_id: str, number: int) -> Trial:
    """Return a trial of the run that asks the same."""
    return trial.stored.trial.model_copy(
        update={
            "id": Trial.make_id(run_id, "nop", trial.task.id, number, 0),
            "run_id": run_id,
            "agent": "nop",
            "task_hash": trial.task.content_hash,
            "repetition": number,
        }
    )


def show(figures: dict[str, Any]) -> None:
    """Print the figures as tables."""
    for half in HALVES:
        shown = figures[half]
        kinds = ", ".join(f"{kind} {f1}" for kind, f1 in shown["macro_f1_by_kind"].items())
        print(f"== {half}: {shown['trials']} trials, macro-F1 {shown['macro_f1']} ({kinds})")
        print(f"with what people may disagree about: {shown['macro_f1_with_debatable']}")
        print(f"{'label':46} {'n':>3} {'prec.':>6} {'recall':>6} {'F1':>6}")
        for name, row in shown["labels"].items():
            print(
                f"{name:46} {row['n']:3} {row['precision']:6.2f} {row['recall']:6.2f} "
                f"{row['f1']:6.2f}"
            )
            for who in ("rules_only", "people_only"):
                if row[who]:
                    print(f"{'':4}{who.replace('_', ' ')}: {', '.join(row[who])}")
        for kind, pairs in shown["people_then_rules"].items():
            print(f"{kind}, people > rules: {', '.join(f'{p} {n}' for p, n in pairs.items())}")
        print(
            f"{shown['without_label']} trials without a label by people, "
            f"{len(shown['without_label_but_labelled'])} of them with one by the rules"
        )
        print(f"no trial has: {', '.join(shown['never_seen']) or '-'}\n")
    print(
        f"{figures['diagnoses']} diagnoses by rules: {figures['seconds']:.2f} s "
        f"({figures['cpu_seconds']:.2f} s of CPU; limit 5 s)"
    )


def main() -> None:
    """Print how well the rules agree with people, and how fast they are."""
    given = parsed()
    figures: dict[str, Any] = {}
    for half in HALVES:
        trials = list(labelled_trials(half))
        figures[half] = figures_of(trials, agreement(trials))
    wall, cpu = seconds_for(given.diagnoses)
    figures |= {
        "diagnoses": given.diagnoses,
        "seconds": round(wall, 2),
        "cpu_seconds": round(cpu, 2),
    }
    if given.json:
        print(json.dumps(figures))
    else:
        show(figures)


if __name__ == "__main__":
    main()
