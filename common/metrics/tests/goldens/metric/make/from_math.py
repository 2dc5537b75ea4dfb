"""MATH (three peers), AGIEval, GSM8K, MGSM, TheoremQA."""
import itertools
import peers  # noqa: F401
import texts

ATOMS = [
    "5", "-5", "42", "0.5", ".5", "-.5", "3.0", "3.00", "1.20", "1,000", "10,000,000", "0,1", "1/2", "-1/2", "01/2", "a/b", "1/2/3",
    "\\frac12", "\\frac{1}{2}", "\\dfrac{1}{2}", "\\tfrac12", "\\frac1{72}", "\\frac{72}1", "\\frac", "\\frac1", "-\\frac{2}{3}",
    "\\frac{3}{4}", "0.75", "\\sqrt3", "\\sqrt{3}", "\\sqrt", "\\sqrt[3]8", "\\sqrt[3]{8}", "2\\sqrt 2", "\\sqrt{ab}c", "\\sqrtab",
    "x=5", "x = 5", "xyz=5", "k=\\frac12", "a=b=c", "x\\in[0,1]", "[0,1]", "(0,1)", "\\left(0,1\\right)", "(-\\infty, 5)", "infinity",
    "\\infty", "inf", "+\\infty", "90^\\circ", "90^{\\circ}", "90 degrees", "50\\%", "50%", "\\$5", "$5$", "5 dollars", "5\\text{ cm}",
    "5\\text{cm}", "5 \\text{ and } 6", "5\\text{ cm}\\text{ x}", "\\text{(A)}", "\\text{A}", "(A)", "\\mbox{yes}", "\\textbf{7}",
    "\\overline{AB}", "\\boxed{7}", "\\boxed{\\boxed{7}}", "{7}", "2+3i", "2+3j", "i", "j", "5.", "5..", "five", "an apple", "a b",
    "x^2+1", "x^{2}+1", "1 + x^2", "\\pi", "2\\pi", "2\\pi cm", "3\\cdot 4", "3\\times 4", "\\mathbf{v}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}",
    "\\le 5", "12 square units", "12 feet", "\\left(3\\right)", "10\\ !", "7\\!", "1\\,000", "²", "²,³", "１,２", "答案5", "", " ", "\n", "5\n",
    "1 \\frac{1}{2}", "\\frac{a}{b}", "\\fracab", "\\fracabc", "frac12", "\\mathrm{th}", "5^\\text{th}", "\"5\"", "'5'", "5 hours and 3 minutes",
    "x\\text{ or }y", "\\{1,2\\}", "1\\\\2", "-0", "+5", "00", "5e3", "\\dots", "1,2,3", "{,}", "1{,}000",
]
SENTENCES = [
    "{}", "The answer is {}.", "the final answer is ${}$", "So \\boxed{{{}}}", "\\boxed {}$ done", "\\boxed{{{{{}}}}}", "\\fbox{{{}}}",
    "We get $x={}$ and $y={}$.", "Final Answer: The final answer is ${}$. I hope it is correct.",
    "Final Answer: The final answer is {}", "答案是{}", "The answer is therefore {}", "first \\boxed{{1}} then \\boxed{{{}}}",
    "answer: {}\nnext = {}.", "\\boxed{{{}", "the value is {} units", "Answer is:{}", "$${}$$", "\\boxed{{x={}}}", "{} = {} = {}",
]


def formulas(rng, count=260):
    """Pairs of formulas, every other one the same value in another spelling, of which some are not quite."""
    import sympy

    x, y, p = sympy.symbols("x y pi")
    leaves = [sympy.Integer(n) for n in (1, 2, 3, 5, 12, 18)] + [sympy.sqrt(2), sympy.sqrt(3), x, y, p, sympy.Rational(3, 4)]

    def tree(depth):
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(leaves)
        one, other = tree(depth - 1), tree(depth - 1)
        return rng.choice([one + other, one - other, one * other, one * other, one / rng.choice(leaves), one ** rng.choice([2, 3])])

    def spelt(value):
        text = sympy.latex(value).replace("\\left(", "(").replace("\\right)", ")")
        return rng.choice([text, text, text.replace(" ", ""), text.replace("\\frac", "\\dfrac"), f"({text})"])
    odd = ["x(y)", "1/2x", "1/2*x", "x^10", "x^23y", "2^x", "2{3}", "{2}3", "2-3", "--3", "x--y", "2\\cdot-3", "3-", "(3", "x)", "1,2", "1,000x",
           "0.5x", "dx", "d", "x d y", "e^2", "x^{2}^{3}", "x^{-1}", "\\frac{x}{y}z", "\\sqrt{8}x", "x\\sqrt{8}", "\\pi r^2", "r\\pi r", "2\\times 3",
           "6", "2 3", "x y", "y x", "yx", "\\alpha x", "x\\alpha", "\\sqrt{x^2}", "\\sqrt{4}", "\\sqrt{0}", "0x", "0", "3x/x", "3", "x^0", "1",
           "\\frac{1}{1+\\sqrt{2}}", "\\sqrt{2}-1", "\\left(x\\right)", "(x+1)(x-1)", "x^2-1", "i^2", "-1", "2\\div 4", "\\frac{1}{2}", "a/b/c",
           "\\frac{a}{bc}", "a/bc", "f(2)", "2f", "\\pi(2)", "2\\pi", "\\pi\\cdot 2", "12!", "x_1", "x_{1}", "\\frac{}{2}", "{}", "()", "+x", "x+", "*x"]
    pairs = [(a, b) for a in odd for b in rng.sample(odd, 2)] + [(a, a + " ") for a in odd]
    pairs += [("1/2x", "\\frac{1}{2x}"), ("x^10", "x^{10}"), ("x^10", "0x"), ("2{3}", "6"), ("(x+1)(x-1)", "x^2-1"), ("a/bc", "\\frac{a}{bc}")]
    for _ in range(count):
        value = tree(3)
        other = rng.choice([sympy.expand, sympy.factor, sympy.simplify, lambda v: v + rng.choice([0, 0, 1, x]), lambda _: tree(2)])(value)
        if sympy.zoo not in (value, other) and max(len(sympy.latex(v)) for v in (value, other)) < 90:
            pairs.append((spelt(value), spelt(other)))
    return pairs


def case(args, out):
    return {"in": list(args), "out": out}


def attempt(function, *args):
    try:
        return function(*args)
    except Exception:
        return None


def goldens():
    from opencompass.datasets import math as oc
    from opencompass.datasets.agieval.math_equivalence import is_equiv as agi_equiv
    from opencompass.datasets.agieval.post_process import parse_math_answer
    from opencompass.datasets.gsm8k import Gsm8kEvaluator
    from opencompass.datasets.TheoremQA import number_utils, utils as theorem
    from lm_eval.tasks.hendrycks_math import utils as hendrycks
    from lm_eval.tasks.minerva_math import utils as minerva

    rng = texts.generator(11)
    sentences = [s.replace("{}", "\x00").replace("{{", "{").replace("}}", "}").replace("\x00", rng.choice(ATOMS))
                 for s in SENTENCES for _ in range(9)] + texts.BASE
    pairs = [(a, a) for a in ATOMS] + [(rng.choice(ATOMS), rng.choice(ATOMS)) for _ in range(120)]
    pairs += [tuple(rng.choice(["$%s$", " %s ", "%s.", "x=%s", "%s cm", "\\text{%s}", "%s\\%%"]) % a if i else a for i, a in enumerate((a, a)))
              for a in ATOMS for _ in range(2)]
    pairs += [(rng.choice(sentences), rng.choice(ATOMS)) for _ in range(40)]
    for version in ("v1", "v2"):
        evaluator = oc.MATHEvaluator(version=version)
        yield f"math_{version}", [case([p, r], evaluator.is_equiv(p, r)) for p, r in pairs]
    yield "math_final_answer", [case([t], oc.normalize_final_answer(t)) for t in ATOMS + sentences]
    yield "math_boxed", [case([t], [oc.last_boxed_only_string(t), oc.extract_boxed_answer(t), oc.extract_boxed_answer(t, True),
                                    minerva.last_boxed_only_string(t),
                                    attempt(lambda: minerva.remove_boxed(minerva.last_boxed_only_string(t)))])
                         for t in sentences]
    yield "hendrycks_equivalent", [case([p, r], hendrycks.is_equiv(p, r)) for p, r in pairs]
    solved = [(rng.choice(sentences), rng.choice(sentences)) for _ in range(60)]
    solved += [(s, f"so \\boxed{{{rng.choice(ATOMS)}}}") for s in sentences]
    yield "hendrycks_math", [case([c, s], (attempt(hendrycks.process_results, {"solution": s}, [c])
                                           or {"exact_match": 0})["exact_match"] == 1) for c, s in solved]
    yield "minerva_final_answer", [case([t], minerva.normalize_final_answer(t)) for t in ATOMS + sentences]
    yield "minerva_answer", [case([t], minerva.get_unnormalized_answer(t)) for t in sentences]
    numbers = ["5", "5.0", "-5", "0.5", "\\frac{1}{2}", "\\frac12", "2/4", "\\frac{2}{4}", "1,000", "1000", "0.75", "\\frac{3}{4}", "x", "-0.5"]

    def minerva_pair(a, b):
        a, b = minerva.normalize_final_answer(a), minerva.normalize_final_answer(b)
        return bool(minerva.is_equiv(a, b))
    yield "minerva_equal", [case([a, b], minerva_pair(a, b)) for a, b in itertools.product(numbers, numbers)]
    yield "minerva_algebra", [case([a, b], minerva_pair(a, b)) for a, b in formulas(rng)]
    yield "agieval_answer", [case([t], parse_math_answer("", t)) for t in sentences]
    yield "agieval_equivalent", [case([p, r], bool(agi_equiv(p, r))) for p, r in pairs]
    near = ["18", "18.0", " 18 ", "18.0000001", "18.00001", "1_8", "１８", "NULL", "", "-18", "18.5", "1e1", "inf", "nan", "1,000", "$18", "18."]
    yield "gsm8k_equal", [case([p, r], Gsm8kEvaluator().is_equal(p, r)) for p in near for r in ["18", "-18", "1000", "x", "10", " 18"]]

    plain = ["1/3", "\\frac{1}{3}", "-\\dfrac{7}{2}", "2^{3}", "2^3", "2^10", "10^{-3}", "\\sqrt{2}", "2\\sqrt{3}", "-\\sqrt{16}", "\\frac{\\sqrt{3}}{2}",
             "\\frac{2\\sqrt{3}}{3}", "5/2", "7/2", "-1/4", "0/5", "1/0", "\\frac{-7}{2}", "9/5", "\\sqrt{12}"]
    numbers = [("3", 3), ("4", 4), ("2", 2), ("8", 8), ("1024", 1024), ("0", 0), ("-4", -4), ("0.3333", 0.3333), ("1.414", 1.414), ("3.5", 3.5),
               ("-3.5", -3.5), ("0.001", 0.001), ("0.866", 0.866), ("1.1547", 1.1547), ("-0.25", -0.25), ("0.32", 0.32)]
    yield "theorem_formulas", [case([a, text, gold, type(gold).__name__], bool(theorem.compare_answer_with_groundtruth(a, text, gold)))
                               for a in plain for text, gold in numbers]
    # latex2sympy and eval leave plain numbers as they are; only such predictions are compared here.
    number_utils.number_it = lambda text: (text if isinstance(text, (int, float)) else
                                           number_utils.floatify(number_utils.clean_units(text).replace("/100", "e-2")))
    theorem.number_it = number_utils.number_it
    golds = [("3", 3), ("-2", -2), ("0", 0), ("True", True), ("False", False), ("3.5", 3.5), ("-0.25", -0.25), ("1000.0", 1000.0),
             ("(a)", None), ("[1, 2]", None), ("x", None)]
    answers = ["3", "3.4", "2.5", "3.5", "3.6", "3.64", "3.65", "-0.26", "-0.2601", "50%", "$3", "3°C", "true", "False", "(a)", "option (A)",
               "[1, 2]", "1e3", "960", "959.9", "1040", "1041", "0", "0.4", "nan", "-2.5"]
    yield "theorem_qa", [case([a, text, gold, type(gold).__name__], bool(theorem.compare_answer_with_groundtruth(a, text, gold)))
                         for a in answers for text, gold in golds]
