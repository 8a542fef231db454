import subprocess
import sys
from pathlib import Path

from environments.tool_runtime.registry import MODULES
from environments.tool_runtime.warm.libraries import LIBRARIES


def test_every_tool_but_the_one_that_runs_code_says_what_it_needs():
    assert set(LIBRARIES) == set(MODULES) - {"python_execute"}


def test_everything_loads_in_one_process_that_can_be_forked(tmp_path: Path):
    code = (
        "from environments.tool_runtime.warm.libraries import LIBRARIES, load\n"
        "from environments.tool_runtime.warm.tidying import other_threads_sleep\n"
        "for names in LIBRARIES.values(): load(names)\n"
        "print(other_threads_sleep())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.stdout == b"True\n", done.stderr


def test_a_workbook_is_read_with_what_was_loaded_before(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path\n"
        "from environments.tool_runtime.warm.libraries import LIBRARIES, load\n"
        "from environments.tool_runtime.worker import answer\n"
        "load(LIBRARIES['XlsxFileGenerator']); known = set(sys.modules)\n"
        "rows = {'path': 'output/a.xlsx', 'sheets': [{'name': 'a', 'rows': [[1, 2]]}]}\n"
        "print(answer('XlsxFileGenerator', rows, Path('.')).error)\n"
        "print(answer('ReadXLSX', {'path': 'output/a.xlsx'}, Path('.')).error)\n"
        "print([m for m in set(sys.modules) - known if m.split('.')[0] in ('openpyxl', 'numpy')])\n"
    )
    (tmp_path / "output").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, cwd=tmp_path
    )
    assert done.stdout == b"None\nNone\n[]\n", done.stderr
