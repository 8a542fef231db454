"""What a labeller is shown of a failed trial, fenced like the evidence of a judge.

The transcript is shown compactly: every text by its head and tail, and of many turns the first and
the last ones. Passages that address the reader, and whatever looks like a key, are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from environments.ports import Message, ModelRequest, Opening
from stages.diagnose.labelling.offer import MEANINGS, STAGES, TYPES, Offer
from stages.diagnose.labelling.places import FINAL_ANSWER, Places, without_secrets
from stages.diagnose.labelling.replies import MOST_LABELS, reply_schema
from stages.diagnose.record import Call, Turn
from stages.score.judging.addressed import cleared
from stages.score.judging.frames import MARK_LENGTH, Frame, Part, framed, quoted
from stages.score.judging.tokens import MOST_BYTES_PER_TOKEN, tokens_of
from taskdata.schema.diagnosis import Diagnosis

REPLY_TOKENS = 1024
MOST_TOKENS = 24_000
"""Of one question together with its reply, unless the model takes less."""
_AROUND_TOKENS = 250
_LEAST_EVIDENCE_TOKENS = 500
_TRANSCRIPT_SHARE, _LEAVES_SHARE, _SMALL_SHARE = 0.35, 0.15, 0.1
"""Of the room for all evidence; the deliverables have the rest."""
_TEXT_CHARS = (1600, 800, 400, 200, 100)
"""Most characters of each text of the transcript: the first of these with which it fits."""
_LEAF_CHARS = 300
_NAME_CHARS = 240
_MOST_NAMES = 8
_LEFT_OUT = "(words that address the reader are left out)"
_CHARS_PER_TOKEN = 3


@dataclass(frozen=True)
class ShownTrial:
    """A trial as a labeller is shown it."""

    system: Message
    opening: Opening
    question: str
    offer: Offer

    def request(self, rejected: str = "") -> ModelRequest:
        """Return the question, the second time with the reason why the first reply was rejected."""
        again = f"\n\nYour reply was rejected: {rejected}. Answer again." if rejected else ""
        asked = Message(role="user", text=self.question + again, opening=self.opening)
        return ModelRequest(
            messages=[self.system, asked],
            max_tokens=REPLY_TOKENS,
            json_schema=reply_schema(self.offer),
        )


def show(places: Places, by_rules: Diagnosis, offer: Offer, max_tokens: int) -> ShownTrial:
    """Return the question about a trial whose diagnosis the rules have left open in part."""
    question = _question(places, by_rules, offer)
    own = tokens_of(prompt()) + tokens_of(question) + REPLY_TOKENS + _AROUND_TOKENS
    room = max(_LEAST_EVIDENCE_TOKENS, max_tokens - own)
    frames = [
        Frame(frame.name, [shown for part in frame.parts for shown in _silent(part)])
        for frame in _frames(places, room)
    ]
    block = framed(frames, room)
    begin, end = f"BEGIN UNTRUSTED {block.mark}\n", f"\nEND UNTRUSTED {block.mark}\n\n"
    opening = Opening((f"{begin}{block.text}{end}",))
    return ShownTrial(_system(block.mark), opening, question, offer)


def largest_request() -> ModelRequest:
    """Return the most expensive question to a labeller, whatever the trial."""
    text = "abcd " * (MOST_TOKENS * MOST_BYTES_PER_TOKEN // 5)
    offer = Offer(stages=tuple(STAGES), types=tuple(TYPES), labels=tuple(MEANINGS))
    return ShownTrial(_system("0" * MARK_LENGTH), Opening((text,)), "", offer).request()


def _system(mark: str) -> Message:
    return Message(role="system", text=prompt().format(mark=mark, labels=MOST_LABELS))


def _frames(places: Places, room: int) -> Iterator[Frame]:
    record, small = places.record, int(_SMALL_SHARE * room) * _CHARS_PER_TOKEN
    task = [*_cut("", record.task.query, small)]
    asked = ", ".join(map(_name, (spec.name for spec in record.task.deliverables)))
    yield Frame("the task", [*task, Part(f"deliverables that it asks for: {asked or 'none'}")])
    leaves = _fitting(_leaves(places), int(_LEAVES_SHARE * room), "leaves")
    yield Frame("requirements that the result does not meet", leaves)
    yield Frame("transcript", _transcript(places, int(_TRANSCRIPT_SHARE * room)))
    yield Frame("deliverables", list(_deliverables(places)))
    answer = record.outcome.final_answer
    yield Frame(FINAL_ANSWER, _cut("", answer, small) if answer else [Part("there is none")])


def _leaves(places: Places) -> Iterator[list[Part]]:
    for name, leaf_id in places.leaves.items():
        score = places.record.failed_leaves[leaf_id]
        told = "no score" if score.score is None else f"score {score.score:g} of 10"
        yield [
            *_cut(f"{name}: {told}", places.requirements[leaf_id], _LEAF_CHARS),
            *_cut(f"{name}: what its verifier said", score.told, _LEAF_CHARS),
        ]


def _transcript(places: Places, most: int) -> list[Part]:
    """Return the turns with their calls; with too many turns, the first and the last ones."""
    is_known = places.record.transcript.calls_are_known
    note = [] if is_known else [Part("the agent made calls of its own that are not on record")]
    for chars in _TEXT_CHARS:
        turns = _if_fitting(_turns(places, chars), most)
        if turns is not None:
            return [*note, *turns]
    return [*note, *_head_and_tail(list(_turns(places, _TEXT_CHARS[-1])), most)]


def _if_fitting(turns: Iterable[list[Part]], most: int) -> list[Part] | None:
    """Return the parts of all turns, None as soon as there is no room for them."""
    kept, used = list[Part](), 0
    for parts in turns:
        used += sum(part.tokens() for part in parts)
        if used > most:
            return None
        kept += parts
    return kept


def _turns(places: Places, chars: int) -> Iterator[list[Part]]:
    named = {id(call): name for name, call in places.calls.items()}
    early = [call for call in places.calls.values() if call.turn is None]
    if early:
        yield [part for call in early for part in _call(named[id(call)], call, chars)]
    for name, turn in places.turns.items():
        parts = _turn(name, turn, chars)
        for call in turn.calls:
            if id(call) in named:
                parts += _call(named[id(call)], call, chars)
        yield parts


def _turn(name: str, turn: Turn, chars: int) -> list[Part]:
    cut_off = ", cut at its length limit" if turn.reply.stop_reason == "length" else ""
    parts = _cut(f"{name}: the agent wrote{cut_off}", turn.reply.text, chars)
    for message in turn.told:
        parts += _cut(f"{name}: the agent was told", message.text, chars)
    return parts


def _call(name: str, call: Call, chars: int) -> list[Part]:
    event = call.event
    tool = _name(event.call.tool)
    came = "its result" if event.error is None else f"it failed ({event.error.value})"
    changed = ", ".join(map(_name, event.files[:_MOST_NAMES]))
    files_told = f", files changed: {changed}" if changed else ""
    return [
        *_cut(f"{name}: tool {tool}", call.written, chars),
        *_cut(f"{name}: {came}{files_told}", event.text, chars),
    ]


def _deliverables(places: Places) -> Iterator[Part]:
    for name, file in places.deliverables.items():
        title = f"{name}: file {_name(file)}"
        if file not in places.views:
            delivered = {one.name for one in places.record.outcome.deliverables}
            yield Part(f"{title}, " + ("not read" if file in delivered else "missing"))
            continue
        yield Part(title)
        for part in places.views[file]:
            # A heading holds names that the agent chose: of a sheet, a slide, an attachment.
            spoken = cleared(part.heading).words
            yield Part(_LEFT_OUT if spoken else without_secrets(part.heading), part.text)
    if not places.deliverables:
        yield Part("there are none")


def _cut(heading: str, text: str, chars: int) -> list[Part]:
    """Return the text, or head and tail of it with a line of ours between them."""
    if len(text) <= chars:
        return [Part(heading, text)]
    head, tail = 2 * chars // 3, chars // 3
    left_out = Part(f"{len(text) - head - tail} characters are left out here")
    return [Part(heading, text[:head]), left_out, Part("", text[-tail:])]


def _fitting(groups: Iterable[list[Part]], most: int, noun: str) -> list[Part]:
    kept, left_out, used = list[Part](), 0, 0
    for group in groups:
        used += sum(part.tokens() for part in group)
        if used <= most or not kept:
            kept += group
        else:
            left_out += 1
    return [*kept, *([Part(f"{left_out} more {noun} are not shown")] if left_out else [])]


def _head_and_tail(turns: Sequence[list[Part]], most: int) -> list[Part]:
    """Return as many turns from the end and from the beginning, in turn, as there is room for."""
    costs = [sum(part.tokens() for part in parts) for parts in turns]
    head, tail = 0, len(turns)
    used, from_the_end = 0, True
    while head < tail:
        at = tail - 1 if from_the_end else head
        used += costs[at]
        if used > most and (head or tail < len(turns)):
            break
        head, tail = (head, at) if from_the_end else (at + 1, tail)
        from_the_end = not from_the_end
    gap = [Part(f"{tail - head} turns are left out here")] if head < tail else []
    return [*_joined(turns[:head]), *gap, *_joined(turns[tail:])]


def _joined(groups: Iterable[list[Part]]) -> list[Part]:
    return [part for group in groups for part in group]


def _silent(part: Part) -> Iterator[Part]:
    """Yield the part without secrets and without passages that address the reader."""
    text = cleared(without_secrets(part.text))
    yield Part(part.heading, text.text)
    if text.words:
        yield Part(f"{text.words} words that address the reader are left out here")


def _name(chosen: str) -> str:
    """Return a name that the agent may have chosen, for a line of ours."""
    short = without_secrets(chosen[:_NAME_CHARS])
    return _LEFT_OUT if cleared(short).words else quoted(short)


def _question(places: Places, by_rules: Diagnosis, offer: Offer) -> str:
    given = [label.name for label in by_rules.labels]
    lines = [f"Rules say: {_by_rules(by_rules)}; {', '.join(given) or 'no further label'}."]
    for key, chosen in chosen_keys(offer).items():
        lines += ["", f"Decide `{key}`, one of these:", *_listed(chosen)]
    lines += ["", "Labels on offer:", *_listed(offer.meanings()), "", _places_told(places)]
    cited = '{"place": "<such as call 5>", "quote": "<words copied from there>"}'
    form = f'{{"name": "<one of these>", "confidence": <0 to 1>, "evidence": [{cited}]}}'
    keys = [f'"{key}": {form}' for key in chosen_keys(offer)]
    whole = ", ".join([*keys, f'"labels": [{form}]'])
    return "\n".join([*lines, "", "Answer with one JSON object and nothing else:", f"{{{whole}}}"])


def chosen_keys(offer: Offer) -> dict[str, dict[str, str]]:
    """Return the fields of a reply that hold one choice, with the meanings of the choices."""
    keys: dict[str, dict[str, str]] = {}
    if offer.stages:
        keys["stage"] = {stage.value: STAGES[stage] for stage in offer.stages}
    if offer.types:
        keys["type"] = {kind.value: TYPES[kind] for kind in offer.types}
    return keys


def _by_rules(by_rules: Diagnosis) -> str:
    kind = "not decided" if by_rules.type is None else by_rules.type.value
    return f"stage {by_rules.stage}, type {kind}"


def _listed(meanings: Mapping[str, str]) -> list[str]:
    return [f"- {name}: {meaning}" for name, meaning in meanings.items()]


def _places_told(places: Places) -> str:
    """Return how many places of each kind there are, though some of them may not be shown."""
    kinds = {
        "turn": len(places.turns),
        "call": len(places.calls),
        "leaf": len(places.leaves),
        "deliverable": len(places.deliverables),
    }
    told = [f"{kind} 1 to {most}" for kind, most in kinds.items() if most]
    return f"Places: {', '.join([*told, FINAL_ANSWER])}."


@cache
def prompt() -> str:
    """Return the system prompt, with `{mark}` and `{labels}` where they belong."""
    return files("stages.diagnose").joinpath("prompts", "labeller.md").read_text(encoding="utf-8")
