"""A PostgreSQL cluster on disk: made, filled from a task's scripts, packed."""

import gzip
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from environments.services.inside.lines import INPUT, OUTPUT
from environments.services.inside.template import TEMPLATE

SUPERUSER = "postgres"
DATA = OUTPUT / "data"

_UNPACKED = OUTPUT / "script.sql"
# The script is part of the task, and psql starts programs for it (`\!`, `\copy ... program`), which
# could go on running unnoticed. Unlike psql's --restrict, which dumps of newer versions set for
# themselves, this limit works in every version.
_FORKS_NOTHING = ("/usr/bin/prlimit", "--nproc=0:0")
_DUMPED = re.compile(rb"^-- Dumped (?:from database|by pg_dump) version (\d+)", re.MULTILINE)
_HEAD = 4096


class Failed(Exception):
    """The server, or a script that fills it, failed."""


def run(
    argv: Sequence[str | Path], *, before: Sequence[str] = ()
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program and return how it ended.

    Raises:
        Failed: its exit code is not 0.
    """
    done = subprocess.run([*before, *argv], capture_output=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Failed(
            f"{Path(argv[0]).name} ended with code {done.returncode}: "
            f"{lines[0] if lines else 'no message'}"
        )
    return done


def version(binaries: Path) -> str:
    """Return the server's version, such as `15.14`."""
    done = run((binaries / "postgres", "--version"))
    return done.stdout.decode().split(") ")[-1].split()[0]


def make_empty(binaries: Path) -> None:
    """Make an empty cluster."""
    who = ("--username", SUPERUSER, "--auth", "trust")
    how = ("--encoding", "UTF8", "--locale", "C.UTF-8", "--wal-segsize", "1", "--no-sync")
    run((binaries / "initdb", "-D", DATA, *who, *how))


def pack_template() -> None:
    """Pack the cluster, which no server uses, and remove it."""
    run(("tar", "--create", "--file", OUTPUT / TEMPLATE, "--directory", OUTPUT, DATA.name))
    shutil.rmtree(DATA)


def fill(binaries: Path, where: Mapping[str, Any], user: str) -> None:
    """Run the task's scripts, which may be packed by gzip, in the order of their paths.

    Raises:
        Failed: a script failed; the message says where, and whether it is of a newer version.
    """
    psql = (binaries / "psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1")
    who = ("--host", where["host"], "--username", user, "--dbname", where["dbname"])
    for script in sorted(path for path in INPUT.rglob("*") if path.is_file()):
        plain = script
        if script.suffix == ".gz":
            plain = _UNPACKED
            with gzip.open(script) as packed, plain.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
        try:
            run((*psql, *who, "--file", plain), before=_FORKS_NOTHING)
        except Failed as error:
            name = str(script.relative_to(INPUT))
            told = str(error).replace(str(plain), name)
            raise Failed(f"{told}{_newer(plain, binaries)}") from error
        finally:
            _UNPACKED.unlink(missing_ok=True)


def _newer(script: Path, binaries: Path) -> str:
    with script.open("rb") as file:
        found = [int(number) for number in _DUMPED.findall(file.read(_HEAD))]
    ours = int(version(binaries).split(".")[0])
    if max(found, default=0) <= ours:
        return ""
    return (
        f"; it was dumped by PostgreSQL {max(found)}, and here is {ours}: "
        f"install PostgreSQL {max(found)}, or dump it again with pg_dump {ours}"
    )
