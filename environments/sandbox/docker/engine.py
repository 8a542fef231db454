"""Calls to a Docker engine: off the event loop, with its errors turned into ours."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from environments.sandbox.limits import Capture
from taskdata.errors import SandboxFailed

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

P = ParamSpec("P")
T = TypeVar("T")

_TIMEOUT_SECONDS = 60


def connect() -> "DockerClient":
    """Return a client of the engine that the environment names (DOCKER_HOST), or the local one.

    Raises:
        Any of `engine_errors()`: no engine answers.
    """
    import docker

    return docker.from_env(timeout=_TIMEOUT_SECONDS)


def engine_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of the SDK when the engine refuses, is slow, or is not there."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    return (DockerException, RequestException, OSError)


async def ask(what: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a blocking SDK call, made in a thread.

    Raises:
        SandboxFailed: the engine refused or did not answer; the message names `what` was asked.
    """
    try:
        return await asyncio.to_thread(call, *args, **kwargs)
    except engine_errors() as error:
        raise SandboxFailed(f"Docker cannot {what}: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Return the first line of an SDK error, whose text may be a whole page."""
    text = str(getattr(error, "explanation", None) or error)
    return text.strip().split("\n")[0][:300]


def image_variables(client: "DockerClient", image: str) -> dict[str, str]:
    """Return the environment variables that an image sets; blocks.

    Raises:
        SandboxFailed: the image declares volumes, which its programs could fill without limit.
    """
    config = client.images.get(image).attrs["Config"]
    if volumes := config.get("Volumes"):
        raise SandboxFailed(
            f"image {image} declares volumes ({', '.join(sorted(volumes))}), whose size nothing "
            "limits: build it without VOLUME"
        )
    stated = config.get("Env") or []
    return dict(variable.split("=", 1) for variable in stated if "=" in variable)


@dataclass(frozen=True)
class Running:
    """The processes that run in a container."""

    processes: int
    threads: int
    cpu_seconds: float
    """CPU time of the processes that run now, each in whole seconds."""


def running(container: "Container") -> Running | None:
    """Return what runs in the container, None if the engine's host has no usable `ps`; blocks.

    The engine's statistics are not used, because one request for them takes a second.
    """
    from docker.errors import APIError, NotFound

    try:
        rows = container.top(ps_args="-eo pid,nlwp,cputimes")["Processes"] or []
    except NotFound:
        raise
    except APIError:
        return None
    numbers = [[int(cell) for cell in row] for row in rows]
    return Running(
        processes=len(numbers),
        threads=sum(threads for _, threads, _ in numbers),
        cpu_seconds=sum(seconds for _, _, seconds in numbers),
    )


def remove(client: "DockerClient", container_id: str) -> None:
    """Kill and remove the container and return once it is gone; blocks."""
    from docker.errors import APIError, NotFound

    try:
        client.api.remove_container(container_id, force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != HTTPStatus.CONFLICT:
            raise
        # The container ended by itself and the engine is already removing it.
        with contextlib.suppress(NotFound):
            client.api.wait(container_id, condition="removed", timeout=_TIMEOUT_SECONDS)


class ExecStream:
    """Reads both output streams of an `exec` in a thread of its own.

    The thread is not taken from the event loop's pool: a reader lasts as long as its program, and
    the calls that kill programs must never wait for a free thread.
    """

    def __init__(self, client: "DockerClient", exec_id: str, output_bytes: int) -> None:
        self.stdout = Capture(output_bytes)
        self.stderr = Capture(output_bytes)
        self._error: Exception | None = None
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._read, args=(client, exec_id), name=f"exec-{exec_id[:12]}", daemon=True
        )
        self._thread.start()

    async def ended(self, seconds: float) -> bool:
        """Wait at most `seconds` and return whether both streams have ended.

        Raises:
            SandboxFailed: the engine could not start the program, or the connection broke.
        """
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        if self._error is not None:
            raise SandboxFailed(
                f"Docker cannot run the program: {first_line(self._error)}"
            ) from self._error
        return True

    def _read(self, client: "DockerClient", exec_id: str) -> None:
        try:
            for stdout, stderr in client.api.exec_start(exec_id, stream=True, demux=True):
                self.stdout.feed(stdout or b"")
                self.stderr.feed(stderr or b"")
        except engine_errors() as error:
            self._error = error
        finally:
            # The loop is closed when the whole process is shutting down.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._ended.set)
