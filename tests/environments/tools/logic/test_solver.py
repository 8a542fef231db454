import pytest


@pytest.mark.parametrize(
    ("equations", "unknowns", "text"),
    [
        (["2*x + y = 7", "x - y = -1"], ["x", "y"], "x = 2, y = 3"),
        (["2x + 3 = 7"], ["x"], "x = 2"),
        (["0.1*x == 1"], ["x"], "x = 10"),
        (["3x = 1"], ["x"], "x = 1/3 (about 0.333333333333)"),
        (["2(x + 1) = 1e2"], ["x"], "x = 49"),
        (["price * 1.19 = total"], ["price"], "price = 100*total/119"),
        (["x + y = 3"], ["x", "y"], "x = 3 - y, y is free"),
        (["cos(x) = x"], ["x"], "x = 0.739085133215161"),
        (["x = x"], ["x"], "The equations hold for all values of the unknowns."),
        (["x = x + 1"], ["x"], "No solution was found."),
        (["E = m*c^2"], ["m"], "m = E/c**2"),
    ],
)
def test_solutions(run, equations, unknowns, text):
    result = run("Solver", equations=equations, unknowns=unknowns)
    assert (result.error, result.text) == (None, text)


def test_all_solutions_are_listed(run):
    text = run("Solver", equations=["x^2 = 2"], unknowns=["x"]).text
    assert text.startswith("2 solutions:\n1. x = -sqrt(2) (about -1.41421356237)\n2. x = sqrt(2)")
    assert run("Solver", equations=["x^5 - x - 1"], unknowns=["x"]).text.startswith("5 solutions")


@pytest.mark.parametrize(
    ("equations", "unknowns", "way_out"),
    [
        (["x < 3"], ["x"], "one '='"),
        (["x = 1 = 2"], ["x"], "one '='"),
        (["x.__class__ = 1"], ["x"], "not arithmetic"),
        (["__import__('os').getcwd() = x"], ["x"], "not a function"),
        (["f(x) = 1"], ["x"], "There is no function 'f'"),
        (["x / 0 = 1"], ["x"], "Division by zero"),
        (["x ** 9 ** 9 = 1"], ["x"], "Exponents"),
        (["x = 1"], ["2"], "cannot be an unknown"),
        (["sin(x, x, x) = 1"], ["x"], "cannot be read"),
        (["x ="], ["x"], "not an expression"),
    ],
)
def test_refusals_say_why(refused, equations, unknowns, way_out):
    assert way_out in refused("Solver", equations=equations, unknowns=unknowns)
