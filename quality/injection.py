"""Signs that a text speaks to the model that reads it, rather than of the work to be done.

A sign is grounds for a person to look, not proof. Every pattern takes time linear in the text:
repetitions are bounded, or run over words that cannot be split in two ways.
"""

import re
import unicodedata
from dataclasses import dataclass

from quality.safety.wordings import folded, matches, rules_of

_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]")
# Tag characters spell ASCII that nobody sees; honest ones only follow the black flag (emoji).
_TAGS = re.compile("(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0000-\U000e007f]")

_WORK = (
    "(?:task|submission|answer|response|output|solution|candidate|deliverable|checkpoint|seed)s?"
)
_GRADERS = ("reviewer", "grader", "judge", "evaluator", "scorer", "rater", "validator")
_GRADER = f"(?:{'|'.join(_GRADERS)})"
_VERDICT_VERBS = (
    *("approve", "mark", "rate", "score", "grade", "accept", "pass"),
    *("give", "award", "grant", "assign"),
)
_RIGHT = "(?:approved|accepted|passed|correct|perfect|valid|full|10|ten|100)"
_TOP = "(?:full|maximum|max|perfect|highest|top)"
_MARKS = "(?:score|marks?|points?|rating|grade|credit)"
_MODEL = "(?:ai|llm|large language model|language model|chatgpt|gpt)"
_MACHINE = (
    "(?:ai|assistant|language model|model|chatbot|agent|bot|dan|grader|judge|reviewer|evaluator|"
    "administrator|unrestricted|unfiltered|uncensored|jailbroken)"
)


@dataclass(frozen=True)
class _Sign:
    name: str
    hints: tuple[str, ...]
    """Texts of which every match contains one: looked for first, for that is fast."""
    pattern: re.Pattern[str]


def _sign(name: str, hints: tuple[str, ...], *alternatives: str) -> _Sign:
    return _Sign(name, hints, re.compile("|".join(f"(?:{a})" for a in alternatives)))


# Matched against lower-case text in which a single space stands for any white space.
_SIGNS = (
    _sign(
        "ignore_instructions",
        ("ignore ", "disregard ", "forget ", "override ", "bypass "),
        r"\b(?:ignore|disregard|forget|override|bypass) (?:about )?"
        r"(?:of |the |and |other |such ){0,3}"
        r"(?:all|any|every|your|my|previous|prior|above|earlier|preceding|foregoing|original|system)"
        r"(?: of| the| your| my| previous| prior| above| earlier| preceding| foregoing| original"
        r"| existing| system| safety| other| and| given){0,6}"
        r" (?:instructions?|prompts?|directives?|guardrails?|programming)\b",
        r"\b(?:ignore|disregard|forget|override|bypass) (?:the|these|those|this)"
        r" (?:instructions?|prompts?|rubrics?|grading criteria|checkpoints?)\b"
        r"(?! (?:in|on|from|for|of|at|about|with|that|which)\b)",
        r"\b(?:ignore|disregard|forget|override|bypass) (?:your|all safety|all previous|all prior)"
        r" (?:rules|guidelines|constraints|restrictions|training)\b",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all|what) (?:that )?"
        r"(?:was |is |came )?"
        r"(?:(?:of )?the )?(?:you (?:were|have been|are) told|above|before this|said so far)"
        r"(?=[.,;:!?\0]|$| and\b)",
    ),
    _sign(
        "claim_of_approval",
        tuple(f"{verb} this " for verb in _VERDICT_VERBS),
        r"\bapprove this (?:task|submission|candidate|item|query|seed|prompt)\b",
        rf"\b(?:mark|rate|score|grade|accept|pass) this {_WORK} (?:\w+ ){{0,3}}?{_RIGHT}\b",
        rf"\b(?:give|award|grant|assign) this {_WORK} (?:an? |the )?(?:{_TOP} (?:possible )?"
        rf"{_MARKS}|(?:10|ten|100)(?: ?/ ?10| out of| points?| marks?|%|[.!\0]|$))",
    ),
    _sign(
        "grader_address",
        (*_GRADERS, " ai", " llm", "language model", "gpt"),
        rf"\bas (?:the|your|an ai) {_GRADER},? (?:please )?"
        r"(?:you (?:must|should|will|shall|are to|have to|need to) )?(?:always )?"
        rf"(?:give|mark|score|accept|rate|assign|pass|award|grade|return|output) (?:\w+ ){{0,5}}?"
        rf"(?:{_RIGHT}|{_TOP})\b",
        rf"\bas (?:the|your|an ai) {_GRADER},? (?:please )?"
        r"(?:you (?:must|should|will|shall|are to|have to|need to) )?(?:always )?"
        r"approve (?:this|it|everything|all)\b",
        r"\b(?:note|message|attention|notice|instructions?|dear|hey) (?:to |for )?"
        rf"(?:the |any |all |every ){{0,2}}{_MODEL}s?"
        r"(?: (?:reviewer|grader|judge|evaluator|model|assistant|agent|reading this)s?)? ?[:,!]",
    ),
    _sign(
        "role_change",
        ("you are now ", "you are no longer ", "from now on", "pretend ", "anything now", " mode"),
        r"\byou are now in (?:developer|debug|admin|god|unrestricted|jailbreak) mode\b",
        r"\byou are now (?:(?:an?|the|my|acting as|called) (?:\w+ ){0,2}?)?" + rf"{_MACHINE}\b",
        r"\byou are no longer (?:bound|restricted|limited|an? (?:ai|assistant|model))\b",
        r"\bfrom now on,? you (?:are|act as|will act as) "
        rf"(?:an? |the |my )(?:\w+ ){{0,2}}?{_MACHINE}\b",
        r"\bfrom now on,? (?:you )?(?:only )?(?:answer|respond|reply) (?:as|only with|with)\b",
        rf"\bpretend (?:that )?(?:you are|to be) (?:an? |the )(?:\w+ ){{0,2}}?{_MACHINE}\b",
        r"\bdo anything now\b",
        r"\b(?:enable|enter|activate) (?:developer|god|jailbreak|unrestricted) mode\b",
    ),
    _sign(
        "role_tag",
        ("<|", "inst]", "sys>", "<system", "</system", "<assistant", "</assistant", "[system"),
        r"<\|[a-z_0-9]{1,30}\|>",
        r"\[/?inst\]",
        r"<</?sys>>",
        r"</?(?:system|assistant)[_ -](?:prompt|message|instructions?)>",
        r"\[system (?:prompt|message|override)\]",
    ),
    _sign(
        "system_prompt",
        ("system prompt", "system message", "system instruction", "hidden instruction"),
        r"\b(?:reveal|repeat|leak|expose|disclose|dump|override|forget|ignore|disregard)"
        r" (?:me )?(?:\w+ ){0,3}?"
        r"(?:system (?:prompt|message|instructions?)|hidden instructions?)\b",
        r"\b(?:show|print|display|output|tell me|what is|follow) (?:me )?(?:\w+ ){0,3}?"
        r"system prompt\b",
        r"\b(?:your|new|updated) system prompt\b",
        r"\bsystem prompt ?(?:[:=]|says?\b|is now\b)",
    ),
    _sign(
        "dictated_verdict",
        ("score", "verdict", "approve"),
        r"\b(?:return|output|respond with|reply with|answer with|print|emit) (?:only )?(?:the )?"
        r"""(?:json )?[{"'`\[ ]{0,4}(?:score|verdict|approved?)["'`]? ?(?::|=|of|is) ?["'`]?"""
        r"(?:10|ten|100|true|pass|approve|full)\b",
    ),
)


def injection_signs(text: str) -> tuple[str, ...]:
    """Return the names of the signs of prompt injection in `text`; empty for an honest text."""
    plain = plain_letters(text)
    signs = [
        sign.name
        for sign in _SIGNS
        if any(hint in plain for hint in sign.hints) and sign.pattern.search(plain)
    ]
    signs += [match.name for match in matches(folded(plain), rules_of("injection"))]
    if has_hidden_characters(text):
        signs.append("hidden_characters")
    return tuple(dict.fromkeys(signs))


def has_hidden_characters(text: str) -> bool:
    """Return whether a text has a message in invisible characters."""
    return not text.isascii() and bool(_TAGS.search(text))


def plain_letters(text: str) -> str:
    """Return the text without what hides words: case, white space, invisible and wide letters."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(text.lower().split())
