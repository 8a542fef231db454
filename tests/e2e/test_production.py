"""A night on a database, a Prefect server and a Dask cluster that others have started.

As docs/production.md says; flow runs of somebody else's may be on the Prefect server, too.
"""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from tests.e2e.conftest import is_open

pytestmark = [pytest.mark.e2e, pytest.mark.postgres]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "production.md").read_text()


def block(language, word):
    (found,) = [b for b in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if word in b]
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@contextmanager
def started(line, folder, environment):
    """Run a program of our Python environment until the end of the block."""
    program, *words = shlex.split(line)
    with (folder / f"{words[0]}.log").open("w") as log:
        running = subprocess.Popen(
            [Path(sys.executable).with_name(program), *words],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            yield
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(timeout=60)


@pytest.fixture
def production(tmp_path, command, postgres_url):
    """All that is started for a production; `nightshift` is the command that uses it.

    What is started has another environment than the command: another home, above all.
    """
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "home"
    elsewhere.mkdir()
    (elsewhere / "dask.yaml").write_text(block("yaml", "distributed:"))
    theirs = command.environment(elsewhere / "home")
    theirs |= {"DASK_CONFIG": f"{elsewhere}/dask.yaml", "PREFECT_HOME": f"{elsewhere}/prefect"}
    dask, prefect = free_port(), free_port()
    subprocess.run(shlex.split(block("sh", "openssl")), cwd=elsewhere, check=True)
    files = {"ca_file": "dask.pem", "cert": "dask.pem", "key": "dask.key"}
    (tmp_path / "nightshift.toml").write_text(
        f'dask_scheduler = "tls://127.0.0.1:{dask}"\ndatabase_url = "{postgres_url}"\n[dask_tls]\n'
        + "".join(f'{name} = "{elsewhere / file}"\n' for name, file in files.items())
    )
    url = f"http://127.0.0.1:{prefect}/api"
    ours = command.environment(home) | {"PREFECT_API_URL": url}

    def nightshift(*words):
        return subprocess.run(
            [*command.argv, *words],
            env=ours,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    with ExitStack() as stack:
        for line in (
            *block("sh", "dask scheduler").replace("8786", dask).splitlines(),
            f"prefect server start --host 127.0.0.1 --port {prefect}",
        ):
            stack.enter_context(started(line, elsewhere, theirs))
        until_open(int(prefect))
        until_ready(nightshift)
        yield SimpleNamespace(nightshift=nightshift, home=home, elsewhere=elsewhere, url=url)


def until_open(port):
    """Wait until the last program listens: asking the doctor meanwhile would hold it up."""
    ends_at = time.monotonic() + 240
    while not is_open(port):
        assert time.monotonic() < ends_at
        time.sleep(0.2)


def until_ready(nightshift):
    """Wait until the doctor has no fault to find with any part."""
    ends_at = time.monotonic() + 120
    while time.monotonic() < ends_at:
        checks = {c["name"]: c["state"] for c in read(nightshift, "doctor")["checks"]}
        parts = [checks[part] for part in ("database", "prefect server", "dask scheduler")]
        if all(state.startswith("ready") for state in parts) and "2 workers" in parts[-1]:
            return
    pytest.fail(str(checks))


def read(nightshift, *words):
    done = nightshift(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_night_uses_what_others_have_started(production):
    nightshift = production.nightshift
    listed = read(nightshift, "bank", "list")["tasks"]
    tasks = [part for t in listed if t["tier"] == "atomic" for part in ("--task", t["id"])][:4]
    agents = ("--agent", "reference", "--agent", "nop", "--rounds", "0")

    done = nightshift("run", *agents, *tasks)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "stopped now" not in done.stdout
    success = {a["agent"]: a["root_sr"] for a in read(nightshift, "results")["agents"]}
    assert success == {"reference": 1, "nop": 0}
    assert "Traceback" not in (production.elsewhere / "worker.log").read_text()
    assert not (production.elsewhere / "home").exists()
    assert not (production.home / "prefect").exists()
    reply = httpx.post(f"{production.url}/flow_runs/filter", json={}, timeout=30)
    assert {run["state"]["type"] for run in reply.json()} == {"COMPLETED"}
    assert all(run["tags"] == ["nightshift"] for run in reply.json())
    refused = nightshift("run", "--agent", "nop", "--workers", "3")
    assert (refused.returncode, "dask_scheduler" in refused.stderr) == (2, True)
