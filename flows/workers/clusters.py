"""The Dask cluster under a stage: a local one for as long as it is needed, or the user's own.

Anybody who can connect to a scheduler can run code on it and on its workers. A local cluster
therefore makes a certificate when it starts and requires it of every connection (TLS); the
certificate and its key are in the memory of this process and its workers alone.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flows.config import DaskTls, Settings
from flows.workers.interrupting import PRELOAD, endable, ending, started_out_of_reach
from taskdata.errors import StageFailed

if TYPE_CHECKING:
    from distributed import LocalCluster, Security

_SCHEDULER = "NIGHTSHIFT_DASK_SCHEDULER"
_SECONDS_TO_CONNECT = 10.0
_SECONDS_BETWEEN_LOOKS = 1.0
DASK_SETTINGS = {
    "distributed.admin.tick.limit": "1h",
    # A shift that waits at a worker which dies would be counted as failed, too.
    "distributed.scheduler.worker-saturation": 1.0,
    # It looks at the frames of all threads, which with Python 3.11 can freeze the worker for ever,
    # the lock on the database held (CPython issue 106883).
    "distributed.worker.profile.enabled": False,
    # Of one shift, which lasts as long as its stage; the backlog gives up trials that kill workers.
    "distributed.scheduler.allowed-failures": 10,
}
"""Of a scheduler and its workers; docs/production.md has them for the user's own."""

_LOCAL_SETTINGS = {
    # Without this, a worker that restarts slowly on a busy machine is given up.
    "distributed.deploy.lost-worker-timeout": "1h",
    # Dask serves these pages without asking for a certificate.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}

_NEEDED_BY_TRIALS = (
    "stages.execute.work",
    "stages.score.work",
    "environments.models.anthropic",
    "environments.models.openai",
)

_own: "dict[str, Security]" = {}
"""How to speak to the local clusters of this process, by address."""


@contextmanager
def cluster(settings: Settings, workers: int) -> Iterator[None]:
    """Keep one local cluster for every stage within the block, unless a scheduler is configured.

    Starting worker processes takes seconds; a night in one process pays that once.

    Raises:
        StageFailed: if the configured scheduler cannot be reached.
    """
    if settings.dask_scheduler:
        with _connected(settings.dask_scheduler, settings.dask_tls):
            pass  # fail now rather than after the stages that need no workers
        yield
        return
    with _local_cluster(workers) as address:
        os.environ[_SCHEDULER] = address
        try:
            yield
        finally:
            del os.environ[_SCHEDULER]


@contextmanager
def client(settings: Settings, workers: int) -> Iterator[Any]:
    """Yield a Dask client: of the configured scheduler, else of a local cluster of its own.

    Raises:
        StageFailed: if the scheduler cannot be reached, or is lost within the block.
    """
    if settings.dask_scheduler:
        with _connected(settings.dask_scheduler, settings.dask_tls) as connected:
            yield connected
        return
    with _local_cluster(workers) as address, _connected(address, None) as connected:
        yield connected


@contextmanager
def _connected(address: str, tls: DaskTls | None) -> Iterator[Any]:
    from distributed import Client
    from distributed.comm.core import CommClosedError

    security = _own.get(address) or _security(tls)
    _require_certificate(address, security)
    try:
        connected = Client(
            address, timeout=_SECONDS_TO_CONNECT, set_as_default=False, security=security
        )
    except (OSError, ValueError) as exc:
        cause = " ".join(str(exc).split())
        raise StageFailed(
            f"dask_scheduler {address}: cannot be reached: {cause}; is `dask scheduler` running, "
            "with the certificate that [dask_tls] names?"
        ) from exc
    try:
        with connected:
            yield connected
    except (OSError, RuntimeError) as exc:
        # Its event loop may be closed before it says that it is.
        is_lost = isinstance(exc, CommClosedError) or connected.status != "running"
        if not is_lost and address not in str(exc):
            raise
        raise StageFailed(
            f"dask_scheduler {address}: was lost: {exc}; unfinished trials stay due"
        ) from exc


def _security(tls: DaskTls | None) -> "Security | None":
    """Return how to speak to the user's scheduler; None: as Dask's own configuration says."""
    from distributed import Security

    if tls is None:
        return None
    files = {"tls_ca_file": tls.ca_file, "tls_client_cert": tls.cert, "tls_client_key": tls.key}
    return Security(
        require_encryption=True, **{name: str(path.resolve()) for name, path in files.items()}
    )


def _require_certificate(address: str, security: "Security | None") -> None:
    """Raise `StageFailed` where TLS is wanted without a certificate: Dask would retry for long."""
    import dask

    is_configured = dask.config.get("distributed.comm.tls.client.cert", None) is not None
    if address.startswith("tls://") and security is None and not is_configured:
        raise StageFailed(
            f"dask_scheduler {address}: wants a certificate: name one in [dask_tls], or "
            "distributed.comm.tls in Dask's configuration"
        )


@contextmanager
def _local_cluster(workers: int) -> Iterator[str]:
    import dask
    from distributed import Security

    from environments.reaper.owner import working_folder
    from environments.reaper.reap import reaped

    security = Security.temporary()
    with (
        reaped(),
        working_folder() as scratch,
        dask.config.set(
            DASK_SETTINGS | _LOCAL_SETTINGS | PRELOAD | {"temporary-directory": str(scratch)}
        ),
        _started(workers, security) as running,
        _kept_up(running, workers),
        endable(running),
        _known(str(running.scheduler_address), security) as address,
        _warming_up(address),
    ):
        yield address


def _started(workers: int, security: "Security") -> "LocalCluster":
    from distributed import LocalCluster

    return started_out_of_reach(
        partial(
            LocalCluster,
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            security=security,
            dashboard_address=None,
            # Without this, the scheduler warns when another run uses the usual port.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.ERROR,
        )
    )


@contextmanager
def _known(address: str, security: "Security") -> Iterator[str]:
    """Keep the credentials of a cluster of this process for the length of the block."""
    _own[address] = security
    try:
        yield address
    finally:
        del _own[address]


@contextmanager
def _warming_up(address: str) -> Iterator[None]:
    """Have the workers import slow modules while other stages are running."""
    from distributed import Client

    with Client(address, set_as_default=False, security=_own[address]) as connected:
        # The progress display can then show the workers' warnings above its bars.
        connected.forward_logging(level=logging.WARNING)
        warming = [
            connected.submit(_import_all, workers=[worker], pure=False)
            for worker in connected.scheduler_info(n_workers=-1)["workers"]
        ]
        yield
        connected.cancel(warming)


def _import_all() -> None:
    for name in _NEEDED_BY_TRIALS:
        import_module(name)


@contextmanager
def _kept_up(running: Any, workers: int) -> Iterator[None]:
    """Replace workers that Dask has given up, as it does when one dies while it starts.

    The clients of a cluster without workers would wait for ever.
    """
    from distributed import Status
    from tornado.ioloop import PeriodicCallback

    def look() -> None:
        if ending.is_set():
            return
        for name, worker in list(running.workers.items()):
            if worker.status in (Status.closed, Status.failed):
                del running.workers[name]
        running.scale(workers)

    looking = PeriodicCallback(look, _SECONDS_BETWEEN_LOOKS * 1000)
    running.loop.add_callback(looking.start)
    try:
        yield
    finally:
        running.loop.add_callback(looking.stop)
