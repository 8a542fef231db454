"""The page of a run in the site: Plotly is shared, and what trials left lies beside it."""

import base64
import gzip
import re

import pytest
from bs4 import BeautifulSoup

from dashboards.pages.page import PAGE_BYTES, plotly_source
from dashboards.run_folder import write_run_folder
from quality.summary import summarise

PART = re.compile(r'nightshiftPart\("(files/[0-9a-f]{64}\.js)", "([A-Za-z0-9+/=]+)"\);\n')


@pytest.fixture
def written(store, tmp_path):
    """Write the folder of a run as it is in the store now; returns its page."""

    def write(run):
        summary = summarise(store.run(run.id), store.results(run.id), store.tasks_of_run(run.id))
        return write_run_folder(tmp_path / "runs" / run.id, tmp_path / "site", store, summary)

    return write


def test_plotly_is_the_one_of_the_site(written, night, tmp_path):
    page = written(night)
    document = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    shared = page.parent / document.body["data-plotly"]
    assert shared.resolve() == (tmp_path / "site" / "assets" / "plotly.js").resolve()
    assert shared.read_text("utf-8") == plotly_source()
    assert document.find(id="plotly") is None
    assert page.stat().st_size < PAGE_BYTES / 10


def test_its_policy_names_its_scripts_and_what_these_load(written, night):
    document = BeautifulSoup(written(night).read_text("utf-8"), "html.parser")
    policy = document.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    *hashes, last = policy.rpartition("script-src ")[2].split()
    assert last == "'strict-dynamic'"
    assert all(named.startswith("'sha256-") for named in hashes)
    assert "default-src 'none'" in policy
    assert not [script for script in document.find_all("script") if script.has_attr("src")]


def test_what_a_trial_left_is_beside_the_page_and_holds_no_code(
    written, new_run, new_task, plan, finish, data_of
):
    task = new_task()
    run = new_run(task)
    code = b'");window.pwned=1;("</script>'
    finish(plan(run, task), files={"out.js": code})
    page = written(run)
    (sha256,) = data_of(page.read_text("utf-8"), "files")
    (part,) = (page.parent / "files").iterdir()
    path, text = PART.fullmatch(part.read_text("utf-8")).groups()
    assert path == f"files/{sha256}.js" == f"files/{part.name}"
    assert gzip.decompress(base64.b64decode(text)) == code


def test_written_again_it_keeps_nothing_that_no_trial_has_left(
    written, new_run, new_task, plan, finish
):
    task = new_task()
    run = new_run(task)
    finish(plan(run, task), files={"out.txt": b"x"})
    page = written(run)
    stale = page.parent / "files" / f"{'0' * 64}.js"
    stale.write_text("")
    written(run)
    assert not stale.exists()
    assert len(list((page.parent / "files").iterdir())) == 1
