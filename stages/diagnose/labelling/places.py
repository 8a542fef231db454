"""The places in a trial's record that a model can cite, and what stands at each of them.

Places have names of ours (`turn 3`, `call 5`, `leaf 2`, `deliverable 1`, `final answer`), because
the record's own ids are partly chosen by the agent.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from stages.diagnose.record import Call, Record, Turn, of_call
from stages.score.judging.frames import Part
from stages.score.judging.showing import parts_of
from taskdata.schema.diagnosis import Evidence
from taskdata.schema.views import RenderedDeliverable

FINAL_ANSWER = "final answer"
LEAST_QUOTE = 8
"""Characters of a quote, unless all that stands at the place is shorter."""
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|xox[abp]|gh[pousr]|glpat|hf|tvly)[-_][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=Bearer )[A-Za-z0-9._~+/-]{16,}=*"
    r"|(?<=://)[^\s/:@]{1,64}:[^\s/@]{1,128}(?=@)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Place:
    """A place in the record."""

    evidence: Evidence
    """The place in the record's own terms; its words are replaced by a quote."""
    read: Callable[[], list[str]]
    """Returns the texts that stand there."""

    @cached_property
    def texts(self) -> list[str]:
        """The texts that stand there, with white space as single spaces and without secrets."""
        return [_plain(without_secrets(text)) for text in self.read()]

    def has(self, quote: str) -> bool:
        """Return whether the quote stands there, apart from white space, and is long enough."""
        wanted = _plain(quote)
        if len(wanted) < LEAST_QUOTE:
            return bool(wanted) and wanted in self.texts
        return any(wanted in text for text in self.texts)


@dataclass(frozen=True)
class Places:
    """All places of a trial by name, and its record in the same order."""

    record: Record
    files: Sequence[RenderedDeliverable]
    """What can be read of each delivered file."""

    @cached_property
    def calls(self) -> Mapping[str, Call]:
        """The tool calls by place."""
        return {f"call {n}": call for n, call in enumerate(self.record.calls, start=1)}

    @cached_property
    def turns(self) -> Mapping[str, Turn]:
        """The model calls by place."""
        return {f"turn {turn.number}": turn for turn in self.record.turns}

    @cached_property
    def leaves(self) -> Mapping[str, str]:
        """The ids of failed leaves by place, those that cost the most points first."""
        failed = [leaf for leaf in self.record.signals.leaves if not leaf.holds]
        failed.sort(key=lambda leaf: -leaf.lost)
        return {f"leaf {n}": leaf.checkpoint.id for n, leaf in enumerate(failed, start=1)}

    @cached_property
    def deliverables(self) -> Mapping[str, str]:
        """The names of deliverables by place: those asked for, then others that were left."""
        asked = [spec.name for spec in self.record.task.deliverables]
        left = [file.name for file in self.record.outcome.deliverables]
        names = dict.fromkeys([*asked, *left])
        return {f"deliverable {n}": name for n, name in enumerate(names, start=1)}

    @cached_property
    def views(self) -> Mapping[str, Sequence[Part]]:
        """What can be read of each delivered file, by the file's name."""
        return {file.name: parts_of(file.view) for file in self.files}

    @cached_property
    def requirements(self) -> Mapping[str, str]:
        """The requirements of leaves by leaf id."""
        return {leaf.id: leaf.requirement for leaf in self.record.task.checkpoints.leaves()}

    @cached_property
    def named(self) -> Mapping[str, Place]:
        """Every place by name."""
        return dict(self._all())

    def _all(self) -> Iterator[tuple[str, Place]]:
        for name, turn in self.turns.items():
            at = Evidence(says="", turn=turn.number)
            yield name, Place(at, partial(_of_turn, turn))
        for name, call in self.calls.items():
            yield name, Place(of_call(call), partial(of_event, call))
        for name, leaf_id in self.leaves.items():
            at = Evidence(says="", leaf=leaf_id)
            yield name, Place(at, partial(self._of_leaf, leaf_id))
        for name, file in self.deliverables.items():
            at = Evidence(says="", deliverable=file)
            yield name, Place(at, partial(self._of_file, file))
        if self.record.outcome.final_answer:
            at = Evidence(says="", turn=len(self.record.turns) or None)
            yield FINAL_ANSWER, Place(at, lambda: [self.record.outcome.final_answer])

    def _of_leaf(self, leaf_id: str) -> list[str]:
        return [self.requirements[leaf_id], self.record.failed_leaves[leaf_id].told]

    def _of_file(self, name: str) -> list[str]:
        parts = self.views.get(name, ())
        return [name, *(part.text for part in parts), "\n".join(part.text for part in parts)]


def _of_turn(turn: Turn) -> list[str]:
    return [turn.reply.text, *(message.text for message in turn.told)]


def of_event(call: Call) -> list[str]:
    """Return what stands at a call: tool, arguments as JSON and as texts, result."""
    event = call.event
    return [event.call.tool, call.written, *_strings(event.call.arguments), event.text]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def without_secrets(text: str) -> str:
    """Return the text with whatever looks like a key, a token or a password in a URL masked."""
    return _SECRET.sub("[secret]", text)


def _plain(text: str) -> str:
    return " ".join(text.split())
