import pytest
from pydantic import ValidationError

from taskdata.schema.package import SUBCATEGORIES, Family, TaskPackage
from taskdata.schema.task import Task

TALK = {"turn_mode": "multi", "user": {"instructions": "You want a sum. You know it is 5."}}


def test_there_are_two_families_and_20_subcategories():
    assert set(SUBCATEGORIES) == set(Family)
    names = [name for own in SUBCATEGORIES.values() for name in own]
    assert len(names) == len(set(names)) == 20


def test_a_task_without_a_package_is_written_and_hashed_as_before(task):
    assert "package" not in task.model_dump()
    changed = task.model_copy(update={"package": TaskPackage(role="Clerk")})
    assert changed.content_hash != task.content_hash
    assert Task.model_validate(changed.model_dump(mode="json")) == changed


def test_an_agent_is_told_role_and_rules_and_nothing_of_the_user(new_task):
    package = {"role": "Clerk", "domain_rules": ["Add twice."], **TALK}
    brief = new_task(package=package).brief()
    assert (brief.role, brief.domain_rules, brief.is_talk) == ("Clerk", ("Add twice.",), True)
    assert "You know it is 5" not in brief.canonical_json()
    assert not new_task(package={"role": "Clerk"}).brief().is_talk


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"turn_mode": "multi"}, "`multi` needs a `user`"),
        ({"user": TALK["user"]}, "`single` takes none"),
        ({**TALK, "user": {"instructions": ""}}, "at least 1 character"),
        ({**TALK, "user": {"instructions": "x", "max_exchanges": 0}}, "greater than or equal to 1"),
        ({"family": "cooking"}, "customer_service"),
        ({"difficulty": "brutal"}, "easy"),
        ({"domain_rules": [" "]}, "at least 1 character"),
    ],
)
def test_a_package_that_makes_no_sense_is_refused(fields, says):
    with pytest.raises(ValidationError, match=says):
        TaskPackage.model_validate(fields)


def test_a_subcategory_belongs_to_its_family():
    def misplaced(**fields):
        return TaskPackage.model_validate(fields).misplaced

    assert misplaced(family="customer_service", subcategory="travel") is None
    assert misplaced(family="intelligent_creation", subcategory="travel") == (
        "intelligent_creation/travel"
    )
    assert misplaced(subcategory="travel") == "no family/travel"
