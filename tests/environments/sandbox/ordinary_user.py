"""Run by test_bubblewrap as a user who is not root: prints what four programs came to."""

import asyncio
import tempfile
from pathlib import Path

from environments.ports import ExposedPort
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources

WHO = (
    "import os\n"
    "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
    "print(os.getuid(), int(status['CapEff'], 16))\n"
    "print(not os.access('/proc/sys/kernel/core_pattern', os.W_OK))"
)
BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
KNOCK = "import socket; print(socket.create_connection(('localhost', 7007)).recv(9).decode())"
HOARD = "hoard = []\nwhile True: hoard.append(bytearray(8 << 20))"


async def knock(folder: Path) -> str:
    """Return what a service behind an exposed port says."""
    folder.mkdir()
    exposed = ExposedPort(7007, folder / "s")
    server = await asyncio.start_unix_server(lambda r, w: w.write(b"hello"), exposed.socket)
    with new_workspace(folder.parent, {}) as workspace:
        async with (
            server,
            sandbox_provider("bubblewrap").open(
                workspace, Resources(), exposed_ports=[exposed]
            ) as sandbox,
        ):
            return (await sandbox.run([*sandbox.python(), "-c", KNOCK])).stdout.decode().strip()


async def main() -> None:
    limits = Resources(processes=40, memory_mb=128, wall_seconds=20)
    with (
        tempfile.TemporaryDirectory() as folder,
        new_workspace(Path(folder), {}) as workspace,
    ):
        async with sandbox_provider("bubblewrap").open(workspace, limits) as sandbox:
            done = [await sandbox.run([*sandbox.python(), "-c", c]) for c in (WHO, BOMB, HOARD)]
        knocked = await knock(Path(folder) / "exposed")
    print(done[0].stdout.decode(), *(each.limit for each in done[1:]), knocked)  # noqa: T201


asyncio.run(main())
