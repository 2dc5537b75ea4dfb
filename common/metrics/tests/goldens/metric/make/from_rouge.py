"""rouge_score with and without stemming, its bootstrap, Porter's stemmer, rouge_chinese over jieba, jieba itself."""
import random
import re

import peers  # noqa: F401
import texts


def case(args, out):
    return {"in": list(args), "out": out}


NAMES = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def triple(score):
    return [score.precision, score.recall, score.fmeasure]


def goldens():
    import jieba
    import numpy as np
    from nltk.stem import porter
    from rouge_score import rouge_scorer, scoring
    from opencompass.openicl.icl_evaluator.icl_jieba_rouge_evaluator import JiebaRougeEvaluator

    all_pairs = texts.pairs(4, 130)
    for stem in (False, True):
        scorer = rouge_scorer.RougeScorer(NAMES, use_stemmer=stem)
        name = "rouge_stemmed" if stem else "rouge"
        yield name, [case([p, r], [triple(scorer.score(r, p)[n]) for n in NAMES]) for p, r in all_pairs]

    rng = texts.generator(5)
    words = {w for text in texts.BASE for w in re.findall("[a-z0-9]+", text.lower())}
    stems = ("ration conflat troubl siz hopp tann fall hiss fizz fail fil happ enjo fl tr sp relat valenc digit conform "
             "radic different vile analog oper feudal decis hope call formal sensit geolog triplic electr good reviv "
             "allow infer airlin adjust defens irrit replac depend adopt commun activ angular effect bowdler ceas "
             "control roll yy syzyg").split()
    ends = ("s es ies sses ed eed ied ing y ational tional enci anci izer bli alli entli eli ousli ization ation ator "
            "alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance "
            "ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize e ll ally ingly edly").split()
    words |= {rng.choice(stems) + rng.choice(ends) + rng.choice(["", "", "", "s", "ed", "ing", "ly"]) for _ in range(3000)}
    words |= {"sky", "skies", "dying", "lying", "news", "innings", "cannings", "howe", "proceed", "ties", "died", "as", "is"}
    words = sorted(words)
    stemmer = porter.PorterStemmer()
    yield "porter", [case([" ".join(words)], " ".join(stemmer.stem(w) for w in words))]

    def medians():
        scorer = rouge_scorer.RougeScorer(NAMES)
        for size in (1, 2, 3, 7, 64, 100):
            rows = [rng.choice(all_pairs[:120]) for _ in range(size)]
            rows = [(p, r) for p, r in rows if len(p) < 400] or rows[:1]
            np.random.seed(0)
            aggregator = scoring.BootstrapAggregator()
            for p, r in rows:
                aggregator.add_scores(scorer.score(r, p))
            result = aggregator.aggregate()
            yield case([rows], [triple(result[n].mid) for n in NAMES])
    yield "rouge_medians", list(medians())

    chinese = [(p, r) for p, r in all_pairs] + [(texts.mutate(rng, t), t) for t in CHINESE]
    evaluator = JiebaRougeEvaluator()
    yield "jieba_rouge", [case([p, r], list(evaluator.score([p], [r]).values())) for p, r in chinese]
    cuts = {t for pair in chinese for t in pair} | set(CHINESE)
    pieces = ["a", "B", "x1", "3", ".", ".", "-", "_", "%", "+", "#", "&", "的", "中国", "IC", "GDP", "T恤", "卡拉OK", "5", " ", "，", "鬼魅", "A"]
    cuts |= {"".join(rng.choice(pieces) for _ in range(rng.randint(2, 9))) for _ in range(150)}
    cuts = sorted(cuts)
    yield "jieba_cut", [case([t], list(jieba.cut(t))) for t in cuts]


CHINESE = [
    "我来到北京清华大学", "乒乓球拍卖完了", "中国科学技术大学", "他说的确实在理", "长春市长春节讲话", "南京市长江大桥", "研究生命的起源",
    "永和服装饰品有限公司", "工信处女干事每月经过下属科室都要亲口交代24口交换机等技术性器件的安装工作", "欢迎新老师生前来就餐",
    "我不喜欢日本和服。", "雷猴回归人间。", "C++和c#是什么关系？11+122=133，是吗？PI=3.14159", "你认识那个和主席握手的的哥吗？他开一辆黑色的士。",
    "枪杆子中出政权", "张三风同学走上了不归路", "阿Q腰间挂着BB机手里拿着大哥大，说：我一般吃饭不AA制的。", "在1号店能买到小S和大S八卦的书，还有3D电视。",
    "2023年3月，国务院总理在人民大会堂会见了来访的法国总统马克龙先生。", "深度学习模型的参数规模已经超过一千亿，训练成本居高不下。",
    "《红楼梦》是清代作家曹雪芹创作的章回体长篇小说。", "请问从上海虹桥火车站到浦东国际机场怎么走最快？", "量子纠缠是一种物理现象，爱因斯坦称之为“鬼魅般的超距作用”。",
    "蚂蚁金服与阿里巴巴在杭州举行发布会，股价上涨5.2%。", "她在微信上发了一条朋友圈：今天真倒霉😭", "第十四届全国人民代表大会第一次会议", "繁體中文測試：臺灣大學資訊工程學系",
    "𠮷野家的牛丼很好吃", "打酱油的人都散了吧，没什么可看的。", "甲、乙、丙三人合伙开公司；甲出资40万元。",
]
