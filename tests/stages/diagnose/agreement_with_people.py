"""How well the rules agree with the labels that people gave: precision, recall and F1 per label."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from taskdata.schema.diagnosis import LABELS, FailureStage, FailureType, Taxonomy
from tests.stages.diagnose.labelled import LabelledTrial

NO_RULE = frozenset(
    {
        "fine_grained_perception",
        "visual_spatial_understanding",
        "video_temporal_understanding",
        "cross_modal_fusion",
        "multimodal_hallucination",
        "false_positive",
        "mcp_issue",
    }
)
"""Labels of tool use that no rule gives; docs/failures.md says so, too."""
STAGE, TYPE = "stage", "type"


@dataclass
class LabelCounts:
    """How often a label was given by both, by the rules alone, and by people alone."""

    both: list[str] = field(default_factory=list)
    """Names of trials."""
    rules_only: list[str] = field(default_factory=list)
    people_only: list[str] = field(default_factory=list)

    @property
    def given(self) -> int:
        """How many trials have the label by people."""
        return len(self.both) + len(self.people_only)

    @property
    def precision(self) -> float:
        """Share of the rules' labels that people gave; 0 without any."""
        return _share(len(self.both), len(self.both) + len(self.rules_only))

    @property
    def recall(self) -> float:
        """Share of the people's labels that the rules gave; 0 without any."""
        return _share(len(self.both), self.given)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _share(2 * self.precision * self.recall, self.precision + self.recall)


@dataclass(frozen=True)
class Agreement:
    """The counts of every label that code can decide, as `KIND.LABEL`, and the confusions."""

    labels: Mapping[str, LabelCounts]
    confused: Mapping[str, Counter[tuple[str, str]]]
    """Of stage and type: how often (people, rules) were given together."""

    def macro_f1(self, kind: str = "") -> float:
        """Return the mean F1 of the labels of a kind that people gave or that the rules gave."""
        scores = [
            counts.f1
            for name, counts in self.labels.items()
            if name.startswith(kind) and (counts.given or counts.rules_only)
        ]
        return _share(sum(scores), len(scores))


def decidable() -> tuple[str, ...]:
    """Return the names of all labels that code can decide, as `KIND.LABEL`."""
    names = [f"{STAGE}.{s}" for s in FailureStage if s is not FailureStage.UNDETERMINED]
    names += [f"{TYPE}.{t}" for t in FailureType]
    for kind in Taxonomy:
        names += [f"{kind}.{n}" for n in LABELS[kind] if n not in NO_RULE | {"undetermined"}]
    return tuple(names)


def agreement(trials: Iterable[LabelledTrial], counts_debatable: bool = False) -> Agreement:
    """Return how the rules' labels of the trials agree with those of people.

    What people may disagree about is left out, unless `counts_debatable`.
    """
    counts = {name: LabelCounts() for name in decidable()}
    confused: dict[str, Counter[tuple[str, str]]] = {STAGE: Counter(), TYPE: Counter()}
    for trial in trials:
        people, rules = given_labels(trial), rule_labels(trial)
        undecided: set[str] = set() if counts_debatable else debatable_names(trial)
        for name in people | rules:
            if name in undecided or name.partition(".")[0] in undecided or name not in counts:
                continue
            kind = "both" if name in people & rules else ""
            kind = kind or ("rules_only" if name in rules else "people_only")
            getattr(counts[name], kind).append(trial.name)
        for kind in set(confused) - undecided:
            confused[kind][_one(people, kind), _one(rules, kind)] += 1
    return Agreement(counts, confused)


def given_labels(trial: LabelledTrial) -> set[str]:
    """Return the labels that a person gave, as `KIND.LABEL`."""
    given = trial.given
    names = {f"{label.taxonomy}.{label.name}" for label in given.labels}
    if given.stage is not None:
        names.add(f"{STAGE}.{given.stage}")
    if given.type is not None:
        names.add(f"{TYPE}.{given.type}")
    return names


def rule_labels(trial: LabelledTrial) -> set[str]:
    """Return the labels that the rules give, as `KIND.LABEL`."""
    found, labels = trial.diagnosed()
    names = {f"{label.taxonomy}.{label.name}" for label in labels}
    if found is not None and found.stage is not None:
        names.add(f"{STAGE}.{found.stage}")
    if found is not None and found.type is not None:
        names.add(f"{TYPE}.{found.type}")
    return names


def debatable_names(trial: LabelledTrial) -> set[str]:
    """Return what does not count of a trial: `stage`, `type`, and labels as `KIND.LABEL`."""
    names = set(trial.given.debatable)
    return names | {f"{kind}.{n}" for kind in Taxonomy for n in LABELS[kind] if n in names}


def _one(names: set[str], kind: str) -> str:
    return next((n.partition(".")[2] for n in sorted(names) if n.startswith(f"{kind}.")), "none")


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
