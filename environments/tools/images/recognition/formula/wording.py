"""A formula's structure in words: LaTeX, and the plain form that Solver and Calculator read."""

from dataclasses import dataclass, replace

from environments.tools.images.recognition.formula.layout import LARGE, Item, Row

FUNCTIONS = (
    *("arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "sin", "cos", "tan", "cot", "log"),
    *("exp", "max", "min", "ln"),
)
_PLAIN_FUNCTIONS = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log"}
_CALLED = {"f", "g", "h"}
_UNPLAIN_FUNCTIONS = {"cot", "max", "min"}

_LATEX = {
    "×": r"\times", "÷": r"\div", "±": r"\pm", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq",
    "≈": r"\approx", "∞": r"\infty", "∂": r"\partial", "→": r"\to", "⋅": r"\cdot", "%": r"\%",
    "∑": r"\sum", "∏": r"\prod", "∫": r"\int", "lim": r"\lim", "{": r"\{", "}": r"\}",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\epsilon",
    "ζ": r"\zeta", "η": r"\eta", "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu",
    "ξ": r"\xi", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\phi",
    "χ": r"\chi", "ψ": r"\psi", "ω": r"\omega", "Γ": r"\Gamma", "Δ": r"\Delta",
    "Θ": r"\Theta", "Λ": r"\Lambda", "Φ": r"\Phi", "Ψ": r"\Psi", "Ω": r"\Omega",
}  # fmt: skip
_PLAIN = {
    "×": "*", "÷": "/", "⋅": "*", "≤": "<=", "≥": ">=", "[": "(", "]": ")",
    "+": "+", "-": "-", "/": "/", "=": "=", "<": "<", ">": ">", "(": "(", ")": ")", ".": ".",
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "λ": "lam", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi",
    "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
    "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Φ": "Phi", "Ψ": "Psi",
    "Ω": "Omega",
}  # fmt: skip
_SPACED = set("+-=<>×÷±≤≥≠≈→⋅")
_SIGNED = set("+-±")
_BEFORE_SIGNS = {"", "(", "[", "{", "|", *_SPACED}
"""After these a plus or minus is the sign of what follows."""


class NoPlainForm(Exception):
    """The formula has something that the plain form cannot say; the message names it."""


_LIKE_L = {"1": "l", "I": "l", "|": "l"}
_LIKE_O = {"0": "o", "O": "o"}


@dataclass(frozen=True)
class Word:
    """A number, name or sign of a row, with what it carries."""

    text: str
    """A number, a single sign, a function's name, or `fraction` and the like."""
    item: Item
    is_function: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return self.text[0].isdigit()

    @property
    def is_value(self) -> bool:
        """Whether it has a value of its own, and so a product with its neighbour."""
        return self.text[0].isalnum() and not self.is_function and self.text not in LARGE


def words(row: Row) -> list[Word]:
    """Return the row with digits joined to numbers and upright letters to functions."""
    found: list[Word] = []
    place = 0
    while place < len(row):
        length, name = _function_at(row, place) or _number_at(row, place)
        last = row[place + length - 1]
        found.append(Word(name, last, is_function=name in FUNCTIONS))
        place += length
    return found


def _function_at(row: Row, place: int) -> tuple[int, str] | None:
    for name in FUNCTIONS:
        part = row[place : place + len(name)]
        letters = [item.is_upright for item in part if item.name.isalpha()]
        spelled = "".join({**_LIKE_L, **_LIKE_O}.get(item.name, item.name) for item in part)
        is_bare = not any(item.power or item.index for item in part[:-1])
        if spelled.lower() == name and all(letters) and letters and is_bare:
            return len(name), name
    return None


def _number_at(row: Row, place: int) -> tuple[int, str]:
    text = ""
    for item in row[place:]:
        is_point = item.name == "." and text.isdigit() and not (item.power or item.index)
        if not is_point and not _digit(item).isdigit():
            break
        text += "." if is_point else _digit(item)
        if item.power or item.index:
            break
    if not text[:1].isdigit():
        return 1, row[place].name
    return len(text), text


def _digit(item: Item) -> str:
    # An upright l that belongs to no function is a 1 of the same shape.
    return {"l": "1", "O": "0", "o": "0"}.get(item.name, "") if item.is_upright else item.name[:1]


def latex(row: Row) -> str:
    """Return `row` as LaTeX."""
    pieces: list[str] = []
    before = ""
    for word in words(row):
        piece = _latex_of(word)
        is_sign = word.text in _SIGNED and before in _BEFORE_SIGNS
        before = word.text
        if word.text in _SPACED and not is_sign:
            piece = f" {piece} "
        elif pieces and piece[0].isalpha() and _ends_in_command(pieces[-1]):
            piece = f" {piece}"
        pieces.append(piece)
    return "".join(pieces).strip()


def _ends_in_command(text: str) -> bool:
    return text.rpartition("\\")[2].isalpha() and "\\" in text


def _latex_of(word: Word) -> str:
    item = word.item
    if item.name == "fraction":
        text = rf"\frac{{{latex(item.parts[0])}}}{{{latex(item.parts[1])}}}"
    elif item.name == "root":
        degree = f"[{latex(item.parts[0])}]" if item.parts[0] else ""
        text = rf"\sqrt{degree}{{{latex(item.parts[1])}}}"
    elif word.is_function:
        text = f"\\{word.text}"
    else:
        text = _LATEX.get(word.text, word.text)
    below, above = item.parts if word.text in LARGE and item.parts else ((), ())
    for mark, script in (("_", item.index or below), ("^", item.power or above)):
        if script:
            text += f"{mark}{{{latex(script)}}}"
    return text


def plain(row: Row) -> str:
    """Return `row` as Solver and Calculator write it; raises `NoPlainForm` where they cannot."""
    text, before, rest = "", "", words(row)
    while rest:
        word = rest.pop(0)
        is_sign = word.text in _SIGNED and before in _BEFORE_SIGNS
        before = word.text
        if word.text in _CALLED and rest and rest[0].text == "(":
            raise NoPlainForm(f"the function {word.text}")
        piece = _plain_function(word, rest) if word.is_function else _plain_of(word)
        is_factor = piece[0].isalnum() or piece[0] == "("
        if is_factor and text and (text[-1].isalnum() or text[-1] == ")"):
            piece = f"*{piece}"
        text += f" {piece} " if word.text in _SPACED and not is_sign else piece
    return " ".join(text.split())


def _plain_of(word: Word) -> str:
    item = word.item
    if item.name == "fraction":
        above, below = (_bracketed(plain(part)) for part in item.parts)
        text = f"({above}/{below})"
    elif item.name == "root":
        text = _plain_root(item)
    elif word.is_number or (word.text.isascii() and word.text.isalpha() and len(word.text) == 1):
        text = word.text
    elif word.text in _PLAIN:
        text = _PLAIN[word.text]
    else:
        raise NoPlainForm(_LATEX.get(word.text, word.text))
    if item.index:
        index = plain(item.index)
        if not (text.isalpha() and index.isalnum()):
            raise NoPlainForm("an index that is not a name or a number")
        text += f"_{index}"
    if item.power:
        return f"{text}**{_bracketed(plain(item.power))}"
    return text


def _plain_root(item: Item) -> str:
    degree, radicand = item.parts
    if not degree:
        return f"sqrt({plain(radicand)})"
    return f"({plain(radicand)})**(1/{_bracketed(plain(degree))})"


def _plain_function(word: Word, rest: list[Word]) -> str:
    """Return a function with its argument, which is taken off `rest`."""
    if word.text in _UNPLAIN_FUNCTIONS or word.item.index:
        raise NoPlainForm(f"\\{word.text}")
    argument: list[Word] = []
    if rest and rest[0].text == "(":
        depth = 0
        while rest:
            depth += {"(": 1, ")": -1}.get(rest[0].text, 0)
            argument.append(rest.pop(0))
            if depth == 0:
                break
    else:
        while rest and rest[0].is_value:
            argument.append(rest.pop(0))
    if not argument:
        raise NoPlainForm(f"\\{word.text} without an argument")
    inner = plain(tuple(part for word in argument for part in _items(word)))
    name = _PLAIN_FUNCTIONS.get(word.text, word.text)
    call = (
        f"{name}{inner}"
        if inner.startswith("(") and argument[0].text == "("
        else (f"{name}({inner})")
    )
    return f"{call}**{_bracketed(plain(word.item.power))}" if word.item.power else call


def _items(word: Word) -> list[Item]:
    """Return a word as items again: a number digit by digit, its power at the last."""
    if not word.is_number:
        return [word.item]
    bare = replace(word.item, power=(), index=(), is_upright=False)
    digits = [replace(bare, name=digit) for digit in word.text]
    return [*digits[:-1], replace(word.item, name=word.text[-1], is_upright=False)]


def _bracketed(text: str) -> str:
    return text if text.isalnum() else f"({text})"
