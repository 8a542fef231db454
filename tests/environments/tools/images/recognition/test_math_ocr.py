import pytest
from PIL import Image, ImageDraw, ImageFilter

FORMULAS = [
    (r"x^{2} + 3x - 4 = 0", "x**2 + 3*x - 4 = 0"),
    (r"x = \frac{-b \pm \sqrt{b^{2} - 4ac}}{2a}", r"none, since it has \pm"),
    (r"\frac{a + b}{2c} = \sqrt{x^{2} + y^{2}}", "((a + b)/(2*c)) = sqrt(x**2 + y**2)"),
    (r"\frac{1}{1 + \frac{1}{x}}", "(1/(1 + (1/x)))"),
    (r"\sum_{i = 1}^{n}i = \frac{n(n + 1)}{2}", r"none, since it has \sum"),
    (r"\sin^{2}\theta + \cos^{2}\theta = 1", "sin(theta)**2 + cos(theta)**2 = 1"),
    (r"\sqrt[3]{27} = 3", "(27)**(1/3) = 3"),
    (r"3x^{3} - \frac{5}{7}\pi \leq 2.5", "3*x**3 - (5/7)*pi <= 2.5"),
    (r"e^{-x^{2}} + 1", "e**(-x**2) + 1"),
    (r"a_{1} + a_{2} = 7", "a_1 + a_2 = 7"),
    (r"v_{0}t + \frac{1}{2}at^{2}", "v_0*t + (1/2)*a*t**2"),
    (r"\lim_{x \to 0}\frac{\sin x}{x} = 1", r"none, since it has \lim"),
    (r"2 \times 3 + 4 \div 2", "2 * 3 + 4 / 2"),
    (r"f(x) = \frac{x^{2} - 1}{x + 1}", "none, since it has the function f"),
    (r"12345 + 67890 = 80235", "12345 + 67890 = 80235"),
]


def readings(result) -> dict[str, str]:
    assert result.error is None, result.text
    return dict(line.split(": ", 1) for line in result.text.splitlines())


@pytest.mark.parametrize(("latex", "plain"), FORMULAS)
def test_formulas_in_the_type_of_tex(run, given, formula, latex, plain):
    read = readings(run("MathOCR", image=given(formula(latex))))
    assert read == {"LaTeX": latex, "Plain": plain}


@pytest.mark.parametrize("fonts", ["cm", "stix", "dejavusans", "dejavuserif"])
@pytest.mark.parametrize("latex", [FORMULAS[0][0], FORMULAS[2][0], FORMULAS[5][0]])
def test_formulas_in_other_type_and_on_a_poor_scan(run, given, formula, fonts, latex):
    scan = formula(latex, fonts).filter(ImageFilter.GaussianBlur(0.6))
    scan = Image.eval(scan, lambda level: 40 + level * 3 // 4)
    path = given(scan, "a.jpg")
    assert readings(run("MathOCR", image=path))["LaTeX"] == latex


def test_white_on_black_is_read(run, given, formula):
    negative = Image.eval(formula(r"E = mc^{2}"), lambda level: 255 - level)
    assert readings(run("MathOCR", image=given(negative)))["LaTeX"] == "E = mc^{2}"


def test_solver_takes_the_plain_form(run, given, formula):
    plain = readings(run("MathOCR", image=given(formula("x^2+3x-4=0"))))["Plain"]
    solved = run("Solver", equations=[plain], unknowns=["x"])
    assert "x = -4" in solved.text
    assert "x = 1" in solved.text


@pytest.mark.parametrize("words", ["Opening hours", "Please wait here", "x", "HELLO"])
def test_words_are_no_formula(refused, given, font_of, words):
    image = Image.new("RGB", (500, 90), "white")
    ImageDraw.Draw(image).text((20, 20), words, fill="black", font=font_of(40))
    assert "OCR" in refused("MathOCR", image=given(image))


def test_a_page_of_text_is_no_formula(refused, given, invoice):
    text = refused("MathOCR", image=given(invoice))
    assert "does not read as" in text or "pixels high" in text


def test_a_photo_is_no_formula(refused, given, scene):
    text = refused("MathOCR", image=given(scene.resize((640, 480))))
    assert "formula" in text


@pytest.mark.parametrize("latex", ["x+1=", r"(x+1", r"x = \times 2"])
def test_what_breaks_off_is_no_formula(refused, given, formula, latex):
    assert "does not read as a formula: " in refused("MathOCR", image=given(formula(latex)))


def test_two_lines_are_refused(refused, given, formula):
    one, two = formula("x+1=2"), formula("y-3=4")
    both = Image.new("RGB", (one.width, 2 * one.height), "white")
    both.paste(one, (0, 0))
    both.paste(two, (0, one.height))
    assert "formula" in refused("MathOCR", image=given(both))


def test_letters_of_a_few_pixels_are_refused(refused, given, formula):
    assert "pixels high" in refused("MathOCR", image=given(formula("x^2+1=0", points=6)))


def test_an_empty_page_is_refused(refused, given):
    assert "no formula" in refused("MathOCR", image=given(Image.new("RGB", (300, 200), "white")))


def test_it_works_in_the_sandbox(in_sandbox, formula, png):
    good, broken = in_sandbox(
        ("MathOCR", {"image": "input/a.png"}),
        ("MathOCR", {"image": "input/b.png"}),
        files={"a.png": png(formula(r"\frac{1}{2} + x")), "b.png": b"no image"},
    )
    assert good.text == "LaTeX: \\frac{1}{2} + x\nPlain: (1/2) + x"
    assert broken.error == "refused"
