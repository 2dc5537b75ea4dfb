"""Adversarial texts of our own, and pairs of them: (prediction, reference)."""
import os
import random


def generator(seed):
    """The draws of one file; `SEED=1 OUT=folder make.py` makes goldens with other draws, to be read by `METRIC_GOLDENS=folder`."""
    return random.Random(seed + 1000 * int(os.environ.get("SEED", 0)))


BASE = [
    "", " ", "\n", "\t \n", ".", "...", "a", "A", "the", "The the a an", "an apple", "The Answer is 42.", "42", "-3.5",
    "1,234,567", "$18.00", "3/4", "50%", "1e5", "nan", "inf", "٣٤", "１２３", "½",
    "The quick brown fox jumps over the lazy dog.", "the quick brown fox jumped over a lazy dog",
    "Answer: Paris", "answer : paris, france\nsecond line", "The answer is: Berlin. It is the capital.",
    "Q: what?\nA: it's John's cat", "So the answer is yes", "yes", "No.", "True", "state-of-the-art",
    "Hello,world!It's 3.14 o'clock -- don't panic (really); \"quoted\" & <tag> [x] {y} /z\\ |w| ~ ^ _u_ `code` @me #1",
    "中文 答案", "今天天气很好，我们去公园散步。", "我们今天去公园散步，因为天气很好！", "答案：北京（首都）。", "他来到了网易杭研大厦",
    "小明硕士毕业于中国科学院计算所，后在日本京都大学深造", "段落3", "Paragraph 12 and Paragraph 7", "日本語のテキスト、テスト。",
    "한국어 텍스트 입니다", "emoji 😀😃 test 👩‍👩‍👧 ok", "naïve café déjà-vu", "e\u0301tude re\u0301sume\u0301", "Straße GROSS ΣΊΣΥΦΟΣ",
    "İstanbul ıÇ", "हिन्दी का उत्तर", "العربية نص", "עברית", "ไทยไม่มีช่องว่าง", "a\u00a0b\u3000c\u2028d\u0085e", "x\u001cy\u200bz",
    "ﬁne ligature ǅ", "line one\nline two\n\nline four", "\r\nwindows\r\nlines\r\n", "tab\tseparated\tvalues",
    "def f(x):\n    return x + 1  # comment", "`x = 1`\n// c\nreal = code(1, 2)", "1 2 3 4 5 5 5", "word word word word",
    "A-B-C a_b_c", "U.S.A. and Mr. Smith's 1.5-year-old", "¿Qué? ¡Sí! «guillemets» „quotes“ ‘single’ — dash – n … end",
    "running runs ran easily fairly flies dying relational conditional rational",
    "happiness hopefulness feudalism adjustable replacement communism angularity bowdlerize controlling",
    "The Federal Reserve said on Tuesday that it would raise rates by a quarter of a percentage point.",
    "On Tuesday the Federal Reserve announced a quarter-point rise in interest rates, its third this year.",
    "&quot;quoted&quot; &amp; &lt;b&gt; <skipped> end-\nhyphen", "𝕏 𝟙𝟚 𠀀𠀁 rare", "!?!?", "()", "--", "0", "00", "0.50", "+5", "x" * 50,
]


def long_texts(rng):
    english = ("time people year way day man thing woman life child world school state family student group country "
               "problem hand part place case week company system program question work government number night point "
               "home water room mother area money story fact month lot right study book eye job word business").split()
    chinese = "的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面"
    out = []
    for words in (80, 400):
        out.append(" ".join(rng.choice(english) + rng.choice(["", "", "", ",", ".", ".\n"]) for _ in range(words)))
        out.append("".join(rng.choice(chinese) + rng.choice(["", "", "", "", "，", "。"]) for _ in range(words)))
    return out


def mutate(rng, text):
    """A neighbour of `text`: words dropped, doubled, swapped, upper-cased, letters changed."""
    words = text.split(" ")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(words))
        kind = rng.randrange(6)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at, words[at])
        elif kind == 2:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif kind == 3:
            words[at] = words[at].upper()
        elif kind == 4:
            words[at] = words[at] + rng.choice([".", ",", "!", "?", "'s", "-", "。", "\n", "s", "ing"])
        else:
            letters = list(words[at])
            rng.shuffle(letters)
            words[at] = "".join(letters)
    return " ".join(words)


def pairs(seed=0, count=160, long=True):
    """`count` pairs and more: neighbours, equals, unrelated ones."""
    rng = generator(seed)
    texts = BASE + (long_texts(rng) if long else [])
    out = [(text, text) for text in rng.sample(texts, 12)]
    out += [(mutate(rng, text), text) for text in texts]
    while len(out) < count:
        out.append((mutate(rng, rng.choice(BASE)), rng.choice(BASE)))
    return out
