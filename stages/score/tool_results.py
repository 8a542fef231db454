"""The verifier over the tool log: was a tool called, and did its result say what it should."""

from stages.score.matching import fold, listed
from taskdata.schema.checkpoint import ToolResultCheck
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.transcript import Transcript

_LABEL = "tool_result:log@1"


def score_tool_result(
    leaf_id: str, verifier: ToolResultCheck, transcript: Transcript | None
) -> LeafScore:
    """Give 10 when one call of the tools, without error, has all the texts in its result.

    Without a tool log the leaf is unscored: that log is ours to keep.
    """
    if transcript is None:
        return _leaf(leaf_id, None, "no transcript was kept of this trial")
    if not transcript.calls_are_known:
        return _leaf(leaf_id, None, "the agent's tool calls are unknown: nobody saw them")
    tools = " or ".join(verifier.tools)
    results = [
        fold(event.text)
        for event in transcript.tool_events
        if event.error is None and event.call.tool in verifier.tools
    ]
    if not results:
        used = dict.fromkeys(event.call.tool for event in transcript.tool_events)
        return _leaf(leaf_id, 0.0, f"no call of {tools} succeeded (called: {_called(list(used))})")
    wanted = [fold(text) for text in verifier.contains]
    if any(all(text in result for text in wanted) for result in results):
        shown = f" with {listed(verifier.contains)}" if wanted else ""
        return _leaf(leaf_id, 10.0, f"{tools} gave a result{shown}")
    return _leaf(
        leaf_id, 0.0, f"none of {len(results)} results of {tools} has {listed(verifier.contains)}"
    )


def _called(used: list[str]) -> str:
    return listed(used, 8) or "nothing"


def _leaf(leaf_id: str, score: float | None, reason: str) -> LeafScore:
    unscored = Unscored.NOT_OBSERVED if score is None else None
    return LeafScore(
        leaf_id=leaf_id, score=score, verifier=_LABEL, reason=reason, unscored=unscored
    )
