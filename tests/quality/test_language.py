import pytest

from quality.language import UNDETERMINED, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Please compare the three tariffs and say which one is cheapest.", "en"),
        ("Bitte vergleiche die drei Tarife und sag, welcher am günstigsten ist.", "de"),
        ("Compare les trois tarifs et dis lequel est le moins cher.", "fr"),
        ("Compara las tres tarifas y di cuál es la más barata para nosotros.", "es"),
        ("Confronta le tre tariffe e dimmi quale costa meno per noi.", "it"),
        ("Compare as três tarifas e diga qual é a mais barata para nós.", "pt"),
        ("请比较这三种资费，说说哪一种最便宜。", "zh"),
        ("12 + 4 = ?", UNDETERMINED),
        ("", UNDETERMINED),
    ],
)
def test_the_language_of_a_text(text: str, language: str):
    assert language_of(text) == language
