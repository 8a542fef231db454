"""The scripted agents still do what their transcripts show."""

from pathlib import Path

import pytest

from environments.sandbox.providers import sandbox_provider
from tests.soak import at_length_only
from tests.stages.diagnose.agreement_with_people import rule_labels
from tests.stages.diagnose.labelled import FOLDER, load
from tests.stages.diagnose.scripted.playing import play, stage_set, write
from tests.stages.diagnose.scripted.scripts import SCRIPTS


def test_every_script_has_a_transcript_and_every_scripted_transcript_a_script():
    made = {
        (labels.parts[-3], labels.parts[-2])
        for labels in FOLDER.glob("*/*/labels.yaml")
        if load(labels.parent).given.made_by == "script"
    }
    assert made == {(script.half, script.name) for script in SCRIPTS}
    assert len(made) == len(SCRIPTS) >= 65


@pytest.mark.soak
@pytest.mark.timeout(1800)
@at_length_only
def test_scripts_played_again_are_labelled_as_before(tmp_path: Path):
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    # MCP servers of the closed-loop bank would have to be installed from a registry.
    played = [s for s in SCRIPTS if not str(s.task).startswith("starter-closed-loop/")]
    differing = {}
    with stage_set() as (store, wire, folder):
        for script in played:
            trial = play(script, store, wire, folder)
            again = rule_labels(load(write(script, store, trial, tmp_path)))
            before = rule_labels(load(FOLDER / script.half / script.name))
            if again != before:
                differing[script.name] = again ^ before
    assert differing == {}
