"""Slots go to the provider that has the fewest, and no trial is lost or begun twice."""

import time
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stages.workers.backlog import (
    LOST,
    MOST_LOSSES,
    NO_MODEL,
    SECONDS_BETWEEN_PROBES,
    SILENT_SECONDS,
    TRIALS_IN_A_ROW,
    Backlog,
    Holder,
    SlotGrant,
    SlotRequest,
    by_provider,
    holding,
)
from taskdata.schema.agent import AgentSpec


def backlog(**trials: int) -> Backlog:
    """So many trials of each provider, named like it."""
    return Backlog.of({name: [f"{name}-{n}" for n in range(many)] for name, many in trials.items()})


def providers(trial_ids) -> Counter[str]:
    return Counter(trial_id.partition("-")[0] for trial_id in trial_ids)


def test_slots_are_shared_evenly():
    dealt = Holder(backlog(wedged=9, healthy=9).exchange).next(4)
    assert providers(dealt.trial_ids) == {"wedged": 2, "healthy": 2}
    assert dealt.waiting == 14


def test_a_provider_whose_trials_never_end_holds_up_no_other():
    trials = backlog(wedged=20, healthy=20)
    holder = Holder(trials.exchange)
    running, ended = list(holder.next(4).trial_ids), []
    while healthy := [trial_id for trial_id in running if trial_id.startswith("healthy")]:
        done = healthy[:1]
        ended += done
        running.remove(done[0])
        running += holder.next(1, done).trial_ids
        if trials.providers["healthy"].waiting:
            assert providers(running)["wedged"] == 2
    assert len(ended) == 20


def test_shares_count_over_all_holders():
    trials = backlog(wedged=9, healthy=9)
    first, second = Holder(trials.exchange), Holder(trials.exchange)
    begun = [first.next(1).trial_ids, second.next(1).trial_ids]
    assert {len(providers(one)) for one in begun} == {1}
    assert providers(begun[0] + begun[1]) == {"wedged": 1, "healthy": 1}


def test_no_slot_stands_empty_while_anything_waits():
    dealt = Holder(backlog(rare=1, common=9).exchange).next(8)
    assert providers(dealt.trial_ids) == {"rare": 1, "common": 7}


def test_a_local_model_waits_for_agents_without_a_model_and_for_nobody_else():
    trials = {"local": ["l1", "l2"], NO_MODEL: ["n1", "n2"], "openai": ["o1", "o2"]}
    holder = Holder(Backlog.of(trials).exchange)
    assert holder.next(4).trial_ids == ("n1", "o1", "n2", "l1")
    assert sorted(Holder(backlog(local=2, openai=2).exchange).next(2).trial_ids) == [
        "local-0",
        "openai-0",
    ]


def test_what_a_holder_leaves_is_next():
    trials = backlog(any=3)
    with holding(trials.exchange) as first:
        begun = first.next(2).trial_ids
        first.next(0, begun[:1])
    assert Holder(trials.exchange).next(3).trial_ids == (begun[1], "any-2")
    assert trials.done == 1


def test_what_was_granted_and_not_begun_goes_to_others_in_its_order():
    trials = backlog(any=4)
    first, second = Holder(trials.exchange), Holder(trials.exchange)
    granted = first.next(3).trial_ids
    stranger = trials.exchange(SlotRequest(holder="stranger", returned=granted))
    assert stranger.waiting == 1, "only who has a trial can give it back"
    first.next(0, granted[:1], granted[1:])
    assert second.next(9).trial_ids == ("any-1", "any-2", "any-3")
    assert (trials.done, trials.waiting) == (1, 0)


def test_a_trial_that_is_lost_with_every_holder_is_given_up():
    trials = backlog(any=3)
    for _ in range(MOST_LOSSES):
        while "any-0" not in (ids := trials.exchange(SlotRequest(holder="dies", free=1)).trial_ids):
            trials.exchange(SlotRequest(holder="dies", done=ids))
        trials.lose("dies")
    assert trials.given_up == {LOST: ["any-0"]}
    rest = Holder(trials.exchange)
    assert rest.next(9, rest.next(9).trial_ids).waiting == 0
    assert trials.done == 2


def test_who_was_taken_for_dead_may_still_tell_of_its_trials():
    trials = backlog(any=1)
    trials.exchange(SlotRequest(holder="silent", free=1))
    trials.lose("silent")
    again = trials.exchange(SlotRequest(holder="other", free=1)).trial_ids
    for holder in ("silent", "other"):
        trials.exchange(SlotRequest(holder=holder, done=again))
    assert (trials.done, trials.holders) == (1, frozenset())


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 12), min_size=1),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.booleans()), max_size=40),
)
def test_every_trial_is_done_once_whoever_dies_or_leaves(many, turns):
    trials, total = backlog(**many), sum(many.values())
    has: dict[int, list[str]] = {0: [], 1: [], 2: []}
    done: list[str] = []
    for who, free, leaves in turns:
        done += has[who][:2]
        ask = SlotRequest(holder=str(who), free=free, done=tuple(has[who][:2]), leaves=leaves)
        has[who] = ([] if leaves else has[who][2:]) + list(trials.exchange(ask).trial_ids)
    for who, left in has.items():
        done += trials.exchange(SlotRequest(holder=str(who), leaves=True)).trial_ids
        assert not set(left) & set(done)
    last = Holder(trials.exchange)
    done += last.next(99).trial_ids
    assert len(done) == len(set(done)) == total


def test_agents_of_one_provider_take_turns_and_endpoints_are_providers_of_their_own():
    at = {"base_url": "http://one/v1"}
    cheap = AgentSpec.parse("react:compatible/cheap", **at)
    dear = AgentSpec.parse("react:compatible/dear", **at)
    elsewhere = AgentSpec.parse("react:compatible/cheap", base_url="http://two/v1", label="two")
    nop = AgentSpec.parse("nop")
    trials = [("c1", cheap), ("c2", cheap), ("d1", dear), ("e1", elsewhere), ("n1", nop)]
    assert by_provider([*trials, ("unknown", None)]) == {
        "compatible at http://one/v1": ["c1", "d1", "c2"],
        "compatible at http://two/v1": ["e1"],
        NO_MODEL: ["n1", "unknown"],
    }


class Silent:
    """A backlog of 'silent' and others whose clock the test sets; one holder, as many slots."""

    def __init__(self, slots: int, **trials: int) -> None:
        self.now = 0.0
        self.trials = Backlog.of(
            {name: [f"{name}-{n}" for n in range(many)] for name, many in trials.items()},
            clock=lambda: self.now,
        )
        self.slots = slots
        self.running: list[str] = []
        self._holder = Holder(self.trials.exchange)

    def fill(self, done: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Ask for as many trials as there are free slots; return the new ones."""
        dealt = self._holder.next(self.slots - len(self.running), done).trial_ids
        self.running += dealt
        return dealt

    def end(self, trial_id: str, *, answered: bool | None = False, fill: bool = True) -> None:
        """End a trial that was answered, was not, or (None) never came so far as to ask."""
        if answered:
            self._holder.answered(trial_id)
        elif answered is not None:
            self._holder.unanswered(trial_id)
        self.running.remove(trial_id)
        if fill:
            self.fill((trial_id,))
        else:
            self._holder.next(0, (trial_id,))

    def run_into_doubt(self) -> None:
        """End trials of 'silent' unanswered until no other is begun in their place."""
        self.fill()
        while silent := [one for one in self.running if one.startswith("silent")]:
            self.now += 1800
            for trial_id in silent:
                self.end(trial_id, fill=False)
            if self.trials.providers["silent"].is_in_doubt:
                return
            self.fill()


def test_a_provider_that_answers_nothing_is_probed_one_trial_at_a_time():
    work = Silent(4, silent=99)
    work.run_into_doubt()
    assert work.trials.providers["silent"].unanswered == 8, "two rounds of four slots"
    assert work.fill() == (), "the last one has only just ended"
    work.now += SECONDS_BETWEEN_PROBES
    assert len(work.fill()) == 1
    work.now += 9999
    assert work.fill() == (), "one at a time"


def test_one_answer_is_enough_and_need_not_wait_for_the_trials_end():
    work = Silent(4, silent=99)
    work.run_into_doubt()
    work.now += SECONDS_BETWEEN_PROBES
    (probe,) = work.fill()
    work._holder.answered(probe)
    assert len(work.fill()) == 3
    work._holder.unanswered(probe)
    work.end(probe, answered=None)
    assert work.trials.providers["silent"].unanswered == 0, "it fell silent later"


def test_further_answers_of_older_trials_end_doubt_too():
    work = Silent(20, flaky=99)
    work.fill()
    older, newer = work.running[:15], work.running[15:]
    for trial_id in older:
        work._holder.answered(trial_id)
    work._holder.next(0)
    for trial_id in newer:
        work.end(trial_id, fill=False)
    assert work.fill() == (), "nothing was heard since"
    work._holder.answered(older[0])
    assert len(work.fill()) == 5


def test_a_trial_tells_of_many_answers_in_one_go_but_once():
    words: list[SlotRequest] = []
    trials = backlog(any=1)

    def noted(ask: SlotRequest) -> SlotGrant:
        words.append(ask)
        return trials.exchange(ask)

    holder = Holder(noted)
    (trial_id,) = holder.next(1).trial_ids
    for _ in range(3):
        holder.answered(trial_id)
        holder.answered(trial_id)
        holder.next(0)
    assert [word.answered for word in words[1:]] == [(trial_id,)] * 3


def test_agents_without_a_model_wait_for_no_answer():
    work = Silent(4, **{NO_MODEL: 40})
    work.fill()
    for _ in range(2 * TRIALS_IN_A_ROW):
        work.end(work.running[0])
    assert len(work.running) == 4


def test_answers_in_between_and_other_failures_bring_nobody_into_doubt():
    work = Silent(1, silent=40)
    work.fill()
    for n in range(20):
        work.end(work.running[0], answered=n % TRIALS_IN_A_ROW == 0)
    work.end(work.running[0], answered=True)
    for _ in range(TRIALS_IN_A_ROW):
        work.end(work.running[0], answered=None)
    assert len(work.running) == 1


def test_the_slots_of_a_silent_provider_are_for_the_others():
    work = Silent(4, silent=99, healthy=400)
    work.run_into_doubt()
    work.fill()
    probes = 0
    for _ in range(70):
        work.now += 60
        for trial_id in tuple(work.running):
            probes += trial_id.startswith("silent")
            work.end(trial_id, answered=trial_id.startswith("healthy"))
    assert probes == 2, "one each half hour"
    assert work.trials.done > 70 * 3, "no slot stood empty"
    assert not work.trials.given_up


def test_what_is_left_of_a_silent_provider_is_given_up_when_nothing_else_is():
    work = Silent(2, silent=30, healthy=1)
    work.run_into_doubt()
    (healthy,) = work.running
    for _ in range(2):
        work.now += 1800
        (probe,) = work.fill()
        work.end(probe)
    assert not work.trials.given_up, "another trial is still running"
    work.end(healthy, answered=True)
    ((cause, given_up),) = work.trials.given_up.items()
    assert "provider silent did not answer 7 trials in a row" in cause
    assert len(given_up) == 30 - 7
    assert (work.trials.waiting, work.running) == (0, [])


def test_a_short_outage_is_sat_out():
    work = Silent(4, silent=99)
    work.fill()
    while work.running:
        work.end(work.running[0])
    while work.now < SILENT_SECONDS - 2 * SECONDS_BETWEEN_PROBES:
        work.now += SECONDS_BETWEEN_PROBES
        (probe,) = work.fill()
        work.end(probe)
    work.now += SECONDS_BETWEEN_PROBES
    (probe,) = work.fill()
    work.end(probe, answered=True)
    assert not work.trials.given_up
    assert len(work.running) == 4


def test_providers_that_are_all_silent_do_not_wait_for_each_other():
    work = Silent(2, silent=9, also=9)
    work.fill()
    while work.trials.waiting:
        work.now += 1800
        for trial_id in tuple(work.running):
            work.end(trial_id)
        work.fill()
    assert len(work.trials.given_up) == 2
    assert work.trials.done + sum(map(len, work.trials.given_up.values())) == 18


def test_ten_thousand_trials_are_cheap():
    trials = Backlog.of({name: [f"{name}-{n}" for n in range(2_500)] for name in "abcd"})
    holder, began = Holder(trials.exchange), time.process_time()
    running = list(holder.next(100).trial_ids)
    while running:
        ended, running = running[:1], running[1:]
        holder.answered(ended[0])
        running += holder.next(1, ended).trial_ids
    assert trials.done == 10_000
    assert time.process_time() - began < 10_000 * 0.001
