"""Long results of one trial, kept whole while the agent reads them page by page."""

from dataclasses import dataclass, field

from environments.toolkit.definition import MAX_TEXT_CHARS

PAGE_CHARS = 10_000
"""Characters of a page (Toolathlon, appendix B)."""

_MAX_KEPT_CHARS = 5_000_000


@dataclass
class KeptResults:
    """Texts by number, from 1; the oldest are dropped when the total gets too large."""

    shown_chars: int = MAX_TEXT_CHARS
    """A longer text is kept, because it is not shown as a whole."""
    page_chars: int = PAGE_CHARS
    _texts: dict[int, str] = field(default_factory=dict)
    _last: int = 0
    _chars: int = 0

    def show(self, chars: int) -> None:
        """Keep texts longer than `chars` from now on, in pages small enough to be shown."""
        self.shown_chars = chars
        self.page_chars = min(PAGE_CHARS, chars * 3 // 4)

    def keep(self, text: str) -> int:
        """Keep a text; return its number."""
        self._last += 1
        self._texts[self._last] = text
        self._chars += len(text)
        while len(self._texts) > 1 and self._chars > _MAX_KEPT_CHARS:
            self._chars -= len(self._texts.pop(next(iter(self._texts))))
        return self._last

    def find(self, number: int) -> str | None:
        """Return the text of that number; None if it does not exist or was dropped."""
        return self._texts.get(number)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the kept texts."""
        return tuple(self._texts)


def page_of(text: str, number: int, chars: int = PAGE_CHARS) -> str:
    """Return page `number` of `text`, counted from 1; empty past the end."""
    return text[(number - 1) * chars : number * chars]


def pages_in(text: str, chars: int = PAGE_CHARS) -> int:
    """Return how many pages `text` has, at least 1."""
    return max(1, -(-len(text) // chars))
