"""The harnesses of planning cases: one model call, and what plays the reference."""

from environments.ports import ModelReply
from stages.execute.assignment import Assignment
from stages.execute.cases.asking import (
    AGAIN,
    ASKED_AT_MOST,
    CASE_PROMPT,
    answer_schema,
    case_messages,
    case_of,
)
from stages.execute.cases.reading import read_answer
from stages.execute.dialogue.conversation import Conversation
from stages.execute.dialogue.inputs import shown_inputs
from taskdata.errors import BadTaskData
from taskdata.schema.planning import PlanningCase, PlanReference
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.transcript import Ending, Transcript


class CasePlanner:
    """Asks the agent's model once, and once more if the reply cannot be read (APB, section 3.1)."""

    prompt_version: str | None = CASE_PROMPT

    async def run(self, assignment: Assignment) -> Transcript:
        """Return the transcript with the predicted plan; raises what `Conversation.ask` raises."""
        case = case_of(assignment.brief)
        schema = answer_schema(case) if assignment.agent.asks_for_structure else None
        talk = Conversation(
            assignment,
            case_messages(assignment.brief),
            shown=await shown_inputs(assignment),
            reply_schema=None if schema is None else lambda _: schema,
        )
        predicted: PredictedPlan | None = None
        text = ""
        for ask in range(ASKED_AT_MOST):
            reply = await talk.ask()
            if isinstance(reply, Ending):
                if reply is Ending.REFUSED and predicted is None:
                    predicted = PredictedPlan(fault=talk.refusal)
                return with_plan(talk.end(reply, text), predicted)
            predicted, text = _read(reply), reply.text
            if not predicted.fault:
                break
            if ask + 1 < ASKED_AT_MOST:
                talk.tell(AGAIN.format(fault=predicted.fault))
        return with_plan(talk.end(Ending.FINISHED, text), predicted)


class PlayedCase:
    """Answers a case with its reference, which must be found correct."""

    prompt_version: str | None = None

    def __init__(self, case: PlanningCase) -> None:
        """Take the reference from the case, because the brief that planners get lacks it."""
        self._reference: PlanReference = case.reference

    async def run(self, assignment: Assignment) -> Transcript:
        """Return the transcript of the reference."""
        reference = self._reference
        is_over = reference.ends or not (reference.chain or reference.refusal)
        predicted = PredictedPlan(
            plan=reference.plan,
            chain=reference.chain,
            refusal=reference.refusal,
            final_answer="The task is solved." if is_over else None,
        )
        text = predicted.model_dump_json(exclude_defaults=True)
        return with_plan(assignment.journal.close(Ending.FINISHED, text), predicted)


def with_plan(transcript: Transcript, predicted: PredictedPlan | None) -> Transcript:
    """Return the transcript with the answer to a case; None: nothing was answered."""
    return transcript.model_copy(update={"predicted_plan": predicted})


def _read(reply: ModelReply) -> PredictedPlan:
    try:
        return read_answer(reply.text)
    except BadTaskData as exc:
        cut = reply.stop_reason == "length"
        fault = "the answer was cut at its length limit; be shorter" if cut else str(exc)
        return PredictedPlan(fault=fault)
