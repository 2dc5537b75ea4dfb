"""The texts that the goldens are made of: answers as models give them, and what none would give."""

_LETTERS = "The options differ. "

COMMON = [
    "", " ", "\n", "\n\n\n", "\t\r\n", "\x1c\x1f", "\u3000", ".", ",", "A", "a", "B.", "(C)", "D\n", " A ", "AB", "ABD", "BA", "É", "é",
    "中文", "中文，答案。第二句", "答案", "😀", "👩‍👩‍👧‍👦 A", "\u200b", "a\u0301", "İstanbul", "ﬀ", "ǅ", "Ⅷ", "Ⓐ", "ª", "ß", "ẞ", "Ω",
    "The answer is 18.", "The answer is -3.5", "the cat\nsat on the mat", "The Eiffel Tower, in Paris", "no number here",
    "1,234,567.89", "1e5", "-", "--7", ".5", "5.", "1.2.3", "٣.١٤", "１２３", "𝟙𝟚", "²", "½", "3/4", "-0", "0000012",
    "Question: What?\nAnswer: B", "72\n\nQuestion: next 99", "#### 42", "\\boxed{7}", "yes", "No.", "True", "false",
    "Neither of them", "Both A and B", "I think A is right", "an A B", "C A\nB", "A\n", "xA", "Here is the answer:\nB",
    "答案是A", "答案：B", "故选C", "<think>A</think>B", "<think>", "</think>", "<conclude>", "'quoted'", '"quoted"', "'a' 'b'",
    "```python\nx = 1\n```", "```", "[BEGIN] x [DONE]", "def f():\n    return 1", "    return 1", "a" * 300, _LETTERS * 15 + "B", "It is not clear which, " * 300 + "so the answer is (C)\n",
    "\x00", "\x7f", "a\x1cb", "x\x85y", "a\u2028b", "\ufeffA", "the the a an", "a_b", "it's", "$5", "50%", "{}", "[]", "\\", "\\n",
    "हिन्दी का उत्तर", "ответ: Да", "答え: ５", "คำตอบ 3", "Answer", "ANSWER:A", "answer is ", "answer is", "is:", ":", "**", "****",
]

OPTIONS = [
    "答案是 A", "答案是：B", "答案: C", "答案选项应该是D", "答案选项为 A", "答案选项为  (**B**)", "答案应是C", "答案应该选D", "答案选项是: A", "答案为B",
    "答案选C", "选D", "选择A", "故选B", "故选B只有选项C是对", "故B只有C对", "只有选项A是错", "只有B不正确", "只有选项 C 错误", "说法不对选项的是D", "说法不正确的是A",
    "说法错误的是 B", "C是正确的", "D 是正确答案", "选项 A 正确", "所以答B", "所以 C。", "所有D", "因为，A。", "综上，故B。", "综上，因此C", "是D。",
    "因此 A", "显然B.", "答案是 甲A乙。", "答案应该是 xyzB", "答案为 不知道。 C", "answer : a", "ANSWER :\n B", "AnSwEr:\tC",
    "The answer is: (D)", "the answer is **A**", "The answer is option: (B)", "the correct answer is: C", "The correct answer is option D",
    "The correct answer is $\\boxed{A}$", "the correct option is therefore\n\\boxed{B}", "The correct answer option is \\boxed{C}",
    "The answer to the question is: (D)", "选项 A", "B 选项", "C项", "D", "A. because", "Because\nB. is", "1. B", "1) it is C", "10 D",
    "2. first\n1. D", "1.", "1.E", "1. none of these", "E", "e", "B: yes", "zzz C zzz", "(a) lower", "The answer is (E)", "the answer is  A",
    "The answer is A and not B", "答案是E。 A", "答案是B\n答案是A", "A B C D", "DCBA", "I would say B, since A is wrong.", "P. The last", "OPTION P",
    "The answer is P.", "answer: P", "  B  ", "B\n\nC", "$A$", "A$", "因此A。B", "是 A\n", "。B", "选 择 C", "答案\u3000D", "答案：\n\n A",
    "The correct answer is something else, boxed{B}", "The correct answer is: A\nboxed{B}", "(ANSWER: D)", "Answer: **B**", "正确答案：C",
    "the final number is 12", "12.5\n", "x12", "v1.2", "-3", "a -7  ", "7\n\n", "12a",
]

TAGS = [
    "<conclude>A</conclude>", "<conclude> B \n</conclude>", "<conclude>A</conclude><conclude>B</conclude>", "<conclude></conclude>",
    "<conclude>A<conclude>B</conclude>", "<conclude>A", "A</conclude>", "<Conclude>A</Conclude>", "<conclude >A</conclude>",
    "x<conclude>\n中\n</conclude>y", "<think>a</think>b", "<think>a</think>b<think>c</think>d", "a</think>b</think> c ", "<think>a<think>b</think>c",
    "<think>a</think>b</think>c", "<think>unfinished", "  <think>\n\n</think>\n\n42\n", "no tags", "<think></think>", "</think>\n\nline one\nline two",
    "</think>", "</think>   ", "</think><think>x</think>y", "## Thinking\nhm\n\n## Final Response\n\nB", "## Final Response\nC", "## Thinking D",
    "<THINK>a</THINK>b", "\u3000<think>x</think>\u3000y\u3000", "\x1f<think>x</think>\x1fz\x1f", "<think>a</think>" * 30 + "end",
]

LITERALS = [
    "'a'", '"a\\nb"', "'''x\ny'''", '"""q"""', "r'\\n'", "u'x'", "'a' \"b\"", "'it\\'s'", "'\\x41\\u4e2d\\U0001f600'", "'\\101\\0'", "'open", 
    "b'x'", "f'x'", "'a\\\nb'", "'a' # note", "  'indented'", "\n'after a newline'", "'\\q'", "'a'\n", "'tab'\t", "'😀'", "''", "'a'b", "'a\nb'", "''''", "'\\'",
    "'\\x4'", "rf'\\d'", "R\"x\"",
]

MATH = [
    "The final answer is 3. Next", "First. The final answer is $\\frac12$. Done", "the Final Answer is 1,000", "So the answer is 5", "answer is: 7. x",
    "\\boxed{\\frac{1}{2}}", "a \\boxed{1} and \\boxed{2}", "\\boxed{{3}}", "\\boxed{{3}\n}", "\\boxed{a{b}c}", "\\boxed{unclosed", "\\boxed 5", "\\fbox{6}",
    "\\boxed{}", "\\boxed{ }", "\\boxed{x=1}", "\\boxed{\\text{Yes}}", "\\boxed{{a}{b}}", "\\boxed{\n{4}\n}", "}{\\boxed{8}", "\\boxed{1}}", "\\boxed{{}}",
    "$x=5$", "We get $x = 5$ and $y=6$", "$$7$$", "$a$ or $b$\n$c$", "$=$", "$x=$ 12", "a = 3.", "a=b=c.", "x = 5\\n more", "12 apples", "12apples", "1.5x", "$12", "$1.50 each",
    "The answer is therefore 9", "then The answer is therefore 10 ", "答案是 11", "so 答案是12 or 答案是 13",
    "The final answer is $4$. I hope", "The final answer is 5", "The final answer is ", "The final answer is x", "The final answer is 中$.",
    "The answer is 5\n\nQuestion: b", "Hm. The answer is 5.\n\nQuestion: b", "no mark\n\nQuestion: b", "short\n\nQuestion:", "# Answer\n7.", "The answer is: 8。", "#### 9.",
    "\\boxed{1{2}3", "\\boxed{", "x \\boxed{{{a}}} y", "# Answer", "####", "The answer is:",
    "The answer is 1,234", "The answer is 3/4 or 5", "答案是 5 或 6", "The answer isnt here 7 8", "1,2,3", "12,345", "-5/6", "/7", "3.5/2",
    "Answer: 12.", "Answer: 1,234.50\nAnswer: 99.", "Answer: none", "答案: １２", "答案: 5.", "Answer 7 Answer", "Answer: 3.1.4",
    "frac12", "\\frac12", "\\frac{1}2", "\\fracab", "\\sqrt2", "\\sqrt{2}", "sqrt", "frac", "rac34", "\\dfrac12", "1 000", "5 square inches", "12 dollars", "30^\\circ", "45^{\\circ}",
    "\\text{(A)}", "\\text{Evelyn}", "\\textbf{(B)}", "\\overline{AB}", "\\mbox{no}", "5\\text{ and }6", "5,\\text{and}6", "x \\le 5", "a cat an owl", "$1,000$", "$1,000 and 2$", "10\\%", "\\$5",
    "١٢,٣", "1²", "①", "..", "a.b.c", "finalansweris 3", "answeis 4", "oxed{5}", "x$6$y$7$", "answer is :8", "answer is ?", 'answer is "x".', "answer is 'B'; ok", "answer is\nC",
    "the result is 5 cm", "it will be 12.", "values: 3 4", "lines\nthe area is  7  ", "are", "no stop words here", "A\nB\nis: x y.", "\\mathrm{th} 5", "5^{th}", "(1,2)", "[1, 2]", "\\{1\\}",
]

CODE = [
    "```python\ndef f():\n    return 1\n```", "```\nx\n```", "```py\na\n```\n```py\nb\n```", "text\n```python\n  indented\n```\nmore", "```python x = 1```", "```\n\n```", "``````",
    "```python\nunclosed", "a```b", "```c++\nint x;\n```", "```python \nspace\n```", "```中\n代码\n```", "```a_1\nz\n```",
    "    return x\n", "   return x\n   y", "  two\n  lines\nend", "\n    a\n\n    b\nc", "    a\n\n\n    b", "    a\n```\nb", "x\n    y", "\treturn 1", "    a\n \n    b\n", "return 1",
    "from x import y\n\ndef f(a):\n    '''doc'''\n    return a\n\nprint(f(1))", "import os\nx = 1", "import os\ndef f(): pass", "def f(a):\n    if a:\n        return 1\n    return 2\nf(3)",
    "def f(a): return a", "def f():", "defx\n    y", "    x = 1\n  # comment\n  'doc'\n  y = 2", "        deep\n    shallow\n  less", "# only a comment", "'''doc'''\nreturn 1",
    "'    return 1\\n'", '"def f():\\n    return 2\\n"', "  x\n\n\n  y\n z", "\n\n\n", "Here is the code:\n```python\ndef g():\n    pass\n```", "Here it is\n    return 5", "Here",
    "first line\n```\nfrom a import b\ndef g(x):\n\n    return x\n```", "Sure!\n\n    return 6", "Sure!\n return 6", "Sure!\ndef h():\n  return 7\n\nh()", "Sure!\nimport re\ndef h():\n  return 7",
    "[BEGIN]\n 'def f():\n    return 1' \n[DONE]", "[BEGIN]\ndef f(): pass\n[DONE]", "BEGIN 'x' [DONE]", "BEGIN x DONE", "[BEGIN] 'x DONE", "[BEGIN]'a' 'b'[DONE]", "[BEGIN] 'never ends", "[BEGIN] x",
    "'code' [DONE]", "code\n[DONE] rest", "code 'DONE", "x\\_y", "[BEGIN]a[DONE]\n[BEGIN]b[DONE]", "```python\n[BEGIN]\nx\n[DONE]\n```", "```python\ndef a():\n    pass\n```\ntext\n```\nb\n```", "code```",
    "code ``` tail", "[BEGIN]", "[DONE]", "DONE", "BEGIN", "'", "''", "# Test\nassert f()", "f()\n#Test x\n#test y", "a # test b", "Here you go\nx = 1\nHere again\n", "BEGIN'x'DONE", "[BEGIN]  '\n x",
    "x' DONE", "x '  [DONE]", "BEGINning of code\nDONEish", "'[BEGIN]x", "\u3000def f():\n\u3000return 1", "if x:\n\tif y:\n\t\tpass\n\tz\nw",
]

SENTENCES = [
    "So the answer is (A).", "the answer is (B))", "answer is C and (D)", "the answer is yes", "the answer is valid. the answer is (E)", "(lower a) B", "no capitals (1)", "[A]", "((C))", "() D", "(AB) E",
    "The answer is: **Yes**", "Answer Is   No, because", "ANSWER IS true.", "answer is false\nnext", "answer is 1, 2, 3.", "answer is a , b,c", "answer is apples, 2 pears", "answer is ** bold  text ** more.", "answer is ****",
    "answer is yesterday", "yes_man", "no-one", "TRUE story", "the answer is  .", "answer is ..", "answer is x..", "answer is:\n5", "answer is : 5", "multi\nline", "  spaced   out  ", "1 , 2", "a,1", ",", "a , b\tc",
    "Yes. So the answer is no.", "No, the answer is Yes", "so\n\nthe answer is yes", "I know not", "eyes", "YES or NO", "none", "maybe", "nothing", "The answer is unknown",
    "first\nsecond", "  first \n second", "\n\nfirst", " \nfirst", "Answer: x\ny", "Answer: Answer: z", " Answer: w ", "my Answer: v", "1. item", "- item - two", "1. - both", "- 1. both", "“引文。”", "，。！", "своей x", "- своей",
    "1. 1. x", "答案是甲", "因为 答案是乙 答案是丙", "答案 是", "答案是", "x\r\ny", "x\ry", "x\u2028y", "x\x0by", "x\x85y", "tail \n", "tail\u3000\n",
    "A: Paris", "the answer is Paris, France", "Answer: The Beatles.", "Q: who? A: me answer: you", "the ANSWER IS The  Rolling Stones!", "banana: yellow", "it's a dog", "well-known fact", "C. S. Lewis", "(New) York", "'quoted' word",
    "word;rest", "back\\slash end", "a/b c", "under_score x", "dollar$sign", "«gu» x", "x…y", "U.S.A.", "É. x", "100%", "the", "The answer is the", "answer is an apple\nanswer is b", "a: b: c", "data: 5",
]

CHINESE = [
    "我来到北京清华大学", "他来到了网易杭研大厦", "小明硕士毕业于中国科学院计算所，后在日本京都大学深造", "中国的首都是北京。", "今天天气很好，我们去公园玩吧！", "机器学习是人工智能的一个分支", "长春市长春节致辞", "南京市长江大桥", "结婚的和尚未结婚的",
    "GPT-4 是 OpenAI 的模型", "价格是 3.14 元，约 50%", "A股上涨2.5%", "C++和C#", "第1章 绪论", "二〇二四年三月", "他说：“你好。”", "（一）总则", "　全角　空格　", "两行\n第二行", "tab\t分隔  多个   空格", "繁體中文也可以分詞嗎", "東京都は日本の首都です", "한국어 문장",
    "混合English和中文text", "emoji😀表情", "生僻字：龘靐齉", "𠀀𠀁扩展区", "１２３全角", "www.example.com网址", "a_b变量", "乒乓球拍卖完了", "下雨天留客天留我不留", "研究生命的起源", "工信处女干事每月经过下属科室都要亲口交代24口交换机等技术性器件的安装工作",
    "他从马上下来", "这个门把手坏了", "欧阳锋和黄药师", "习惯了就好", "习近平", "量子纠缠态", "王小明今年18岁", "阿里巴巴集团控股有限公司", "新冠肺炎疫情", "奥巴马和特朗普", "。。。", "啊啊啊啊", "不不不", "的的的", "𝒳数学字母", "①②③", "℃温度", "α粒子", "Ｑ版", "ABC中DEF",
    "我" * 120, "中华人民共和国" * 20,
]

TEXTS = {
    "common": COMMON, "options": OPTIONS, "tags": TAGS, "literals": LITERALS, "math": MATH, "code": CODE, "sentences": SENTENCES,
    "chinese": CHINESE,
}
