"""What a whole trace earns: tool selection, its answer, its image-generating calls.

The rules are those of GTA's published scorer (GTA, section 4.1 and appendix D.3; the code where
both differ), with all its quirks. Beside each number that a quirk touches stands a mended one.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quality.atomic.answers import is_correct, names_what_it_must
from quality.atomic.messages import Message, MessageKind
from quality.encoders.encoder import Similarity
from taskdata.errors import BadTaskData
from taskdata.schema.atomic import AnswerKind, EndToEndScore, ToolMatch
from taskdata.schema.task import Capability

IMAGE_TOOLS = ("DrawBox", "AddText", "Plot", "TextToImage", "ImageStylization")
"""Their arguments decide an image-generation task; the paper names four of them, the code five."""

FOURTEEN: Mapping[str, str] = {
    tool: category.value
    for category, tools in {
        Capability.PERCEPTION: "OCR ImageDescription RegionAttributeDescription TextToBbox",
        Capability.OPERATION: "DrawBox AddText GoogleSearch",
        Capability.LOGIC: "Calculator Solver Plot MathOCR CountGivenObject",
        Capability.CREATIVITY: "TextToImage ImageStylization",
    }.items()
    for tool in tools.split()
}
"""Category of each tool of GTA (GTA, table 2)."""

_Call = tuple[str, Any]
"""Tool and arguments."""


def score_trace(
    trace: Sequence[Message],
    reference: Sequence[Message],
    answer: Any,
    similarity: Similarity | None,
    categories: Mapping[str, str] = FOURTEEN,
) -> EndToEndScore:
    """Return what a trace earns beside its reference.

    Args:
        trace: Thoughts, calls, results and the final answer, in order.
        reference: The messages of the reference; all but its tool calls are left out.
        answer: `gt_answer` of the benchmark: a mapping with whitelist and blacklist, a list of
            texts, or nothing for an image-generation task.
        similarity: Compares meanings; None: what needs that is not scored.
        categories: Category by tool; tools that are not in it are in no F1.

    Raises:
        BadTaskData: The trace is empty, or a message that matters cannot be read.
    """
    if not trace:
        raise BadTaskData("a trace without messages has no last one to read the answer from")
    calls = [message for message in trace if message.calls_tool]
    wanted = [message for message in reference if message.calls_tool]
    kind = kind_of(answer)
    trace[-1].require_body()
    if kind.is_text:
        text = trace[-1].text if trace[-1].kind is MessageKind.ANSWER else None
        score, mended = answer_scores(text, answer, similarity) if text else (0.0, 0.0)
        compares = bool(text) and kind is AnswerKind.SUBJECTIVE
    else:
        score, mended, compares = _image_scores(calls, wanted, similarity)
    return EndToEndScore(
        tools=_tool_matches(calls, wanted, categories),
        tool_calls=len(calls),
        tool_errors=sum(call.is_erroneous for call in calls),
        kind=kind,
        score=score,
        score_mended=mended,
        encoder=similarity.encoder if compares and similarity is not None else None,
    )


def kind_of(answer: Any) -> AnswerKind:
    """Return what a task asks for, by its `gt_answer`.

    Raises:
        BadTaskData: It is neither a mapping, a list of texts nor empty.
    """
    if not answer:
        return AnswerKind.IMAGE_GENERATION
    if isinstance(answer, Mapping):
        return AnswerKind.OBJECTIVE
    if isinstance(answer, list | tuple) and all(isinstance(text, str) for text in answer):
        return AnswerKind.SUBJECTIVE
    raise BadTaskData("gt_answer must be a mapping, a list of texts, or null")


def answer_scores(
    text: str, answer: Any, similarity: Similarity | None
) -> tuple[float | None, float | None]:
    """Return the score of a text answer as published, and mended; None: cannot be compared.

    Raises:
        BadTaskData: A reference has not the published shape.
    """
    if kind_of(answer) is AnswerKind.OBJECTIVE:
        whitelist, blacklist = _groups(answer, "whitelist"), _groups(answer, "blacklist")
        right = is_correct(text, whitelist, blacklist)
        return float(right), float(names_what_it_must(text, whitelist, blacklist))
    if similarity is None:
        return None, None
    best = similarity.best(text, answer)
    return best, min(best, 1.0) if text.strip() else 0.0


def _groups(answer: Mapping[str, Any], name: str) -> Sequence[Sequence[str]]:
    if name not in answer:
        raise BadTaskData(f"gt_answer has no {name}; null means none")
    groups = answer[name]
    if groups is None and name == "blacklist":
        return ()
    texts = isinstance(groups, list | tuple) and all(
        isinstance(group, list | tuple) and all(isinstance(alias, str) for alias in group)
        for group in groups
    )
    if not texts:
        raise BadTaskData(f"gt_answer.{name} must be a list of lists of texts")
    found: Sequence[Sequence[str]] = groups
    return found


def _image_scores(
    calls: Sequence[Message], wanted: Sequence[Message], similarity: Similarity | None
) -> tuple[float | None, float | None, bool]:
    """Return the score as published, the mended one, and whether meanings were compared."""
    faultless = [(call.tool, call.arguments) for call in calls if not call.is_erroneous]
    made = [(tool, arguments) for tool, arguments in faultless if tool in IMAGE_TOOLS]
    last, asked = dict(made), list[_Call]()
    for call in wanted:
        tool, arguments = call.tool, call.arguments
        if tool in IMAGE_TOOLS and tool not in last:
            return 0.0, 0.0, False
        if tool in IMAGE_TOOLS:
            asked.append((tool, arguments))
    if not asked:
        return 1.0, None, False
    if similarity is None:
        return None, None, True
    product = 1.0
    for tool, arguments in asked:
        product *= similarity(json.dumps(arguments), json.dumps(last[tool]))
    return product, _mended_image_score(asked, made, similarity), True


def _mended_image_score(
    asked: Sequence[_Call], made: Sequence[_Call], similarity: Similarity
) -> float:
    """Return the product over the reference's calls, each beside a call of its own.

    The most similar call of the tool is taken that no earlier call of the reference has, and the
    order of keys plays no part.
    """
    left, product = list(made), 1.0
    for tool, arguments in asked:
        text = json.dumps(arguments, sort_keys=True)
        found = [
            (similarity(text, json.dumps(others, sort_keys=True)), number)
            for number, (other, others) in enumerate(left)
            if other == tool
        ]
        if not found:
            return 0.0
        best, number = max(found)
        del left[number]
        product *= min(best, 1.0)
    return product


def _tool_matches(
    calls: Sequence[Message], wanted: Sequence[Message], categories: Mapping[str, str]
) -> dict[str, ToolMatch]:
    named = {call.tool for call in calls}
    faultless = Counter(call.tool for call in calls if not call.is_erroneous)
    asked = Counter(call.tool for call in wanted)
    predicted = _by_category((call.tool for call in calls), categories)
    reference = _by_category((call.tool for call in wanted), categories)
    found = _by_category((call.tool for call in wanted if call.tool in named), categories)
    matched = _by_category((asked & faultless).elements(), categories)
    return {
        category.value: ToolMatch(
            reference=reference[category.value],
            found=found[category.value],
            predicted=predicted[category.value],
            matched=matched[category.value],
        )
        for category in Capability
    }


def _by_category(tools: Iterable[str], categories: Mapping[str, str]) -> Counter[str]:
    return Counter(categories[tool] for tool in tools if tool in categories)
