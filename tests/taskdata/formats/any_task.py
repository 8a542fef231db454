"""Tasks of every shape that a schema allows, with the contents of their files, for Hypothesis."""

import hashlib

from hypothesis import strategies as st

from taskdata.schema.checkpoint import Check, Checkpoint, Judge, ScriptCheck, ToolResultCheck
from taskdata.schema.package import Difficulty, Family, SimulatedUser, TaskPackage
from taskdata.schema.service import MailAccount, MailService, PostgresqlService
from taskdata.schema.task import (
    Capability,
    Category,
    DeliverableSpec,
    DeliverableType,
    ImageGenerationAnswer,
    InputFile,
    ObjectiveAnswer,
    Provenance,
    ReferenceSolution,
    ReferenceStep,
    Resources,
    SubjectiveAnswer,
    Task,
    TaskEnvironment,
    Tier,
)

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
)
slugs = st.from_regex(r"[a-z0-9][a-z0-9_\-]{0,12}", fullmatch=True)
turning = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
names = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="/\\" + turning),
    min_size=1,
)
parts = names.filter(lambda part: part not in (".", ".."))
paths = st.lists(parts, min_size=1, max_size=3).map("/".join).filter(lambda p: len(p) <= 240)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers()
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
mappings = st.dictionaries(texts, values, max_size=3)


def tuples(items, least=0, most=3):
    return st.lists(items, min_size=least, max_size=most).map(tuple)


@st.composite
def input_files(draw, contents):
    content = draw(st.binary(max_size=8))
    sha256 = hashlib.sha256(content).hexdigest()
    contents[sha256] = content
    return InputFile(path=draw(paths), sha256=sha256, size_bytes=len(content))


def verifiers(deliverables, programs):
    shown = st.sampled_from(deliverables) if deliverables else None
    kinds = [
        st.builds(
            Check,
            name=slugs,
            deliverable=st.none() | shown if shown is not None else st.none(),
            args=mappings,
        ),
        st.builds(
            Judge,
            rubric=texts,
            deliverables=tuples(shown, most=2) if shown is not None else st.just(()),
        ),
        st.builds(ToolResultCheck, tools=tuples(texts, 1), contains=tuples(texts)),
    ]
    if programs:
        kinds.append(st.builds(ScriptCheck, entry=st.sampled_from(programs)))
    return st.one_of(kinds)


@st.composite
def trees(draw, leaf_verifiers):
    weights = st.floats(min_value=0.1, max_value=1e6)
    taken = iter(range(1_000))

    def node(depth):
        facts = {
            "id": f"{draw(slugs)}-{next(taken)}",
            "requirement": draw(texts),
            "weight": draw(weights),
        }
        if depth and draw(st.booleans()):
            children = tuple(node(depth - 1) for _ in range(draw(st.integers(1, 3))))
            rule = draw(st.sampled_from(["weighted_mean", "all_required"]))
            mark = draw(st.sampled_from([10.0, 7.5]))
            return Checkpoint(**facts, children=children, rule=rule, passes_from=mark)
        return Checkpoint(**facts, verifier=draw(leaf_verifiers))

    return node(draw(st.sampled_from([0, 1, 2, 3, 12])))


answers = (
    st.builds(
        ObjectiveAnswer,
        whitelist=tuples(tuples(texts, 1), 1),
        blacklist=tuples(tuples(texts)),
    )
    | st.builds(SubjectiveAnswer, references=st.tuples(texts, texts, texts))
    | st.just(ImageGenerationAnswer())
)
steps = st.builds(
    ReferenceStep,
    tool=texts,
    arguments=mappings,
    thought=st.just("") | texts,
    result=st.none() | texts,
)


users = st.builds(SimulatedUser, instructions=texts, max_exchanges=st.integers(1, 50))
packages = st.builds(
    TaskPackage,
    family=st.none() | st.sampled_from(Family),
    difficulty=st.none() | st.sampled_from(Difficulty),
    role=texts,
    domain_rules=tuples(slugs),
) | st.builds(TaskPackage, turn_mode=st.just("multi"), user=users, subcategory=slugs)


@st.composite
def services(draw, contents):
    """Return a database and a mail server, or one of them, with files."""
    sql = draw(tuples(input_files(contents), most=2))
    mail = draw(input_files(contents))
    message = mail.model_copy(update={"path": "ann@example.org/INBOX/1.eml"})
    accounts = (MailAccount(address="ann@example.org", password=draw(slugs)),)
    database = PostgresqlService(name="a", files=sql, database=draw(st.sampled_from(["x", "y_1"])))
    post = MailService(name="b", accounts=accounts, files=(message,))
    return draw(st.sampled_from([(), (database,), (post,), (database, post)]))


@st.composite
def tasks(draw):
    """Return a task and the contents of its files by sha256."""
    contents: dict[str, bytes] = {}
    files = tuples(input_files(contents), most=2)
    environment = draw(
        st.none()
        | st.builds(
            TaskEnvironment,
            servers=tuples(texts),
            preprocess=files,
            evaluation=files,
            groundtruth=files,
            services=services(contents),
        )
    )
    deliverables = draw(
        st.lists(
            st.builds(
                DeliverableSpec,
                name=paths,
                type=st.sampled_from(DeliverableType),
                description=texts,
            ),
            max_size=2,
        )
    )
    programs = [f.path for f in environment.evaluation] if environment else []
    task = Task(
        id=draw(slugs),
        tier=draw(st.sampled_from([Tier.ATOMIC, Tier.WORKFLOW])),
        category=draw(st.sampled_from(Category)),
        capabilities=draw(tuples(st.sampled_from(Capability), 1)),
        title=draw(texts),
        query=draw(texts),
        human_minutes=draw(st.integers(1, 10_000)),
        files=draw(files),
        tools=draw(tuples(texts, 1)),
        deliverables=tuple(deliverables),
        checkpoints=draw(trees(verifiers([d.name for d in deliverables], programs))),
        answer=draw(st.none() | answers),
        reference=draw(
            st.none()
            | st.builds(ReferenceSolution, steps=tuples(steps), final_answer=st.just("") | texts)
        ),
        resources=draw(st.builds(Resources, memory_mb=st.integers(64, 9_999))),
        provenance=draw(st.builds(Provenance, source=texts, seed_id=st.none() | texts)),
        environment=environment,
        extras=draw(mappings),
        package=draw(st.none() | packages),
        canary=draw(st.just("") | texts),
    )
    return task, contents
