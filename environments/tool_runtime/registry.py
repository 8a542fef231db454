"""Which module holds which sandboxed tool, so that the worker imports one family only.

A new tool needs an entry in its module's `TOOLS` and one here.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from environments.toolkit.definition import ToolDefinition

_READING = "environments.tools.reading"
_WRITING = "environments.tools.writing"
_LOGIC = "environments.tools.logic"
_WORKSPACE = "environments.tools.workspace"
_IMAGES = "environments.tools.images"
_AUDIO = "environments.tools.audio"
_VIDEO = "environments.tools.video"

MODULES: Mapping[str, str] = {
    "Calculator": f"{_LOGIC}.calculator",
    "Solver": f"{_LOGIC}.solver",
    "Prover": f"{_LOGIC}.prover",
    "Plot": f"{_LOGIC}.plot",
    "ReadCSV": f"{_READING}.csv_table",
    "ReadXLSX": f"{_READING}.workbook",
    "ReadDOCX": f"{_READING}.word_document",
    "ReadPDF": f"{_READING}.pdf_document",
    "ReadPPTX": f"{_READING}.presentation",
    "CsvFileGenerator": f"{_WRITING}.csv_table",
    "XlsxFileGenerator": f"{_WRITING}.workbook",
    "DocxFileGenerator": f"{_WRITING}.word_document",
    "PdfFileGenerator": f"{_WRITING}.pdf_document",
    "PptxFileGenerator": f"{_WRITING}.presentation",
    "HtmlFileGenerator": f"{_WRITING}.web_page",
    "OCR": f"{_IMAGES}.recognition.ocr",
    "DrawBox": f"{_IMAGES}.drawing",
    "AddText": f"{_IMAGES}.drawing",
    "ImageStylization": f"{_IMAGES}.stylization",
    "ImageQualityTest": f"{_IMAGES}.image_quality",
    "AudioClipTool": f"{_AUDIO}.audio_clip",
    "NoiseReduction": f"{_AUDIO}.noise_reduction",
    "PitchShifting": f"{_AUDIO}.pitch_shifting",
    "SoundCharacteristicExtraction": f"{_AUDIO}.sound_characteristics",
    "SpeechToText": f"{_AUDIO}.speech_to_text",
    "VideoClip": f"{_VIDEO}.video_clip",
    "VideoOCR": f"{_VIDEO}.video_ocr",
    "AddTextVideoTool": f"{_VIDEO}.add_text",
    "VideoObjectDetection": f"{_VIDEO}.object_detection",
    "python_execute": f"{_WORKSPACE}.python_code",
    "list_files": f"{_WORKSPACE}.files",
    "read_file": f"{_WORKSPACE}.files",
    "write_file": f"{_WORKSPACE}.files",
}
"""Name of each sandboxed tool and the module whose `TOOLS` holds it."""


def definition(name: str) -> ToolDefinition[Any]:
    """Return the definition of the sandboxed tool `name`; raises KeyError for other names."""
    tools: tuple[ToolDefinition[Any], ...] = import_module(MODULES[name]).TOOLS
    return {tool.name: tool for tool in tools}[name]
