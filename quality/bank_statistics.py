"""What a bank is made of: histograms of its tasks, and the tools that too few of them use."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from statistics import fmean, median

from taskdata.schema.statistics import BankStatistics, Difficulty, Modality, Spread
from taskdata.schema.task import Capability, Category, Task, Tier

_SHORT_LEAVES = 7
_MEDIUM_LEAVES = 12

_EXTENSIONS: dict[Modality, str] = {
    Modality.IMAGE: "png jpg jpeg gif bmp webp tif tiff svg heic",
    Modality.DOCUMENT: "pdf docx doc odt rtf epub",
    Modality.SPREADSHEET: "xlsx xlsm xls ods csv tsv parquet",
    Modality.SLIDES: "pptx ppt odp",
    Modality.AUDIO: "wav mp3 flac ogg m4a aac opus",
    Modality.VIDEO: "mp4 mov avi mkv webm",
    Modality.WEB: "html htm css",
    Modality.TEXT: "txt md rst log eml ics srt vtt tex",
    Modality.DATA: "json jsonl xml yaml yml toml geojson sqlite db",
    Modality.CODE: "py js ts java c cpp h go rs r sql sh ipynb",
}
_MODALITIES = {
    extension: modality
    for modality, extensions in _EXTENSIONS.items()
    for extension in extensions.split()
}


def bank_statistics(tasks: Iterable[Task]) -> BankStatistics:
    """Return the statistics of `tasks`, which are gone through once and not kept."""
    tools: Counter[str] = Counter()
    categories: Counter[StrEnum] = Counter()
    capabilities: Counter[StrEnum] = Counter()
    kinds: Counter[StrEnum] = Counter()
    tiers: Counter[StrEnum] = Counter()
    sources: Counter[str] = Counter()
    leaves: list[int] = []
    minutes: list[int] = []
    steps: list[int] = []
    checkable: list[float] = []
    for task in tasks:
        tools.update(set(task.tools))
        categories[task.category] += 1
        capabilities.update(set(task.capabilities))
        kinds.update(modalities(task))
        tiers[task.tier] += 1
        sources[task.provenance.source] += 1
        leaves.append(len(task.checkpoints.leaves()))
        minutes.append(task.human_minutes)
        if task.reference is not None:
            steps.append(len(task.reference.steps))
        checkable.append(task.checkpoints.checkable_share())
    return BankStatistics(
        tasks=len(leaves),
        tools=_most_used_first(tools),
        categories=_all_of(Category, categories),
        capabilities=_all_of(Capability, capabilities),
        modalities=_all_of(Modality, kinds),
        difficulties=_all_of(Difficulty, Counter(map(difficulty, leaves))),
        tiers=_all_of(Tier, tiers),
        sources=_most_used_first(sources),
        checkable_share=fmean(checkable) if checkable else None,
        leaves=spread(leaves),
        minutes=spread(minutes),
        steps=spread(steps),
    )


def spread(counts: Sequence[int]) -> Spread | None:
    """Return total, least, median and most of the counts; None if there are none."""
    if not counts:
        return None
    return Spread(total=sum(counts), least=min(counts), median=median(counts), most=max(counts))


def modalities(task: Task) -> set[Modality]:
    """Return the kinds of files that a task brings or asks for (GTA-2, section 3.3.2)."""
    names = [*(file.path for file in task.files), *(d.name for d in task.deliverables)]
    return {_modality(name) for name in names}


def difficulty(leaves: int) -> Difficulty:
    """Return the difficulty of a task whose checkpoint tree has that many leaves.

    GTA-2, section 6.2.1, calls workflows of 3-7 leaves short and of 13-19 long; smaller trees, of
    atomic tasks, count as short, and larger ones as long.
    """
    if leaves <= _SHORT_LEAVES:
        return Difficulty.SHORT
    return Difficulty.MEDIUM if leaves <= _MEDIUM_LEAVES else Difficulty.LONG


def underrepresented(
    statistics: BankStatistics, tools: Collection[str], floor: float
) -> tuple[str, ...]:
    """Return those of `tools` that less than `floor` (0-1) of the tasks use, the rarest first.

    In a bank without tasks, these are all of them, unless the floor is 0.
    """
    tasks = max(statistics.tasks, 1)
    used = {tool: statistics.tools.get(tool, 0) for tool in tools}
    rare = [tool for tool, count in used.items() if count / tasks < floor]
    return tuple(sorted(rare, key=lambda tool: (used[tool], tool)))


def _modality(name: str) -> Modality:
    suffix = PurePosixPath(name).suffix.lower().removeprefix(".")
    return _MODALITIES.get(suffix, Modality.OTHER)


def _all_of(kind: type[StrEnum], counts: Counter[StrEnum]) -> dict[str, int]:
    return {member.value: counts[member] for member in kind}


def _most_used_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
