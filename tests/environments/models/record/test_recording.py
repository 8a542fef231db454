"""What was paid for is kept at once, and not paid for again."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.record.client import RecordedClient, StoredReply
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import ModelUnavailable, StoreUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.transcript import Usage
from taskdata.schema.usage import FailedAttempt
from tests.paid import paid

SPEC = ModelSpec.parse("openai/gpt-5.2")


class Counting:
    """A model that says which of its calls this is."""

    def __init__(self) -> None:
        self.calls = 0

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        usage = Usage(input_tokens=10, output_tokens=2)
        said, thought = f"answer {self.calls}", f"thought {self.calls}"
        return ModelReply(said, "gpt-5.2", usage=usage, cost_usd=0.5, thinking=thought)

    async def close(self) -> None:
        pass


class Silent(Counting):
    """A model that does not say what it used, so that nobody knows what it cost."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        return replace(await super().reply(request), usage=Usage(), cost_usd=None)


class Failing(Counting):
    """A model whose attempts may be charged so much and bring no reply, or only the last one."""

    def __init__(self, *costs: float | None, answers: bool = False, waits: bool = False) -> None:
        super().__init__()
        self._costs = costs
        self._answers = answers
        self._waits = waits

    async def reply(self, request: ModelRequest) -> ModelReply:
        failed = tuple(
            FailedAttempt(cause="cut", seconds=1.0, cost_at_most_usd=cost) for cost in self._costs
        )
        request.failed.extend(failed)
        if self._waits:
            await asyncio.sleep(60)
        if not self._answers:
            raise ModelUnavailable("openai/gpt-5.2: the connection failed")
        return replace(await super().reply(request), failed_attempts=failed)


def ask(text: str) -> ModelRequest:
    return ModelRequest(messages=(Message("user", text),))


def recorded(model, recorder, trial, number=1, earlier=(), spec=SPEC) -> RecordedClient:
    log = CallLog(recorder, Payer.trial(trial.id, number), earlier)
    return RecordedClient(model, spec, None, log)


def attempt(store, trial, model, questions, number=1, spec=SPEC):
    """Ask in one attempt; return the replies' texts."""

    async def asked() -> list[str]:
        recorder = CallRecorder(store)
        earlier = store.paid_calls(trial.id)
        client = recorded(model, recorder, trial, number, earlier, spec)
        replies = [(await client.reply(ask(text))).text for text in questions]
        await recorder.close()
        return replies

    return asyncio.run(asked())


@pytest.fixture
def trial(new_run, new_task, plan_trial):
    return plan_trial(new_run(new_task("one")), new_task("one"))


def finish(store, trial, cost_usd=None) -> None:
    now = datetime.now(UTC)
    outcome = TrialOutcome(
        trial_id=trial.id,
        attempt=1,
        status=OutcomeStatus.FINISHED,
        cost_usd=cost_usd,
        sandbox="bubblewrap",
        code_version="test",
        started_at=now,
        finished_at=now,
    )
    store.record_outcome(outcome)


def test_an_attempt_that_was_cut_short_is_carried_on_where_it_stopped(store, trial):
    model = Counting()
    assert attempt(store, trial, model, ["a", "b"]) == ["answer 1", "answer 2"]
    again = attempt(store, trial, model, ["a", "b", "c"], number=2)
    assert again == ["answer 1", "answer 2", "answer 3"]
    assert model.calls == 3
    assert paid(store, trial.run_id) == (3, 1.5)


def test_what_the_model_thought_is_kept_with_what_it_said(store, trial):
    attempt(store, trial, Counting(), ["a"])
    (call,) = store.paid_calls(trial.id)
    assert StoredReply.model_validate(call.reply).as_reply(trial.id).thinking == "thought 1"
    without = {name: value for name, value in call.reply.items() if name != "thinking"}
    assert StoredReply.model_validate(without).thinking == "", "kept before thoughts were"


def test_a_question_that_differs_is_asked(store, trial):
    model = Counting()
    attempt(store, trial, model, ["a", "b"])
    assert attempt(store, trial, model, ["a", "other"], number=2) == ["answer 1", "answer 3"]


def test_the_same_question_twice_is_two_questions(store, trial):
    model = Counting()
    attempt(store, trial, model, ["again", "again"])
    replies = attempt(store, trial, model, ["again", "again", "again"], number=2)
    assert replies == ["answer 1", "answer 2", "answer 3"]


def test_replies_of_finished_trials_are_dropped_and_their_cost_stays(store, trial):
    model = Counting()
    attempt(store, trial, model, ["a"])
    store.forget_replies(trial.run_id)
    assert len(store.paid_calls(trial.id)) == 1
    finish(store, trial)
    store.forget_replies(trial.run_id)
    assert store.paid_calls(trial.id) == []
    assert paid(store, trial.run_id) == (1, 0.5)


def test_calls_of_many_trials_share_transactions(store, trial, monkeypatch):
    sizes = []
    record = store.record_calls
    monkeypatch.setattr(
        store, "record_calls", lambda calls: (sizes.append(len(calls)), record(calls))
    )

    async def flood() -> None:
        recorder, model = CallRecorder(store), Counting()
        clients = [recorded(model, recorder, trial) for _ in range(50)]
        await asyncio.gather(*(c.reply(ask(str(n))) for n, c in enumerate(clients)))

    asyncio.run(flood())
    assert sum(sizes) == 50
    assert len(sizes) < 10


def test_what_an_attempt_that_was_killed_has_paid_counts_beside_the_one_that_took_its_number(
    store, trial
):
    model = Counting()
    attempt(store, trial, model, ["a", "b"])
    attempt(store, trial, model, ["other"])
    finish(store, trial, cost_usd=0.5)
    assert store.spent_usd(trial.run_id) == 1.5


def test_a_reply_that_a_later_attempt_gets_again_is_no_money_of_that_one(store, trial):
    model = Counting()
    attempt(store, trial, model, ["a"])
    attempt(store, trial, model, ["a", "b"], number=2)
    finish(store, trial, cost_usd=1.0)
    assert store.spent_usd(trial.run_id) == 1.0


def test_where_a_server_does_not_say_what_was_used_the_most_that_it_can_be_is_kept(store, trial):
    request = ask("a")
    attempt(store, trial, Silent(), ["a"])
    (call,) = store.paid_calls(trial.id)
    assert call.cost_usd is None
    bound = call_bound(request, price_of(SPEC))
    assert (call.tokens_at_most, call.cost_at_most_usd) == (bound.tokens, bound.usd)
    assert store.spent_usd(trial.run_id) == call.cost_at_most_usd > 0
    assert paid(store, trial.run_id) == (1, None)


def test_without_a_price_nobody_knows_the_most_either(store, trial):
    attempt(store, trial, Silent(), ["a"], spec=ModelSpec.parse("compatible/unpriced"))
    assert store.spent_usd(trial.run_id) is None


def test_what_waits_is_stored_though_everything_is_cancelled(store, trial, monkeypatch):
    record = store.record_calls
    monkeypatch.setattr(store, "record_calls", lambda calls: (time.sleep(0.1), record(calls)))

    async def interrupted() -> None:
        client = recorded(Counting(), CallRecorder(store), trial)
        asking = [asyncio.create_task(client.reply(ask("a")))]
        await asyncio.sleep(0.05)
        asking += [asyncio.create_task(client.reply(ask(text))) for text in ("b", "c")]
        await asyncio.sleep(0)

    # Its end cancels every task: one batch is being written, another one waits.
    asyncio.run(interrupted())
    assert paid(store, trial.run_id) == (3, 1.5)


def test_a_reply_that_cannot_be_kept_is_an_error(store, trial, monkeypatch):
    def full(calls):
        raise StoreUnavailable("database x: disk full")

    monkeypatch.setattr(store, "record_calls", full)
    with pytest.raises(StoreUnavailable, match="disk full"):
        attempt(store, trial, Counting(), ["a"])


def test_what_a_call_without_a_reply_may_be_charged_is_kept(store, trial):
    with pytest.raises(ModelUnavailable, match="the connection failed"):
        attempt(store, trial, Failing(0.25, 0.0, 0.25), ["a"])
    assert store.spent_usd(trial.run_id) == 0.5
    assert paid(store, trial.run_id) == (0, 0.0)
    assert store.paid_calls(trial.id) == []


def test_what_failed_attempts_may_be_charged_comes_on_top_of_the_reply(store, trial):
    attempt(store, trial, Failing(0.25, answers=True), ["a"])
    assert store.spent_usd(trial.run_id) == 0.75
    assert paid(store, trial.run_id) == (1, 0.5)


def test_attempts_that_were_turned_down_leave_nothing(store, trial):
    attempt(store, trial, Failing(0.0, 0.0, answers=True), ["a"])
    assert store.spent_usd(trial.run_id) == 0.5


def test_an_unknown_charge_makes_the_runs_cost_unknown(store, trial):
    with pytest.raises(ModelUnavailable):
        attempt(store, trial, Failing(0.25, None), ["a"])
    assert store.spent_usd(trial.run_id) is None


def test_a_call_that_is_cut_off_is_kept_as_what_it_may_be_charged(store, trial):
    async def cut_off() -> None:
        async with CallRecorder(store) as recorder:
            client = recorded(Failing(0.25, waits=True), recorder, trial)
            async with asyncio.timeout(0.05):
                await client.reply(ask("a"))

    with pytest.raises(TimeoutError):
        asyncio.run(cut_off())
    assert store.spent_usd(trial.run_id) == 0.25


def test_a_request_that_is_asked_again_is_charged_once_for_each_attempt(store, trial):
    request = ask("a")

    async def twice() -> None:
        async with CallRecorder(store) as recorder:
            client = recorded(Failing(0.25), recorder, trial)
            for _ in range(2):
                with pytest.raises(ModelUnavailable):
                    await client.reply(request)

    asyncio.run(twice())
    assert store.spent_usd(trial.run_id) == 0.5


def test_a_reply_that_comes_after_the_end_is_stored_all_the_same(store, trial):
    async def late() -> None:
        async with CallRecorder(store) as recorder:
            client = recorded(Counting(), recorder, trial)
        async with asyncio.timeout(5):
            await client.reply(ask("a"))

    asyncio.run(late())
    assert len(store.paid_calls(trial.id)) == 1
