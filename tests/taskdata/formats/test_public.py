"""Files of a public export: all that a task names are there, with a canary where one fits."""

import hashlib
import json

import pytest

from taskdata.formats import public
from taskdata.schema.task import InputFile

PAGE = b"<html><body>leek</body></html>"


@pytest.mark.parametrize(
    "names", [["page.txt", "page.html"], ["page.html", "page.txt"], ["page.html", "page.html"]]
)
def test_bytes_that_several_files_share_stay_for_the_one_without_a_canary(
    tmp_path, new_task, names
):
    sha256 = hashlib.sha256(PAGE).hexdigest()
    tasks = [
        new_task(f"t{n}", files=(InputFile(path=name, sha256=sha256, size_bytes=len(PAGE)),))
        for n, name in enumerate(names)
    ]

    public.write(tasks, tmp_path / "out", lambda _, target: target.write_bytes(PAGE), "canary-1")

    lines = (tmp_path / "out" / public.DOCUMENT).read_text().splitlines()
    files = [file for line in lines for file in json.loads(line)["files"]]
    stored = {path.name: path.read_bytes() for path in (tmp_path / "out" / "files").iterdir()}
    assert set(stored) == {file["sha256"] for file in files}
    for file in files:
        assert (b"canary-1" in stored[file["sha256"]]) == file["path"].endswith(".html")
