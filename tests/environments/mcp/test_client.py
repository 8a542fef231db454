"""A server inside a trial's sandbox, however it behaves: the trial goes on."""

import asyncio
import re
import time
from pathlib import Path

import pytest
import yaml

from environments.mcp.client.live import McpTool
from environments.mcp.client.trial import tools_of_servers
from taskdata.errors import Misuse, ToolUnavailable
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolErrorKind, ToolResult


@pytest.fixture
def scripted(in_trial, home: Path):
    """Call the scripted server's tools one after another; returns the results."""

    def run(*calls: tuple[str, str | None], **options: object) -> list[ToolResult]:
        async def talking(trial) -> list[ToolResult]:
            return [
                await trial.call(name, **({} if text is None else {"text": text}))
                for name, text in calls
            ]

        return in_trial(["scripted"], home, talking, **options)

    return run


def test_a_call_is_answered_by_the_server_in_the_sandbox(in_trial, home: Path, any_provider: str):
    async def talking(trial) -> ToolResult:
        return await trial.call("echo", text="hello")

    result = in_trial(["scripted"], home, talking, any_provider)

    assert (result.text, result.error, result.files) == ("echo hello (1)", None, ())


def test_it_keeps_its_memory_between_calls(scripted):
    assert [r.text for r in scripted(("echo", "a"), ("echo", "b"))] == ["echo a (1)", "echo b (2)"]


def test_calls_may_be_made_at_once(in_trial, home: Path):
    async def talking(trial) -> list[ToolResult]:
        return await asyncio.gather(*(trial.call("echo", text=str(i)) for i in range(20)))

    results = in_trial(["scripted"], home, talking)

    assert [r.text.split()[1] for r in results] == [str(i) for i in range(20)]


def test_files_that_a_call_wrote_are_listed(scripted):
    result, again = scripted(("write", "mine"), ("echo", "x"))

    assert (result.files, again.files) == (("output/made.txt",), ())


def test_an_error_of_the_tool_is_an_observation(scripted):
    failed, rejected = scripted(("fail", None), ("reject", None))

    assert (failed.text, failed.error) == ("no such sheet", ToolErrorKind.REFUSED)
    assert rejected.text == "scripted refused: text must not be empty"
    assert rejected.error is ToolErrorKind.BAD_ARGUMENTS


def test_arguments_that_do_not_fit_never_reach_it(in_trial, home: Path):
    async def talking(trial) -> list[ToolResult]:
        return [
            await trial.tools["echo"].run(arguments, trial.sandbox)
            for arguments in ({}, {"text": 3}, {"text": "x"})
        ]

    missing, wrong, right = in_trial(["scripted"], home, talking)

    assert missing.error is wrong.error is ToolErrorKind.BAD_ARGUMENTS
    assert "'text' is a required property" in missing.text
    assert missing.text.endswith("echo takes: text (required).")
    assert "- text: 3 is not of type 'string'" in wrong.text
    assert right.text == "echo x (1)"


def test_a_crash_is_told_and_mended_once(scripted):
    results = scripted(("crash", None), ("echo", "a"), ("crash", None), ("echo", "b"))

    assert [r.error for r in results] == [ToolErrorKind.LIMIT, None] + [ToolErrorKind.LIMIT] * 2
    assert "it ended with code 3; it said last: Segmentation fault, alas" in results[0].text
    assert "starts afresh with the next call" in results[0].text
    assert results[1].text == "echo a (1)"
    assert "cannot be used any more" in results[3].text


def test_a_hanging_call_ends_in_time_and_the_server_with_it(scripted):
    began = time.monotonic()
    hung, after = scripted(("hang", None), ("echo", "a"), wall_seconds=1)

    assert hung.error is ToolErrorKind.LIMIT
    assert hung.text.startswith("scripted did not answer within 1 s.")
    assert after.text == "echo a (1)"
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(("tool", "why"), [("flood", "16 MB for one"), ("line", "8 MB")])
def test_a_flood_is_cut_off(scripted, tool: str, why: str):
    flooded, after = scripted((tool, None), ("echo", "a"), wall_seconds=30)

    assert flooded.error is ToolErrorKind.LIMIT
    assert why in flooded.text
    assert after.text == "echo a (1)"


def test_a_limit_of_the_sandbox_is_named(in_trial, home: Path):
    async def talking(trial) -> ToolResult:
        return await trial.call("flood")

    result = in_trial(["scripted"], home, talking, cpu_seconds=1)

    assert result.error is ToolErrorKind.LIMIT


def test_output_that_is_no_message_breaks_nothing(scripted):
    garbage, after = scripted(("garbage", None), ("echo", "a"))

    assert (garbage.text, after.text) == ("after garbage", "echo a (2)")


def test_notifications_and_requests_of_its_own_are_passed_over(scripted):
    assert [r.text for r in scripted(("notify", None))] == ["notify  (1)"]


def test_what_is_no_result_is_an_error(scripted):
    forged, after = scripted(("forge", None), ("echo", "a"))

    assert forged.error is ToolErrorKind.REFUSED
    assert forged.text == "scripted answered forge with something that is no result."
    assert after.error is None


def test_a_server_that_stops_reading_is_timed_out(in_trial, home: Path):
    async def talking(trial) -> ToolResult:
        deafening = asyncio.create_task(trial.call("deafen"))
        await asyncio.sleep(0.3)
        tool = trial.tools["echo"]
        result = await tool.run({"text": "x" * 2_000_000}, trial.sandbox)
        await deafening
        return result

    result = in_trial(["scripted"], home, talking, wall_seconds=2)

    assert result.error is ToolErrorKind.LIMIT


def test_what_it_says_of_its_tools_later_changes_nothing(in_trial, home: Path):
    async def talking(trial) -> tuple[list[str], ToolResult, list[str]]:
        before = list(trial.tools)
        await trial.call("rename")
        return before, await trial.call("echo", text="a"), list(trial.tools)

    before, result, after = in_trial(["scripted"], home, talking)

    assert before == after
    assert result.text == "echo a (2)"


def test_media_are_saved_or_named(in_trial, home: Path, any_provider: str):
    async def talking(trial) -> tuple[ToolResult, bytes]:
        result = await trial.call("media", text=str(6 << 20))
        return result, (trial.workspace.output / "attachments" / "scripted-1.png").read_bytes()

    result, saved = in_trial(["scripted"], home, talking, any_provider)

    assert result.text.splitlines() == [
        "look:",
        "[image/png, 68 bytes, saved as output/attachments/scripted-1.png]",
        "[image/png, about 4718592 bytes: not shown]",
        "[image/png: not readable]",
        "[audio/../../evil, about 69 bytes: not shown]",
        "[resource pass wd: file:///etc/passwd]",
        "[resource memo://1]",
        "a memo",
    ]
    assert result.files == ("output/attachments/scripted-1.png",)
    assert saved.startswith(b"\x89PNG")


def test_resources_that_an_answer_links_are_read_from_their_server(in_trial, home: Path):
    entries = yaml.safe_load((home / "mcp" / "servers.yaml").read_text())
    entries["second"] = {**entries["second"], "arguments": ["--resources"]}
    (home / "mcp" / "servers.yaml").write_text(yaml.safe_dump(entries))

    async def talking(trial) -> tuple[ToolResult, ToolResult]:
        return await trial.call("scripted_links"), await trial.call("second_links")

    named, read = in_trial(["scripted", "second"], home, talking)

    links = [f"[resource memo: memo://{name}]" for name in ("text", "picture", "none")]
    assert named.text.splitlines() == links
    saved = "[image/png, 68 bytes, saved as output/attachments/second-1.png]"
    refused = "[the resource could not be read: no such method]"
    assert read.text.splitlines() == [links[0], "a memo", links[1], saved, links[2], refused]
    assert [picture.name for picture in read.pictures] == ["output/attachments/second-1.png"]


def test_pictures_are_shown_and_those_that_are_none_are_named(in_trial, home: Path):
    async def talking(trial) -> ToolResult:
        return await trial.call("pictures")

    result = in_trial(["scripted"], home, talking)

    whole, lying, text, broken, huge, uri, resource = result.text.splitlines()
    assert whole == "[image/png, 68 bytes, saved as output/attachments/scripted-1.png]"
    assert lying == "[image/jpeg, 68 bytes: not shown, because its content is image/png]"
    assert text.endswith("bytes: not shown, because its content is no picture that can be shown]")
    assert re.search(r"scripted-2\.png\] \[not shown: .*damaged image", broken)
    assert re.search(r"scripted-3\.png\] \[not shown: .*too many pixels", huge)
    assert uri == "[resource memo://1]"
    assert resource.endswith("saved as output/attachments/scripted-4.png]")
    assert [(p.name, p.media_type) for p in result.pictures] == [
        ("output/attachments/scripted-1.png", "image/png"),
        ("output/attachments/scripted-4.png", "image/png"),
    ]


def test_links_of_the_agent_do_not_lead_an_attachment_out(in_trial, home: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)

    async def talking(trial) -> ToolResult:
        link = f"import os; os.symlink({str(outside)!r}, 'output/attachments')"
        await trial.sandbox.run([*trial.sandbox.python(), "-c", link])
        return await trial.call("media")

    result = in_trial(["scripted"], home, talking)

    assert "could not be saved" in result.text
    assert list(outside.iterdir()) == []


def test_declarations_are_untrusted_text(in_trial, home: Path):
    async def talking(trial) -> tuple[McpTool, ToolResult]:
        evil = trial.tools["evil"]
        return evil, await evil.run({"text": "a" * 40 + "!", "more": 1}, trial.sandbox)

    began = time.monotonic()
    evil, result = in_trial(["scripted"], home, talking)

    assert len(evil.spec.description) == 2_000
    assert "\u202e" not in evil.spec.description
    assert evil.spec.parameters["properties"]["more"] == {}
    assert "pattern" not in evil.spec.parameters["properties"]["text"]
    assert len(evil.spec.parameters["properties"]["text"]["description"]) == 600
    assert result.error is None
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("flood", "kept"),
    [
        ("NAMES_NOW = [f'tool_{n}' for n in range(3_000)]", 256),
        ("NAMES_NOW, PAGED = [], True", 50),
    ],
    ids=["many at once", "pages without end"],
)
def test_a_flood_of_declarations_is_cut_off(in_trial, home: Path, flood: str, kept: int):
    async def talking(trial) -> int:
        return len(trial.tools)

    [module] = (home / "mcp" / "scripted").glob("*/scripted_server.py")
    code = module.read_text().replace("NAMES_NOW = list(NAMES)", flood)
    module.write_text(code)

    assert in_trial(["scripted"], home, talking) == kept


def test_names_are_prefixed_where_they_collide(in_trial, home: Path):
    async def talking(trial) -> list[str]:
        one, two = await asyncio.gather(
            trial.call("scripted_echo", text="a"), trial.call("second_echo", text="b")
        )
        return [one.text, two.text, *trial.tools]

    one, two, *names = in_trial(["scripted", "second"], home, talking)

    assert (one, two) == ("echo a (1)", "echo b (1)")
    assert "echo" not in names


def test_tools_of_ours_keep_their_names(in_trial, home: Path):
    async def talking(trial) -> list[str]:
        return list(trial.tools)

    names = in_trial(["scripted"], home, talking, taken=("write", "finish"))

    assert "scripted_write" in names
    assert "write" not in names
    assert "echo" in names


def test_nothing_is_left_when_the_trial_ends(in_trial, home: Path, any_provider: str):
    async def talking(trial) -> None:
        await trial.call("echo", text="a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_trial(["scripted"], home, talking, any_provider)
    assert not _runs("scripted_server")


def test_a_cancelled_trial_leaves_nothing(in_trial, home: Path):
    async def talking(trial) -> None:
        calling = asyncio.create_task(trial.call("hang"))
        await asyncio.sleep(0.3)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    in_trial(["scripted"], home, talking)
    assert not _runs("scripted_server")


@pytest.mark.parametrize("milliseconds", [5, 50, 150, 400])
def test_cancelling_the_start_leaves_nothing(in_trial, home: Path, milliseconds: int):
    async def talking(trial) -> None:
        starting = tools_of_servers(
            ["second", "scripted"], trial.sandbox, trial.workspace, Resources(), home
        )
        task = asyncio.create_task(starting.__aenter__())
        await asyncio.sleep(milliseconds / 1000)
        was_started = task.done()
        task.cancel()
        await asyncio.wait({task})
        if was_started:
            await starting.__aexit__(None, None, None)
        assert not _runs("scripted_server")
        assert len(asyncio.all_tasks()) == 1

    in_trial([], home, talking)


def test_a_server_nobody_knows_is_misuse(in_trial, home: Path):
    with pytest.raises(Misuse, match=r"no MCP server 'clock'; the catalogue has time, git"):
        in_trial(["clock"], home, None)


def test_a_server_that_is_not_installed_says_how(in_trial, tmp_path: Path):
    with pytest.raises(ToolUnavailable, match=r"'time' .* run `nightshift mcp install time`"):
        in_trial(["time"], tmp_path, None)


def test_a_server_that_does_not_start_is_not_the_agents_fault(in_trial, home: Path):
    [module] = (home / "mcp" / "scripted").glob("*/scripted_server.py")
    module.write_text("raise SystemExit('no licence')")

    with pytest.raises(ToolUnavailable, match=r"did not start: it ended with code 1; .*no licence"):
        in_trial(["second", "scripted"], home, None)
    assert not _runs("scripted_server")


def test_a_server_that_never_answers_is_given_up(
    in_trial, home: Path, monkeypatch: pytest.MonkeyPatch
):
    [module] = (home / "mcp" / "scripted").glob("*/scripted_server.py")
    module.write_text("import time; time.sleep(60)  # scripted_server")
    monkeypatch.setattr("environments.mcp.client.connection.START_SECONDS", 1.0)

    with pytest.raises(ToolUnavailable, match="did not start"):
        in_trial(["scripted"], home, None)
    assert not _runs("scripted_server")


def _runs(text: str) -> bool:
    """Tell whether a process with this text in its command line runs on the host."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
