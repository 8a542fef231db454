"""SMT-LIB 2 text, split so that only declarations and assertions reach the solver.

Z3's parser also executes commands that open files (`include`, `set-option` of an output channel).
"""

import re
from collections.abc import Iterator

from taskdata.errors import ToolRefused

MAX_CHARS = 200_000

_MAX_DEPTH = 200
_DECLARING = frozenset(
    {
        "set-logic",
        "declare-const",
        "declare-fun",
        "declare-sort",
        "declare-datatype",
        "declare-datatypes",
        "define-const",
        "define-fun",
        "define-fun-rec",
        "define-funs-rec",
        "define-sort",
        "assert",
    }
)
_NEEDLESS = frozenset(
    {"set-info", "set-option", "check-sat", "get-model", "get-value", "get-info", "get-unsat-core"}
)
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<comment>;[^\n]*)|(?P<open>\()|(?P<close>\))"
    r'|(?P<text>"(?:[^"]|"")*")|(?P<quoted>\|[^|\\]*\|)|(?P<word>[^\s()";|]+)'
)


def problem_of(text: str) -> str:
    """Return the declarations and assertions of `text`, up to `(exit)`.

    Raises `ToolRefused` for invalid SMT-LIB, and for any other command.
    """
    kept = []
    for command, written in _commands(text):
        if command == "exit":
            break
        if command in _DECLARING:
            kept.append(written)
        elif command not in _NEEDLESS:
            raise ToolRefused(
                f"The SMT-LIB command {command[:40]!r} is not available here: state one problem "
                "with declare-..., define-... and assert; it is checked by itself."
            )
    return "\n".join(kept)


def require_term(text: str) -> None:
    """Raise `ToolRefused` unless `text` is exactly one SMT-LIB term."""
    depth = terms = 0
    for kind, _, _ in _tokens(text):
        depth += {"open": 1, "close": -1}.get(kind, 0)
        if depth < 0:
            break
        terms += depth == 0
    if depth != 0 or terms != 1:
        raise ToolRefused(f"{text[:80]!r} is not one SMT-LIB term, such as (> x 0).")


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command's name and its full text, comments included."""
    depth = start = 0
    name = ""
    for kind, at, end in _tokens(text):
        if depth == 0 and kind != "open":
            raise ToolRefused(f"{text[at : at + 40]!r} stands outside of any SMT-LIB command.")
        if kind == "open":
            if depth == 0:
                start, name = at, ""
            depth += 1
            if depth > _MAX_DEPTH:
                raise ToolRefused(f"The SMT-LIB text is nested deeper than {_MAX_DEPTH} brackets.")
        elif kind == "close":
            depth -= 1
            if depth == 0:
                yield name, text[start:end]
        elif depth == 1 and not name:
            name = text[at:end]
    if depth:
        raise ToolRefused("A bracket of the SMT-LIB text is never closed.")


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind and position of each significant token."""
    if len(text) > MAX_CHARS:
        raise ToolRefused(f"The SMT-LIB text is too long: at most {MAX_CHARS} characters are read.")
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ToolRefused(f"The SMT-LIB text cannot be read at {text[at : at + 40]!r}.")
        at = token.end()
        if token.lastgroup not in ("space", "comment"):
            yield str(token.lastgroup), token.start(), token.end()
