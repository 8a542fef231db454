"""What tests of a release's page share: how they read it, and text that must stay text in it."""

from datetime import UTC, datetime

from bs4 import BeautifulSoup

from taskdata.schema.rewriting import Increase, RewriteMagnitude, RewritingTable, SourceOutcomes

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


def outcomes(source: str, **counts: int) -> SourceOutcomes:
    names = set(SourceOutcomes.model_fields) - {"source"}
    return SourceOutcomes.model_validate(dict.fromkeys(names, 0) | counts | {"source": source})


def table_of(*sources: str) -> RewritingTable:
    counts = {"initial": 9, "augmentation": 3, "refinement": 2, "passed": 4, "final": 7}
    return RewritingTable(
        sources=tuple(outcomes(source, **counts) for source in sources),
        total=outcomes("all", **counts | {"unclassified": 1}),
        magnitudes=tuple(
            RewriteMagnitude(
                source=source,
                kind="augmentation",
                tasks=3,
                constraints=Increase(mean=1.5, percent=37.5),
                deliverable_requirements=Increase(mean=-0.25, percent=-12),
                tools=Increase(mean=2, percent=None),
            )
            for source in (*sources, None)
        ),
    )
