import pytest

from stages.execute.dialogue.budget import Meter
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending, Usage


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


CALL = Usage(input_tokens=60, output_tokens=40)


@pytest.mark.parametrize(
    ("budget", "ending"),
    [
        (Budget(max_turns=2), Ending.OUT_OF_TURNS),
        (Budget(max_tokens=200), Ending.OUT_OF_TOKENS),
        (Budget(max_usd=0.2), Ending.OUT_OF_MONEY),
        (Budget(max_usd=0.0), Ending.OUT_OF_MONEY),
    ],
)
def test_a_limit_ends_the_trial_when_it_is_reached(budget, ending):
    meter = Meter(budget)
    assert meter.exhausted() is (ending if budget.max_usd == 0 else None)
    meter.count(CALL, 0.1)
    meter.count(CALL, 0.1)
    assert meter.exhausted() is ending


def test_time_runs_from_the_start_whatever_is_called():
    clock = Clock()
    meter = Meter(Budget(max_seconds=30), clock)
    clock.now += 29.5
    assert (meter.seconds_left, meter.exhausted()) == (0.5, None)
    clock.now += 1
    assert (meter.seconds_left, meter.exhausted()) == (0.0, Ending.OUT_OF_TIME)


def test_time_in_line_for_a_provider_is_not_the_agents():
    clock = Clock()
    meter = Meter(Budget(max_seconds=30), clock)
    clock.now += 25
    meter.count(CALL, None, waited_seconds=20)
    assert meter.seconds_left == 25


def test_a_reply_gets_no_more_tokens_than_are_left():
    meter = Meter(Budget(max_tokens=150, max_reply_tokens=100))
    assert meter.reply_tokens == 100
    meter.count(CALL, None)
    assert meter.reply_tokens == 50
    meter.count(CALL, None)
    assert meter.reply_tokens == 1


def test_what_tools_cost_counts_as_money_and_as_nothing_else():
    meter = Meter(Budget(max_usd=0.2, max_turns=1, max_tokens=10))
    meter.count_tool(0.1)
    meter.count_tool(None)
    assert meter.exhausted() is None
    meter.count_tool(0.1)
    assert meter.exhausted() is Ending.OUT_OF_MONEY
