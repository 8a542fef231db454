import pytest

from stages.intake.details import contradict, details_of, replaces_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sum up Q1 2025.", "Sum up Q3 2025."),
        ("Plan three days.", "Planea cinco días."),
        ("A budget of 2,000 euros", "un budget de 3 000 euros"),
        ("Save it as CSV.", "Save it as an Excel file."),
        ("Plan a trip to Lisbon.", "Plan a trip to Porto."),
    ],
)
def test_another_number_format_or_name_is_another_request(one, other):
    assert contradict(details_of(one), details_of(other))
    assert contradict(details_of(other), details_of(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Compare the three offers.", "Vergleiche die drei Angebote."),
        ("A budget of 2,000 euros", "un budget de 2 000 euros"),
        ("Plan a trip to Lisbon in May.", "Préparez un voyage à Lisbonne."),
        ("Give me an Excel file with 4.5 %", "I need a workbook, 4,5 %"),
        ("Sum up Q1 2025 in three sentences.", "Sum up Q1 2025."),
    ],
)
def test_the_same_details_in_another_dress_do_not_contradict(one, other):
    assert not contradict(details_of(one), details_of(other))


def test_another_content_word_counts_only_in_the_same_wording():
    request = details_of("Tell me which of the suppliers in the list is the cheapest one.")
    swapped = details_of("Tell me which of the suppliers in the list is the fastest one.")
    reworded = details_of("Who on our list of suppliers asks for the lowest price?")
    added = details_of("Please tell me which of the suppliers in the list is the cheapest one now.")
    assert replaces_words(request, swapped)
    assert not replaces_words(request, reworded)
    assert not replaces_words(request, added)


def test_one_word_for_another_can_be_a_synonym_and_several_are_another_subject():
    request = details_of("Prepare ten slides for investors on our battery recycling start-up.")
    brief = details_of("Prepare ten slides for lenders on our battery recycling start-up.")
    farming = details_of("Prepare ten slides for investors on our vertical farming start-up.")
    assert not replaces_words(request, brief, least=2)
    assert replaces_words(request, farming, least=2)


def test_a_name_that_is_a_number_word_elsewhere_is_found_in_both_texts():
    one = details_of("A rota for the six of us, Bo and Cem cannot do Q1 2025.")
    assert not contradict(
        one, details_of("A rota for us six, please. Bo and Cem cannot do Q1 2025.")
    )
    assert contradict(one, details_of("A rota for us six, please. Bo and Cem cannot do Q3 2025."))
