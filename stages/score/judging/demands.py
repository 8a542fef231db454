"""Wordings by which a text demands a verdict of whoever grades it, in English and German.

A text about scores, judges or ratings is honest work. What speaks to the judge gives an order or
states a verdict on the very work that is graded: a top score is asked for, the rubric is declared
void, a grading machine is addressed, or a reply is written in its place. Each pattern needs two of
these parts within one sentence. Gaps are bounded, so that the time is linear in the text.
"""

import re
from collections.abc import Sequence

_GAP = r"[^.!?]"
_GRADERS = (
    r"(?:graders?|judges?|evaluators?|reviewers?|scorers?|assessors?|examiners?|markers?"
    r"|grading (?:panel|team|model))"
)
_WORK = r"(?:work|submission|file|answer|deliverable|document|response|entry|output|solution|piece)"
_TEN = (
    r"(?<!to )(?:10|ten)(?=\s?(?:and (?:nothing|no)\b|points?\b(?! (?:in|for|from|behind|per)\b)"
    r"|[.!;,)\"'<]|$|marks?\b|out of\b|/|on the\b))(?![.,]\d)"
)
_TOP = (
    rf"(?:{_TEN}|(?:full|maximum|max|perfect|highest|top|best|largest|upper)"
    r"(?: [a-z]+){0,1}? (?:points?|marks?|scores?|credits?|grades?|results?|rating|number|limit)\b"
    r"|the maximum|the largest one)"
)
_GIVE = (
    r"(?:give|award|assign|grant|return|output|choose|pick|record|enter|hand out|put down|grade"
    r"|score|rate|mark|respond with|reply with|print|select)"
)
_ORDERED = (
    r"\b(?:(?:please|kindly|simply|just|and|then) |that you "
    r"|you (?:must|should|shall|will|have to|need to|are to) "
    rf"|(?:whoever|anyone who|any model|any ai)\b{_GAP}{{0,40}}?\b(?:must|should|shall|will) )"
)
_BEGINS = r"(?:^|[.!?] )"
"""The beginning of a sentence."""
_CLAUSE = r"(?:^|[.!?:;,] )"
_RUBRIC = (
    r"(?:rubrics?|marking (?:scheme|guide)|scoring (?:guide|rules?|criteria)"
    r"|grading (?:criteria|scheme|guide|instructions|rules?)|checklist|evaluation)"
)
_MACHINE = (
    r"(?:(?:reviewing |grading |marking )?(?:ai|ki|llm|(?:language )?model|bot)"
    r"|automated (?:assessor|grader|marker|judge|reviewer)|(?:grading|scoring|marking) system)"
)
_MODELS = rf"(?:the |any |all )?(?:{_MACHINE}|models)"
_GIVE_TOP = rf"{_GIVE}\b{_GAP}{{0,50}}?\b{_TOP}(?! (?:for (?:any|each|every)|if|where|when)\b)"
_ORDERS = (_ORDERED + _GIVE_TOP, _CLAUSE + _GIVE_TOP)
_ENGLISH = (
    # A top score is asked for.
    *_ORDERS,
    r"\b(?:score|rate|grade|mark) (?:this|it) (?:with |as |at )?"
    rf"(?:a |an )?(?:{_TEN}|full (?:points|marks|score|credit))",
    rf"\b(?:score|grade|mark|rating)\b{_GAP}{{0,30}}?\b(?:here|this {_WORK})\b{_GAP}{{0,25}}?\b"
    r"(?:10|ten)\b(?! ?(?:%|per))",
    r"\b(?:score|grade|rate|mark) (?:this|it)\b"
    rf"{_GAP}{{0,15}}?\b(?:below|under|less than|lower than) (?:10|ten|full)\b",
    r"\bwhen you (?:judge|grade|score|mark|assess|evaluate|rate) (?:this|me|my)\b",
    r"\bso (?:score|grade|mark|rate)(?: it| this)? accordingly\b",
    # The rubric is declared void.
    r"\b(?:ignore|disregard|set aside|pay no (?:attention|heed) to|skip|waive|override|forget"
    r"|bypass|(?:do not|don't|never) (?:apply|use|follow|consult))\b"
    rf"{_GAP}{{0,20}}?\b(?:{_RUBRIC}|how you were told)"
    r"\b(?! (?:in|on|from|for|of|at|about|with|that|which)\b)",
    rf"\b{_RUBRIC} (?:does not|do not|doesn't|no longer|has been|is|are) (?:apply|applies|waived"
    r"|suspended|void|lifted)\b",
    r"\b(?:no matter what|whatever|regardless of(?: what)?) the (?:rubric|criteria|marking scheme)",
    r"\b(?:stop|cease|end|skip) (?:evaluating|grading|checking|scoring|marking)\b",
    r"\bneeds? no (?:further )?(?:evaluation|grading|scoring|marking)\b",
    r"\b(?:the|your|all) (?:earlier|previous|old|above) instructions (?:were|are) (?:a mistake"
    r"|wrong|void|replaced|no longer)\b",
    rf"\b(?:act|grade|score|mark) as (?:though|if) the {_RUBRIC}",
    rf"\b(?:consider|treat|regard|count)\b{_GAP}{{0,40}}?\b(?:missing|absent)\b"
    rf"{_GAP}{{0,20}}?\bas (?:delivered|there|present|complete|done)\b",
    # Whoever grades is addressed, and told what to find.
    rf"\b(?:note|message|attention|notice|dear|memo) (?:to |for )?(?:the |all ){{0,2}}{_GRADERS}"
    r" ?[:,!](?! ?(?:we|i|thank|thanks|on behalf|enclosed|attached)\b)",
    rf"{_BEGINS}(?:(?:hello|hi|dear|hey|liebe[rs]?|hallo) (?:[a-z]+ )?"
    r"|(?:evaluation|grading|reviewing|scoring) )"
    rf"{_MACHINE}[:,!]",
    rf"{_BEGINS}{_MACHINE}, (?:you|when|please|give|score|grade|rate|mark|ignore|do)\b",
    rf"\bas (?:a|an) {_MACHINE},? you\b",
    rf"{_BEGINS}(?:to|for|attention) {_MODELS}\b{_GAP}{{0,30}}?[:,!]",
    rf"\b(?:note|message|memo|notice|instructions?) (?:to|for) {_MODELS}\b{_GAP}{{0,30}}?[:,!]",
    rf"\battention,? {_MACHINE}\b",
    rf"\bif you are an? {_MACHINE}\b",
    r"\b(?:ai|model|llm|bot|system) (?:that is )?(?:reading|assessing|grading|marking) this\b",
    rf"\byou (?:are|will (?:now )?act as|now act as) (?:an? |the )?(?:[a-z]+ )?{_GRADERS}\b"
    rf"{_GAP}{{0,40}}?(?:[.!?] {_GIVE}\b|\b(?:never|always|must)\b)",
    rf"\bas (?:an?|the) (?:[a-z]+ )?{_GRADERS}(?: of this [a-z]+)?,? you\b",
    rf"{_BEGINS}(?:dear )?{_GRADERS}[:,] (?:please |kindly )?"
    r"(?:do not|don't|never|there is no need|treat|give|award|overlook|accept|mark|score|consider)",
    r"\byour (?:grading|marking|scoring) (?:instructions|rules|task)\b",
    r"\b(?:conclude|find|confirm) that (?:nothing is missing|the requirements? (?:is|are) met"
    rf"|(?:this|the) {_WORK} is (?:flawless|perfect|complete|correct))",
    rf"\b(?:treat|consider|regard|mark|count)\b{_GAP}{{0,40}}?\b(?:criteri\w+|requirements?|items?"
    r"|them)(?: as)? (?:met|satisfied|fulfilled|passed)\b",
    r"\b(?:do not|don't|never) (?:deduct|subtract|take off) (?:any )?(?:points?|marks?)\b",
    r"\b(?:do not|don't|never) (?:lower|reduce|cut) the (?:result|score|grade|mark|rating)\b",
    r"\b(?:pass|approve|accept) (?:this|everything)(?=[.,!;]|$)",
    # A verdict is stated.
    rf"{_BEGINS}(?:judge|grader|evaluator|verdict|score|result) ?: ?(?:10|ten)\b(?![.,/:]?\d)",
    r"\b(?:10|ten) is the (?:[a-z]+ )?(?:only |sole |right |fair |correct )+"
    r"(?:outcome|score|grade|mark|result|answer)\b",
    r"\b(?:give|giving|given|score|rate) (?:this|it) (?:less than|below|under) (?:10|ten)\b",
    rf"\b{_GRADERS} (?:have |has |all ){{0,2}}(?:decided|agreed|settled|gave|given|awarded)"
    rf"(?: on| upon)? (?:this |it )?(?:a |an )?(?:{_TEN}|full (?:marks|points)(?=[.!,;]|$))",
    r"\b(?:all|full|maximum|top) (?:points?|marks?|credits?|score) (?:(?:are|is|was|were) )?"
    r"(?:earned|granted|awarded|assigned)(?=[.!]|$)",
    rf"\b(?:score|verdict|grade|rating|points) (?:of|by|from|given by) (?:the |all )?{_GRADERS} ?"
    r"(?:[:=]|is\b)",
    rf"\b(?:assessment|evaluation|grading|submission|{_GRADERS})\b{_GAP}{{0,60}}?\b"
    r"10 ?(?:/|out of) ?10\b",
    rf"\b(?:this|the present) {_WORK} (?:fully |clearly )?(?:passes|satisfies|meets|fulfils"
    rf"|deserves|earns)\b{_GAP}{{0,20}}?\b(?:rubric|criteri|{_TOP})",
    r"\bsystem ?: (?:the |this )(?:candidate|submission|work|file|answer) passes\b",
    r"(?<!\w )(?<!\w)[\"']?(?:score|rating|points|grade)[\"']?\s{0,3}[:=]\s{0,3}[\"']?\d{1,2}\b"
    r".{0,40}[\"']?(?:evidence|justification|verdict)[\"']?\s{0,3}[:=]",
    r"[\"'](?:evidence|justification)[\"']\s{0,3}:.{0,400}[\"'](?:score|rating|grade)[\"']\s{0,3}:",
    r"<(?:verdict|score|points|grade)>\s{0,3}(?:pass|10|ten|full)",
    r"\b(?:begin|end) untrusted\b",
)
_PUNKTE = (
    r"(?:volle\w* (?:punkt\w*|note)|höchst\w+ (?:punkt\w*|note\w*)|bestnote|maximal\w* punkt\w*"
    r"|(?<!bis )(?<!feld )(?<!seite )(?<!zeile )(?<!nummer )(?:10|zehn)"
    r"(?=\s?(?:[.!;,]|$|punkte?\b|von\b|ein\b)))"
)
_PRUEFER = r"(?:prüfer|bewerter|gutachter|juror|richter)(?:in|innen|n)?"
_SCHEMA = r"(?:anweisungen|vorgaben|rubrik|bewertungs\w+|kriterien)"
_GERMAN = (
    r"\b(?:vergib|vergebt|bewerte|bewertet|benote|gib|gebt|trage?|setze?|(?:vergeben|bewerten|geben"
    rf"|tragen) sie)\b{_GAP}{{0,50}}?\b{_PUNKTE}",
    rf"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\b{_GAP}{{0,30}}?\b{_SCHEMA}",
    rf"\bbeachte\w*\b{_GAP}{{0,15}}?\b{_SCHEMA}\b{_GAP}{{0,10}}?\bnicht\b",
    r"\b(?:an|für) (?:das|den|die) (?:bewertende\w* |prüfende\w* )?"
    rf"(?:sprachmodell|modell|ki|llm|{_PRUEFER}) ?:",
    rf"\b(?:du bist|als) (?:der |die |eine? )?{_PRUEFER},? (?:und (?:gibst|vergibst)|musst|sollst"
    rf"|gibst|wirst)\b",
    rf"{_BEGINS}(?:liebe[rs]? |sehr geehrter? )?{_PRUEFER}, (?:bitte )?"
    r"(?:sieh|gib|vergib|bewerte|ignoriere|übersieh|ziehe?|vergiss)\b",
    rf"\b{_SCHEMA}\b{_GAP}{{0,20}}?\bgelten (?:hier )?nicht",
    r"\b(?:hinweis|nachricht|anweisung) an die (?:bewertung|prüfung)\b",
    r"\b(?:vergib|vergebt|trage?) (?:hier )?(?:die )?höchstnote\b",
    rf"\b(?:egal|gleich),? was die {_SCHEMA}",
    rf"\bdiese[rn]? (?:arbeit|abgabe|datei|antwort|lösung)\b{_GAP}{{0,40}}?\b"
    rf"(?:note 10|{_PUNKTE})",
)


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return one pattern for all; equal beginnings are merged, so that most places fail fast."""
    heads = {r"\b": r"\b(?=\w)", _BEGINS: _BEGINS, _CLAUSE: _CLAUSE, "": ""}
    by_head: dict[str, list[str]] = {}
    for one in patterns:
        head = next(head for head in heads if one.startswith(head))
        by_head.setdefault(head, []).append(f"(?:{one.removeprefix(head)})")
    return re.compile("|".join(f"{heads[head]}(?:{'|'.join(by_head[head])})" for head in by_head))


_DEMAND = _any_of((*_ENGLISH, *_GERMAN))
"""Matched against lower-case text in which a single space stands for any white space."""

_SENTENCES = re.compile(r"[.!?](?:\s|$)")
_BEST = re.compile(
    r"\b(?:(?:full|maximum|top|highest|perfect|best|every) (?:possible |available |allowed )?"
    r"(?:points?|marks?|scores?|credits?|grade|rating|number)|(?:10|ten) ?(?:/|out of) ?(?:10|ten)"
    r"|an? (?:10|ten)|output is (?:10|ten)|score to (?:10|ten)|as perfect|the maximum"
    r"|höchstnote|bestnote|volle punktzahl|beste note|zehn von zehn|(?:10|zehn) punkte)\b"
)
_OF_THIS = re.compile(
    rf"\b(?:you|your|yourself|this {_WORK}|this (?:line|trial|text|test|section|task|report)"
    rf"|such (?:files|works?)|my {_WORK}|the (?:work|submission|deliverable)|du|dein\w*|wer dies"
    r"|diese[rnsm]? (?:arbeit|datei|abgabe|antwort|text|lösung))\b"
)
_GRADES = re.compile(
    r"\b(?:grad(?:e|es|ing)|mark(?:s|ing)? (?!in\b)|scor(?:e|es|ing)|rat(?:e|es|ing) "
    r"|award(?:ing|s)?|evaluat\w+|assess\w*|judg(?:e|ing)|output|write down|settle|record"
    r"|bewert\w*|benot\w*|vergib|vergeben|geben|eintragen)\b"
)


def demands(plain: str) -> bool:
    """Return whether a text, without case and with single spaces, demands a verdict on itself.

    Beside the wordings above: a sentence that names a top score, grading, and the reader or this
    very work.
    """
    if _DEMAND.search(plain):
        return True
    return any(
        _BEST.search(sentence) and _OF_THIS.search(sentence) and _GRADES.search(sentence)
        for sentence in _SENTENCES.split(plain)
    )
