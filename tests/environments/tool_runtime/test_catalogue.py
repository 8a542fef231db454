from importlib import import_module

import pytest

from environments.tool_runtime.catalogue import as_markdown, catalogue
from environments.tool_runtime.host_registry import HOST_MODULES
from environments.tool_runtime.registry import MODULES


def test_the_catalogue_holds_every_registered_tool_under_its_own_name():
    tools = catalogue()
    assert set(tools) == {*MODULES, *HOST_MODULES, "finish", "claim_done"}
    assert all(tool.spec.name == name for name, tool in tools.items())


REGISTERED = {**MODULES, **HOST_MODULES}


@pytest.mark.parametrize("module", sorted(set(REGISTERED.values())))
def test_no_tool_of_a_module_is_forgotten_in_the_registry(module: str):
    declared = {tool.name for tool in import_module(module).TOOLS}
    assert declared == {name for name, holder in REGISTERED.items() if holder == module}


def test_the_documentation_names_every_tool_and_argument():
    text = as_markdown(tool.spec for tool in catalogue().values())
    for tool in catalogue().values():
        assert f"### {tool.spec.name}\n" in text
        section = text.split(f"### {tool.spec.name}\n", 1)[1].split("\n### ", 1)[0]
        assert all(f"- `{name}` (" in section for name in tool.spec.parameters["properties"])


def test_arguments_read_as_words():
    text = as_markdown([catalogue()["Plot"].spec, catalogue()["ReadCSV"].spec])
    assert '- `kind` ("line" | "bar" | "scatter" | "pie" | "histogram", required)' in text
    assert "- `series` (list of {name: text, values: list of number}, required)" in text
    assert "- `max_rows` (whole number, default 50): Rows to show." in text
