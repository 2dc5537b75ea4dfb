"""Texts of our own to train small tokenizers on, and texts to try them with."""

PROSE = """
The river ran low in the summer, and the children walked across it on flat stones. Nobody in the village could say who
had put the stones there, but everybody agreed that they were old. In 1987, when the bridge was closed for 14 weeks, the
stones were the only way to the market. "It isn't far," said the miller, "if you don't mind wet shoes." They didn't mind.
A worker counts the samples that it has finished; a master counts the workers. Between them lies a wire that may break.
When the wire breaks, the worker keeps what it has and waits, and the master waits a little too. Then they begin again.
Question: why is the sky blue? Answer: because the air scatters short waves more than long ones.
Question: what is the capital of France? Answer: Paris. Question: how many legs has a spider? Answer: eight.
"""

CHINESE = """
今天天气很好，我们去河边散步。村里的人说，那些石头已经放在那里很多年了。
问题：天空为什么是蓝色的？答案：因为空气更容易散射短波。
老师问学生：二加三等于几？学生回答：等于五。大家都笑了。
工人数样本，主人数工人。线断了，就等一等，然后重新开始。
"""

CODE = """
def add(a, b):
    return a + b

def mean(values):
    total = 0.0
    for value in values:
        total += value
    return total / len(values) if values else None

fn main() {
    let mut counts = [0u32; 256];
    for byte in std::io::stdin().bytes() {
        counts[byte? as usize] += 1;
    }
}
"""

CORPUS = PROSE + CHINESE + CODE

# What the tokenizers are tried with: what they were trained on, what they never saw, and what trips implementations.
TEXTS = [
    "",
    " ",
    "   ",
    "a",
    " a",
    "a ",
    "  two  spaces   three ",
    "The river ran low in the summer.",
    "Nobody's stones: 1987, 14 weeks; isn't, don't, they'll, I'VE",
    "unseen words: xylophone, Zürich, naïve façade, ß, Ωμέγα, Привет мир",
    "今天天气很好，我们去河边散步。",
    "混合 mixed 文本 with 數字 123 和 symbols %$#@!",
    "日本語のテキスト、한국어 텍스트, ไทย, עברית, العربية",
    "emoji 🙂 👍🏽 👨‍👩‍👧 🇩🇪 end",
    "def add(a, b):\n    return a + b\n\n\tif x:\n\t\tpass\r\n",
    "line\nbreaks\n\n\nmany",
    "tabs\tand\u00a0no-break\u3000wide\u200bzero\ufeffbom",
    "\u2581low\u2581lines \u2581",
    "e\u0301 versus é, ﬁ ligature, \u212b, ①, ½, ＡＢＣ１２３, ㍿",
    "control \x00\x01\x7f\x85 bytes",
    "<s>bos inside</s> and <unk> unknown",
    "<s> <s>double </s>",
    "user <sep>symbols<sep> here  <sep>  there <se p>",
    "<|im_start|>user\nhi<|im_end|>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "3.14159 1,000,000 0x1F 1e-9",
    "tensor[[0,1],[2,3]] == {'a': \"b\"}",
    "ﬁve stones ﬀ ａｂ",
    "ends with space ",
    "\n",
    "\n starts with newline",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 \U0010ffff",
]
