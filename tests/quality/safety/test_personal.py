"""What is found of personal data, what is not, and what is said of it."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from quality.safety.personal import masked, personal_data, told
from taskdata.banks.loader import bundled_banks, load_bank
from taskdata.schema.safety import PersonalKind

DATA: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("personal.yaml").read_text(encoding="utf-8")
)
HELD = "Pay DE89 3704 0044 0532 0130 00, call +49 151 23456789, mail maria.keller87@gmail.com."


@pytest.mark.parametrize(("text", "kinds"), DATA["found"])
def test_personal_data_is_found_with_its_kind(text: str, kinds: list[str]):
    assert [datum.kind.value for datum in personal_data(text)] == kinds


@pytest.mark.parametrize("text", DATA["honest"])
def test_other_numbers_and_the_addresses_of_offices_are_let_through(text: str):
    assert personal_data(text) == ()


def test_the_bundled_banks_hold_none_in_texts_and_files():
    banks = Path("taskdata/banks").resolve()
    files = [p for p in banks.rglob("files/*") if p.suffix in {".csv", ".txt", ".md", ".json"}]
    texts = {str(path): path.read_text(encoding="utf-8") for path in files}
    texts |= {t.id: t.query for bank in bundled_banks() for t in load_bank(bank).tasks}

    assert {name: told(data) for name, text in texts.items() if (data := personal_data(text))} == {}
    assert len(texts) > 60


def test_masked_text_keeps_the_kind_and_everything_else():
    assert masked(HELD) == "Pay [IBAN], call [PHONE], mail [EMAIL]."
    assert masked(masked(HELD)) == masked(HELD)
    assert masked("Nothing to hide in 2026.") == "Nothing to hide in 2026."


def test_allowed_kinds_stay():
    assert masked(HELD, allowed=(PersonalKind.IBAN, PersonalKind.EMAIL)) == HELD.replace(
        "+49 151 23456789", "[PHONE]"
    )


def test_what_is_told_names_kind_and_place_and_never_the_datum():
    said = told(personal_data(HELD))

    assert said == "iban (characters 5-31), phone (characters 39-54), email (characters 62-85)"
    assert told(personal_data(HELD * 4)).endswith(" and 7 more")


@pytest.mark.parametrize(
    "part", ["P<UTO", "Ab ", "A1 ", "1 ", "call ", "a@a.", "passport ", "+4 ", "DE12 ", "born "]
)
def test_hostile_texts_take_time_linear_in_their_length(part: str):
    text = part * (50_000 // len(part)) + "1@"
    started = time.process_time()

    personal_data(text)

    # Quadratic time would be minutes.
    assert time.process_time() - started < 4
