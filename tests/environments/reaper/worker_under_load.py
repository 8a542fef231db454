"""Run by test_kills: does what trials do, one after another, until it is killed."""

import asyncio
import itertools
import sys

from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.sandbox.collect import collect
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources

WORK = "import os, time; open('output/answer.txt', 'w').write('42'); time.sleep(0.1)  # {}"
SERVE = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)  # {}"


async def trial(provider: SandboxProvider, mark: str) -> None:
    files = {f"data/{number}.csv": b"a,b\n1,2\n" for number in range(5)}
    with working_folder() as folder, new_workspace(folder, files) as workspace:
        async with provider.open(workspace, Resources(), mark) as sandbox:
            server = await sandbox.start([*sandbox.python(), "-c", SERVE.format(mark)])
            await server.write(b"hello\n")
            await sandbox.run([*sandbox.python(), "-c", WORK.format(mark)])
        assert collect(workspace.output, Resources()).files


async def main() -> None:
    mark, *names = sys.argv[1:]
    for name in itertools.cycle(names):
        provider = sandbox_provider(name)
        async with provider.pooled(mark, at_once=1, expected=2):
            await asyncio.gather(trial(provider, mark), trial(provider, mark))
        print("a round", flush=True)  # noqa: T201


asyncio.run(main())
