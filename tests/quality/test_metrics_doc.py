"""docs/metrics.md says how each metric is computed, in what unit, by whom, and where it ends."""

from pathlib import Path

DOC = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_each_metric_has_formula_unit_source_and_edge_cases():
    lines = DOC.read_text(encoding="utf-8").splitlines()
    headers = [n for n, line in enumerate(lines) if line.startswith("| metric |")]
    assert len(headers) >= 8
    for start in headers:
        columns = [cell.strip() for cell in lines[start].strip("|").split("|")]
        assert columns[:4] == ["metric", "formula", "unit", "source"], lines[start]
        assert columns[4].startswith("edge cases")
        rows = lines[start + 2 :]
        for row in rows[: next(n for n, line in enumerate(rows) if not line.startswith("|"))]:
            cells = [cell.strip() for cell in row.replace(r"\|", "").strip("|").split("|")]
            assert len(cells) == 5, row
            assert all(cells[:3]), row
