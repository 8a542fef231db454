"""Data Docs lie beside the page, and the page links to no others."""

import pytest

from dashboards.gate_docs import write_gate_docs
from taskdata.errors import StoreUnavailable
from taskdata.schema.gate import GateResult


def gate(name: str, docs_sha256: str | None) -> GateResult:
    return GateResult(
        gate=name, run_id="r1", success=True, rows=1, expectations=1, docs_sha256=docs_sha256
    )


def test_every_gate_with_data_docs_gets_its_file(store, tmp_path):
    kept = store.artifacts.put_bytes(b"<p>docs</p>")
    written = write_gate_docs(store.artifacts, [gate("seeds", kept), gate("bank", None)], tmp_path)
    assert written == {"seeds"}
    assert (tmp_path / "gates" / "seeds.html").read_bytes() == b"<p>docs</p>"
    assert [path.name for path in (tmp_path / "gates").iterdir()] == ["seeds.html"]


def test_no_folder_is_made_for_nothing(store, tmp_path):
    folder = tmp_path / "page"
    folder.mkdir()
    assert write_gate_docs(store.artifacts, [gate("bank", None)], folder) == frozenset()
    assert list(folder.iterdir()) == []


def test_lost_data_docs_are_left_out_with_a_warning(store, tmp_path, caplog):
    assert write_gate_docs(store.artifacts, [gate("seeds", "f" * 64)], tmp_path) == frozenset()
    assert "gate seeds of r1" in caplog.text


def test_an_artifact_store_that_is_away_is_not_a_lost_artifact(store, tmp_path, monkeypatch):
    def refuse(_sha256, _target):
        raise StoreUnavailable("artifact store s3://x: cannot read: timed out")

    monkeypatch.setattr(store.artifacts, "copy_to", refuse)
    with pytest.raises(StoreUnavailable):
        write_gate_docs(store.artifacts, [gate("seeds", "f" * 64)], tmp_path)
