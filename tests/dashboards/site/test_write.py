"""The site grows by a night without being written anew, and leads from page to page."""

import json
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from dashboards.index import ListedRelease
from dashboards.site.document import shared
from dashboards.site.write import write_site
from tests.dashboards.site.nights import first_morning, task_of

BOTH = {"solver": {"a": [8.0], "b": [4.0]}, "other": {"a": [3.0], "b": [9.0]}}
ONLY_A = {"solver": {"a": [6.0]}}


def test_another_night_leaves_the_tasks_alone_that_it_did_not_run(tmp_path, new_night):
    nights = [new_night(0, BOTH), new_night(1, ONLY_A)]
    write_site(tmp_path, nights[:1], {"night-0": first_morning(nights[0])})
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    written = write_site(tmp_path, nights, {"night-1": first_morning(nights[1])})
    kept = {
        path.relative_to(tmp_path).as_posix()
        for path, moment in before.items()
        if path.stat().st_mtime_ns == moment
    }
    assert {"tasks/b.html", "nights/night-0.html", *(f"assets/{n}" for n in shared())} <= kept
    assert not {"tasks/a.html", "index.html", "trends.html"} & kept
    assert written.kept >= 1
    assert (tmp_path / "nights" / "night-1.html").exists()


def test_the_same_nights_write_nothing(tmp_path, new_night):
    night = new_night(0, BOTH)
    first = write_site(tmp_path, [night], {"night-0": first_morning(night)})
    second = write_site(tmp_path, [night], {"night-0": first_morning(night)})
    assert (second.pages, second.kept) == (0, first.pages)


def test_every_link_within_the_site_leads_to_a_page(tmp_path, new_night):
    nights = [new_night(0, BOTH), new_night(1, BOTH, run_id="night 1/../x")]
    site = tmp_path / "site"
    releases = [ListedRelease(bank="office", version="1")]
    mornings = {night.run_id: first_morning(night) for night in nights}
    write_site(site, nights, mornings, releases=releases)
    outside = set()
    for page in site.rglob("*.html"):
        html = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        for link in html.select("a[href]"):
            path = unquote(urlsplit(link["href"]).path)
            target = (page.parent / path).resolve()
            if target.is_relative_to(site.resolve()):
                assert not path or target.is_file(), (page, link)
            else:
                outside.add(link["href"].removeprefix("../").removeprefix("../"))
    assert "runs/night%201%2F..%2Fx/dashboard.html" in outside
    assert "banks/office/1/index.html" in outside
    assert {path.name for path in (site / "nights").iterdir()} > {"night-0.html"}


def test_figures_name_their_numbers_and_their_nights(page, new_night):
    night = new_night(0, BOTH)
    found = page([night], first_morning(night), name="trends.html")
    table = json.loads(found.find(id="tables").string)["score"]
    assert table == {
        "columns": ["night", "started", "bank", "solver", "other"],
        "rows": [["night-0", "2026-03-01 02:00", "office@1", 6.0, 6.0]],
        "links": ["nights/night-0.html"],
    }


def test_no_night_is_a_page_that_says_how_to_get_one(page):
    found = page([])
    assert "nightshift run" in found.get_text()
    assert "No night yet" in page([], name="leaderboard.html").get_text()


def test_a_pages_policy_lets_nothing_but_its_loader_run(page, new_night):
    night = new_night(0, BOTH)
    found = page([night], first_morning(night), name="tasks/a.html")
    policy = found.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    allowed = policy.split("script-src ")[1].split()
    assert (len(allowed), allowed[1]) == (2, "'strict-dynamic'")
    assert "connect-src" not in policy
    assert found.select("script[src]") == []


def test_titles_are_text_and_unseen_characters_are_seen(page, new_night):
    attack = "</script><script>1</script>\u202etxt.exe"
    night = new_night(0, BOTH, tasks=(task_of("a", title=attack), task_of("b")))
    found = page([night], first_morning(night), name="tasks/a.html")
    assert found.h1.get_text() == "</script><script>1</script>⟨U+202E⟩txt.exe"
