"""A whole pool is taken in: tasks, servers' configurations, and the package its programs share."""

import shutil
from pathlib import Path

import pytest

POOL = Path(__file__).parents[2] / "pool"


@pytest.fixture
def pool(tmp_path):
    """A copy of the small pool that a test may break."""
    return Path(shutil.copytree(POOL, tmp_path / "pool"))


def by_name(result):
    return {task.id.removeprefix("toolathlon-"): task for task in result.tasks}


def test_a_pool_is_found_by_its_root_and_by_its_folder_of_tasks(read):
    from_root, from_tasks = read("toolathlon", POOL), read("toolathlon", POOL / "tasks" / "club")
    assert len(from_root.tasks) == 6
    assert from_root.refused == []
    assert [t.content_hash for t in from_root.tasks] == [t.content_hash for t in from_tasks.tasks]


def test_servers_have_the_names_of_the_catalogue_and_keep_how_the_pool_starts_them(read):
    task = by_name(read("toolathlon", POOL))["opening-hours"]
    assert task.environment.servers == ("filesystem", "powerpoint")
    kept = task.extras["toolathlon"]["servers"]["pptx"]
    assert kept["args"] == ["--directory", "${local_servers_paths}/slides", "run", "slides_server"]


def test_the_agent_has_one_workspace_without_what_tools_left_in_it(read):
    result = read("toolathlon", POOL)
    task = by_name(result)["guest-list"]
    assert task.has_one_workspace
    assert [file.path for file in task.files] == ["guests.csv"]
    assert result.source.ignored == {".gitkeep": 1}
    assert task.brief().one_workspace


def test_turns_and_folders_are_those_of_the_pools_own_loop(read, pool):
    config = pool / "tasks/club/guest-list/task_config.json"
    needed = '"needed_mcp_servers": ["memory", "arxiv_local"]'
    config.write_text(config.read_text().replace('"needed_mcp_servers": []', needed))
    (pool / "tasks/club/guest-list/initial_workspace/memory").mkdir()
    (pool / "tasks/club/guest-list/initial_workspace/memory/memory.json").write_text("{}")
    tasks = by_name(read("toolathlon", pool))
    assert {task.max_turns for task in tasks.values()} == {100}
    assert tasks["guest-list"].folders == ("arxiv_local_storage",)
    assert tasks["minutes"].folders == ()


def test_what_macos_puts_into_archives_is_no_file_of_a_task(read, pool):
    (pool / "tasks/club/guest-list/initial_workspace/._guests.csv").write_bytes(b"\0\5\x16\7")
    result = read("toolathlon", pool)
    assert [file.path for file in by_name(result)["guest-list"].files] == ["guests.csv"]
    assert result.source.ignored["._*"] == 1


def test_programs_that_import_the_pools_package_bring_it(read):
    tasks = by_name(read("toolathlon", POOL))
    shared = {"utils/__init__.py", "utils/tables/__init__.py", "utils/tables/reading.py"}
    assert shared < {file.path for file in tasks["guest-list"].environment.evaluation}
    assert not shared & {file.path for file in tasks["minutes"].environment.evaluation}


def test_the_licence_that_is_given_is_that_of_every_task(read):
    assert {t.provenance.license for t in read("toolathlon", POOL).tasks} == {"unknown"}
    given = read("toolathlon", POOL, licence="Apache-2.0")
    assert {t.provenance.license for t in given.tasks} == {"Apache-2.0"}


def test_a_configuration_that_cannot_be_read_is_named_and_costs_nothing_else(read, pool):
    (pool / "configs/mcp_servers/pptx.yaml").write_text("name: [")
    result = read("toolathlon", pool)
    assert len(result.tasks) == 6
    assert any("configs/mcp_servers/pptx.yaml" in fault for fault in result.source.ignored)


def test_a_link_costs_its_task_alone_and_no_path_leads_out_of_the_pool(read, pool):
    (pool / "tasks/club/minutes/initial_workspace").mkdir()
    (pool / "tasks/club/minutes/initial_workspace/out").symlink_to("/etc/passwd")
    (pool / "tasks/club/linked").symlink_to(pool / "tasks/club/minutes")
    result = read("toolathlon", pool)
    assert {(row.item, row.field) for row in result.refused} == {
        ("minutes", "initial_workspace/out"),
        ("linked", None),
    }
    assert len(result.tasks) == 5


def test_a_linked_package_is_not_followed(read, pool, tmp_path):
    shutil.rmtree(pool / "utils")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.py").write_text("password = 1")
    (pool / "utils").symlink_to(tmp_path / "elsewhere")
    (row,) = read("toolathlon", pool).refused
    assert (row.item, row.field) == ("guest-list", "utils")


def test_tasks_that_work_on_the_database_bring_it_and_the_agent_is_not_told(read):
    tasks = by_name(read("toolathlon", POOL))
    (service,) = tasks["member-fees"].services
    assert (service.database, service.user) == ("toolathlon_gym", "eigent")
    assert [file.path for file in service.files] == ["db/init.sql"]
    assert tasks["member-fees"].brief().services == ()
    assert [name for name, task in tasks.items() if task.services] == ["member-fees"]


def test_a_server_whose_source_names_the_database_works_on_it(read, pool):
    for source, brings in (("import json", False), ("from psycopg2 import connect", True)):
        (pool / "local_servers/slides/src").mkdir(parents=True, exist_ok=True)
        (pool / "local_servers/slides/src/server.py").write_text(source)
        tasks = by_name(read("toolathlon", pool))
        assert bool(tasks["opening-hours"].services) == brings
        assert not tasks["minutes"].services


def test_a_pool_without_its_dump_is_taken_in_without_the_database(read, pool):
    (pool / "db/init.sql").unlink()
    result = read("toolathlon", pool)
    assert len(result.tasks) == 6
    assert not any(task.services for task in result.tasks)
