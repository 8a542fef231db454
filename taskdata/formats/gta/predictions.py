"""Predictions for GTA's atomic tasks, as the benchmark's own runs write them.

Accepted are the prediction files of the benchmark (task -> `prediction`, `gold`), plain lists or
mappings of messages per task, and one file that holds `tasks` and `predictions` together.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.documents import document
from taskdata.formats.gta.atomic import DATASET

END_TO_END = "end-to-end"
STEP_BY_STEP = "step-by-step"
MODES: Mapping[str, str] = {END_TO_END: "every", STEP_BY_STEP: "every_with_gt"}
"""Our name of a mode -> the published scorer's."""

_MAX_BYTES = 512 << 20


@dataclass(frozen=True)
class PredictedTask:
    """One task of a data set beside what was predicted for it."""

    key: str
    predicted: Sequence[Mapping[str, Any]]
    """Messages; step by step one for each assistant message of the reference."""
    reference: Sequence[Mapping[str, Any]]
    """Messages of the reference, the user's left out."""
    answer: Any
    """`gt_answer`, as decoded."""


@dataclass(frozen=True)
class Predictions:
    """The tasks that something was predicted for, and those that are missing."""

    tasks: tuple[PredictedTask, ...]
    missing: tuple[str, ...]
    """Keys of the data set's tasks without a prediction."""


def read_predictions(dataset: Path, predictions: Path, mode: str) -> Predictions:
    """Return what was predicted, in the order of the predictions, beside its references.

    Args:
        dataset: The folder of `dataset.json`, that file, or a file with its content as `tasks`.
        predictions: A file, which may be the same one.
        mode: `end-to-end` or `step-by-step`.

    Raises:
        Misuse: There is no such file, or no such mode.
        BadTaskData: A file has not the published shape.
    """
    if mode not in MODES:
        raise Misuse(f"mode {mode!r}: unknown; there is {' and '.join(MODES)}")
    tasks = _tasks(document(dataset, (DATASET,)))
    keys = list(tasks)
    found = []
    for key, raw in _by_key(predictions, MODES[mode], keys):
        if key not in tasks:
            raise BadTaskData(f"{predictions}: task {key!r} is not in {dataset}")
        found.append(_predicted(predictions, key, raw, tasks[key], mode))
    known = {task.key for task in found}
    return Predictions(tuple(found), tuple(key for key in keys if key not in known))


def _tasks(path: Path) -> dict[str, Mapping[str, Any]]:
    value = _json(path)
    if isinstance(value, Mapping) and isinstance(value.get("tasks"), Mapping | list):
        value = value["tasks"]
    if isinstance(value, list):
        value = {str(number): task for number, task in enumerate(value)}
    if not isinstance(value, Mapping):
        raise BadTaskData(f"{path}: expected a mapping of tasks by key")
    for key, task in value.items():
        if not isinstance(task, Mapping) or not isinstance(task.get("dialogs"), list):
            raise BadTaskData(f"{path}: task {key!r} must be a mapping with dialogs, a list")
        if "gt_answer" not in task:
            raise BadTaskData(f"{path}: task {key!r} has no gt_answer; null means image generation")
    return dict(value)


def _by_key(path: Path, mode: str, keys: Sequence[str]) -> list[tuple[str, Any]]:
    value = _json(path)
    if isinstance(value, Mapping) and isinstance(value.get("predictions"), Mapping):
        value = value["predictions"]
    if isinstance(value, Mapping) and value.keys() & set(MODES.values()):
        if mode not in value:
            raise BadTaskData(f"{path}: has no predictions of mode {mode!r}")
        value = value[mode]
    if isinstance(value, list):
        if len(value) > len(keys):
            raise BadTaskData(f"{path}: {len(value)} predictions for {len(keys)} tasks")
        return list(zip(keys, value, strict=False))
    if not isinstance(value, Mapping):
        raise BadTaskData(f"{path}: expected predictions as a mapping by task, or as a list")
    return list(value.items())


def _predicted(path: Path, key: str, raw: Any, task: Mapping[str, Any], mode: str) -> PredictedTask:
    gold: Any = [m for m in task["dialogs"] if not _is_users(m)]
    if isinstance(raw, Mapping):
        if "prediction" not in raw:
            raise BadTaskData(f"{path}: task {key}: has no prediction")
        # The published scorer compares with the copy of the reference that stands beside the
        # predictions: its paths of files were made absolute as those that the model was told.
        gold = _turn(raw["gold"]) if raw.get("gold") else gold
        raw = raw["prediction"]
    messages = _turn(raw) if mode == END_TO_END else raw
    for what, listed in (("prediction", messages), ("gold", gold)):
        if not isinstance(listed, list) or not all(isinstance(m, Mapping) for m in listed):
            raise BadTaskData(f"{path}: task {key}: its {what} must be a list of messages")
    return PredictedTask(key, messages, gold, task["gt_answer"])


def _turn(value: Any) -> Any:
    """Return the messages of the first user turn, whether or not turns are told apart."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return value[0]
    return value


def _is_users(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") == "user"


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadTaskData(f"{path}: larger than {_MAX_BYTES >> 20} MB")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise Misuse(f"{path}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 at byte {exc.start}") from exc
    except (ValueError, RecursionError) as exc:
        raise BadTaskData(f"{path}: not JSON that can be read: {str(exc)[:200]}") from exc
