"""How many workers the coordinator of a run's limits can serve.

A worker says a word at most every quarter of a second while it has calls, however many they are.
Prints what a word costs the coordinator itself, and what it costs over a real Dask scheduler with
real worker processes that all speak as fast as they can.
"""

import argparse
import time

from distributed import Client, LocalCluster, wait

from environments.models.limits.coordinator import EXCHANGE_SECONDS, Coordinator, Word
from environments.models.limits.seam import Want
from flows.limits import coordinated, exchange_at
from taskdata.schema.agent import AgentSpec
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.run import RunConfig

LIMITS = {"openai": Ceilings(concurrency=500, requests_per_minute=10_000)}


def words_alone(workers: int, words: int) -> float:
    """Return the seconds of one word to a coordinator that knows so many workers."""
    coordinator = Coordinator(LIMITS, max_usd=1000.0)
    began = time.perf_counter()
    for number in range(words):
        want = Want(calls=20, in_flight=10)
        word = Word(worker=f"w{number % workers}", wants={"openai": want}, asks_usd=(0.01,))
        coordinator.exchange(word, number * EXCHANGE_SECONDS / workers)
    return (time.perf_counter() - began) / words


def speak(address: str, name: str, words: int) -> float:
    """Say words from a Dask worker, one after the other; return the seconds of each."""
    exchange = exchange_at(address)
    began = time.perf_counter()
    for _ in range(words):
        exchange(Word(worker=name, wants={"openai": Want(calls=20, in_flight=10)}))
    return (time.perf_counter() - began) / words


def words_over_dask(processes: int, words: int) -> tuple[float, float]:
    """Return the seconds of a word to its worker, and words per second over all workers."""
    config = RunConfig(agents=(AgentSpec.parse("nop"),), limits=LIMITS)
    with (
        LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        coordinated(client, "benchmark", config, 0.0) as address,
    ):
        began = time.perf_counter()
        names = [f"w{number}" for number in range(processes)]
        said = [client.submit(speak, address, name, words, pure=False) for name in names]
        wait(said)
        seconds = time.perf_counter() - began
        return max(future.result() for future in said), processes * words / seconds


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--words", type=int, default=1000)
    options = parser.parse_args()
    for workers in (2, 100):
        cost = words_alone(workers, options.words)
        print(f"a word among {workers:>3} workers   {cost * 1e6:8.0f} us of the coordinator")
    each, together = words_over_dask(options.processes, options.words)
    print(f"a word over Dask           {each * 1e3:8.2f} ms to its worker")
    print(f"words a second, all told   {together:8.0f}")
    print(f"workers that could be served {together * EXCHANGE_SECONDS:6.0f}")


if __name__ == "__main__":
    main()
