"""The file formats that a query asks for, in its own words.

A format is asked for where something is made in it. One that is given, that something is about, or
that is only one of several that will do is no requirement. English is read best; of German, French,
Spanish, Italian, Portuguese and Chinese the usual words are known. Where no format is found, any
file that an agent leaves is meant, so a doubtful one is better left out.
"""

import re
from collections.abc import Iterator

from taskdata.schema.deliverable import DeliverableType

_WORD_FILE = r"(?:documents?|files?|reports?|format|dokumente?n?|datei|doc\b|文档|文件|格式)"
_FORMATS = {
    "xlsx": r"(?:ms |microsoft )?excel|xlsx|spread ?sheets?|workbooks?|tabellenkalkulation"
    r"|tableurs?|hojas? de c[áa]lculo|feuilles? de calcul|fogli[oa]? di calcolo"
    r"|planilhas?|电子表格",
    "docx": rf"(?:ms|microsoft) word|(?-i:Word)[ -]?{_WORD_FILE}|docx"
    rf"|(?<!\d[ -])(?<!hundred[ -])(?<!thousand[ -])word {_WORD_FILE}|documents? word"
    r"|documentos? (?:de )?word"
    r"|(?-i:Word)(?! ?(?:count|cloud|limit|list|search|problem|game|of|art)s?\b)",
    "pptx": r"(?:ms |microsoft )?power ?points?|pptx?|slide ?(?:decks?|shows?)|slides|decks?"
    r"|presentations?|präsentation(?:en)?|folien|présentations?|diaporamas?|presentaci(?:ón|ones)"
    r"|diapositivas|presentazion[ei]|apresentaç(?:ão|ões)|幻灯片|演示文稿",
    "pdf": r"pdfs?",
    "csv": r"csv",
    "html": r"html5?|web ?(?:page|site)s?|landing pages?|web(?:seite|site)n?|pages? web"
    r"|páginas? web|网页",
    "md": r"markdown",
    "json": r"json",
    "xml": r"xml",
    "yaml": r"ya?ml",
    "png": r"png",
    "jpg": r"jpe?g",
    "svg": r"svg",
    "gif": r"gifs?",
    "webp": r"webp",
    "wav": r"wav",
    "mp3": r"mp3",
    "mp4": r"mp4|videos?(?: clips?)?|vid[ée]os?|vídeos?|视频",
    "txt": r"txt|(?:plain )?text files?|textdatei",
    "zip": r"zip(?: (?:archive|file)s?)?|压缩包",
    "py": r"python (?:scripts?|files?|programs?)",
    "tex": r"latex (?:files?|documents?|sources?)",
}
_LOOK_BACK = 200
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_.À-ÿ])\.?", r"(?![A-Za-z0-9_À-ÿ])"
FORMAT = re.compile(
    "|".join(rf"(?P<{kind}>{_BEFORE}(?:{words}){_AFTER})" for kind, words in _FORMATS.items()),
    re.IGNORECASE,
)
_THING = re.compile(
    r"slides|decks?|slide ?(?:decks?|shows?)|presenta\w+|präsent\w+|présent\w+|apresenta\w+|folien"
    r"|web ?\w+|landing \w+|p[aá]ginas? web|pages? web|v[ií]d[eé]os?.*|spread ?sheets?|workbooks?"
    r"|gifs?|幻灯片|演示文稿|网页|视频",
    re.IGNORECASE,
)
"""Words for a thing that a query may as well be about, unlike the name of a format."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|[\n。！？；]+")
_MAKING = re.compile(
    r"\b(?:create|creat|mak|generat|produc|writ|prepar|sav|export|output|deliver|design|build|draw|"
    r"draft|compos|provid|giv|turn|convert|format|compil|submit|return|present|summari[sz]|put|"
    r"want|need|develop|deliverable|packag|pack|zip|bundl|attach|render|send|hand|record|film|"
    r"extract|edit|as an?|as|into an?|in)(?:e|es|ing|t|s|ed)?\b"
    r"|\b(?:erstell|schreib|mach|generier|speicher|exportier|liefer|verfass|gestalt|wand|bau|zusammen"
    r"|crée|créer|cré|rédig|génèr|génér|fai[st]|enregistr|produi|sous forme|au format|"
    r"crea|crie|cree|redact|escrib|genera|gera|guard|salv|elabor|entreg|haz|scriv|prepara|formato|"
    r"als|en|em|im)\w*"
    r"|生成|创建|创作|制作|编写|撰写|写|做|保存|导出|输出|整理|提交|转换|形成|提供",
    re.IGNORECASE,
)
_MAKING_AFTER = re.compile(
    r".{0,12}?(?:作成|保存|出力|生成|speichern|erstellen|ausgeben|liefern|abgeben)", re.IGNORECASE
)
_PLAIN = r"(?:(?!(?:in|into|as|to|and|or|with|then|create|make|write|build|save)\b)[\w'’-]+\s+)"
_GIVEN = re.compile(
    r"\b(?:attached|this|these|those|given|provided|uploaded|input|existing|enclosed|"
    r"(?:from|read|analy[sz]e|see|open|watch|review|i have|we have|i['’]ve got|here(?:['’]s| is)|"
    r"give you|giving you|gave you|sending you|shar(?:e|ed|ing)(?: you)?|upload(?:ed|ing)?|"
    r"attach(?:ed|ing)?|got) (?:an?|some|two|several)|"
    r"(?:from|of|in|on|for|read|analy[sz]e|see|open|watch|review|use|using|edit|"
    r"summari[sz]e|improve|check|proofread|shorten|(?:turn|convert|transform|change|translate|put)"
    r"(?:ing)?) (?:the|my|our|your)|"
    r"(?:convert|transform|translat)(?:e|ing)?|"
    r"angehängte\w*|beigefügte\w*|vorliegende\w*|hochgeladene\w*|diese\w?|aus (?:der|dem|den)|"
    r"à partir (?:du|de la|des|de)|ce|cette|ces|depuis (?:le|la|les)|"
    r"a partir (?:del|de la|de los|do|da|de)|est[ea]s?|questo|questa|dal|dalla)"
    rf"\s+{_PLAIN}{{0,2}}$"
    r"|(?:附件|上传|提供|给出|根据|分析|阅读|读取|这[个份]|该)(?:(?![，,。制生创写做成为])[^\n]){0,8}$",
    re.IGNORECASE,
)
_UNWANTED = re.compile(
    r"\b(?:not|no|without|instead of|rather than|except|about|regarding|history of|how to use|"
    r"(?:don['’]?t|do not) \w+|kein\w*|über|pas de|sin|不要|不是)\s*(?:an? |any |the )?$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:of|for|about|on|from|with|using|by|at|via|how|through|to (?!an?\b|the\b)|für|über|mit|"
    r"von|pour|avec|sur|para|sobre|con|per|su)\s+(?:[\w'’%-]+\s+){0,5}$",
    re.IGNORECASE,
)
_GIVEN_AFTER = re.compile(
    r"[\s(]*(?:['’]s\b|(?:that |which )?(?:(?:I|we)(?:['’]ve)? )(?:have )?(?:attach|upload|provid|"
    r"shar|sent|send|gave|giv|link)|(?:i[st] |are |was )?(?:attached|provided|uploaded|below|"
    r"enclosed|joint|ci-joint|adjunt|allegat|angehängt|anexad)|中的|里的|中(?!文)|template\b"
    r"|files? (?:i|we) |(?:\w+ )?(?:to|into|in|as) (?:an? )?(?:ms |microsoft )?\.?(?:pdf|docx|word|"
    r"pptx|power ?point|xlsx|excel|html|csv|markdown|md|png|jpe?g|mp[34])\b)",
    re.IGNORECASE,
)
_GIVEN_FILE = re.compile(
    r"\b(?:attached|provided|uploaded|given|enclosed|input|source|existing|from|using|use|read"
    r"|analy[sz]e|open|review|see|load|watch|transcribe|of|based on|according to|i have|here is"
    r"|aus|angehängte\w*|beigefügte\w*|à partir de|depuis|a partir de|附件|根据|分析)\s*"
    r"(?:(?:the|my|our|this|these|an?|attached|provided|uploaded|given|input|csv|excel|pdf|word|json"
    r"|text|image|picture|audio|video|sales|data|raw|files?|spreadsheets?|documents?|datasets?"
    r"|tables?|workbooks?|images?|recordings?|transcripts?|reports?|datei|fichier|archivo|文件)\s*)*"
    r"[\W_]*$",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"\s*,?\s*(?:files?|documents?)?\s*(?:or|oder|ou|或者?)\s+(?:an? )?$")


def is_given(before: str, after: str) -> bool:
    """Return whether a file between two texts is there already, in a file's own place."""
    return bool(_GIVEN_FILE.search(before[-_LOOK_BACK:]) or _GIVEN_AFTER.match(after))


def format_named(text: str) -> DeliverableType | None:
    """Return the type that a text names as a whole: `PowerPoint`, `.pptx`."""
    found = FORMAT.fullmatch(text.strip())
    return DeliverableType(found.lastgroup) if found and found.lastgroup else None


def formats_asked_for(query: str) -> tuple[DeliverableType, ...]:
    """Return the formats in which a query asks for something, each once, in its order."""
    kinds: dict[DeliverableType, None] = {}
    for sentence in _SENTENCE.split(query):
        kinds |= dict.fromkeys(_asked_in(sentence))
    return tuple(kinds)


def _asked_in(sentence: str) -> Iterator[DeliverableType]:
    found = list(FORMAT.finditer(sentence))
    asked = [_is_asked_for(sentence, one) for one in found]
    for number, one in enumerate(found):
        neighbours = found[number - 1 : number] + found[number + 1 : number + 2]
        if asked[number] and not any(_will_do_as_well(sentence, one, n) for n in neighbours):
            yield DeliverableType(str(one.lastgroup))


def _is_asked_for(sentence: str, found: re.Match[str]) -> bool:
    before, after = sentence[: found.start()], sentence[found.end() :]
    is_plain = after.lower().startswith((" format", "格式", "-format"))
    if _UNWANTED.search(before):
        return False
    if not is_plain and (_GIVEN.search(before) or _GIVEN_AFTER.match(after)):
        return False
    if _THING.fullmatch(found.group()) and not is_plain and _ABOUT.search(before):
        return False
    return bool(is_plain or _MAKING.search(before) or _MAKING_AFTER.match(after))


def _will_do_as_well(sentence: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Return whether only the word "or" stands between two different formats."""
    first, second = sorted((one, other), key=lambda match: match.start())
    between = sentence[first.end() : second.start()]
    return one.lastgroup != other.lastgroup and _ALTERNATIVE.fullmatch(between) is not None
