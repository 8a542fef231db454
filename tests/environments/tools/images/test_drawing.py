import pytest
from PIL import Image, ImageChops, ImageOps

RED = (255, 0, 0)


def test_a_red_box_is_drawn_where_it_was_asked(run, given, opened, scene):
    result = run("DrawBox", image=given(scene), bbox="(20, 30, 100, 90)")
    assert result.files == ("output/a_box.png",)
    assert "160 x 120 pixels, with a red box at (20, 30, 100, 90)" in result.text
    drawn = opened("output/a_box.png").convert("RGB")
    changed = ImageChops.difference(drawn, scene).getbbox()
    assert changed == (20, 30, 100, 90)
    assert {drawn.getpixel(at) for at in ((20, 30), (99, 89), (60, 30), (20, 60))} == {RED}
    assert drawn.getpixel((60, 60)) == scene.getpixel((60, 60))


@pytest.mark.parametrize(("top", "written_from"), [(60, 45), (0, 0)])
def test_an_annotation_stands_above_the_box_or_inside_at_the_edge(
    run, given, opened, top, written_from
):
    path = given(Image.new("RGB", (300, 200), "white"))
    run("DrawBox", image=path, bbox=f"(50, {top}, 250, 180)", annotation="Rex", path="output/b.png")
    drawn = opened("output/b.png").convert("RGB")
    label = drawn.crop((50, written_from, 70, written_from + 14))
    assert RED in [colour for _, colour in label.getcolors(1000)]
    assert any(min(colour) > 200 for _, colour in label.getcolors(1000))


def test_boxes_add_up_from_call_to_call(run, given, scene):
    first = run("DrawBox", image=given(scene), bbox="(5, 5, 40, 40)")
    again = run("DrawBox", image=first.files[0], bbox="(50, 50, 90, 90)")
    assert again.files == ("output/a_box_box.png",)


@pytest.mark.parametrize(
    ("position", "across", "down"),
    [("lt", 0, 0), ("mt", 1, 0), ("rb", 2, 2), ("mm", 1, 1), ("LB", 0, 2), ("(10, 290)", 0, 2)],
)
def test_text_comes_where_it_was_asked(run, given, opened, position, across, down):
    path = given(Image.new("RGB", (600, 300), "white"))
    result = run("AddText", image=path, text="3 May", position=position, color="blue")
    assert result.error is None, result.text
    drawn = opened(result.files[0]).convert("RGB")
    left, top, right, bottom = ImageChops.difference(
        drawn, Image.new("RGB", drawn.size, "white")
    ).getbbox()
    assert (left + right) // 2 // 200 == across
    assert (top + bottom) // 2 // 100 == down
    assert (0, 0, 255) in [colour for _, colour in drawn.getcolors(1 << 20)]


def test_long_text_shrinks_until_it_fits(run, given, opened):
    path = given(Image.new("RGB", (400, 300), "white"))
    result = run("AddText", image=path, text="word " * 11 + "end", position="mb")
    assert result.error is None, result.text
    drawn = opened(result.files[0]).convert("L")
    assert ImageOps.invert(drawn).getbbox()[0] > 0
    assert ImageOps.invert(drawn).getbbox()[2] < 400
    assert "letters 1" in result.text or "letters 9" in result.text


def test_lines_are_kept_and_what_cannot_be_printed_is_blank(run, given):
    path = given(Image.new("RGB", (400, 300), "white"))
    result = run("AddText", image=path, text="one\ntwo\tthree\x07", position="lt")
    assert result.error is None, result.text


@pytest.mark.parametrize(
    ("change", "way_out"),
    [
        ({"position": "top"}, "mt for the middle of the top"),
        ({"position": "(900, 5)"}, "400 x 300 pixels"),
        ({"color": "reddish"}, "#1e90ff"),
        ({"text": " \n "}, "blank"),
        ({"text": "long " * 190}, "break it into lines"),
        ({"text": "party \U0001f973"}, "without them"),
        ({"image": "input/b.png"}, "Did you mean 'input/a.png'"),
        ({"path": "output/a.gif"}, ".png or .jpg"),
    ],
)
def test_refusals_say_the_way_out(refused, given, change, way_out):
    path = given(Image.new("RGB", (400, 300), "white"))
    arguments = {"image": path, "text": "hello", "position": "mm", **change}
    assert way_out in refused("AddText", **arguments)


def test_transparency_is_kept_in_png_and_flat_in_jpeg(run, given, opened):
    path = given(Image.new("RGBA", (100, 100), (0, 0, 255, 0)))
    run("DrawBox", image=path, bbox="(10, 10, 50, 50)", path="output/a.png")
    run("DrawBox", image=path, bbox="(10, 10, 50, 50)", path="output/a.jpg")
    assert opened("output/a.png").getpixel((80, 80))[3] == 0
    assert opened("output/a.png").getpixel((10, 10)) == (*RED, 255)
    assert min(opened("output/a.jpg").getpixel((80, 80))) > 240


def test_both_work_in_the_sandbox(in_sandbox, scene, png):
    boxed, worded = in_sandbox(
        ("DrawBox", {"image": "input/a.png", "bbox": "(5, 20, 40, 60)", "annotation": "sun"}),
        ("AddText", {"image": "output/a_box.png", "text": "Größe €", "position": "mb"}),
        files={"a.png": png(scene)},
    )
    assert (boxed.error, boxed.files) == (None, ("output/a_box.png",))
    assert (worded.error, worded.files) == (None, ("output/a_box_text.png",))
