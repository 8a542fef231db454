"""The warm Python of a sandbox: `python -m environments.tool_runtime.warm.server SECONDS`.

It reads requests from standard input, loads what they need and forks for each. It ends with its
input, after so many idle seconds, or when it cannot guarantee that the next call is unaffected by
earlier ones. It never parses the output of a call, a call cannot inspect it, and nothing of a call
is left when the next one begins. A call that kills it is killed with it.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Collection
from importlib import import_module

from environments.tool_runtime.warm.forking import Ended, Program, run_forked, set_visible
from environments.tool_runtime.warm.frames import LENGTH_DIGITS, NONCE_BYTES, Request, Response
from environments.tool_runtime.warm.libraries import load
from environments.tool_runtime.warm.private import PrivateMemory
from environments.tool_runtime.warm.tidying import (
    empty_temporary_folders,
    has_grown_large,
    kills_at_once,
    mounted_entries,
    other_threads_sleep,
    output_is_empty,
    shares_memory,
    standing,
)

_SECONDS_TO_SETTLE = 0.2


class _Host:
    """The streams to the host."""

    def __init__(self, requests: int, answers: int) -> None:
        self.streams = (requests, answers)
        self._requests, self._answers = requests, answers
        self._header = PrivateMemory(NONCE_BYTES + LENGTH_DIGITS)
        self._waiting = select.poll()
        self._waiting.register(requests, select.POLLIN)

    def speaks(self, seconds: float) -> bool:
        """Return whether there is something to read within so many seconds, or an end."""
        return bool(self._waiting.poll(seconds * 1000))

    def request(self) -> Request | None:
        """Return the next request; None at the end."""
        self._header.clear()
        while self._header.left:
            if not self._header.read_from(self._requests):
                return None
        left = int(bytes(self._header.content(NONCE_BYTES)))
        line = bytearray()
        while left:
            chunk = os.read(self._requests, left)
            if not chunk:
                return None
            line += chunk
            left -= len(chunk)
        return Request.model_validate_json(line)

    def answer(self, answer: Response, *contents: memoryview) -> None:
        """Answer the last request."""
        line = memoryview(answer.model_dump_json().encode() + b"\n")
        parts = [self._header.content(end=NONCE_BYTES), line, *contents]
        with contextlib.suppress(BrokenPipeError):
            while parts:
                written = os.writev(self._answers, parts)
                while parts and written >= len(parts[0]):
                    written -= len(parts.pop(0))
                if written:
                    parts[0] = parts[0][written:]


def main() -> int:
    """Answer requests until there are no more; return the exit code."""
    if socket.gethostname() != "sandbox" or not os.path.isdir("/workspace/input"):
        sys.stderr.write("this kills every process it can see: it runs in a sandbox only\n")
        return 2
    idle_seconds = float(sys.argv[1])
    set_visible(False)
    # SIGINT is ignored if the host's process was started in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kept = mounted_entries()
    host = _Host(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    while host.speaks(idle_seconds) and (request := host.request()):
        if not _serve(request, host, kept):
            break
    return 0


def _serve(request: Request, host: _Host, kept: Collection[str]) -> bool:
    """Answer `request`; return whether another request can be served."""
    began = time.monotonic()
    _load(request)
    if not _settled() or (request.unrelated and (shares_memory() or not kills_at_once())):
        host.answer(Response(state="declined", leaving=True))
        return False
    module = import_module(request.module)
    before = standing()
    host.answer(Response(state="begun"))
    program = Program(
        module.main,
        request.stdin.encode(),
        request.wall_seconds - (time.monotonic() - began),
        request.output_bytes,
        host.streams,
    )
    try:
        ended = run_forked(program)
    except OSError:
        traceback.print_exc()
        host.answer(Response(state="declined", leaving=True))
        return False
    is_tidy = ended.is_gone and empty_temporary_folders(kept)
    if request.unrelated:
        is_tidy = is_tidy and output_is_empty()
    # A call can change the limits of this process, and write where its requests come from.
    is_untouched = standing() == before and not host.speaks(0)
    stays = is_tidy and is_untouched and not has_grown_large(request.memory_bytes)
    _answer(host, ended, stays)
    return stays


def _load(request: Request) -> None:
    known = len(sys.modules)
    try:
        load(request.load)
    except Exception:  # noqa: BLE001 the call itself meets it again and says it to the host
        traceback.print_exc()
    if len(sys.modules) > known:
        # Compact the memory before forking, so that calls copy fewer pages.
        gc.collect()
        gc.freeze()


def _settled() -> bool:
    deadline = time.monotonic() + _SECONDS_TO_SETTLE
    while not other_threads_sleep():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _answer(host: _Host, ended: Ended, stays: bool) -> None:
    with ended.stdout.content() as stdout, ended.stderr.content() as stderr:
        answer = Response(
            state="ended",
            exit_code=ended.exit_code,
            limit=ended.limit,
            stdout_bytes=len(stdout),
            stderr_bytes=len(stderr),
            leaving=not stays,
        )
        host.answer(answer, stdout, stderr)
    ended.stdout.close()
    ended.stderr.close()


if __name__ == "__main__":
    sys.exit(main())
