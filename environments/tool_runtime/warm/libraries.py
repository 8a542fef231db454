"""The libraries that each tool needs before it can read its arguments.

The worker loads them before it touches any data of the agent, so a failure until then is not the
agent's; the warm Python loads them once for all calls.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import MappingProxyType

_PICTURES = (
    "PIL.Image",
    "PIL.ImageDraw",
    "PIL.PngImagePlugin",
    "PIL.JpegImagePlugin",
    "PIL.ImageOps",
    "PIL.ImageStat",
    "numpy",
)
_OCR = (*_PICTURES, "cv2", "environments.tools.images.recognition.text_lines:engine")
_WORKBOOKS = ("openpyxl", "openpyxl.chart", "openpyxl.packaging.extended")
_PDF = ("reportlab.platypus", "reportlab.pdfbase.ttfonts", "urllib.request")
_PLOT = ("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.font_manager")
_SOUND = ("numpy", "imageio_ffmpeg")

LIBRARIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Calculator": (),
        "Solver": ("sympy",),
        "Prover": ("z3",),
        "Plot": _PLOT,
        "ReadCSV": (),
        "ReadXLSX": _WORKBOOKS,
        "ReadDOCX": ("docx",),
        "ReadPDF": ("pdfplumber",),
        "ReadPPTX": ("pptx",),
        "CsvFileGenerator": (),
        "XlsxFileGenerator": _WORKBOOKS,
        "DocxFileGenerator": ("docx",),
        "PdfFileGenerator": _PDF,
        "PptxFileGenerator": ("pptx", "pptx.chart.data"),
        "HtmlFileGenerator": (),
        "OCR": _OCR,
        "DrawBox": _PICTURES,
        "AddText": _PICTURES,
        "ImageStylization": (*_PICTURES, "cv2"),
        "ImageQualityTest": (*_PICTURES, "cv2"),
        "AudioClipTool": ("imageio_ffmpeg",),
        "NoiseReduction": (*_SOUND, "noisereduce"),
        "PitchShifting": ("imageio_ffmpeg",),
        "SoundCharacteristicExtraction": (*_SOUND, "scipy.fft", "scipy.ndimage", "scipy.signal"),
        "SpeechToText": (*_SOUND, "faster_whisper", "environments.tools.audio.whisper:check_model"),
        "VideoClip": ("imageio_ffmpeg",),
        "VideoOCR": (*_OCR, "imageio_ffmpeg"),
        "AddTextVideoTool": (*_PICTURES, "imageio_ffmpeg"),
        "VideoObjectDetection": ("numpy", "cv2", "imageio_ffmpeg"),
        "list_files": (),
        "read_file": (),
        "write_file": (),
    }
)
"""Per tool: modules to import, and functions to call once, as `module:function`.

A tool that is missing here runs code of the agent, which never happens in the warm Python.
"""


def load(names: Iterable[str]) -> None:
    """Import modules and call functions that cache what they load; may raise ImportError."""
    for name in names:
        module, _, function = name.partition(":")
        loaded = import_module(module)
        if function:
            getattr(loaded, function)()
