"""A finished trial with its transcript: what every export of transcripts starts from."""

from collections.abc import Iterator
from dataclasses import dataclass

from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import Run, Trial, TrialOutcome
from taskdata.schema.transcript import (
    PROGRAMS_INSTRUCTIONS,
    MessageEvent,
    ModelEvent,
    Prediction,
    Transcript,
)
from taskdata.store import Store


@dataclass(frozen=True)
class RecordedTrial:
    """One trial that came to an end."""

    trial: Trial
    agent: AgentSpec
    outcome: TrialOutcome
    transcript: Transcript

    @property
    def facts(self) -> dict[str, str | int]:
        """Which trial it is and how it ended, by the names that our own fields have."""
        trial = self.trial
        return {
            "run_id": trial.run_id,
            "trial_id": trial.id,
            "task_id": trial.task_id,
            "task_hash": trial.task_hash,
            "repetition": trial.repetition,
            "round": trial.round,
            "arm": trial.arm,
            "attempt": self.outcome.attempt,
            "ending": self.transcript.ending.value,
        }

    @property
    def model_name(self) -> str | None:
        """The model as its provider reported it, else as it was asked for; None without one."""
        if self.outcome.model_id is not None:
            return self.outcome.model_id
        return None if self.agent.model is None else self.agent.model.model

    @property
    def opening(self) -> tuple[int, ...]:
        """Positions of the events with instructions and task, before any work; notices are none."""
        messages: list[MessageEvent] = []
        for event in self.transcript.events:
            if not isinstance(event, MessageEvent):
                break
            messages.append(event)
        task = max((at for at, event in enumerate(messages) if event.role == "user"), default=-1)
        return tuple(
            at
            for at, event in enumerate(messages)
            if at <= task or event.text.startswith(PROGRAMS_INSTRUCTIONS)
        )

    @property
    def predictions(self) -> Iterator[Prediction | None]:
        """What was predicted in each model call, in order; None where nothing was."""
        found, number = self.transcript.predictions, 0
        for event in self.transcript.events:
            if isinstance(event, MessageEvent) and event.given is not None:
                # A prediction that the provider refused has no call.
                number = event.given.number
            elif isinstance(event, ModelEvent):
                yield found[number] if number < len(found) else None
                number += 1

    @property
    def answers_apart(self) -> bool:
        """Whether the final answer stands in no event: nobody's model or tool wrote it."""
        answer = self.transcript.final_answer
        texts = (
            event.text for event in self.transcript.events if not isinstance(event, MessageEvent)
        )
        return bool(answer) and not any(answer in text for text in texts)


def recorded_trials(store: Store, run: Run, trial_id: str | None = None) -> Iterator[RecordedTrial]:
    """Yield the trials of `run` that have a transcript, or that one of them, in a stable order.

    A trial that was lost to infrastructure, or is still due, has none.
    """
    for result in store.results(run.id):
        trial, outcome = result.trial, result.outcome
        if trial_id not in (None, trial.id) or outcome is None or not outcome.transcript_sha256:
            continue
        stored = store.artifacts.read_bytes(outcome.transcript_sha256)
        yield RecordedTrial(
            trial=trial,
            agent=run.config.agent(trial.agent),
            outcome=outcome,
            transcript=Transcript.model_validate_json(stored),
        )
