"""The files that a program finds."""

import pytest

from stages.score.scripts.staging import staged
from taskdata.schema.input_file import InputFile
from taskdata.schema.run import Deliverable
from taskdata.schema.service import PostgresqlService
from taskdata.schema.task import TaskEnvironment


@pytest.fixture
def kept(store):
    def keep(path: str, content: bytes) -> InputFile:
        sha256 = store.artifacts.put_bytes(content)
        return InputFile(path=path, sha256=sha256, size_bytes=len(content))

    return keep


@pytest.fixture
def left(store):
    def leave(**files: bytes) -> tuple[Deliverable, ...]:
        return tuple(
            Deliverable(name=n, sha256=store.artifacts.put_bytes(b), size_bytes=len(b))
            for n, b in files.items()
        )

    return leave


def test_what_an_agent_leaves_lies_over_the_tasks_files(store, new_task, kept, left):
    inputs = (kept("a.txt", b"old"), kept("b.txt", b"kept"), kept("c", b"old"), kept("d/e", b"old"))
    task = new_task(files=inputs)
    files = staged(task, left(**{"a.txt": b"new", "c/f": b"new", "d": b"new"}), "", None,
                   store.artifacts)  # fmt: skip
    workspace = {path: data for path, data in files.items() if path.startswith("workspace/")}
    assert workspace == {
        "workspace/a.txt": b"new",
        "workspace/b.txt": b"kept",
        "workspace/c/f": b"new",
        "workspace/d": b"new",
    }
    assert {path for path in files if path.startswith("deliverables/")} == {
        "deliverables/a.txt",
        "deliverables/c/f",
        "deliverables/d",
    }


def test_the_final_state_of_services_has_a_folder_of_its_own(store, new_task, left):
    service = PostgresqlService(name="shop")
    task = new_task(environment=TaskEnvironment(services=(service,)))
    files = staged(task, left(**{"services/shop/orders.csv": b"id\n"}), "", None, store.artifacts)
    assert files["services/shop/orders.csv"] == b"id\n"
    assert not any(path.startswith(("deliverables/", "workspace/")) for path in files)


def test_the_expected_workspace_is_found_without_its_folder(store, new_task, kept):
    around = TaskEnvironment(groundtruth=(kept("groundtruth_workspace/x/a.csv", b"1"),))
    files = staged(new_task(environment=around), (), "", None, store.artifacts)
    assert files["groundtruth/x/a.csv"] == b"1"
