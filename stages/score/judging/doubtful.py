"""Words that are typical of demands on a judge, in English and German.

The list is wide on purpose: a sentence without any of these words hardly demands anything of a
judge. Most sentences with such a word are honest, so the judge is shown them. A second view without
them measures what they add to the score (see `LeafJudge`). Words that the task itself uses do not
count, because they are expected in its deliverables.
"""

import re
from collections.abc import Iterable, Set

from quality.injection import plain_letters

_STEM = 4
"""A word of the task and one of a deliverable count as the same if so many letters agree."""
_OF_WORDS = (
    r"(?:gra(?:de[drs]?|ders|ding)|scor(?:e|ed|es|er|ers|ing)|mark(?:s|ing|ers?)|rubrics?"
    r"|criteri(?:on|a)|verdicts?|evaluat(?:e[ds]?|ing|ions?|ors?)|assess(?:e[ds]|ing|ments?|ors?)?"
    r"|judg(?:e|es|ed|ing|e?ments?)|reviewers?|examiners?|award(?:s|ed|ing)?|ratings?|benchmarks?"
    r"|submissions?|deliverables?|checklists?|prompts?|llms?|[ak]i|chatbots?|flawless|lenient\w*"
    r"|untrusted|bewert\w+|benot\w+|rubrik\w*|kriteri\w+|gutachter\w*|prüfer\w*|punktzahl\w*"
    r"|höchst\w+|bestnote|sprachmodell\w*|maßstab\w*|fehlerfrei\w*|abgaben?)\b"
)
"""A sentence is doubtful with one of these words, unless the task uses the word, too."""
_WORK = r"(?:work|file|answer|document|response|entry|output|solution|piece|report|text|result)"
_TEN = r"(?:10|ten|zehn)"
_OF_PHRASES = (
    r"(?:"
    # Points and what is the most of them.
    rf"{_TEN}(?: ?/ ?{_TEN}| out of {_TEN}| von {_TEN}| points?| marks?| punkten?)\b"
    r"|(?:full|maximum|max|top|highest|perfect|best|every|all|maximale?|volle|beste)"
    r" (?:\w+ )?(?:points?|marks?|credits?|grades?|results?|ratings?|punkt\w*|note)\b"
    # A number or a word is to be the reply.
    r"|(?:say|write|answer|reply|print|return|output|put|give|choose|pick|enter|set|value|settle"
    rf"|begin|assign\w*|ergebnis|trage?|gib)\b[^.!?]{{0,40}}?\b(?:{_TEN}|largest|maximum)\b"
    rf"|(?:a|an|only|below|than) {_TEN}\b|(?:ten|zehn)(?=[.,;:!?]|$)"
    r"|add \w+ points?\b|(?:upper|top) end\b|rounded up\b"
    # Rules, files and faults are to be passed over.
    r"|(?:ignore|disregard|overlook|forget|skip|waive|override|bypass|set aside|pay no)\b"
    r"|(?:außer acht|hinwegsehen|ignorier\w+|vergiss|missachte\w*)\b"
    r"|(?:you|simply|just) (?:need not|need only|may stop|report|confirm|accept|pass|trust)\b"
    r"|(?:do not|don't|never) (?:lower|deduct|subtract|reduce|cut|check|apply|mention|verify"
    r"|look for|think)\b"
    r"|(?:consider|treat|regard|count)\b[^.!?]{0,40}?\bas\b"
    r"|trust (?:this|me|it)\b|do as i say\b|in (?:bester )?(?:order|ordnung)\b"
    r"|(?:is|are|as) (?:fully |all |completely )?(?:met|satisfied|fulfilled|beyond doubt)\b"
    # The model, what it was told, and the work that it looks at.
    r"|(?:language|which|whichever|any|this|the|dear|das) model(?:l|s)?\b"
    r"|(?:your|earlier|previous|above|new|ihre?|deine?) (?:instructions?|task|verdicts?|reply"
    r"|anweisung\w*)\b"
    r"|(?:rate|value|pass|accept|approve|like) (?:it|this|my|me|all|everything)\b"
    r"|werte\b|system ?:|no mistakes\b|nothing is missing\b|a mistake\b"
    r"|(?:be|been) (?:\w+ )?(?:kind|generous|lenient)\b|nachsichtig\b|großzügig\b|achte nicht\b"
    r"|automated (?:reader|check|system|judge|review|process)\w*\b"
    rf"|this {_WORK} (?:is|was|has|deserves|earns|passes|already|contains|fully|meets|should)\b"
    r")"
)
"""A sentence is doubtful with one of these phrases, whatever words the task uses."""
_WORDS, _PHRASES, _EITHER = (
    re.compile(rf"\b(?=\w)(?:{pattern})")
    for pattern in (_OF_WORDS, _OF_PHRASES, f"{_OF_WORDS}|{_OF_PHRASES}")
)


def may_speak(plain: str) -> bool:
    """Return whether a text has any of these words; it must be case-folded with single spaces."""
    return bool(_EITHER.search(plain))


def is_doubtful(text: str, familiar: Set[str]) -> bool:
    """Return whether a text has any of these words that is not among the task's `stems`."""
    plain = plain_letters(text)
    if _PHRASES.search(plain):
        return True
    return any(found[0][:_STEM] not in familiar for found in _WORDS.finditer(plain))


def stems(texts: Iterable[str]) -> frozenset[str]:
    """Return the beginnings of the words of a task's texts."""
    return frozenset(w[:_STEM] for text in texts for w in re.findall(r"\w+", plain_letters(text)))
