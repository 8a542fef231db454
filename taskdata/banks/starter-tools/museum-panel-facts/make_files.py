"""Write the input files of this task: `python make_files.py`."""

from datetime import UTC, datetime
from pathlib import Path

from pptx import Presentation

from taskdata.banks.making import blocks_of, document_of, save_office

HERE = Path(__file__).parent
WRITTEN = datetime(2026, 3, 9, 10, tzinfo=UTC)


def main() -> None:
    """Write the deck of the panels and the rules."""
    deck = Presentation()
    blocks = blocks_of(HERE / "texts" / "panels.md")
    for number, (title, text) in enumerate(zip(blocks[::2], blocks[1::2], strict=True), start=1):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title.removeprefix("# ")
        slide.placeholders[1].text = text
        slide.notes_slide.notes_text_frame.text = f"Panel {number}, oak frame, 60 by 80 cm"
    save_office(deck, HERE / "files" / "panel_texts.pptx", WRITTEN)
    rules = document_of(blocks_of(HERE / "texts" / "checking_facts.md"))
    save_office(rules, HERE / "files" / "checking_facts.docx", WRITTEN)


if __name__ == "__main__":
    main()
