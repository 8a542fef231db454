"""The tools of GTA by category, and the `toolmeta.json` beside its data sets."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from taskdata.errors import BadTaskData
from taskdata.formats.documents import small_document
from taskdata.formats.rows import RowNotes, refusal
from taskdata.schema.task import Capability

TOOLMETA = "toolmeta.json"

_BY_CATEGORY = {
    Capability.PERCEPTION: (
        "OCR ImageDescription RegionAttributeDescription TextToBbox "
        "ReadCSV ReadDOCX ReadPDF ReadPPTX ReadXLSX ImageQualityTest "
        "SoundCharacteristicExtraction SpeechToText "
        "VideoDescription VideoObjectDetection VideoOCR"
    ),
    Capability.OPERATION: (
        "DrawBox AddText GoogleSearch "
        "CsvFileGenerator DocxFileGenerator PdfFileGenerator PptxFileGenerator XlsxFileGenerator "
        "HtmlFileGenerator AudioClipTool NoiseReduction PitchShifting VideoClip AddTextVideoTool"
    ),
    Capability.LOGIC: "Calculator Solver Plot MathOCR CountGivenObject Prover",
    Capability.CREATIVITY: "TextToImage ImageStylization TextToVideoTool",
}
CATEGORIES: Mapping[str, Capability] = {
    tool: category for category, tools in _BY_CATEGORY.items() for tool in tools.split()
}
"""Category of every tool: the fourteen of GTA-Atomic (GTA, table 2), the rest by their purpose."""

WORKFLOW_TOOLS = tuple(tool for tool in CATEGORIES if tool != "TextToBbox")
"""The 37 tools of GTA-Workflow (GTA-2, section 3.3.2)."""

_NAMES = ("name", "tool_name", "id")

IMAGE_TOOLS = ("DrawBox", "AddText", "Plot", "TextToImage", "ImageStylization")
"""Tools whose arguments decide an image-generation task."""


def read_toolmeta(folder: Path, ignored: Counter[str]) -> tuple[str, ...]:
    """Return the names of the tools in `toolmeta.json`; none if there is no such file.

    What it says of them beside their names is counted in `ignored`, because tools are not part of
    a bank; so is a tool without a name.

    Raises:
        BadTaskData: if the file is not a list or mapping of tools.
    """
    path = folder / TOOLMETA
    if not path.exists():
        return ()
    found = small_document(path)
    if isinstance(found, Mapping):
        entries = [
            {"name": name, **(meta if isinstance(meta, Mapping) else {})}
            for name, meta in found.items()
        ]
    elif isinstance(found, list):
        entries = [dict(e) if isinstance(e, Mapping) else {"name": e} for e in found]
    else:
        raise BadTaskData(f"{path}: expected a list or mapping of tools")
    names = []
    for entry in entries:
        key = _name_key(entry)
        if key is None:
            ignored[f"{TOOLMETA}: a tool without a name"] += 1
            continue
        ignored.update(f"{TOOLMETA}: {other}" for other in entry.keys() - {key})
        names.append(entry[key])
    return tuple(dict.fromkeys(names))


def _name_key(entry: Mapping[str, Any]) -> str | None:
    """Return the key under which a tool has its name, as the published loader looks for it."""
    named = (key for key in _NAMES if isinstance(entry.get(key), str) and entry[key])
    return next(named, None)


def tools_of(item: Mapping[str, Any], every: tuple[str, ...], notes: RowNotes) -> tuple[str, ...]:
    """Return the tools that an item names, or every tool of the data set.

    Raises:
        RowRefused: if it names something else, or there are none.
    """
    listed = item.get("tools")
    if not listed and (listed is None or isinstance(listed, list)):
        if listed == [] and every:
            notes.assumed["tools"] += 1
        if not every:
            raise refusal("tools", f"the item names no tools and there is no {TOOLMETA}")
        return every
    if not isinstance(listed, list):
        raise refusal("tools", "must be a list of tools", listed)
    names = []
    for position, entry in enumerate(listed):
        key = _name_key(entry) if isinstance(entry, Mapping) else None
        name = entry if key is None else entry[key]
        if not isinstance(name, str) or not name:
            raise refusal(f"tools.{position}.name", "must be a text", entry)
        if key is not None:
            notes.keep_rest(entry, {key}, f"tools.{position}.")
        names.append(name)
    return tuple(names)


def capabilities_of(tools: Iterable[str], notes: RowNotes) -> tuple[Capability, ...]:
    """Return the categories of the tools; logic where none of them is known."""
    found = {CATEGORIES[tool] for tool in tools if tool in CATEGORIES}
    if not found:
        notes.assumed["capabilities"] += 1
        return (Capability.LOGIC,)
    return tuple(capability for capability in Capability if capability in found)
