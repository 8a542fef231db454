"""Text of a page that nobody who opens it sees is no part of the view."""

import pytest

from environments.renderers.limits import Unreadable
from environments.renderers.web.html import read_html

SECRET = "secret keywords"


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a page with this style sheet and body."""

    def page(body: str, sheet: str = "", script: str = ""):
        path = tmp_path / "page.html"
        source = f"<style>{sheet}</style><body><h1>Seen</h1>{body}<script>{script}</script></body>"
        path.write_text(f"<!doctype html><html>{source}</html>")
        return read_html(path)

    return page


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        "visibility: hidden",
        "opacity: 0",
        "opacity:0.01",
        "color: white",
        "color:#FEFEFE",
        "color: rgb(255 255 255)",
        "color: rgba(0,0,0,0)",
        "color: transparent",
        "color: hsl(0, 0%, 100%)",
        "background: navy; color: #000080",
        "color: var(--paper)",
        "font-size: 0",
        "font-size:1px",
        "font: 1px/1 serif",
        "font-size: 0.1em",
        "text-indent: -9999px",
        "position:absolute; left:-9999px",
        "position: fixed; top: -2000px",
        "position: absolute; left: 99999px",
        "margin-left: -9999px",
        "margin: 0 0 0 -9999px",
        "transform: translateX(-9999px)",
        "transform: scale(0)",
        "clip-path: inset(100%)",
        "position: absolute; clip: rect(0, 0, 0, 0)",
        "height: 0; overflow: hidden",
        "width:1px;height:1px;overflow:hidden",
    ],
)
@pytest.mark.parametrize("place", ["attribute", "sheet", "around"])
def test_text_that_a_style_hides_does_not_count(read, style, place):
    root = ":root { --paper: #fff } "
    if place == "attribute":
        view = read(f'<p style="{style}">{SECRET}</p>', root)
    elif place == "sheet":
        view = read(f'<div id="box"><p class="x">{SECRET}</p></div>', f"{root} #box .x {{{style}}}")
    else:
        view = read(f"<section><p><b>{SECRET}</b></p></section>", f"{root} section {{{style}}}")
    assert view.text == "Seen"
    assert (view.hidden.words, view.hidden.quote) == (2, SECRET)


def test_headings_tables_ids_and_links_that_are_hidden_do_not_count(read):
    view = read(
        '<div style="display:none"><h2 id="offers">Offers</h2><a href="https://example.org">x</a>'
        '<img src="a.png"><table><tr><td>1</td></tr></table></div>'
    )
    assert [heading.text for heading in view.headings] == ["Seen"]
    assert (view.ids, view.links, view.images, view.tables) == ((), (), (), ())


IN_HERO = '<div class="hero"><p>Shown</p></div>'
IN_ROW = "<table><tr><td>Shown</td></tr></table>"
OVER_PICTURE = '<div><img src="a.png"><p class="over">Shown</p></div>'
GRADIENT = "background-clip: text; background-image: linear-gradient(red, red)"


@pytest.mark.parametrize(
    ("sheet", "body"),
    [
        ("p { color: white } .hero { background: #123 }", IN_HERO),
        (".hero { background: url(a.jpg); color: #fff }", IN_HERO),
        (".hero { visibility: hidden } .hero p { visibility: visible }", IN_HERO),
        (".hero { font-size: 0 } .hero p { font-size: 16px }", IN_HERO),
        ("p { background: linear-gradient(red, blue); color: white }", "<p>Shown</p>"),
        ("p { color: white } body { background: var(--dark) }", "<p>Shown</p>"),
        (":root { --dark: #222 } body { background: var(--dark); color: #fff }", "<p>Shown</p>"),
        ("@media print { p { display: none } }", "<p>Shown</p>"),
        ("@media (max-width: 600px) { p { display: none } }", "<p>Shown</p>"),
        (".x { display: none } p.x { display: block }", '<p class="x">Shown</p>'),
        (".x { display: none !important } ", "<p>Shown</p>"),
        ("p { margin: -20px auto; text-indent: 2em; opacity: .9; color: #999 }", "<p>Shown</p>"),
        ("p { color: transparent; " + GRADIENT + " }", "<p>Shown</p>"),
        (".over { position: absolute; color: white }", OVER_PICTURE),
        ("td { color: #fff } tr { background-color: #000 }", IN_ROW),
        ("p { position: absolute; top: 50%; transform: translate(-50%, -50%) }", "<p>Shown</p>"),
        ("not css at all {{{ ; } p:::x { display: none }", "<p>Shown</p>"),
    ],
)
def test_text_that_is_seen_counts(read, sheet, body):
    view = read(body, sheet)
    assert view.text == "Seen\nShown"
    assert view.hidden is None


@pytest.mark.parametrize(
    ("sheet", "script"),
    [
        (".panel { display: none } .panel.open { display: block }", "x.classList.add('open')"),
        (".panel { display: none }", "document.querySelector('.panel').style.display = 'block'"),
        (".panel { display: none } input:checked ~ .panel { display: block }", ""),
        (".panel { max-height: 0; overflow: hidden } .panel:hover { max-height: 9em }", ""),
    ],
)
def test_what_a_reader_can_open_counts(read, sheet, script):
    view = read('<input type="checkbox"><p class="panel">Shown</p>', sheet, script)
    assert view.text == "Seen\nShown"


def test_a_style_sheet_of_any_length_is_not_looked_at(read):
    with pytest.raises(Unreadable, match="rules of style"):
        read("<p>x</p>", "p { color: red } " * 6_000)
