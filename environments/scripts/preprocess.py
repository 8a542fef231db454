"""Runs a task's preprocess program inside its sandbox, and keeps the servers that it starts.

The program finds the files of its task in a folder that it may write to. A server that the program
leaves running listens on this sandbox's loopback only. Each such server is connected to a Unix
socket in a folder that the host made and mounts into other sandboxes. The host talks to this module
with the same protocol as to the program of a service.
"""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from environments.services.inside.lines import (
    ALIVE,
    INPUT,
    LOST,
    SOCKETS,
    orders,
    say,
    settings,
)

PROGRAM = "preprocess/main.py"
"""Path of the program among the files of its task (Toolathlon, section 3)."""

DONE = "done"
"""Key of the first answer, a JSON object: how the program ended, and the ports of its servers."""

MAX_SERVERS = 8
"""The most ports on which the program may leave servers listening."""

_FOLDER = Path("/tmp/task")  # noqa: S108 - the sandbox's own
_READY_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_CONNECT_SECONDS = 5.0
_KEPT_BYTES = 4096
_PR_SET_CHILD_SUBREAPER = 36
_LISTENING = "0A"
_LOOPBACK = "127.0.0.1"


def main() -> int:
    """Run the program, then serve until the host closes the connection; return the exit code."""
    given = settings()
    # Processes that the program leaves behind become children of this one.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    shutil.copytree(INPUT, _FOLDER, copy_function=shutil.copyfile)
    code, message = _run(given["arguments"])
    ports = _ports_of_servers() if code == 0 else ()
    if len(ports) > MAX_SERVERS:
        code, message = 1, f"it left servers on {len(ports)} ports, more than {MAX_SERVERS}"
    if code == 0 and ports:
        from environments.scripts.joining import joined

        joined({port: SOCKETS / str(place) / "s" for place, port in enumerate(ports)})
    say(**{DONE: json.dumps({"code": code, "message": message, "ports": ports})})
    for _ in orders():
        silent = [port for port in ports if not _answers(port)]
        say(
            **(
                {LOST: f"nothing answers at port {silent[0]} any more"}
                if silent
                else {ALIVE: "yes"}
            )
        )
    return 0


def _run(arguments: list[str]) -> tuple[int, str]:
    """Return the program's exit code and the last line of its standard error."""
    module = ".".join(Path(PROGRAM).with_suffix("").parts)
    folders = (_FOLDER, (_FOLDER / PROGRAM).parent, os.environ.get("PYTHONPATH", ""))
    program = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": ":".join(map(str, folders))},
    )
    end = _End()
    # Servers of the program may keep writing there, so a thread reads until this process ends.
    reading = threading.Thread(target=end.read, args=(program.stderr,), daemon=True)
    reading.start()
    code = program.wait()
    reading.join(_LOOK_SECONDS)
    return code, end.last_line()


@dataclass
class _End:
    """The end of a program's output."""

    kept: bytes = b""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, stream: IO[bytes]) -> None:
        """Read to the end of `stream`."""
        while chunk := os.read(stream.fileno(), 1 << 16):
            with self.lock:
                self.kept = (self.kept + chunk)[-_KEPT_BYTES:]

    def last_line(self) -> str:
        """Return the last line so far."""
        with self.lock:
            lines = self.kept.decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else "no message"


def _ports_of_servers() -> tuple[int, ...]:
    """Return the ports of servers, once every remaining process listens or time is up."""
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        _reap()
        parents = _descendants()
        listening = _listening()
        heard = {pid: {listening[n] for n in _sockets(pid) if n in listening} for pid in parents}
        # A process with children, such as a shell, need not listen itself.
        starting = [p for p in parents if not heard[p] and p not in parents.values()]
        if not starting or time.monotonic() > deadline:
            return tuple(sorted(set().union(*heard.values())))
        time.sleep(_LOOK_SECONDS)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _descendants() -> dict[int, int]:
    """Return the parent of each process that descends from this one."""
    parents = dict(_parents())
    ours = {os.getpid()}
    while found := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= found
    return {pid: parent for pid, parent in parents.items() if pid in ours - {os.getpid()}}


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                # After the name, which may hold anything, come the state and the parent.
                after = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(entry.name), int(after[1])


def _sockets(pid: int) -> Iterator[str]:
    """Yield the inode of each socket that a process holds."""
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:["):
                    yield target[len("socket:[") : -1]


def _listening() -> dict[str, int]:
    """Return the port of each listening TCP socket by its inode."""
    found: dict[str, int] = {}
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", name).read_text().splitlines()[1:]:
                columns = line.split()
                if columns[3] == _LISTENING:
                    found[columns[9]] = int(columns[1].rpartition(":")[2], 16)
    return found


def _answers(port: int) -> bool:
    try:
        socket.create_connection((_LOOPBACK, port), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
