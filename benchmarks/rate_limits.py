"""What it is worth to share a provider's limits among workers, and what their coordinator costs.

First real worker processes call a server that refuses what is above its limit, all through one
coordinator in the Dask scheduler, and once each for itself. The server takes so many calls at a
time; what it can answer then is the bound. Halving and growing back by one (AIMD) uses three
quarters of it at best.

Then what a report costs the coordinator itself, and what it costs over a real Dask scheduler with
real worker processes that all report as fast as they can. A worker reports every quarter of a
second while it has calls and nothing urgent, however many they are. That is without a cap on money:
under one it also reports when calls begin and end, which is not measured here.
"""

import argparse
import asyncio
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from distributed import Client, LocalCluster, wait
from load.model_server import model_server

from environments.models.limits.coordinator import REPORT_SECONDS, Answer, Coordinator, Report
from environments.models.limits.limiter import ProcessLimiter
from environments.models.limits.shared_limits import Demand
from environments.models.money.shared_budget import MoneyReport
from environments.models.registry import model_client
from environments.ports import Message, ModelClient, ModelRequest
from flows.config import Settings
from flows.workers.limits import coordinated, exchange_at
from taskdata.errors import ModelUnavailable
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.run import RunConfig

LIMITS = {"openai": Ceilings(concurrency=500, requests_per_minute=10_000)}
DEMANDS = {"openai": Demand(calls=20, in_flight=10, answers=3)}
LATENCY = 0.2
_ASKED = ModelRequest(messages=(Message(role="user", text="Say that you are done."),))


@dataclass
class Made:
    """What the calls of a worker, or of all, came to."""

    answered: int = 0
    refused: int = 0
    reports: int = 0


def call(url: str, address: str | None, seconds: float, callers: int, begin_at: float) -> Made:
    """Keep calling from a Dask worker; without an address it has a coordinator of its own."""
    made, own = Made(), Coordinator()
    ask = None if address is None else exchange_at(address)

    def exchange(report: Report) -> Answer:
        made.reports += 1
        return own.exchange(report) if ask is None else ask(report)

    async def keep_calling(client: ModelClient) -> None:
        while True:
            try:
                reply = await client.reply(_ASKED)
            except ModelUnavailable as exc:
                made.refused += len(exc.failed_attempts)
            else:
                made.answered += 1
                made.refused += len(reply.failed_attempts)

    async def all_call() -> None:
        spec = ModelSpec.parse("compatible/benchmark")
        client = model_client(spec, f"{url}/v1", limits)
        # A process imports the client's SDK once, not once a run.
        await client.reply(_ASKED)
        await asyncio.sleep(begin_at - time.time())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(keep_calling(client) for _ in range(callers)))
        await client.close()

    # Refusals are what is counted here, and no reason to warn.
    logging.getLogger("environments.models.retry").setLevel(logging.ERROR)
    os.environ |= {"COMPATIBLE_API_KEY": "sk-benchmark", "COMPATIBLE_BASE_URL": url}
    limits = ProcessLimiter(f"w{os.getpid()}", exchange)
    with limits.running():
        asyncio.run(all_call())
    return made


def calls_of(workers: int, most: int, seconds: float, *, is_shared: bool) -> list[Made]:
    """Return what each of so many workers got out of a server that takes `most` calls."""
    # Together they always want more than there is, and the same for any number of workers.
    callers = 4 * most // workers
    with model_server(LATENCY, 0, most) as url, _cluster(workers) as (client, address):
        common = (url, address if is_shared else None, seconds, callers, time.time() + 3)
        done = [client.submit(call, *common, pure=False) for _ in range(workers)]
        return [future.result() for future in done]


def seconds_of_a_report(workers: int, reports: int) -> float:
    """Return the seconds of one report to a coordinator that knows so many workers."""
    coordinator = Coordinator(LIMITS, max_usd=1000.0)
    began = time.perf_counter()
    for number in range(reports):
        money = MoneyReport(waiting_usd=(0.01,))
        report = Report(worker=f"w{number % workers}", demands=DEMANDS, money=money)
        coordinator.exchange(report, number * REPORT_SECONDS / workers)
    return (time.perf_counter() - began) / reports


def report_often(address: str, name: str, reports: int) -> float:
    """Report from a Dask worker, one after the other; return the seconds of each."""
    exchange = exchange_at(address)
    began = time.perf_counter()
    for _ in range(reports):
        exchange(Report(worker=name, demands=DEMANDS))
    return (time.perf_counter() - began) / reports


def reports_over_dask(processes: int, reports: int) -> tuple[float, float]:
    """Return the seconds of a report to its worker, and reports per second over all workers."""
    with _cluster(processes) as (client, address):
        began = time.perf_counter()
        names = [f"w{number}" for number in range(processes)]
        told = [client.submit(report_often, address, name, reports, pure=False) for name in names]
        wait(told)
        seconds = time.perf_counter() - began
        return max(future.result() for future in told), processes * reports / seconds


@contextmanager
def _cluster(processes: int) -> Iterator[tuple[Client, str]]:
    """Yield a client of worker processes, and the address of a coordinator for them."""
    config = RunConfig(agents=(AgentSpec.parse("nop"),), limits=LIMITS)
    with (
        TemporaryDirectory() as folder,
        LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        coordinated(client, Settings(home=Path(folder)), "benchmark", config, 0.0) as address,
    ):
        yield client, address


def _show_sharing(most: int, seconds: float) -> None:
    bound = most / LATENCY
    print(f"{most} calls of {LATENCY:g} s at a time: {bound:.0f} a second at most")
    for workers, is_shared in ((1, True), (2, True), (4, True), (4, False)):
        each = calls_of(workers, most, seconds, is_shared=is_shared)
        answered, refused = sum(m.answered for m in each), sum(m.refused for m in each)
        how = "share" if is_shared else "alone"
        print(
            f"{workers} workers, {how:<5}  {answered / seconds / bound:6.2f} of the bound,"
            f" {refused / max(1, answered + refused):6.1%} refused,"
            f" {min(m.answered for m in each)} to {max(m.answered for m in each)} calls each,"
            f" {max(m.reports for m in each) / seconds:.1f} reports a second each"
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--reports", type=int, default=1000)
    parser.add_argument("--most", type=int, default=20, help="calls that the server takes at once")
    parser.add_argument("--seconds", type=float, default=20.0, help="of calling")
    options = parser.parse_args()
    _show_sharing(options.most, options.seconds)
    for workers in (2, 100):
        cost = seconds_of_a_report(workers, options.reports)
        print(f"a report among {workers:>3} workers   {cost * 1e6:8.0f} us of the coordinator")
    each, together = reports_over_dask(options.processes, options.reports)
    print(f"a report over Dask         {each * 1e3:8.2f} ms to its worker")
    print(f"reports a second, all told {together:8.0f}")
    print(f"workers that could be served {together * REPORT_SECONDS:6.0f}")


if __name__ == "__main__":
    main()
