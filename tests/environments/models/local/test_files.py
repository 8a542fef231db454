import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from environments.models.local import catalogue
from environments.models.local.catalogue import LocalModel, PackagedFile
from environments.models.local.files import model_file, require_model_file
from taskdata.errors import Misuse, ModelUnavailable
from taskdata.schema.agent import ModelSpec

PARTS = (b"GGUF, the first part; ", b"the second; ", b"the third")


def install(site: Path, number: int, content: bytes) -> PackagedFile:
    """Lay a part down as pip does: a folder with the file, and one that names the package."""
    folder = site / f"tiny_part{number}" / "data"
    folder.mkdir(parents=True)
    (folder / "part.bin").write_bytes(content)
    information = site / f"tiny_part{number}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Name: tiny-part{number}\nVersion: 1.0\n")
    return PackagedFile(f"tiny-part{number}", f"tiny_part{number}/data/part.bin")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch) -> LocalModel:
    """A model in three installed parts, known as `tiny`."""
    site = tmp_path / "site"
    parts = tuple(install(site, n, content) for n, content in enumerate(PARTS, 1))
    model = LocalModel(parts, hashlib.sha256(b"".join(PARTS)).hexdigest(), "`get them`")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(catalogue, "LOCAL_MODELS", {"tiny": model})
    return model


def test_parts_are_put_together_once_and_somebody_is_told(tiny: LocalModel, tmp_path: Path):
    home, told = tmp_path / "a new home", []
    file = model_file(home, "tiny", told.append)

    assert file.read_bytes() == b"".join(PARTS)
    assert file.is_relative_to(home)
    written = file.stat()
    assert model_file(home, "tiny", told.append) == file
    (line,) = told
    assert f"local/tiny (0 MB) together from its 3 packages, once, as {file}" in line
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


def test_what_a_killed_process_left_does_no_harm(tiny: LocalModel, tmp_path: Path):
    file = model_file(tmp_path, "tiny")
    file.rename(file.with_suffix(".partial"))
    with file.with_suffix(".partial").open("ab") as left:
        left.write(b" and more than there should be")

    assert model_file(tmp_path, "tiny").read_bytes() == b"".join(PARTS)
    assert not file.with_suffix(".partial").exists()


def test_processes_that_want_it_at_once_all_get_it(tmp_path: Path):
    """Each starts from nothing, and the parts are large enough for the writing to overlap."""
    contents = [bytes([n]) * 20_000_000 for n in range(3)]
    site = tmp_path / "site"
    for number, content in enumerate(contents, 1):
        install(site, number, content)
    sha256 = hashlib.sha256(b"".join(contents)).hexdigest()
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from environments.models.local import catalogue\n"
        "from environments.models.local.files import model_file\n"
        "parts = tuple(\n"
        "    catalogue.PackagedFile(f'tiny-part{n}', f'tiny_part{n}/data/part.bin')\n"
        "    for n in (1, 2, 3)\n"
        ")\n"
        "catalogue.LOCAL_MODELS = {'tiny': catalogue.LocalModel(parts, sys.argv[3], '')}\n"
        "print(model_file(Path(sys.argv[2]), 'tiny').stat().st_ino)\n"
    )
    command = [sys.executable, "-c", program, str(site), str(tmp_path / "home"), sha256]
    root = Path(catalogue.__file__).parents[3]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(3)
    ]
    said = {child.communicate(timeout=60)[0] for child in running}

    assert [child.returncode for child in running] == [0, 0, 0]
    assert len(said) == 1, "the file was put together more than once"
    (file,) = (tmp_path / "home" / "models").glob("*.gguf")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def test_parts_that_make_another_file_are_refused(tiny: LocalModel, tmp_path: Path):
    tiny.parts[1].installed().write_bytes(b"something else; ")

    with pytest.raises(Misuse, match=rf"3 installed parts .* not {tiny.sha256}.* run `get them`"):
        model_file(tmp_path, "tiny")
    assert not list((tmp_path / "models").glob("*.gguf"))
    assert not list((tmp_path / "models").glob("*.partial"))


def test_a_file_that_changed_later_is_refused(tiny: LocalModel, tmp_path: Path):
    file = model_file(tmp_path, "tiny")
    file.write_bytes(b"GGUF of somebody else")

    with pytest.raises(Misuse, match=rf"sha256 of {file} .* remove the file"):
        model_file(tmp_path, "tiny")


def test_a_model_in_one_part_is_checked_where_it_is_installed(tmp_path: Path, monkeypatch):
    part = install(tmp_path, 1, b"GGUF")
    model = LocalModel((part,), hashlib.sha256(b"GGUF").hexdigest(), "`get it`")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(catalogue, "LOCAL_MODELS", {"whole": model})

    assert model_file(tmp_path / "home", "whole") == part.installed()
    part.installed().write_bytes(b"GGUX")
    with pytest.raises(Misuse, match=rf"not {model.sha256}; remove the file and run `get it`"):
        model_file(tmp_path / "home", "whole")


def test_a_missing_part_is_misuse_that_says_how_to_get_it(tiny: LocalModel, tmp_path: Path):
    tiny.parts[2].installed().unlink()

    for attempt in (lambda: require_model_file("tiny"), lambda: model_file(tmp_path, "tiny")):
        with pytest.raises(Misuse, match="tiny-part3 is not installed; run `get them`"):
            attempt()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("qwen2.5-coder-0.5b", "make setup"),
        ("qwen2.5-coder-1.5b", "make setup-models"),
    ],
)
def test_a_model_that_needs_an_extra_names_its_command_and_the_model_that_needs_none(
    name, command, monkeypatch
):
    model = catalogue.LOCAL_MODELS[name]
    absent = tuple(PackagedFile(f"no-such-part{n}", "part.bin") for n in range(6))
    monkeypatch.setattr(
        catalogue, "LOCAL_MODELS", {"absent": LocalModel(absent, model.sha256, model.install)}
    )
    with pytest.raises(
        Misuse,
        match=f"and 5 more packages are not installed; run `{command}`, .* "
        "--agent react:local/smollm2-135m$",
    ):
        require_model_file("absent")


def test_an_unknown_model_is_misuse(tmp_path: Path):
    with pytest.raises(
        Misuse, match="local/nonesuch: unknown; there is local/smollm2-135m, local/q"
    ):
        model_file(tmp_path, "nonesuch")


def test_a_model_may_be_a_file_of_ones_own(tmp_path: Path):
    file = tmp_path / "mine.gguf"
    with pytest.raises(Misuse, match=r"there is no file .*/mine\.gguf"):
        require_model_file(str(file))
    file.write_bytes(b"GGUF")
    assert model_file(tmp_path, str(file)) == file
    assert ModelSpec.parse(f"local/{file}").model == str(file)


def test_a_home_that_cannot_be_written_is_told(tiny: LocalModel, tmp_path: Path):
    (tmp_path / "home").write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailable, match=r"model local/tiny: .*Not a directory"):
        model_file(tmp_path / "home", "tiny")
