"""The exit code says how a program ended."""

import pytest

from environments.scripts.launch import BROKEN, FAILED, MISSING, NEEDS, main


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """Return a function that runs a program; modules and paths are as before afterwards."""
    monkeypatch.setattr("sys.path", ["", *__import__("sys").path])

    def launch(code: str, entry: str = "check-it.py") -> int:
        program = tmp_path / "programs" / entry
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(code.format(root=tmp_path))
        (tmp_path / "programs" / "beside_it.py").write_text("ANSWER = 5\n")
        return main([str(tmp_path / "programs"), entry, "--agent_workspace", "w"])

    return launch


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("import sys; assert sys.argv[1:] == ['--agent_workspace', 'w']", 0),
        ("from beside_it import ANSWER; assert ANSWER == 5", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit(1)", FAILED),
        ("raise SystemExit(True)", FAILED),
        ("raise SystemExit('the total is wrong')", FAILED),
        ("assert 1 == 2", FAILED),
        (f"raise SystemExit({FAILED})", BROKEN),
        (f"raise SystemExit({MISSING})", BROKEN),
        (f"raise SystemExit({NEEDS})", BROKEN),
        ("import a_library_that_is_not_there", NEEDS),
        ("def broken(:", BROKEN),
        ("1 / 0", BROKEN),
        ("open('{root}/deliverables/out.json')", MISSING),
        ("open('{root}/workspace/a/../out.json')", MISSING),
        ("open('{root}/services/shop/orders.csv')", MISSING),
        ("open('{root}/groundtruth/out.json')", BROKEN),
        ("open('{root}/workspace/../groundtruth/out.json')", BROKEN),
        ("open('/nowhere')", BROKEN),
        ("raise FileNotFoundError", BROKEN),
    ],
)
def test_the_exit_code_says_how_a_program_ended(launched, code, exit_code):
    assert launched(code) == exit_code
