"""The workers of a cluster share limits for as long as they live."""

import os
import signal
import time

from environments.models.limits.coordinator import Report
from environments.models.limits.shared_limits import Demand
from flows.config import Settings
from flows.workers.clusters import client
from flows.workers.limits import coordinated, exchange_at
from taskdata.schema.agent import AgentSpec
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.run import RunConfig

CONFIG = RunConfig(
    bank="b", agents=(AgentSpec.parse("nop"),), limits={"openai": Ceilings(concurrency=10)}
)


def share_of(name, address):
    """Say as a worker that there is more to do than may be done; returns how much may be."""
    report = Report(worker=name, demands={"openai": Demand(calls=100)})
    return exchange_at(address)(report).shares["openai"].slots


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_dead_workers_share_is_the_others_at_once(tmp_path):
    settings = Settings(home=tmp_path)
    with (
        client(settings, workers=2) as connected,
        coordinated(connected, settings, "run-1", CONFIG, 0.0) as address,
    ):
        first, second = connected.scheduler_info(n_workers=-1)["workers"]

        def share(name, worker):
            return connected.submit(share_of, name, address, workers=[worker], pure=False).result(
                30
            )

        assert share("one", first) == 10
        assert share("two", second) == 0, "the first has not given back what it has"
        dying = connected.submit(die, workers=[first], retries=0, pure=False)
        deadline = time.monotonic() + 20
        while share("two", second) < 10:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        dying.cancel(force=True)


def test_two_runs_of_one_home_keep_a_providers_limit_together(tmp_path):
    settings = Settings(home=tmp_path)
    with client(settings, workers=1) as connected:

        def share(address):
            return connected.submit(share_of, "worker", address, pure=False).result(30)

        with coordinated(connected, settings, "run-1", CONFIG, 0.0) as one:
            assert share(one) == 10
            with coordinated(connected, settings, "run-2", CONFIG, 0.0) as two:
                assert share(two) == 0
                assert (share(one), share(two)) == (5, 5)
            assert share(one) == 10
