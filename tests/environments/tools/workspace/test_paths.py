from pathlib import Path

import pytest

from environments.tools.workspace.paths import input_file, output_file, workspace_path
from taskdata.errors import ToolRefused


def test_a_path_may_be_written_from_the_root_of_the_sandbox(workspace: Path):
    (workspace / "input/a.csv").write_text("a")
    assert input_file(workspace, "/workspace/input/a.csv") == workspace / "input/a.csv"
    assert input_file(workspace, "./input/a.csv") == workspace / "input/a.csv"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "input/../../x", "/workspacex/a", "a\0b"])
def test_paths_outside_the_workspace_are_refused(workspace: Path, path: str):
    with pytest.raises(ToolRefused):
        workspace_path(workspace, path)


def test_a_link_out_of_the_workspace_is_refused(workspace: Path):
    (workspace / "output/out").symlink_to("/etc")
    with pytest.raises(ToolRefused, match="outside the workspace"):
        output_file(workspace, "output/out/x.txt")


def test_a_missing_file_names_the_closest_one(workspace: Path):
    (workspace / "input/sales.csv").write_text("a")
    with pytest.raises(ToolRefused, match=r"Did you mean 'input/sales.csv'\?"):
        input_file(workspace, "input/sale.csv")


def test_a_folder_is_no_file(workspace: Path):
    with pytest.raises(ToolRefused, match="is a folder"):
        input_file(workspace, "input")
    (workspace / "output/a.txt").mkdir()
    with pytest.raises(ToolRefused, match="is a folder"):
        output_file(workspace, "output/a.txt")


@pytest.mark.parametrize("path", ["report.docx", "input/report.docx", "output"])
def test_only_output_is_written_and_the_refusal_says_where(workspace: Path, path: str):
    with pytest.raises(ToolRefused, match="only files below output/ can, such as output/"):
        output_file(workspace, path)


def test_the_ending_must_fit_the_tool(workspace: Path):
    with pytest.raises(ToolRefused, match=r"must end in \.png or \.jpg"):
        output_file(workspace, "output/a.gif", (".png", ".jpg"))


def test_folders_of_an_output_file_are_made(workspace: Path):
    target = output_file(workspace, "output/deep/er/A.PNG", (".png",))
    assert target.parent.is_dir()
