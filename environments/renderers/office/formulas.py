"""Values of a workbook's formulas, computed, because openpyxl writes formulas without values.

Run as a child process of the XLSX renderer (`python -m environments.renderers.office.formulas
FILE`), so that a formula that never ends, or crashes the engine, loses the values and not the view.
"""

import json
import math
import resource
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

CPU_SECONDS = 20
"""For all formulas of a workbook; beyond it none of them gets a value."""
_WALL_SECONDS = 200.0
"""Far more than the CPU time takes on a busy machine."""

FormulaValue = str | float | bool
Values = dict[str, dict[str, FormulaValue]]
"""By sheet name, then by A1 address."""

_ERRORS = {
    "Div": "#DIV/0!",
    "Na": "#N/A",
    "Null": "#NULL!",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
    "Spill": "#SPILL!",
    "Calc": "#CALC!",
    "Circ": "#CIRC!",
}
"""Any other kind (an unknown function, a formula that does not parse) gives no value."""


def computed_values(path: Path, addresses: dict[str, list[str]]) -> Values:
    """Return the values of the formulas at `addresses` (by sheet); failed ones are missing.

    Dates are ISO text or Excel's serial numbers, depending on the formula.
    """
    request = json.dumps(addresses).encode()
    command = [sys.executable, "-P", "-m", __name__, str(path)]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, timeout=_WALL_SECONDS, check=True
        )
        values: Values = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        return {}
    return values


def evaluate(path: Path, addresses: dict[str, list[str]]) -> Values:
    """Return the formula engine's value for each address, computed in this process."""
    import formualizer
    from openpyxl.utils.cell import coordinate_to_tuple

    workbook = formualizer.Workbook.from_path(str(path))
    values: Values = {sheet: {} for sheet in addresses}
    open_cells = [(sheet, address) for sheet, cells in addresses.items() for address in cells]
    # A formula that the engine cannot handle makes the first request fail, whatever its cell.
    for _ in range(2):
        failed = []
        for sheet, address in open_cells:
            try:
                value = _plain(workbook.evaluate_cell(sheet, *coordinate_to_tuple(address)))
            except formualizer.ExcelEvaluationError:
                failed.append((sheet, address))
                continue
            if value is not None:
                values[sheet][address] = value
        open_cells = failed
    return values


def _plain(value: Any) -> FormulaValue | None:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else "#NUM!"
    if isinstance(value, dict):
        return _ERRORS.get(str(value.get("kind")))
    return time_value(value)


def time_value(value: object) -> str | float | None:
    """Return a date or time as ISO text, a duration in days, None for other values."""
    if isinstance(value, datetime):
        return (value.date() if value.time() == time() else value).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds() / 86_400
    return None


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    json.dump(evaluate(Path(sys.argv[1]), json.load(sys.stdin)), sys.stdout)
