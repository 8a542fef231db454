import pytest

from environments.renderers.web.html import read_html

PAGE = """<!doctype html><html lang="en-GB"><head><title>Quarter  report</title>
<style>p { color: red }</style><script>alert(1)</script></head>
<body onload="x()"><h1 id="top">Sales</h1><p>North &amp; South</p><p>done</p>
<table><tr><th colspan="2">Both</th><th>c</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>
<a href="https://example.org/a">link</a><a href="javascript:x()">run</a>
<img src="https://example.org/b.png"><img src="data:image/png;base64,AAAA">
<div hidden>hidden keywords</div><p style="display: none">more keywords</p><!-- a comment -->
</body></html>"""


@pytest.fixture
def view(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return read_html(path)


def test_what_a_reader_sees(view):
    assert view.text == "Sales\nNorth & South\ndone\nBoth\nc\n1\n2\n3\nlinkrun"
    assert (view.title, view.lang) == ("Quarter report", "en-GB")
    assert [(h.text, h.level) for h in view.headings] == [("Sales", 1)]
    assert view.tables[0].rows == (("Both", "Both", "c"), ("1", "2", "3"))


def test_hidden_text_scripts_and_comments_are_not_seen(view):
    for unseen in ("keywords", "alert", "comment", "color"):
        assert unseen not in view.text


def test_links_images_ids_and_active_content(view):
    assert view.links == ("https://example.org/a", "javascript:x()")
    assert view.images == ("https://example.org/b.png", "data:image/png")
    assert view.ids == ("top",)
    assert view.scripts == 3
