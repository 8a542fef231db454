"""MathOCR over a real sandbox; a server on this machine plays the model."""

import json

import pytest

from taskdata.schema.tool import ToolErrorKind

CALL = ("MathOCR", {"image": "input/photo.jpg"})


def reading(latex: str, plain: str | None) -> str:
    return json.dumps({"latex": latex, "plain": plain})


def test_a_formula_is_read_as_latex_and_for_solver(wire, in_trial, photo, shown, question):
    wire.then(wire.says(reading(r"\frac{x}{2} = 3", "x/2 = 3")), wire.says(reading(r"\pm", None)))
    both, latex_alone = in_trial(CALL, CALL, files={"photo.jpg": photo})

    assert (both.error, both.text) == (None, "LaTeX: \\frac{x}{2} = 3\nPlain: x/2 = 3")
    assert both.cost_usd > 0
    assert latex_alone.text == "LaTeX: \\pm\nPlain: none"
    assert len(shown(wire.seen[0])) == 1
    assert "exactly as it is written" in question(wire.seen[0])


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ([reading(" ", None)], "holds no formula"),
        (["x/2", '{"latex": 3, "plain": null}'], "no usable answer"),
    ],
)
def test_what_is_no_reading_is_refused(wire, in_trial, photo, answers, complaint):
    wire.then(*(wire.says(answer) for answer in answers))
    (result,) = in_trial(CALL, files={"photo.jpg": photo})

    assert result.error == ToolErrorKind.REFUSED
    assert complaint in result.text
