"""Recorded trials of every kind of agent, at times that can be checked."""

from datetime import UTC, datetime, timedelta

import pytest

from taskdata.schema.agent import AgentSpec
from taskdata.schema.plan import Plan, PlanReply, PlanStep, PlanVersion
from taskdata.schema.run import OutcomeStatus, Trial, TrialOutcome
from taskdata.schema.tool import ToolErrorKind, ToolSpec
from taskdata.schema.transcript import (
    PROGRAMS_INSTRUCTIONS,
    Ending,
    GivenStep,
    MessageEvent,
    ModelEvent,
    Prediction,
    ResultPicture,
    SimulatedTurn,
    ToolCall,
    ToolEvent,
    Transcript,
)
from taskdata.schema.usage import Usage
from taskdata.traces.recorded import RecordedTrial

START = datetime(2026, 3, 1, 22, 0, 0, 250_000, tzinfo=UTC)

CALCULATOR = ToolSpec(
    name="Calculator",
    description="Evaluates an expression.",
    category="logic",
    parameters={
        "type": "object",
        "properties": {"expression": {"type": "string"}},
        "required": ["expression"],
    },
)

PICTURE = ResultPicture(
    name="output/a.pptx, slide 1",
    sha256="b" * 64,
    media_type="image/png",
    size_bytes=9,
    width=40,
    height=30,
    was_shown=True,
)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def asked(text: str, seconds: float, *calls: ToolCall, **changes: object) -> ModelEvent:
    fields = {
        "text": text,
        "tool_calls": calls,
        "model": "gpt-5.2-2026-02-01",
        "stop_reason": "tool_calls" if calls else "stop",
        "usage": Usage(input_tokens=100, output_tokens=20, cached_input_tokens=40),
        "cost_usd": 0.25,
        "started_at": at(seconds),
        "seconds": 1.5,
    }
    return ModelEvent(**fields | changes)


def call(number: int, expression: str | None = "2+3") -> ToolCall:
    arguments = None if expression is None else {"expression": expression}
    return ToolCall(id=f"call-{number}", tool="Calculator", arguments=arguments, raw="{2+")


def answered(made: ToolCall, text: str, seconds: float, **changes: object) -> ToolEvent:
    return ToolEvent(call=made, text=text, started_at=at(seconds), seconds=0.25, **changes)


@pytest.fixture
def recorded():
    """Make a recorded trial of these events; `agent`, and fields of the outcome, may vary."""

    def make(
        *events: MessageEvent | ModelEvent | ToolEvent,
        agent: AgentSpec | str = "function_calling:openai/gpt-5.2",
        answer: str = "5",
        ending: Ending = Ending.FINISHED,
        is_outcome_only: bool = False,
        has_unseen_calls: bool = False,
        tools: tuple[ToolSpec, ...] = (CALCULATOR,),
        predictions: tuple[Prediction, ...] = (),
        plan: Plan | None = None,
        **outcome: object,
    ) -> RecordedTrial:
        spec = AgentSpec.parse(agent) if isinstance(agent, str) else agent
        transcript = Transcript(
            events=events,
            final_answer=answer,
            ending=ending,
            tools=tools,
            is_outcome_only=is_outcome_only,
            has_unseen_calls=has_unseen_calls,
            predictions=predictions,
            plan=plan,
        )
        trial = Trial(
            id="t0123456789abcde",
            run_id="run-1",
            agent=spec.name,
            task_id="sum-two",
            task_hash="0" * 64,
            tier="workflow",
            category="data_analysis",
            repetition=0,
            round=0,
        )
        facts = {
            "trial_id": trial.id,
            "attempt": 1,
            "status": OutcomeStatus.FINISHED,
            "ending": ending,
            "final_answer": answer,
            "usage": transcript.usage,
            "cost_usd": transcript.cost_usd,
            "wall_seconds": 10.0,
            "turns": transcript.turns,
            "tool_calls": len(transcript.tool_events),
            "sandbox": "bubblewrap",
            "code_version": "1.2.3",
            "started_at": START,
            "finished_at": at(10),
        }
        return RecordedTrial(trial, spec, TrialOutcome(**facts | outcome), transcript)

    return make


OPENING = (
    MessageEvent(role="system", text="You are careful."),
    MessageEvent(role="user", text="Add 2 and 3."),
)


@pytest.fixture
def conversation(recorded):
    """Two native calls in one turn, of which one is unreadable, a notice, and an answer."""
    good, bad = call(1), call(2, None)
    return recorded(
        *OPENING,
        asked("Let me see.", 0, good, bad),
        answered(good, "5", 2, files=("output/sum.txt",)),
        answered(bad, "no JSON object", 3, error=ToolErrorKind.BAD_ARGUMENTS),
        MessageEvent(role="system", text="Left out to fit the model's context: one turn."),
        MessageEvent(role="user", text="Go on."),
        asked("The sum is 5.", 4),
    )


@pytest.fixture
def talk(recorded):
    """A talk: the agent asks, its simulated user answers, and ends the talk at the next turn."""
    return recorded(
        *OPENING,
        asked("Which numbers?", 0),
        users_turn("2 and 3.", 2),
        asked("The sum is 5.", 4),
        users_turn("Thanks.", 6, ends=True),
        answer="The sum is 5.",
    )


def users_turn(text: str, seconds: float, *, ends: bool = False) -> MessageEvent:
    made = SimulatedTurn(
        model="gpt-5-mini", ends=ends, cost_usd=0.01, started_at=at(seconds), seconds=0.5
    )
    return MessageEvent(role="user", text=text, simulated=made)


@pytest.fixture
def in_text(recorded):
    """A model that acts in plain text: the harness read the call from it."""
    return recorded(
        *OPENING,
        asked("Action: Calculator", 0),
        answered(call(1), "5", 2),
        asked("Final Answer: 5", 4),
        agent="react:openai/gpt-5.2",
    )


@pytest.fixture
def played(recorded):
    """A reference solution: calls that no model asked for."""
    return recorded(
        answered(call(1), "5", 0),
        answered(call(2, "5*5"), "25", 1),
        agent="reference",
        answer="The sum is 5, its square 25.",
    )


def given(number: int, made: ToolCall, result: str) -> MessageEvent:
    step = GivenStep(number=number, thought="I add.", call=made, result=result)
    return MessageEvent(role="system", text=f"Given instead: {result}", given=step)


@pytest.fixture
def predicted(recorded):
    """Three predictions, each from the reference's steps before it; the second was refused."""
    refused = MessageEvent(role="system", text="The provider refused: no.")
    return recorded(
        *OPENING,
        asked("Action: Calculator\nAction Input: 2*3", 0),
        given(1, call(1), "5"),
        refused,
        given(2, call(2, "5*5"), "25"),
        asked("Final Answer: 25", 4),
        agent="react_steps:openai/gpt-5.2",
        answer="25",
        predictions=(
            Prediction(call=call(9, "2*3"), error="there is no tool 'Calculator'"),
            Prediction(error="the model refused to answer"),
            Prediction(answer="25"),
        ),
    )


@pytest.fixture
def program(recorded):
    """A program that asked its model once, after what we had to note of it."""
    return recorded(
        MessageEvent(role="user", text="Add 2 and 3."),
        MessageEvent(role="system", text="The program: python3 main.py"),
        MessageEvent(role="system", text=f"{PROGRAMS_INSTRUCTIONS}You are careful."),
        MessageEvent(role="system", text="The program asked for model 'x'; gpt-5.2 answers."),
        asked("5", 0, cached=True),
        MessageEvent(role="system", text="The program ended with exit code 0 after 2.0 s."),
        agent=AgentSpec.parse(
            "command:openai/gpt-5.2", label="mine", command=("python3", "main.py")
        ),
        has_unseen_calls=True,
        tool_calls=None,
        tool_errors=None,
    )


@pytest.fixture
def imported(recorded):
    """A result whose effort nobody stated."""
    return recorded(
        agent=AgentSpec(harness="import", label="manus", results="/results"),
        is_outcome_only=True,
        tools=(),
        usage=None,
        cost_usd=None,
        wall_seconds=None,
        turns=None,
        tool_calls=None,
        tool_errors=None,
    )


@pytest.fixture
def planned(recorded) -> RecordedTrial:
    """An agent that planned first; its first plan could not be read."""

    def reply(text: str, seconds: float, fault: str = "", *, cached: bool = False) -> PlanReply:
        return PlanReply(
            text=text,
            model="gpt-5.2-2026-02-01",
            fault=fault,
            usage=Usage(input_tokens=50, output_tokens=10),
            cost_usd=0.125,
            started_at=at(seconds),
            seconds=0.5,
            cached=cached,
        )

    steps = (PlanStep(purpose="Add them", tool="Calculator"),)
    draft = PlanVersion(steps=steps, replies=(reply("Hm.", 0, "not JSON"), reply("{}", 1)))
    refined = PlanVersion(
        steps=(*steps, PlanStep(purpose="Check")),
        criticism="No check.",
        replies=(reply("{...}", 2, cached=True),),
    )
    return recorded(
        *OPENING,
        asked("5", 3),
        agent="react+plan_refine:openai/gpt-5.2",
        plan=Plan(draft=draft, refined=refined),
    )
