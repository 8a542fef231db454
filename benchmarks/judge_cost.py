"""CPU time that a judged leaf costs beside the model call.

One trial with long texts and drawn pages is judged leaf by leaf by a model that answers at once.
What is counted is what happens in this process: laying out the trial, each question, its key in the
store, its encoding for the wire, and reading the verdict.

`python benchmarks/judge_cost.py [--leaves N] [--pictures N] [--json]`
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from environments.models.openai.chat import OpenAIClient
from environments.models.record.keys import reply_key
from environments.models.wire.endpoint import Endpoint
from environments.ports import ModelReply, ModelRequest
from stages.score.evidence import TrialEvidence
from stages.score.judging.judge import LeafJudge
from stages.score.judging.sight import Sight
from taskdata.artifacts import ArtifactStore
from taskdata.schema.agent import ModelSpec
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.task import Capability, Category, DeliverableSpec, DeliverableType, Task, Tier
from taskdata.schema.views import Page, PagePictures, PdfView

_WORDS = 20_000
_PICTURE_BYTES = 150_000
_NAMES = ("report.pdf", "plan.docx")
_SPEC = ModelSpec(provider="openai", model="gpt-5.2")


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    leaves: int
    pictures: int
    sent_mb: float
    """All questions together."""
    first_leaf_ms: float
    """With the layout of the trial, which all leaves share."""
    other_leaf_ms: float
    mean_leaf_ms: float


class _AtOnce:
    """A model that encodes the question as the real client does, and answers at once."""

    def __init__(self) -> None:
        self._client = OpenAIClient(Endpoint(_SPEC, "http://127.0.0.1:9/v1", "k"))
        self.sent = 0

    async def reply(self, request: ModelRequest) -> ModelReply:
        reply_key(_SPEC, None, request)
        self.sent += len(self._client._body(request))
        return ModelReply('{"score": 7, "evidence": "It is there."}', "gpt-5.2")

    async def close(self) -> None:
        """Do nothing: nothing was opened."""


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=12)
    parser.add_argument("--pictures", type=int, default=6, help="of each of two files")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.leaves, options.pictures)
    if options.json:
        print(json.dumps(asdict(figures)))
        return
    print(
        f"{figures.leaves} leaves, {figures.pictures} pictures, {figures.sent_mb:.1f} MB sent: "
        f"{figures.mean_leaf_ms:.2f} ms of CPU a leaf ({figures.first_leaf_ms:.1f} ms the first, "
        f"{figures.other_leaf_ms:.2f} ms each other)"
    )


def measure(leaves: int, pictures: int) -> Figures:
    """Return the CPU time of judging one trial."""
    with tempfile.TemporaryDirectory() as folder:
        artifacts = ArtifactStore(f"file://{Path(folder)}")
        trial = _trial(artifacts, leaves, pictures)
        model = _AtOnce()
        sight = Sight(inputs=frozenset({"image"}))
        judge = LeafJudge([model], str(_SPEC), trial, sight, artifacts)
        times = asyncio.run(_judged(judge))
    first, *others = times
    return Figures(
        leaves=leaves,
        pictures=pictures * len(_NAMES),
        sent_mb=model.sent / 1e6,
        first_leaf_ms=first,
        other_leaf_ms=sum(others) / len(others),
        mean_leaf_ms=sum(times) / len(times),
    )


async def _judged(judge: LeafJudge) -> list[float]:
    """Return the milliseconds of each leaf."""
    times = []
    assert judge.trial.task is not None
    for leaf in judge.trial.task.checkpoints.leaves():
        assert isinstance(leaf.verifier, Judge)
        began = time.process_time()
        await judge.score(leaf, leaf.verifier)
        times.append(1000 * (time.process_time() - began))
    return times


def _trial(artifacts: ArtifactStore, leaves: int, pictures: int) -> TrialEvidence:
    chance = random.Random(7)
    text = " ".join(
        chance.choice(("harbour", "tide", "of", "12.5", "ferry,")) for _ in range(_WORDS)
    )
    header = b"\x89PNG\r\n\x1a\n" + bytes(8) + (1200).to_bytes(4) + (849).to_bytes(4)
    drawn = {
        name: tuple(
            artifacts.put_bytes(header + chance.randbytes(_PICTURE_BYTES)) for _ in range(pictures)
        )
        for name in _NAMES
    }
    return TrialEvidence(
        views={
            name: PdfView(pages=(Page(text=text, width=595, height=842),), page_count=9)
            for name in _NAMES
        },
        delivered=_NAMES,
        final_answer="Done.",
        task=_task(leaves),
        pages={name: PagePictures(pictures=made, page_count=9) for name, made in drawn.items()},
    )


def _task(leaves: int) -> Task:
    children = tuple(
        Checkpoint(
            id=f"leaf-{number}",
            requirement=f"Point {number} is covered.",
            verifier=Judge(rubric="10 if it is, 0 if not.", deliverables=_NAMES[:1]),
        )
        for number in range(leaves)
    )
    types = (DeliverableType.PDF, DeliverableType.DOCX)
    wanted = zip(_NAMES, types, strict=True)
    return Task(
        id="cost",
        tier=Tier.WORKFLOW,
        category=Category.DATA_ANALYSIS,
        capabilities=(Capability.LOGIC,),
        title="Cost",
        query="Write a report and a plan.",
        tools=("write_file",),
        deliverables=tuple(DeliverableSpec(name=name, type=kind) for name, kind in wanted),
        checkpoints=Checkpoint(id="root", requirement="All.", children=children),
    )


if __name__ == "__main__":
    main()
