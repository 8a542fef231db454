"""Dashboards are served to who has the login, and nothing else of the home is."""

import os
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from flows.serving.dashboards import dashboard_url, dashboards_app, dashboards_served
from flows.serving.tokens import login_of
from taskdata.store import StoreAddress

OURS = "http://127.0.0.1:4713"


@pytest.fixture
def store_address(home):
    """The store of that home, where `new_run` puts its runs."""
    return StoreAddress(
        database_url=f"sqlite:///{home}/nightshift.db", artifacts_url=f"file://{home}/artifacts"
    )


@pytest.fixture
def served(home, tmp_path):
    """What the server of a home answers; the home has a run's page, and secrets around it."""
    pages = home / "runs" / "run-1" / "gates"
    pages.mkdir(parents=True)
    (pages.parent / "dashboard.html").write_text("<!doctype html>\n<p>a dashboard")
    (pages / "tasks.html").write_text("<!doctype html>\n<p>a gate")
    (home / "secret.txt").write_text("a reference")
    (home / "runs" / "out.html").symlink_to(home / "secret.txt")
    (home / "runs" / "away").symlink_to(tmp_path)
    return TestClient(dashboards_app(home, login_of(home)), base_url=OURS)


@pytest.fixture
def login(home):
    return tuple(login_of(home).split(":", 1))


def test_who_has_the_login_reads_pages(served, login):
    page = served.get("/runs/run-1/dashboard.html", auth=login)
    assert (page.status_code, "a dashboard" in page.text) == (200, True)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "a gate" in served.get("/runs/run-1/gates/tasks.html", auth=login).text


@pytest.mark.parametrize("path", ["/", "/runs/run-1/dashboard.html", "/runs/", "/nothing"])
def test_who_has_none_is_asked_for_it(served, path):
    for auth in (None, ("nightshift", "wrong"), ("", "")):
        refused = served.get(path, auth=auth)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic ")
        assert "a dashboard" not in refused.text


@pytest.mark.parametrize("host", ["rebound.example", "127.0.0.1.rebound.example", ""])
def test_another_host_is_refused(served, login, host):
    assert served.get("/", auth=login, headers={"host": host}).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/secret.txt",
        "/login",
        "/nightshift.db",
        "/runs/../secret.txt",
        "/runs/%2e%2e/secret.txt",
        "/runs/..%2fsecret.txt",
        "/runs/%2e%2e%2fsecret.txt",
        "/runs/run-1/..%2f..%2f..%2fsecret.txt",
        "/runs//etc/passwd",
        "/runs/%2fetc%2fpasswd",
        "/runs/..%5csecret.txt",
        "/runs/out.html",
        "/runs/away/nightshift.toml",
        "/runs",
        "/runs/",
        "/runs/run-1",
        "/runs/run-1/",
        "/banks/",
    ],
)
def test_nothing_but_pages_is_found_and_no_folder_is_listed(served, login, path):
    found = served.get(path, auth=login)
    assert found.status_code == 404
    assert "a reference" not in found.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/", "/runs/run-1/dashboard.html"])
def test_nothing_can_be_changed(served, login, method, path):
    assert served.request(method, path, auth=login).status_code == 405


def test_a_page_may_ask_nobody_and_nobody_may_frame_it(served, login):
    for path in ("/", "/runs/run-1/dashboard.html", "/nothing"):
        headers = served.get(path, auth=login).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "connect-src" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_the_list_names_runs_newest_first_with_what_there_is(served, login, home, new_run):
    runs = [new_run(agents=("nop",)) for _ in range(2)]
    page = home / "runs" / runs[1].id / "gates"
    page.mkdir(parents=True, exist_ok=True)
    (page.parent / "dashboard.html").write_text("x")
    (page / "scores.html").write_text("x")
    release = home / "banks" / "<b>office" / "1"
    release.mkdir(parents=True)
    (release / "index.html").write_text("x")
    listed = served.get("/", auth=login).text
    assert listed.index(f">{runs[1].id}<") < listed.index(f">{runs[0].id}<")
    assert f'href="runs/{runs[1].id}/dashboard.html"' in listed
    assert f'href="runs/{runs[1].id}/gates/scores.html"' in listed
    assert f'href="runs/{runs[0].id}/' not in listed
    assert listed.count("interrupted") == 2
    assert 'href="banks/%3Cb%3Eoffice/1/index.html">&lt;b&gt;office@1' in listed
    assert "<script" not in listed


def test_the_way_in_is_this_morning_and_the_list_stays_within_reach(served, login, home):
    site = home / "site"
    (site / "assets").mkdir(parents=True)
    assert "site/index.html" not in served.get("/", auth=login).text
    (site / "index.html").write_text("<!doctype html>\n<p>this morning")
    (site / "assets" / "plotly.js").write_text("1")
    found = served.get("/", auth=login)
    assert (found.url.path, "this morning" in found.text) == ("/site/index.html", True)
    assert 'href="site/index.html"' in served.get("/list.html", auth=login).text
    assert served.get("/site/assets/plotly.js").status_code == 401
    shared = served.get("/site/assets/plotly.js", auth=login)
    assert (shared.status_code, shared.headers["x-content-type-options"]) == (200, "nosniff")


def test_only_pages_that_share_scripts_may_load_any(served, login):
    sharing = ["/site/index.html", "/runs/run-1/dashboard.html", "/banks/office/1/index.html"]
    others = ["/list.html", "/runs/run-1/gates/tasks.html", "/runs/run-1/a%2Fdashboard.html", "/"]
    policies = {
        path: served.get(path, auth=login).headers["content-security-policy"]
        for path in (*sharing, *others)
    }
    for path in sharing:
        assert "script-src 'self'" in policies.pop(path)
    assert not any("'self'" in policy for policy in policies.values())


def test_a_home_without_runs_has_an_empty_list(served, login):
    assert "No run yet" in served.get("/", auth=login).text


def test_a_command_serves_them_where_it_says(home):
    home.mkdir(exist_ok=True)
    assert dashboard_url("a/run") is None
    with dashboards_served(home, 0) as address:
        assert dashboard_url("a/run") == f"{address}/runs/a%2Frun/dashboard.html"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address, timeout=30)
    assert dashboard_url("a/run") is None
    assert "NIGHTSHIFT_DASHBOARDS" not in os.environ


def test_a_container_serves_them_at_another_address_than_browsers_use(home):
    home.mkdir(exist_ok=True)
    with dashboards_served(home, 0, "127.0.0.2") as address:
        port = urlsplit(address).port
        assert address == f"http://127.0.0.1:{port}"
        asked = urllib.request.Request(f"http://127.0.0.2:{port}", headers={"Host": "localhost"})
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(asked, timeout=30)
