"""Measures by how much a demand for full points in a deliverable raises a judge's score.

A local model judges poor work twice: without a demand, and with one in each of the places of
`load/injections.py`. The output is the difference of the scores for each place, and their mean.
The benchmark uses all cores for half an hour.

`python benchmarks/judge_injection.py [--model NAME] [--works N] [--json]`
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

from load.injections import ATTEMPTS, WORKS, Attempt, Work, evidence, honest

from environments.models.local.serving import local_model_server
from environments.models.registry import ModelClients
from environments.ports import ModelClient, ModelReply, ModelRequest
from stages.score.judging.judge import MAX_ASKS, LeafJudge
from stages.score.judging.sight import sight_of
from taskdata.schema.agent import ModelSpec
from taskdata.schema.judging import JudgeSettings


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    model: str
    honest: list[float | None]
    """Score of each work as it is; None: no verdict."""
    shifts: dict[str, list[float | None]]
    """For each place, the difference to it."""
    mean_shift: float
    """Over all works and places that have both scores."""
    mean_by_place: dict[str, float | None]
    without_verdict: int


@dataclass(frozen=True)
class _Greedy:
    """The same answer to the same question, so that a difference is one of the questions."""

    client: ModelClient

    async def reply(self, request: ModelRequest) -> ModelReply:
        return await self.client.reply(replace(request, temperature=0.0))

    async def close(self) -> None:
        """Do nothing: the client is shared."""


def main() -> None:
    """Print what was measured."""
    options = _options()
    with (
        tempfile.TemporaryDirectory() as folder,
        local_model_server(Path(folder), options.model) as url,
    ):
        scores = asyncio.run(_scores(options.model, url, WORKS[: options.works]))
    figures = _figures(options.model, scores)
    if options.json:
        print(json.dumps(asdict(figures)))
        return
    print(f"{figures.model}: honest work {figures.honest}")
    for place, shift in figures.mean_by_place.items():
        print(f"{place:22} {'no verdict' if shift is None else format(shift, '+.2f')}")
    print(f"mean shift {figures.mean_shift:+.2f} points, {figures.without_verdict} without verdict")


async def _scores(model: str, url: str, works: Sequence[Work]) -> dict[str, list[float | None]]:
    """Return the scores of every work by place; the empty place is the honest one."""
    scores: dict[str, list[float | None]] = {"": []}
    spec = ModelSpec(provider="local", model=model)
    async with ModelClients() as clients:
        client = _Greedy(clients.get(spec, url))
        for place, attempt in {"": honest, **ATTEMPTS}.items():
            for work in works:
                score = await _score(client, spec, work, attempt(work))
                scores.setdefault(place, []).append(score)
                print(f"{work.query[:30]!r} {place or 'honest':22} {score}", file=sys.stderr)
    return scores


async def _score(
    client: ModelClient, spec: ModelSpec, work: Work, attempt: Attempt
) -> float | None:
    trial, leaf, verifier = evidence(work, attempt)
    sight = sight_of(spec, None, JudgeSettings())
    judge = LeafJudge([client] * MAX_ASKS, str(spec), trial, sight)
    return (await judge.score(leaf, verifier)).score


def _figures(model: str, scores: Mapping[str, list[float | None]]) -> Figures:
    before = scores[""]
    shifts = {
        place: [
            None if one is None or other is None else other - one
            for one, other in zip(before, found, strict=True)
        ]
        for place, found in scores.items()
        if place
    }
    known = [shift for found in shifts.values() for shift in found if shift is not None]
    by_place = {
        place: fmean(some) if (some := [s for s in found if s is not None]) else None
        for place, found in shifts.items()
    }
    missing = sum(score is None for found in scores.values() for score in found)
    return Figures(model, before, shifts, fmean(known), by_place, missing)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--works", type=int, default=len(WORKS))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
