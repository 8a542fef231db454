"""Every command in README, CONTRIBUTING and docs runs as it is written."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
STORY = ROOT / "docs" / "task-bank.md"
"""Its commands build on each other; `test_documented_run.py` runs them one after the other."""
STARTS_WORK = {"run", "serve", "refresh", "rescore"}
INSTALLS = ["mcp", "install"]
"""`test_install.py` and `test_real_servers.py` install servers."""


def commands_of(page):
    for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words:
                yield words


def commands():
    """Every command once, with the first page that has it."""
    found = {}
    for page in PAGES:
        for words in commands_of(page):
            if words[0] in ("nightshift", "make"):
                found.setdefault(tuple(words), page)
    for words, page in found.items():
        yield pytest.param(words, page, id=f"{page.name}: {' '.join(words)}")


@pytest.mark.parametrize(("words", "page"), list(commands()))
def test_a_documented_command_runs(words, page, night, command):
    if words[0] == "make":
        done = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True)
    elif words[1] in STARTS_WORK or list(words[1:3]) == INSTALLS or page == STORY:
        # Whole nights have tests of their own; here the options must exist.
        done = command.here(night.home, *words[1:], "--help")
    else:
        done = command.here(night.home, *words[1:], cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_starts_with_the_two_commands_and_the_dashboard():
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:16])
    for text in ("make evaluate", "make test", "dashboard.png"):
        assert text in first_screen
