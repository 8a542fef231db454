"""What a tool lacks, said in one line."""

import pytest

from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.states import READY, require_ready, tool_state
from environments.toolkit.services import Service
from taskdata.errors import Misuse, ToolUnavailable
from taskdata.schema.tool_backends import ToolBackends

SEES = ToolBackends(tool_model="openai/gpt-5.2", image_model="openai/gpt-image-1")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "SERPER_API_KEY", "TAVILY_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_every_state_is_one_line():
    states = {name: tool_state(name) for name in catalogue()}
    assert states["Calculator"] == states["finish"] == states["sleep"] == READY
    assert all(state and "\n" not in state for state in states.values())


@pytest.mark.parametrize(
    ("tool", "way"),
    [
        ("ImageDescription", "set tool_model"),
        ("VideoDescription", "set tool_model"),
        ("TextToImage", "set image_model"),
        ("TextToVideoTool", "set video_model"),
        ("GoogleSearch", "set search to serper, tavily or corpus"),
        ("web_search", "set search to serper, tavily or corpus"),
    ],
)
def test_without_a_service_the_way_to_get_it_is_named(tool, way):
    assert way in tool_state(tool)


def test_what_a_task_brings_is_ready_for_its_own_trials():
    brought = {Service.SEARCH}

    assert tool_state("GoogleSearch", brought=brought) == READY
    require_ready(["web_search", "GoogleSearch"], ToolBackends(), "bubblewrap", brought)
    assert "set tool_model" in tool_state("ImageDescription", brought=brought)


def test_a_configured_service_still_needs_its_key(monkeypatch):
    assert "set the environment variable OPENAI_API_KEY" in tool_state("TextToBbox", SEES)
    assert "OPENAI_API_KEY" in tool_state("TextToImage", SEES)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert tool_state("TextToBbox", SEES) == READY
    assert tool_state("TextToImage", SEES) == READY


@pytest.mark.parametrize(
    ("backends", "reason"),
    [
        ({"tool_model": "local/smollm2-135m"}, "cannot see"),
        ({"tool_model": "compatible/m"}, "needs a base URL"),
        ({"tool_model": "nobody/m"}, "unknown provider"),
    ],
)
def test_models_that_cannot_do_it(backends, reason):
    assert reason in tool_state("ImageDescription", ToolBackends.model_validate(backends))


def test_searches(monkeypatch, tmp_path):
    cassette = tmp_path / "night.jsonl"
    replay = {"search_recording": "replay", "search_cassette": str(cassette)}
    serper = ToolBackends(search="serper")
    corpus = ToolBackends(search="corpus", search_corpus=str(tmp_path))
    replayed = ToolBackends.model_validate({"search": "serper", **replay})

    assert tool_state("web_search", serper).startswith(
        "set the environment variable SERPER_API_KEY, or store the key with `keyring set"
    )
    assert "holds no document" in tool_state("web_search", corpus)
    assert "there is no such file" in tool_state("web_search", replayed)

    monkeypatch.setenv("SERPER_API_KEY", "k")
    (tmp_path / "a.md").write_text("# Title\n\nText.")
    cassette.write_text("")
    assert [tool_state("GoogleSearch", b) for b in (serper, corpus, replayed)] == [READY] * 3


def test_a_missing_library_names_the_way_to_get_it(monkeypatch):
    from environments.tool_runtime import states

    monkeypatch.setattr(states, "find_spec", lambda module: None)
    assert tool_state("OCR") == "needs rapidocr_onnxruntime, cv2: run `make setup-all`"
    assert tool_state("OCR", sandbox="docker") == READY
    assert tool_state("Calculator") == READY


def test_a_task_is_held_back_with_tool_and_reason():
    require_ready(["Calculator", "claim_done"], ToolBackends(), "bubblewrap")
    with pytest.raises(ToolUnavailable, match="tool TextToImage: needs a model that draws"):
        require_ready(["Calculator", "TextToImage"], ToolBackends(), "bubblewrap")


@pytest.mark.parametrize(
    ("backends", "message"),
    [
        ({"search": "corpus"}, "needs search_corpus"),
        ({"search": "serper", "search_recording": "record"}, "needs search_cassette"),
        ({"search": "google"}, "serper"),
    ],
)
def test_half_a_configuration_is_named(backends, message):
    with pytest.raises(ValueError, match=message):
        ToolBackends.model_validate(backends)


def test_a_model_that_is_no_name_is_misuse():
    with pytest.raises(Misuse, match="expected provider/model"):
        ToolBackends(tool_model="gpt")
