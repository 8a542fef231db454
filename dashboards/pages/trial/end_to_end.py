"""What one trial of the atomic tier earned end to end, in words."""

from dashboards.pages import formats
from taskdata.schema.atomic import AnswerKind, EndToEndScore, ToolMatch

_LETTERS = {"perception": "P", "operation": "O", "logic": "L", "creativity": "C"}


def end_to_end_facts(score: EndToEndScore) -> list[tuple[str, str]]:
    """Return names and values: the answer's score, then the calls behind P/O/L/C-F1.

    An F1 is of many trials; of one, the calls that it counts are told.
    """
    name = "AnsAcc w/ ImgGen" if score.kind is AnswerKind.IMAGE_GENERATION else "AnsAcc"
    facts = [("Asked for", formats.words(score.kind)), (name, _answer(score))]
    if score.encoder is not None:
        facts.append(("Encoder", score.encoder))
    facts.append(
        ("Tool calls", f"{score.tool_calls:,}, {formats.count(score.tool_errors)} of them faulty")
    )
    for category, letter in _LETTERS.items():
        match = score.tools.get(category, ToolMatch())
        if match.reference or match.predicted:
            facts.append((f"{letter}-F1", _calls(category, match)))
    return facts


def _answer(score: EndToEndScore) -> str:
    if score.score is None:
        return "unscored: meanings have to be compared, and nothing here does"
    mended = score.score_mended
    if mended is None or abs(mended - score.score) < 0.005:
        return f"{score.score:.2f}"
    return f"{score.score:.2f} as published, {mended:.2f} mended"


def _calls(category: str, match: ToolMatch) -> str:
    asked = formats.plural(match.reference, f"{category} call")
    return (
        f"of {asked} in the reference {match.found} made; {match.predicted} made in all, "
        f"{match.matched} matched one to one"
    )
