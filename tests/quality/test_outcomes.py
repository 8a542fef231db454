import json
from dataclasses import replace

from quality.gates import Suite, hold
from quality.outcomes import expectation_outcomes
from quality.suites.expectations import between, like, of_each, one_of, quarantining, rule
from taskdata.schema.gate import ExpectationOutcome, GateLevel

SHIPS = Suite(
    name="ships",
    id_column="name",
    columns=("name", "kind", "draught"),
    parts={"crew": ("age",)},
    expectations=lambda: [
        *quarantining(
            [
                rule("too_deep", between("draught", "a ship draws 2 to 9 m", 2, 9)),
                *of_each("crew", rule("minors", between("age", "nobody is under 18", 18))),
            ]
        ),
        one_of("kind", "the kind is a known one", [f"kind-{i}" for i in range(30)]),
    ],
)


def ship(name: str, draught: float | None = 5, ages: tuple[int, ...] = (30, 40)) -> dict:
    crew = [{"age": age} for age in ages]
    return {"name": name, "kind": "kind-1", "draught": draught, "crew": crew}


def outcomes(*rows: dict, suite: Suite = SHIPS) -> dict[str, ExpectationOutcome]:
    return {o.rule: o for o in expectation_outcomes(hold(suite, rows, "r1")[1])}


def test_what_each_expectation_was_asked_and_found_is_kept_in_numbers():
    found = outcomes(ship("a"), ship("b", 12), ship("c", None, ages=(16, 17, 30)))

    deep, minors = found["too_deep"], found["minors"]
    assert (deep.evaluated, deep.unexpected, deep.success) == (2, 1, False)
    assert deep.limits == {"min_value": 2, "max_value": 9}
    assert deep.level is GateLevel.QUARANTINE
    assert deep.expectation == "a ship draws 2 to 9 m"
    assert (minors.part, minors.evaluated, minors.unexpected) == ("crew", 7, 2)
    assert found["kind"].limits == {"value_set": "30 values"}
    assert found["kind"].level is GateLevel.STOP
    assert (found["rows"].evaluated, found["rows"].success) == (None, True)


def test_no_value_and_no_name_of_a_row_is_kept():
    found = outcomes(ship("Jane Doe", 12.25, ages=(17,)), ship("b"))

    kept = json.dumps([outcome.model_dump(mode="json") for outcome in found.values()])
    assert "Jane" not in kept
    assert "12.25" not in kept


def test_an_expectation_that_could_not_be_evaluated_counts_nothing():
    blind = replace(SHIPS, expectations=lambda: [between("name", "a name is long", 5)])

    (found,) = (o for o in outcomes(ship("a"), suite=blind).values() if o.rule == "name")

    assert (found.evaluated, found.unexpected, found.success) == (None, None, False)


def test_a_limit_on_some_rows_says_which():
    deep = replace(
        SHIPS,
        columns=(*SHIPS.columns, "tier"),
        expectations=lambda: [
            between("draught", "a ferry draws 3 m", 3, tier="ferry"),
            like("name", "a name is one word", r"^\w+$"),
        ],
    )

    found = outcomes(ship("a") | {"tier": "ferry"}, ship("b", 1) | {"tier": "raft"}, suite=deep)

    assert found["draught"].limits["row_condition"] == "tier == ferry"
    assert (found["draught"].evaluated, found["draught"].success) == (1, True)
    assert found["name"].limits == {"regex": r"^\w+$"}
