"""Data Docs: one validation result as one HTML page that fetches nothing.

Great Expectations renders the result; the page around it is ours, for its own template loads
styles and scripts from other hosts. What rows say never meets its templates as it is: they escape
some values and not others. So every character that HTML or a template could take for its own is
replaced by a stand-in before rendering, and the stand-in by its HTML entity afterwards. A content
security policy that allows no script and no request stands behind that.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskdata.schema.gate import GateLevel

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import (
        ExpectationSuiteValidationResult,
    )

_TEMPLATES = Path(__file__).parent / "templates"
_PAGE = "data_docs.html"
_ROWS_SHOWN = 200
_VALUES_SHOWN = 20
_TEXT_LENGTH = 300

_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#39;", "$": "&#36;"}
# Characters for private use (Unicode, section 23.5): no text means anything by them.
_STAND_INS = {character: chr(0xE000 + i) for i, character in enumerate(_ENTITIES)}
_HIDE = str.maketrans(dict.fromkeys(_STAND_INS.values(), "\ufffd") | _STAND_INS)
_SHOW = str.maketrans({_STAND_INS[character]: entity for character, entity in _ENTITIES.items()})


def data_docs(validation: Mapping[str, Any]) -> str:
    """Return the HTML page of a validation result, as `hold` returns it.

    It opens offline. Of an expectation that is broken it shows up to 20 values with some of the
    rows that have them; the validation result itself names every row.
    """
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
    from great_expectations.render.view.view import DefaultJinjaPageView

    document = ValidationResultsPageRenderer().render(_readable(validation))
    # The name of the suite links to a page of the whole site that this page is not part of.
    headline = document.sections[0].content_blocks[0].subheader
    del headline.string_template["styling"]["params"]["expectation_suite_name"]
    view = DefaultJinjaPageView(custom_views_directory=str(_TEMPLATES))
    html: str = view.render(document, template=_PAGE)  # type: ignore[no-untyped-call]
    return html.translate(_SHOW)


def _readable(validation: Mapping[str, Any]) -> "ExpectationSuiteValidationResult":
    """Return the result as Great Expectations' own object, cut to what a page can show."""
    from great_expectations.core.expectation_validation_result import (
        ExpectationSuiteValidationResultSchema,
    )

    meta, run = validation["meta"], validation["meta"]["run_id"]
    shown = {
        "success": validation["success"],
        "suite_name": validation["suite_name"],
        "statistics": validation["statistics"],
        "meta": {
            "great_expectations_version": meta["great_expectations_version"],
            # The renderer reads a name as a date where it can, and fails on a date too large.
            "run_id": {**run, "run_name": f"run {run['run_name']}"},
            "batch_spec": {"data_asset_name": validation["suite_name"]},
        },
        "results": [_shown(result) for result in validation["results"]],
    }
    loaded: ExpectationSuiteValidationResult = ExpectationSuiteValidationResultSchema().load(
        _hidden(shown)
    )
    return loaded


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return one result with its level in words and a sample of its unexpected rows."""
    config, found = dict(result["expectation_config"]), dict(result["result"])
    if (config.get("meta") or {}).get("level") == GateLevel.QUARANTINE:
        config["description"] = f"{config.get('description') or config['type']} (else: quarantine)"
    entries = found.pop("unexpected_index_list", None) or ()
    found.pop("unexpected_list", None)
    if entries and "observed_value" not in found:
        id_column = found["unexpected_index_column_names"][0]
        rows = [_sample(entry, id_column) for entry in entries[:_ROWS_SHOWN]]
        values = Counter(row["value"] for row in rows).most_common(_VALUES_SHOWN)
        found["unexpected_index_column_names"] = ["row"]
        found["unexpected_index_list"] = rows
        found["partial_unexpected_counts"] = [{"value": v, "count": n} for v, n in values]
    return {**result, "expectation_config": config, "result": found}


def _sample(entry: Mapping[str, Any], id_column: str) -> dict[str, str]:
    values = [str(value) for column, value in entry.items() if column != id_column]
    row = str(entry[id_column])
    return {"value": _cut(", ".join(values) or row), "row": _cut(row)}


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_LENGTH else text[:_TEXT_LENGTH] + "…"


def _hidden(value: Any) -> Any:
    """Return JSON with stand-ins in its texts; conditions stay, for they are read as code is."""
    if isinstance(value, str):
        return value.translate(_HIDE)
    if isinstance(value, Mapping):
        return {k: v if k == "row_condition" else _hidden(v) for k, v in value.items()}
    return [_hidden(item) for item in value] if isinstance(value, list | tuple) else value
