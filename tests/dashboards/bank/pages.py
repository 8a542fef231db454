"""What tests of a release's page share: how they read it, and text that must stay text in it."""

from datetime import UTC, datetime

from bs4 import BeautifulSoup

NIGHT = datetime(2026, 3, 1, 22, tzinfo=UTC)
POISON = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "**bold** [x](javascript:window.pwned=1) {{7*7}} \u202egnp &lt;b&gt;%{x}"
)


def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def cells(page: str, region: str) -> list[list[str]]:
    rows = soup(page).select(f'[aria-label="{region}"] tr')
    return [[c.get_text(" ", strip=True) for c in row.find_all(["th", "td"])] for row in rows][1:]


def scripts(page: BeautifulSoup) -> list[str]:
    return [script.string for script in page.find_all("script") if not script.get("type")]
