"""CPU time from looks at a tree: near the truth, whether children are waited for or not."""

import random

import pytest

from environments.sandbox.watching.cpu import CpuTime, Times

PAUSE = 5.0
"""Ticks between two looks, which is 50 ms."""


def test_one_long_process_is_counted_by_itself():
    cpu = CpuTime(looked_at=0.0)

    used = [cpu.look(at, [Times(1, 0, own=at, waited=0, runs=True)]) for at in (5, 10, 15)]

    assert used[-1] == 15


def test_children_that_were_waited_for_are_exact_whoever_saw_them():
    cpu = CpuTime(looked_at=0.0)

    used = [cpu.look(at, [Times(1, 0, own=1, waited=at, runs=False)]) for at in (5, 10, 15)]

    assert used[-1] == 16


def test_what_was_used_stays_used_when_its_process_has_gone():
    cpu = CpuTime(looked_at=0.0)
    parent = Times(1, 0, own=0, waited=0, runs=False)

    cpu.look(5, [parent, Times(2, 0, own=5, waited=0, runs=True)])

    assert cpu.look(10, [parent]) == 5


def test_renewed_time_is_counted_from_the_last_look():
    cpu = CpuTime(looked_at=0.0)

    cpu.look(5, [Times(1, 0, own=5, waited=0, runs=True)])
    cpu.renew()

    assert cpu.look(10, [Times(1, 0, own=10, waited=0, runs=True)]) == 5


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0, 13.0])
def test_children_nobody_waits_for_are_told_from_those_that_are_seen(length: float):
    """One after another, each busy for `length` ticks, without a pause: one core for 600 s."""
    chance = random.Random(7)
    cpu, used, at, last = CpuTime(looked_at=0.0), 0.0, 0.0, 60_000.0
    while at < last:
        at += PAUSE * chance.uniform(0.9, 1.3)
        number = int(at / length)
        began = number * length
        child = Times(number + 2, int(began), own=int(at - began), waited=0, runs=True)
        used = cpu.look(at, [Times(1, 0, own=0, waited=0, runs=False), child])

    assert 0.6 * last < used < 1.15 * last


def test_an_idle_program_that_starts_now_and_then_is_charged_little():
    """A shell that runs a short program ten times a second, each for a tenth of a tick."""
    cpu, used = CpuTime(looked_at=0.0), 0.0
    for look in range(1, 1000):
        at = look * PAUSE
        child = [Times(look, int(at) - 1, own=0, waited=0, runs=False)] if look % 20 == 0 else []
        shell = Times(1, 0, own=look // 20, waited=look // 20, runs=False)
        used = cpu.look(at, [shell, *child])

    assert used <= 100
