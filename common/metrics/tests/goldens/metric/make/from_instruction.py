"""IFEval: sentences, words, the rules one by one and together, languages. Punkt's model comes with llama-index-core==0.14.0."""
import importlib.util
import pathlib
import nltk

import peers  # noqa: F401
import texts

PROSE = [
    "Dr. Smith went to Washington. He arrived at 5 p.m. on Tuesday. It was cold!", "I like apples, e.g. Fuji. They are sweet.",
    "She said \"Hello.\" Then she left. (He stayed.) Why?", "Wait... what? No way!!! Really?! Yes.", "The U.S. Government met. The U.S. is big.",
    "J. Smith and A. B. Jones wrote it. See Fig. 3. No. 5 is alive.", "One.Two. three. Four", "Visit www.example.com. It is great.",
    "He paid $3.50. 5 dollars left. In 1999. Then came 2000.", "Mr. and Mrs. Brown. vs. the world. Inc. Magazine said so. Corp. officials.",
    "'Quoted.' 'Again.' “Curly.” ‘Single.’ «Guillemets.» Done.", "- item one.\n- item two.\n* star item\n\nNew paragraph. End", "etc. and so on. Etc. The end.",
    "No terminal punctuation here", "A. B. C. D.", "Hello!How are you?I am fine.", "Ph.D. students. M.I.T. is here. i.e. this one.", "Yes .. no . . . maybe ... ok.",
    "x.y.z. Foo", "\"Is this it?\" she asked. \"Yes,\" he said.", "End.)\" Next one. End.] [Another.] {Third.} -- Dash. -- More.", "I can't. Won't you? They're 'round.",
    "Jan. 5 was cold. On Feb. 6 it snowed. Wed. was fine. St. Louis is a city.", "GONNA WANNA CANNOT gimme lemme d'ye more'n 'tis 'Twas", "a:b, c;d & e@f #g 50% $5 * x--y — z",
    "Dogs' tails, the cat's paw, rock 'n' roll, '90s music, don't, I'd, we'll, you've", "(parenthetical) [bracket] {brace} <angle> ``ticks`` ''double''", "\"Start quote only. Next",
    "Level 3. Next level. the lower-case start. 7. Lucky.", "Prof. X taught. Gen. Lee fought. Sen. Doe spoke, Rep. Roe did too.", "U.S.A. Today. N.Y. Times. L.A. story. He lives in L.A. She too.",
    "That's all, folks!\n\n\nTHE END", "Sentence one.  Sentence two.\tSentence three.\nSentence four.", "?!. !? . .", "Hmm.. Well. So.. Nothing", "3.14 is pi. 2.71 is e. Version 1.2.3. Next.",
    "He said so. however, it was late. indeed. Moreover it rained.", "cf. Smith (1990). ca. 1500. approx. 5. Approx. 6.", "The co. Said yes. the Co. said no.", "A p.m. meeting. At 3 p.m. John left. In the a.m. we slept.",
]

LANGUAGES = {
    "en": "The weather in the mountains changes quickly, so hikers should always carry warm clothes and enough water for the whole day.",
    "de": "Das Wetter in den Bergen ändert sich schnell, deshalb sollten Wanderer immer warme Kleidung und genug Wasser für den ganzen Tag mitnehmen.",
    "fr": "Le temps en montagne change rapidement, c'est pourquoi les randonneurs doivent toujours emporter des vêtements chauds et assez d'eau.",
    "es": "El tiempo en la montaña cambia rápidamente, por eso los excursionistas siempre deben llevar ropa de abrigo y suficiente agua para todo el día.",
    "it": "Il tempo in montagna cambia rapidamente, perciò gli escursionisti dovrebbero sempre portare vestiti caldi e acqua sufficiente per tutta la giornata.",
    "pt": "O tempo nas montanhas muda rapidamente, por isso os caminhantes devem levar sempre roupas quentes e água suficiente para o dia inteiro.",
    "nl": "Het weer in de bergen verandert snel, dus wandelaars moeten altijd warme kleren en genoeg water voor de hele dag meenemen.",
    "ru": "Погода в горах меняется быстро, поэтому туристам всегда следует брать с собой тёплую одежду и достаточно воды на целый день.",
    "uk": "Погода в горах змінюється швидко, тому туристам завжди слід брати з собою теплий одяг і достатньо води на цілий день.",
    "bg": "Времето в планината се променя бързо, затова туристите винаги трябва да носят топли дрехи и достатъчно вода за целия ден.",
    "pl": "Pogoda w górach zmienia się szybko, dlatego turyści powinni zawsze zabierać ciepłe ubrania i wystarczającą ilość wody na cały dzień.",
    "fi": "Sää vuoristossa muuttuu nopeasti, joten retkeilijöiden pitäisi aina ottaa mukaan lämpimiä vaatteita ja tarpeeksi vettä koko päiväksi.",
    "sv": "Vädret i bergen förändras snabbt, så vandrare bör alltid ta med sig varma kläder och tillräckligt med vatten för hela dagen.",
    "tr": "Dağlarda hava çabuk değişir, bu yüzden yürüyüşçüler her zaman yanlarında sıcak giysiler ve bütün gün yetecek kadar su taşımalıdır.",
    "vi": "Thời tiết trên núi thay đổi rất nhanh, vì vậy người đi bộ đường dài luôn nên mang theo quần áo ấm và đủ nước cho cả ngày.",
    "ar": "يتغير الطقس في الجبال بسرعة، لذلك يجب على المتنزهين دائما أن يحملوا ملابس دافئة وماء كافيا لليوم كله.",
    "fa": "آب و هوا در کوهستان به سرعت تغییر می‌کند، بنابراین کوهنوردان باید همیشه لباس گرم و آب کافی برای تمام روز همراه داشته باشند.",
    "ur": "پہاڑوں میں موسم تیزی سے بدلتا ہے، اس لیے سیر کرنے والوں کو ہمیشہ گرم کپڑے اور پورے دن کے لیے کافی پانی ساتھ رکھنا چاہیے۔",
    "he": "מזג האוויר בהרים משתנה במהירות, ולכן מטיילים צריכים תמיד לקחת איתם בגדים חמים ומספיק מים לכל היום.",
    "hi": "पहाड़ों में मौसम जल्दी बदलता है, इसलिए यात्रियों को हमेशा गर्म कपड़े और पूरे दिन के लिए पर्याप्त पानी साथ रखना चाहिए।",
    "mr": "डोंगरांमध्ये हवामान लवकर बदलते, म्हणून गिर्यारोहकांनी नेहमी उबदार कपडे आणि दिवसभर पुरेल इतके पाणी सोबत ठेवावे.",
    "ne": "पहाडमा मौसम छिटो परिवर्तन हुन्छ, त्यसैले पदयात्रीहरूले सधैं न्यानो लुगा र दिनभरको लागि पर्याप्त पानी बोक्नुपर्छ।",
    "bn": "পাহাড়ে আবহাওয়া দ্রুত বদলে যায়, তাই পদযাত্রীদের সবসময় গরম কাপড় এবং সারাদিনের জন্য যথেষ্ট জল সঙ্গে রাখা উচিত।",
    "gu": "પર્વતોમાં હવામાન ઝડપથી બદલાય છે, તેથી પ્રવાસીઓએ હંમેશા ગરમ કપડાં અને આખા દિવસ માટે પૂરતું પાણી સાથે રાખવું જોઈએ.",
    "pa": "ਪਹਾੜਾਂ ਵਿੱਚ ਮੌਸਮ ਤੇਜ਼ੀ ਨਾਲ ਬਦਲਦਾ ਹੈ, ਇਸ ਲਈ ਯਾਤਰੀਆਂ ਨੂੰ ਹਮੇਸ਼ਾ ਗਰਮ ਕੱਪੜੇ ਅਤੇ ਕਾਫ਼ੀ ਪਾਣੀ ਨਾਲ ਰੱਖਣਾ ਚਾਹੀਦਾ ਹੈ।",
    "ta": "மலைகளில் வானிலை விரைவாக மாறுகிறது, எனவே மலையேறுபவர்கள் எப்போதும் சூடான உடைகளையும் போதுமான தண்ணீரையும் எடுத்துச் செல்ல வேண்டும்.",
    "te": "పర్వతాలలో వాతావరణం త్వరగా మారుతుంది, కాబట్టి పర్వతారోహకులు ఎల్లప్పుడూ వెచ్చని బట్టలు మరియు తగినంత నీరు తీసుకెళ్లాలి.",
    "kn": "ಪರ್ವತಗಳಲ್ಲಿ ಹವಾಮಾನವು ಬೇಗನೆ ಬದಲಾಗುತ್ತದೆ, ಆದ್ದರಿಂದ ಚಾರಣಿಗರು ಯಾವಾಗಲೂ ಬೆಚ್ಚಗಿನ ಬಟ್ಟೆ ಮತ್ತು ಸಾಕಷ್ಟು ನೀರನ್ನು ಒಯ್ಯಬೇಕು.",
    "ml": "മലകളിൽ കാലാവസ്ഥ വേഗത്തിൽ മാറുന്നു, അതിനാൽ യാത്രക്കാർ എപ്പോഴും ചൂടുള്ള വസ്ത്രങ്ങളും ആവശ്യത്തിന് വെള്ളവും കരുതണം.",
    "th": "สภาพอากาศบนภูเขาเปลี่ยนแปลงอย่างรวดเร็ว ดังนั้นนักเดินป่าควรพกเสื้อผ้าที่อบอุ่นและน้ำให้เพียงพอสำหรับทั้งวันเสมอ",
    "ko": "산의 날씨는 빠르게 변하기 때문에 등산객은 항상 따뜻한 옷과 하루 종일 마실 충분한 물을 가지고 다녀야 합니다.",
    "ja": "山の天気は変わりやすいので、登山者はいつも暖かい服と一日分の十分な水を持って行くべきです。",
    "el": "Ο καιρός στα βουνά αλλάζει γρήγορα, γι' αυτό οι πεζοπόροι πρέπει πάντα να έχουν μαζί τους ζεστά ρούχα και αρκετό νερό.",
    "sw": "Hali ya hewa milimani hubadilika haraka, kwa hiyo wapanda milima wanapaswa kubeba nguo za joto na maji ya kutosha kila wakati.",
}


def case(args, out):
    return {"in": list(args), "out": out}


def rules(rng):
    """(id, kwargs) of each kind with arguments that the responses below meet about half the time."""
    relation = rng.choice(["less than", "at least"])
    return [
        ("keywords:existence", {"keywords": rng.sample(["fox", "the", "answer", "cat", "中文", "a.c", "Tuesday"], 2)}),
        ("keywords:frequency", {"keyword": rng.choice(["the", " fox", "a", "is"]), "frequency": rng.randint(1, 3), "relation": relation}),
        ("keywords:forbidden_words", {"forbidden_words": rng.sample(["fox", "lazy", "it", "cats", "End"], 2)}),
        ("keywords:letter_frequency", {"letter": rng.choice("aeTz"), "let_frequency": rng.randint(1, 9), "let_relation": relation}),
        ("length_constraints:number_sentences", {"num_sentences": rng.randint(1, 5), "relation": relation}),
        ("length_constraints:number_paragraphs", {"num_paragraphs": rng.randint(1, 3)}),
        ("length_constraints:number_words", {"num_words": rng.randint(1, 20), "relation": relation}),
        ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": rng.randint(1, 2), "first_word": rng.choice(["The", "line", "new", "hello"])}),
        ("detectable_content:number_placeholders", {"num_placeholders": rng.randint(1, 2)}),
        ("detectable_content:postscript", {"postscript_marker": rng.choice(["P.S.", "P.P.S", "Note"])}),
        ("detectable_format:number_bullet_lists", {"num_bullets": rng.randint(1, 3)}),
        ("detectable_format:constrained_response", {}),
        ("detectable_format:number_highlighted_sections", {"num_highlights": rng.randint(1, 3)}),
        ("detectable_format:multiple_sections", {"section_spliter": rng.choice(["Section", "SECTION", "Day"]), "num_sections": rng.randint(1, 2)}),
        ("detectable_format:json_format", {}), ("detectable_format:title", {}), ("combination:two_responses", {}),
        ("combination:repeat_prompt", {"prompt_to_repeat": rng.choice(["The quick", "Hello", "say this "])}),
        ("startend:end_checker", {"end_phrase": rng.choice(["lazy dog.", " the end", "Yes."])}),
        ("change_case:capital_word_frequency", {"capital_frequency": rng.randint(1, 4), "capital_relation": relation}),
        ("punctuation:no_comma", {}), ("startend:quotation", {}),
    ]


PIECES = [
    "The quick brown fox jumps over the lazy dog.", "* bullet one", "- dash item", "  * **bold** bullet", "*highlight*", "**strong**", "* *", "** **", "[name]", "[address\n]", "<<Title>>", "<< >>",
    "<<a>> x <<b>>", "P.S. Bye", "p. p. s later", "Note: this", "P.P.S. More", "Section 1", "SECTION 2", "Day 3 went", "***", "******", "My answer is yes.", "My answer is maybe.", "\n\n", "\n", "\n\n\n",
    "{\"a\": 1}", "```json\n[1, 2]\n```", "\"quoted\"", "Hello, world", "hello. It is", "NASA and FBI AGREE", "'The line", "new: paragraph", "the end", "Yes.", "中文 answer", "cat, cat, cat", "say this now", "A.",
]
JSON = ["{}", "[]", "null", "NaN", "[NaN, -Infinity, Infinity]", "-NaN", "{\"NaN\": \"Infinity\"}", "1e999", "01", "-0", "\"\\ud800\"", "\"\\x\"", "{'a': 1}", "{\"a\": 1,}", "[1 2]", "\"tab\there\"", "tru", "true",
        "```json{\"a\":[1,{\"b\":null}]}```", "```\n1\n```", "```JSON 1", "json {}", "{\"a\":1}{\"b\":2}", "\ufeff{}", "1.5E+3", ".5", "5.", "\"\\\\\"", "\"\\\"NaN\\\"\"", "[" * 90 + "]" * 90, "\u00a0{}\u3000", "Infinity5", "\"é😀\""]


def goldens():
    static = pathlib.Path(importlib.util.find_spec("llama_index").submodule_search_locations[0]) / "core" / "_static"
    nltk.data.path.insert(0, str(static / "nltk_cache"))
    import langdetect
    from lm_eval.tasks.ifeval import instructions_registry, utils

    rng = texts.generator(19)
    prose = PROSE + [rng.choice(PROSE) + rng.choice([" ", "\n", "  "]) + rng.choice(PROSE) for _ in range(120)] + texts.BASE
    prose += [texts.mutate(rng, t) for t in PROSE for _ in range(2)]
    yield "ifeval_sentences", [case([t], nltk.sent_tokenize(t)) for t in prose]
    yield "ifeval_words", [case([t], nltk.word_tokenize(t)) for t in prose]

    def followed(rows, response):
        inp = utils.InputExample(key=0, instruction_id_list=[i for i, _ in rows], prompt="", kwargs=[k for _, k in rows])
        return [utils.test_instruction_following_strict(inp, response).follow_instruction_list,
                utils.test_instruction_following_loose(inp, response).follow_instruction_list]

    def samples():
        for at in range(260):
            count = rng.randint(1, 7)
            response = "".join(rng.choice(PIECES) + rng.choice(["", " ", "\n", "\n\n"]) for _ in range(count))
            response = rng.choice([response, response, rng.choice(PROSE + texts.BASE), f'"{response}"'])
            rows = rules(rng)
            rows = rng.sample(rows, 8)
            yield case([[i for i, _ in rows], [k for _, k in rows], response], followed(rows, response))
        for text in JSON:
            rows = [("detectable_format:json_format", {})]
            yield case([[rows[0][0]], [{}], text], followed(rows, text))
    yield "ifeval", list(samples())

    langdetect.DetectorFactory.seed = 0

    def speaks(text, code):
        try:
            return langdetect.detect(text) == code
        except langdetect.LangDetectException:
            return True

    def languages():
        for language, text in LANGUAGES.items():
            for code in [language, rng.choice(sorted(LANGUAGES))]:
                yield case(["language:response_language", {"language": code}, text], speaks(text, code))
        for text in ["", "123 456", "!!!", "中文句子没有空格，应该被识别为中文。"]:
            for code in ("en", "zh-cn"):
                if text:
                    yield case(["language:response_language", {"language": code}, text], speaks(text, code))
        english = [t for t in PROSE if len(t) > 60] + [LANGUAGES["en"]]
        for text in english + list(LANGUAGES.values())[1:12]:
            for name in ("english_capital", "english_lowercase"):
                for form in (text, text.upper(), text.lower()):
                    rows = [(f"change_case:{name}", {})]
                    yield case([rows[0][0], {}, form], followed(rows, form)[0][0])
    yield "ifeval_language", list(languages())
