"""The record of a failed trial as all rules read it, and functions that make labels."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from stages.diagnose.signals import Signals, one_line
from taskdata.schema.diagnosis import LABELS, Evidence, Label, Taxonomy
from taskdata.schema.run import TrialOutcome
from taskdata.schema.scores import LeafScore, TrialScore
from taskdata.schema.task import Task
from taskdata.schema.tool_use import ENDING_TOOLS
from taskdata.schema.transcript import MessageEvent, ModelEvent, ToolEvent, Transcript

MOST_EVIDENCE = 5
"""The most pieces of evidence that a label keeps; the first ones are kept."""
_ID_LENGTH = 120
_TOKEN = re.compile(r"[^\W_][\w.@%:+-]*")


@dataclass(frozen=True)
class Call:
    """A tool call with its place in the transcript."""

    turn: int | None
    """Number of the model call that requested it; None: the agent has no model."""
    event: ToolEvent

    @cached_property
    def written(self) -> str:
        """The arguments as one text that is equal for equal arguments."""
        arguments = self.event.call.arguments
        if arguments is None:
            return self.event.call.raw
        return json.dumps(arguments, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class Turn:
    """A model call, with the tool calls and messages before the next model call."""

    number: int
    reply: ModelEvent
    calls: tuple[Call, ...]
    told: tuple[MessageEvent, ...]
    """Messages to the agent after the reply, including the harness's corrections."""


@dataclass(frozen=True)
class Record:
    """Everything on record of one failed trial."""

    task: Task
    outcome: TrialOutcome
    transcript: Transcript
    score: TrialScore
    signals: Signals

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The model calls in order."""
        return self._walked[0]

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls in order, without the one that ends the trial."""
        return self._walked[1]

    @cached_property
    def prompt(self) -> tuple[str, ...]:
        """The messages to the agent before its first reply."""
        texts = []
        for event in self.transcript.events:
            if not isinstance(event, MessageEvent):
                break
            texts.append(event.text)
        return tuple(texts)

    @cached_property
    def failed_leaves(self) -> Mapping[str, LeafScore]:
        """Scores of the leaves that do not hold, by leaf id."""
        failed = {leaf.checkpoint.id for leaf in self.signals.leaves if not leaf.holds}
        return {leaf.leaf_id: leaf for leaf in self.score.leaves if leaf.leaf_id in failed}

    @cached_property
    def _walked(self) -> tuple[tuple[Turn, ...], tuple[Call, ...]]:
        replies: list[ModelEvent] = []
        calls: list[Call] = []
        by_turn: dict[int, list[Call]] = defaultdict(list)
        told: dict[int, list[MessageEvent]] = defaultdict(list)
        for event in self.transcript.events:
            if isinstance(event, ModelEvent):
                replies.append(event)
            elif isinstance(event, MessageEvent):
                told[len(replies)].append(event)
            else:
                call = Call(len(replies) or None, event)
                by_turn[len(replies)].append(call)
                if event.call.tool not in ENDING_TOOLS:
                    calls.append(call)
        turns = tuple(
            Turn(number, reply, tuple(by_turn[number]), tuple(told[number]))
            for number, reply in enumerate(replies, start=1)
        )
        return turns, tuple(calls)

    @cached_property
    def known_text(self) -> str:
        """Everything that the agent was given to read, in lower case: its task and tool results.

        Results of failed calls are left out, because they may quote the agent's own words.
        """
        texts = [*self.prompt, self.task.query, *(file.path for file in self.task.files)]
        texts += [file.name for file in self.task.deliverables]
        for call in self.calls:
            if call.event.error is None:
                texts += [call.event.text, *call.event.files]
        return "\n".join(texts).lower()


def words_of(text: str) -> set[str]:
    """Return the names, numbers and ids in a text, in lower case, without their punctuation."""
    return {match.group().rstrip(".:-").lower() for match in _TOKEN.finditer(text)}


def of_call(call: Call, says: str = "") -> Evidence:
    """Return a call as evidence, with the given words or the text of its result."""
    tool = one_line(call.event.call.tool, 40)
    return Evidence(
        says=one_line(f"{tool}: {says or call.event.text}"),
        turn=call.turn,
        call=one_line(call.event.call.id, _ID_LENGTH),
    )


def label(
    taxonomy: Taxonomy, name: str, confidence: float, evidence: Iterable[Evidence]
) -> tuple[Label, ...]:
    """Return the label with the first pieces of its evidence; empty without evidence.

    Raises:
        ValueError: the taxonomy has no label of that name.
    """
    if name not in LABELS[taxonomy]:
        raise ValueError(f"{taxonomy}: no label {name!r}; it has {', '.join(LABELS[taxonomy])}")
    kept = tuple(islice(evidence, MOST_EVIDENCE))
    if not kept:
        return ()
    return (Label(taxonomy=taxonomy, name=name, confidence=confidence, evidence=kept),)
