import pytest
from bs4 import BeautifulSoup

from taskdata.schema.tool import ToolErrorKind


def test_a_complete_page_around_the_untouched_body(written, workspace):
    body = '<h1 id="a">Süß</h1><script>1 < 2 && 3</script>'
    written(
        "HtmlFileGenerator",
        path="output/a.html",
        title="A & </title>",
        body=body,
        css="h1 { color: red }",
        lang="de-AT",
    )
    page = (workspace / "output/a.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>\n")
    assert f"<body>\n{body}\n</body>" in page
    soup = BeautifulSoup(page, "html.parser")
    assert soup.html["lang"] == "de-AT"
    assert soup.title.text == "A & </title>"
    assert soup.style.text.strip() == "h1 { color: red }"
    assert soup.meta["charset"] == "utf-8"


def test_without_css_there_is_a_plain_style(written, workspace):
    written("HtmlFileGenerator", path="output/a.html", title="T", body="<p>x</p>")
    assert "font-family" in (workspace / "output/a.html").read_text()


@pytest.mark.parametrize("body", ["<!DOCTYPE html><p>x", "<HTML lang='x'>", "<body>x</body>"])
def test_a_page_in_a_page_is_refused(refused, body):
    text = refused("HtmlFileGenerator", path="output/a.html", title="T", body=body)
    assert "between <body> and </body>" in text


def test_style_tags_and_odd_languages_are_refused(refused, run):
    arguments = {"path": "output/a.html", "title": "T", "body": "x"}
    assert "style rules only" in refused("HtmlFileGenerator", css="</style>", **arguments)
    wrong = run("HtmlFileGenerator", lang='en" onload="x', **arguments)
    assert wrong.error is ToolErrorKind.BAD_ARGUMENTS
