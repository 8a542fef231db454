"""CsvFileGenerator: a delimited file that every program reads."""

import csv
from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import Arguments, CellValue, OutputPath, ToolDefinition
from environments.tools.wording import count_of
from environments.tools.workspace.paths import output_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult


class CsvFileGeneratorArguments(Arguments):
    """Arguments of CsvFileGenerator."""

    path: OutputPath
    columns: list[str] = Field(min_length=1, description="The header.")
    rows: list[list[CellValue]] = Field(description="As many cells in each row as columns.")


def write_csv(args: CsvFileGeneratorArguments, workspace: Path) -> ToolResult:
    """Write a comma-separated UTF-8 file; null becomes an empty field."""
    target = output_file(workspace, args.path, (".csv",))
    for number, row in enumerate(args.rows):
        if len(row) != len(args.columns):
            raise ToolRefused(
                f"rows[{number}] has {count_of(len(row), 'cell')} for "
                f"{count_of(len(args.columns), 'column')}; use null for empty cells."
            )
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(args.columns)
        writer.writerows(args.rows)
    return ToolResult(
        text=f"Wrote {args.path}: {count_of(len(args.rows), 'row')} and a header of "
        f"{count_of(len(args.columns), 'column')}."
    )


TOOLS = (
    ToolDefinition(
        name="CsvFileGenerator",
        description="Write a CSV file with a header (comma-separated, UTF-8).",
        category=Capability.OPERATION,
        arguments=CsvFileGeneratorArguments,
        run=write_csv,
        backend="Python's csv",
        paging="Write less at once.",
    ),
)
