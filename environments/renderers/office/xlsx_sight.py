"""Which cells of a worksheet nobody who opens the workbook sees."""

from typing import Any

from openpyxl.cell.cell import Cell as XlsxCell
from openpyxl.styles.colors import Color
from openpyxl.utils.cell import range_boundaries
from openpyxl.worksheet.worksheet import Worksheet

from environments.renderers.unseen import (
    BLACK,
    SMALLEST_POINTS,
    WHITE,
    Colour,
    alike,
    colour_of,
)

_THEME_COLOURS = {0: WHITE, 1: BLACK}
"""Of the theme's colours the first two are light and dark; the others differ from file to file."""
_INDEXED_COLOURS = {0: BLACK, 1: WHITE, 8: BLACK, 9: WHITE}
_SMALLEST_WIDTH = 0.3
"""Characters; a column that was dragged shut has less."""


class SheetSight:
    """Looks at the cells of one worksheet."""

    def __init__(self, sheet: Worksheet) -> None:
        self._is_hidden = sheet.sheet_state != "visible"
        self._rows = {
            row
            for row, dimension in sheet.row_dimensions.items()
            if dimension.hidden or (dimension.ht is not None and dimension.ht < SMALLEST_POINTS)
        }
        self._shown_rows = set(sheet.row_dimensions) - self._rows
        self._hides_rows = bool(sheet.sheet_format.zeroHeight)
        # One entry may stand for several columns, first to last.
        self._columns = [
            (dimension.min or 0, dimension.max or 0)
            for dimension in sheet.column_dimensions.values()
            if dimension.hidden
            or (dimension.customWidth and (dimension.width or 0) < _SMALLEST_WIDTH)
        ]
        self._tables = [
            [side or 0 for side in range_boundaries(table.ref)] for table in sheet.tables.values()
        ]

    def why_unseen(self, cell: XlsxCell) -> str | None:
        """Return why a cell is not seen, None if it is."""
        if self._is_hidden:
            return "on a hidden sheet"
        if cell.row in self._rows or (self._hides_rows and cell.row not in self._shown_rows):
            return "in a hidden row"
        if any(first <= cell.column <= last for first, last in self._columns):
            return "in a hidden column"
        if _shows_nothing(cell.number_format, cell.value):
            return "by a number format that shows nothing"
        font = cell.font
        if font is not None and font.sz is not None and font.sz < SMALLEST_POINTS:
            return "smaller than 3 pt"
        colour = None if font is None else _colour(font.color)
        background = self._background(cell)
        if colour is not None and background is not None and alike(colour, background):
            return "in the colour of its background"
        return None

    def _background(self, cell: XlsxCell) -> Colour | None:
        """Return the colour of a cell's ground, None if it is not known."""
        fill = cell.fill
        if fill is not None and fill.fill_type == "solid":
            return _colour(fill.fgColor)
        if fill is not None and fill.fill_type is not None:
            return None
        # The style of a table colours its rows, and no cell says so.
        for left, top, right, bottom in self._tables:
            if top <= cell.row <= bottom and left <= cell.column <= right:
                return None
        return WHITE


def _colour(colour: Color | None) -> Colour | None:
    if colour is None:
        return None
    kind: Any = colour.type
    if kind == "rgb":
        return colour_of(colour.rgb)
    if kind == "theme":
        return None if colour.tint else _THEME_COLOURS.get(colour.theme)
    return _INDEXED_COLOURS.get(colour.indexed) if kind == "indexed" else None


def _shows_nothing(number_format: str, value: object) -> bool:
    """Return whether a format such as `;;;` leaves the cell blank."""
    parts = number_format.split(";")
    if len(parts) < 3 or any(part.strip() for part in parts[:3]):
        return False
    return not isinstance(value, str) or (len(parts) > 3 and not parts[3].strip())
