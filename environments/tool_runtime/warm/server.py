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
from typing import BinaryIO

from environments.tool_runtime.warm.forking import Ended, Program, run_forked, set_visible
from environments.tool_runtime.warm.frames import Request, Response
from environments.tool_runtime.warm.libraries import load
from environments.tool_runtime.warm.tidying import (
    empty_temporary_folders,
    has_grown_large,
    mounted_entries,
    other_threads_sleep,
)

_SECONDS_TO_SETTLE = 0.2


def main() -> int:
    """Answer requests until there are no more; return the exit code."""
    if socket.gethostname() != "sandbox" or not os.path.isdir("/workspace/input"):
        sys.stderr.write("this kills every process it can see: it runs in a sandbox only\n")
        return 2
    idle_seconds = float(sys.argv[1])
    set_visible(False)
    # Guards are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # SIGINT is ignored if the host's process was started in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kept = mounted_entries()
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        waiting = select.poll()
        waiting.register(requests, select.POLLIN)
        while waiting.poll(idle_seconds * 1000) and (line := requests.readline()):
            request = Request.model_validate_json(line)
            if not _serve(request, answers, (requests.fileno(), answers.fileno()), kept):
                break
    return 0


def _serve(
    request: Request, answers: BinaryIO, private: tuple[int, int], kept: Collection[str]
) -> bool:
    """Answer `request`; return whether another request can be served."""
    began = time.monotonic()
    _load(request)
    if not _settled():
        _send(answers, Response(nonce=request.nonce, state="declined", leaving=True))
        return False
    module = import_module(request.module)
    _send(answers, Response(nonce=request.nonce, state="begun"))
    program = Program(
        module.main,
        request.stdin.encode(),
        request.wall_seconds - (time.monotonic() - began),
        request.output_bytes,
        private,
    )
    try:
        ended = run_forked(program)
    except OSError:
        traceback.print_exc()
        _send(answers, Response(nonce=request.nonce, state="declined", leaving=True))
        return False
    is_tidy = ended.is_gone and empty_temporary_folders(kept)
    stays = is_tidy and not has_grown_large(request.memory_bytes)
    _send(answers, _answer(request, ended, stays), ended.stdout, ended.stderr)
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


def _answer(request: Request, ended: Ended, stays: bool) -> Response:
    return Response(
        nonce=request.nonce,
        state="ended",
        exit_code=ended.exit_code,
        limit=ended.limit,
        stdout_bytes=len(ended.stdout),
        stderr_bytes=len(ended.stderr),
        leaving=not stays,
    )


def _send(answers: BinaryIO, answer: Response, *contents: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):
        answers.write(b"".join((answer.model_dump_json().encode(), b"\n", *contents)))
        answers.flush()


if __name__ == "__main__":
    sys.exit(main())
