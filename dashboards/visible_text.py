"""Text that an agent, a model or a file wrote, made safe to look at.

Markup is escaped where text enters a page or a figure; here, characters that no reader could see
are made visible: control characters, and those that reorder or hide what stands around them.
"""

import re

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters other than tab and line feed
    "\u200b\u2028\u2029\u2060-\u2064\ufeff"  # of no width, and exotic line ends
    "\u202a-\u202e\u2066-\u206f"  # embedding, override and isolation of writing direction
    "\U000e0000-\U000e007f"  # tags: whole sentences that are not shown
    "\ud800-\udfff"  # halves of a pair, which cannot be written as UTF-8
    "]"
)


def visible(text: str) -> str:
    """Return `text` with every unseen character written out, as in `⟨U+202E⟩`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)
