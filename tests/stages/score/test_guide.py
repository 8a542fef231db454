import pytest

from stages.score.guide import document
from stages.score.guide.document import PLACE, as_document, examples, meaning, played
from stages.score.library import check_library


def test_the_page_is_current():
    assert PLACE.read_text(encoding="utf-8") == as_document(), "run make checks-doc"


def test_every_check_has_a_section_with_an_example_that_passes_and_one_that_fails():
    sections = {part.split("\n")[0]: part for part in as_document().split("\n## ")}
    for name in check_library():
        assert "\nPasses on " in sections[name]
        assert "\nFails on " in sections[name]


@pytest.mark.parametrize("name", check_library())
def test_every_argument_has_a_meaning(name):
    args = check_library()[name].args
    for field, facts in args.model_fields.items():
        assert meaning(args, field, facts.alias or field), field


def test_the_examples_score_what_they_promise():
    for example in examples():
        assert played(example).score == pytest.approx(example.score, abs=0.001), example


def test_asking_for_help_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(document, "PLACE", tmp_path / "checks.md")
    monkeypatch.setattr("sys.argv", ["document", "--help"])
    with pytest.raises(SystemExit):
        document.main()
    assert "usage: python -m stages.score.guide.document" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
