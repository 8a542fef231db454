"""Copies of the expected workspace with one fault each, for tasks that a program scores.

A fault is a missing file, or a change in a text file. Files of other formats are not opened,
because only sandboxes may do that.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from stages.construct.proof.adversarial.mutants import FIGURE, other_figure
from taskdata.schema.run import Deliverable

_MOST_FILES = 4
_MOST_BYTES = 1 << 20
_TEXTS = {".csv", ".json", ".md", ".txt", ".html", ".xml", ".yaml"}

Read = Callable[[str], bytes]
Keep = Callable[[str, bytes], Deliverable]
"""Stores a file under a name."""


def faulty_files(
    files: Sequence[Deliverable], read: Read, keep: Keep, seed: str
) -> Iterator[tuple[str, tuple[Deliverable, ...]]]:
    """Yield a description of each fault, and the workspace with the fault.

    Args:
        files: The expected workspace.
        read: Returns a file's bytes by sha256.
        keep: Stores a changed file.
        seed: Decides which files, figures and lines; equal seeds give equal faults.
    """
    rng = random.Random(seed)  # noqa: S311 - nothing secret depends on it
    for file in rng.sample(files, min(_MOST_FILES, len(files))):
        others = tuple(one for one in files if one != file)
        yield f"{file.name} is missing", others
        for what, text in _faulty_texts(file, read, rng):
            yield f"{file.name}: {what}", (*others, keep(file.name, text.encode()))


def _faulty_texts(file: Deliverable, read: Read, rng: random.Random) -> Iterator[tuple[str, str]]:
    is_text = PurePosixPath(file.name).suffix.lower() in _TEXTS
    if not is_text or file.size_bytes > _MOST_BYTES:
        return
    try:
        text = read(file.sha256).decode()
    except UnicodeDecodeError:
        return
    if figures := sorted(set(FIGURE.findall(text))):
        figure = rng.choice(figures)
        new = other_figure(figure)
        pattern = rf"(?<![\w.,:]){re.escape(figure)}(?![\w]|[.,:]\d)"
        yield f"{figure} is {new} wherever it stands", re.sub(pattern, new, text)
    lines = text.splitlines(keepends=True)
    if len(lines) > 2:
        place = rng.randrange(1, len(lines))
        yield f"line {place + 1} is missing", "".join([*lines[:place], *lines[place + 1 :]])
