"""ReadCSV: rows of a delimited file, with its dialect detected."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from pydantic import Field

from environments.toolkit.definition import Arguments, InputPath, ToolDefinition
from environments.tools.wording import cell_text, count_of
from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE_CHARS = 65_536
_SAMPLE_ROWS = 50
_BINARY_STARTS = (b"PK\x03\x04", b"%PDF", b"\x89PNG", b"\xff\xd8\xff", b"\xd0\xcf\x11\xe0")


class ReadCSVArguments(Arguments):
    """Arguments of ReadCSV."""

    path: InputPath
    start_row: int = Field(default=0, ge=0, description="First data row; the header is not one.")
    max_rows: int = Field(default=50, ge=1, description="Rows to show.")


def read_csv(args: ReadCSVArguments, workspace: Path) -> ToolResult:
    """Return shape, dialect, header and the requested rows, unchanged."""
    source = input_file(workspace, args.path)
    encoding = detect_encoding(source)
    with _text(source, encoding) as stream:
        delimiter = detect_delimiter(stream.read(_SAMPLE_CHARS))
    csv.field_size_limit(sys.maxsize)
    with _text(source, encoding) as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        header = next(reader, None)
        if header is None:
            return ToolResult(text=f"{args.path} is empty.")
        shown: list[list[str]] = []
        uneven: list[int] = []
        total = 0
        for total, row in enumerate(reader, 1):
            if args.start_row < total <= args.start_row + args.max_rows:
                shown.append(row)
            if len(row) != len(header):
                uneven.append(total - 1)
    lines = [
        f"{args.path}: {count_of(total, 'data row')}, {count_of(len(header), 'column')} "
        f"({_DELIMITER_NAMES[delimiter]}-separated, {encoding})",
        *_uneven_note(uneven),
        f"header: {_csv_line(header, delimiter)}",
        *(
            f"{number}: {_csv_line(row, delimiter)}"
            for number, row in enumerate(shown, args.start_row)
        ),
        _position(args.start_row, len(shown), total),
    ]
    return ToolResult(text="\n".join(lines))


def _uneven_note(uneven: Sequence[int]) -> Iterator[str]:
    if uneven:
        first = ", ".join(map(str, uneven[:5]))
        yield (
            f"note: {count_of(len(uneven), 'row')} with another number of fields than the header "
            f"(data row {first}{', ...' if len(uneven) > 5 else ''})"
        )


def _position(start: int, shown: int, total: int) -> str:
    if not shown:
        return f"(no data row from {start} on)" if total else "(no data rows)"
    end = start + shown
    rest = f"go on with start_row={end}" if end < total else "that is the end"
    return f"(data rows {start} to {end - 1} of {total}; {rest})"


def _csv_line(row: Sequence[str], delimiter: str) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator="").writerow(map(cell_text, row))
    return buffer.getvalue()


@contextmanager
def _text(source: Path, encoding: str) -> Iterator[IO[str]]:
    with source.open(encoding=encoding, newline="", errors="strict") as stream:
        yield stream


def detect_encoding(source: Path) -> str:
    """Return utf-8, utf-8-sig, utf-16 or cp1252; raises `ToolRefused` for binary files."""
    with source.open("rb") as stream:
        start = stream.read(4)
        if start.startswith(_BINARY_STARTS):
            raise ToolRefused(f"{source.name} is not a text file.")
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "utf-16"
        candidates = ("utf-8-sig",) if start.startswith(b"\xef\xbb\xbf") else ("utf-8", "cp1252")
    for encoding in candidates:
        try:
            with source.open(encoding=encoding) as text:
                while text.read(_SAMPLE_CHARS):
                    continue
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def detect_delimiter(sample: str) -> str:
    """Return the delimiter with which most rows of `sample` have the same width, above 1."""

    def agreement(delimiter: str) -> tuple[float, int]:
        rows = list(islice(csv.reader(io.StringIO(sample), delimiter=delimiter), _SAMPLE_ROWS))
        widths = Counter(len(row) for row in rows if row)
        if not widths:
            return (0.0, 0)
        width, times = widths.most_common(1)[0]
        return (times / widths.total() if width > 1 else 0.0, width)

    csv.field_size_limit(sys.maxsize)
    return max(_DELIMITERS, key=agreement)


TOOLS = (
    ToolDefinition(
        name="ReadCSV",
        description=(
            "Read rows of a CSV file as they stand: shows the size, delimiter, encoding, header "
            "and the asked data rows, numbered from 0."
        ),
        category=Capability.PERCEPTION,
        arguments=ReadCSVArguments,
        run=read_csv,
        backend="Python's csv",
        paging="Ask for fewer rows with max_rows, and for later ones with start_row.",
    ),
)
