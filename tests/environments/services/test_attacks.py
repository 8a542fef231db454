"""Attacks by what a task brings for its services, and by a service that it has taken over."""

import asyncio
import socket
from pathlib import Path

import pytest

from environments.ports import ExposedPort, Mount
from environments.sandbox.workspace import new_workspace
from environments.services.inside.lines import SOCKETS
from environments.services.inside.template import TEMPLATE
from environments.services.postgresql import _keep
from taskdata.errors import ServiceFailed
from taskdata.schema.service import PostgresqlService
from taskdata.schema.task import Resources


def marks(night) -> list[Path]:
    """Return the files called `mark` in workspaces."""
    return list(night.folder.rglob("mark"))


@pytest.mark.postgres
def test_a_script_for_a_database_starts_no_program(provider, night, stored):
    """psql takes a shell that does not start for one that failed, and goes on."""
    leave = "touch /workspace/output/mark"
    lines = (f"\\! {leave}", f"\\! (sleep 1; {leave}) >/dev/null 2>&1 &", f"\\set it `{leave}`")
    scripts = tuple(stored(f"{i}.sql", f"{line}\nSELECT 1;\n") for i, line in enumerate(lines))

    async def left() -> list[Path]:
        async with night.running(provider, PostgresqlService(name="shop", files=scripts)):
            await asyncio.sleep(1.5)
            return marks(night)

    assert asyncio.run(left()) == []


@pytest.mark.postgres
@pytest.mark.parametrize(
    "line",
    [
        r"\copy (SELECT 1) TO PROGRAM 'touch /workspace/output/mark'",
        r"\o | touch /workspace/output/mark",
        "\\unrestrict guess\n\\! touch /workspace/output/mark",
        "COPY (SELECT 1) TO PROGRAM 'touch /workspace/output/mark';",
    ],
)
def test_a_script_that_pipes_into_a_program_fails(bubblewrap, night, stored, line: str):
    script = stored("00.sql", f"{line}\n")

    with pytest.raises(ServiceFailed, match=r"'shop' failed: psql ended with code"):
        night.over(bubblewrap, "", PostgresqlService(name="shop", files=(script,)))


@pytest.mark.postgres
def test_sockets_lie_where_their_service_cannot_replace_a_folder(provider, night, shop):
    async def folders() -> list[Path]:
        async with night.running(provider, shop) as running:
            return [exposed.socket.parent for exposed in running.exposed_ports]

    (folder,) = asyncio.run(folders())

    assert "output" not in folder.relative_to(night.folder).parts


def test_a_service_cannot_lead_other_sandboxes_to_the_host(provider, tmp_path: Path):
    """It puts links in the place of its socket and of the socket's folder."""
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o755)
    (secret / "key.txt").write_text("the host's")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(secret / "s"))
    listener.listen()
    (secret / "s").chmod(0o777)
    inside = SOCKETS / "it"
    attack = (
        "import os, shutil\n"
        f"folder, target = {str(inside)!r}, {str(secret)!r}\n"
        "attempts = [\n"
        "    lambda: os.rename(folder, folder + '-old'), lambda: os.rmdir(folder),\n"
        "    lambda: shutil.rmtree(folder), lambda: os.symlink(target, folder + '-new'),\n"
        "    lambda: os.rename(os.path.dirname(folder), '/run/nightshift/old'),\n"
        "]\n"
        "for attempt in attempts:\n"
        "    try: attempt()\n"
        "    except OSError: pass\n"
        "    else: print('done', attempts.index(attempt))\n"
        "os.symlink(target + '/s', folder + '/s')\n"
        "print('tried', flush=True)\n"
        "input()\n"
    )
    look = (
        "import os, socket\n"
        "print(sorted(os.listdir('/run/nightshift/ports/7007')))\n"
        "try:\n"
        "    with socket.create_connection(('127.0.0.1', 7007)) as s: print(s.recv(1) or 'ended')\n"
        "except ConnectionError: print('nobody')\n"
    )

    async def run() -> tuple[bytes, bytes, bytes]:
        with new_workspace(tmp_path / "w", {}) as theirs, new_workspace(tmp_path / "w", {}) as ours:
            folder = theirs.root / "sockets" / "it"
            folder.mkdir(parents=True)
            folder.chmod(0o777)
            exposed = ExposedPort(7007, folder / "s")
            async with (
                provider.open(theirs, Resources()) as service,
                provider.open(ours, Resources(), exposed_ports=[exposed]) as agent,
            ):
                mount = Mount(folder, str(inside), writable=True)
                program = await service.start([*service.python(), "-c", attack], mounts=[mount])
                said = await program.read()
                seen = await agent.run([*agent.python(), "-c", look])
                staying = await agent.start([*agent.python(), "-c", look])
                later = b""
                while chunk := await staying.read():
                    later += chunk
                return said, seen.stdout, later

    try:
        said, seen, later = asyncio.run(run())
    finally:
        listener.close()

    assert said == b"tried\n"
    assert seen == later == b"['s']\nnobody\n"


def test_what_a_service_writes_into_its_sockets_folder_counts(provider, tmp_path: Path):
    fill = (
        "import time\n"
        f"for i in range(4): open(f'{SOCKETS}/it/{{i}}', 'wb').write(bytes(1 << 20))\n"
        "time.sleep(60)\n"
    )

    async def run() -> object:
        with new_workspace(tmp_path / "w", {}) as workspace:
            folder = workspace.root / "sockets" / "it"
            folder.mkdir(parents=True)
            folder.chmod(0o777)
            async with provider.open(workspace, Resources(disk_mb=2)) as sandbox:
                mount = Mount(folder, f"{SOCKETS}/it", writable=True)
                program = await sandbox.start([*sandbox.python(), "-c", fill], mounts=[mount])
                return (await program.close(grace_seconds=30)).limit

    assert asyncio.run(run()) == "disk"


def test_a_link_in_the_place_of_the_packed_cluster_is_not_followed(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("the host's")
    output, template = tmp_path / "output", tmp_path / "home" / "template.tar"
    output.mkdir()
    (output / TEMPLATE).symlink_to(secret)

    with pytest.raises(ServiceFailed, match="cannot keep"):
        _keep(output, template)

    assert not template.exists()
