"""What a critic is asked about an attempt, and how its reply becomes feedback (APB, section 5).

A critic is shown what a user could see: the query, what the agent left as far as it can be read,
and the end of the transcript. No checkpoint, expected value, check argument or reason of a score is
among it. What the agent wrote is fenced as it is for judges, without
sentences that speak to the reader.
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from environments.models.wire.arguments import clean_text
from environments.ports import ModelRequest
from stages.execute.cases.asking import asked_of, described_tools
from stages.execute.dialogue import prompts
from stages.refine.plan_errors import PLAN_TAXONOMY
from stages.score.judging.addressed import cleared
from stages.score.judging.frames import MARK_LENGTH, Frame, Part, framed, quoted
from stages.score.judging.showing import parts_of
from taskdata.schema.agent import AgentSpec
from taskdata.schema.arms import SELF_ARMS, TAXONOMY_ARMS
from taskdata.schema.run import TrialOutcome
from taskdata.schema.task import Task
from taskdata.schema.transcript import Event, MessageEvent, ModelEvent, Transcript
from taskdata.schema.views import RenderedDeliverable

PROMPT = "critic_v1"
CASE_PROMPT = "case_critic_v1"
"""Of an answer to a planning case."""
REPLY_TOKENS = 4_096
"""Of a critic; some models count their thoughts to it. An agent has those of its budget."""
REPLY_SECONDS = 180.0
"""Longest wait in seconds for the reply, including retries."""
MOST_TOKENS = 20_000
"""Of what is shown of the attempt."""
MOST_CRITIQUE_CHARS = 6_000
_EVENTS = 12
"""So many of the last events of the transcript are shown."""
_EVENT_CHARS = 1_500

TAXONOMY = (
    ("not attempted", "no tool was called, nothing was left and no answer was given"),
    ("planning", "the work was not begun, or a part of what was asked was never taken up"),
    ("execution", "calls kept failing, or a limit came before the work was done"),
    ("handoff", "a file is missing, has another name than asked for, or cannot be opened"),
    ("reasoning", "files are there, and what is in them is wrong or is not justified"),
    ("finer requirements", "nearly everything holds, and some of what was asked for is left out"),
    ("data extraction", "facts were misread in the sources, or were not taken from them"),
    ("content synthesis", "sums, comparisons or texts do not follow from the facts"),
    ("formatting", "names, layout or structure differ from what was asked for"),
    ("wrong tool or argument", "a tool that cannot do it, a wrong path, or invented arguments"),
    ("no verification", "what was made was not opened and looked at after the last change"),
    ("loop", "the same call was made again and again without a new result"),
    ("premature stop", "the work was ended, or handed back, with parts missing"),
    ("dropped items", "fewer rows, slides or sections than there should be"),
)
"""The labels of docs/failures.md that a reader of an attempt can see, in short."""


def critique_request(
    arm: str,
    task: Task,
    outcome: TrialOutcome,
    transcript: Transcript | None,
    views: Sequence[RenderedDeliverable],
    agent: AgentSpec,
    window_tokens: int | None = None,
) -> ModelRequest:
    """Return the question about an attempt.

    Args:
        arm: Whether the model reviews its own work, and whether it is shown the taxonomy.
        task: Only its query and what it asks to be delivered are shown.
        outcome: How the attempt ended.
        transcript: Its record; None: there is none.
        views: Of the files that the agent left.
        agent: Whose attempt it is; in the arms `self` its settings are those of the question.
        window_tokens: The model's longest input, at most half of which the attempt takes; None: it
            is unknown.
    """
    most = MOST_TOKENS if window_tokens is None else min(MOST_TOKENS, window_tokens // 2)
    left = _frames(outcome, transcript, views)
    if task.planning is not None:
        left = iter([Frame("the answer", [Part("", outcome.final_answer)])])
    frames = (Frame(frame.name, [_silent(part) for part in frame.parts]) for frame in left)
    block = framed(frames, most)
    return _question(arm, task, agent, block.text, block.mark)


def largest_request(arm: str, task: Task, agent: AgentSpec) -> ModelRequest:
    """Return a question about an attempt at the task than which none is longer in bytes."""
    return _question(arm, task, agent, "abcd " * MOST_TOKENS, "0" * MARK_LENGTH)


def _question(arm: str, task: Task, agent: AgentSpec, work: str, mark: str) -> ModelRequest:
    deliverables = (
        f"{'a file' if d.is_any else d.name} ({d.type.value}) {d.description}".strip()
        for d in task.deliverables
    )
    shows_taxonomy = arm in TAXONOMY_ARMS
    if task.planning is None:
        messages = prompts.messages(
            PROMPT,
            is_own=arm in SELF_ARMS,
            taxonomy=TAXONOMY if shows_taxonomy else (),
            query=task.query,
            asked=list(deliverables),
            work=work,
            mark=mark,
        )
    else:
        brief = task.brief()
        messages = prompts.messages(
            CASE_PROMPT,
            is_own=arm in SELF_ARMS,
            taxonomy=PLAN_TAXONOMY if shows_taxonomy else (),
            asked=asked_of(brief),
            tools=described_tools(brief),
            work=work,
            mark=mark,
        )
    if arm not in SELF_ARMS:
        return ModelRequest(messages, max_tokens=REPLY_TOKENS, timeout_seconds=REPLY_SECONDS)
    return ModelRequest(
        messages,
        max_tokens=agent.budget.max_reply_tokens,
        temperature=agent.temperature,
        reasoning_effort=agent.reasoning_effort,
        timeout_seconds=REPLY_SECONDS,
    )


def read_critique(text: str) -> str:
    """Return the feedback in a critic's reply; empty if the critic wrote nothing."""
    return clean_text(text).strip()[:MOST_CRITIQUE_CHARS].rstrip()


def _frames(
    outcome: TrialOutcome, transcript: Transcript | None, views: Sequence[RenderedDeliverable]
) -> Iterator[Frame]:
    ending = "unknown" if outcome.ending is None else outcome.ending.value.replace("_", " ")
    yield Frame(f"the attempt ended: {ending}", [])
    if not views:
        yield Frame("no file was left", [])
    for view in views:
        yield Frame(f"file {quoted(view.name)}", parts_of(view.view))
    answer = outcome.final_answer
    yield Frame("the final answer" if answer else "no final answer was given", [Part("", answer)])
    events = () if transcript is None else transcript.events[-_EVENTS:]
    if events:
        yield Frame("the end of the transcript", [_part(event) for event in events])


def _silent(part: Part) -> Part:
    """Return the part without sentences that speak to its reader, as judges are shown it."""
    return part._replace(heading=cleared(part.heading).text, text=cleared(part.text).text)


def _part(event: Event) -> Part:
    if isinstance(event, MessageEvent):
        return Part(f"told by the {event.role}", _bounded(event.text))
    if isinstance(event, ModelEvent):
        calls = "\n".join(f"{call.tool}({call.raw})" for call in event.tool_calls)
        return Part("said by the agent", _bounded(f"{event.text}\n{calls}".strip()))
    failed = f", failed: {event.error.value}" if event.error is not None else ""
    return Part(f"result of {quoted(event.call.tool)}{failed}", _bounded(event.text))


def _bounded(text: str) -> str:
    return text if len(text) <= _EVENT_CHARS else f"{text[:_EVENT_CHARS]} [...]"


def shown_views(
    views: Sequence[RenderedDeliverable], files: Sequence[str]
) -> list[RenderedDeliverable]:
    """Return the views of those files."""
    names = {str(PurePosixPath(name)) for name in files}
    return [view for view in views if view.name in names]
