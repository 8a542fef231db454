"""Run by test_bubblewrap as a user who is not root: prints what three programs came to."""

import asyncio
import tempfile
from pathlib import Path

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
HOARD = "hoard = []\nwhile True: hoard.append(bytearray(8 << 20))"


async def main() -> None:
    limits = Resources(processes=40, memory_mb=128, wall_seconds=20)
    with (
        tempfile.TemporaryDirectory() as folder,
        new_workspace(Path(folder), {}) as workspace,
    ):
        async with sandbox_provider("bubblewrap").open(workspace, limits) as sandbox:
            done = [await sandbox.run([*sandbox.python(), "-c", c]) for c in (WHO, BOMB, HOARD)]
    print(done[0].stdout.decode(), *(each.limit for each in done[1:]))  # noqa: T201


asyncio.run(main())
