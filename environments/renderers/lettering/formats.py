"""How much text is read in pictures; imports nothing heavy."""

from importlib.util import find_spec

MAX_READ_SECONDS = 60.0
"""CPU time after which no further picture of a file is begun; a page full of text takes 3 s."""
MAX_PICTURE_SECONDS = 90.0
"""Wall time for one picture, after which its other lines are left unread."""
MAX_TEXT_CHARACTERS = 20_000
"""Of one picture."""
NO_READER = "no reader"
"""The worker's reason if the text recogniser is missing."""


def has_reader() -> bool:
    """Return whether the text recogniser is installed here."""
    return all(find_spec(name) is not None for name in ("rapidocr_onnxruntime", "cv2"))
