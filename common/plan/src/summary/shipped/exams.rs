//! Collections of exams and of reasoning tasks: AGIEval, BIG-Bench Hard, GaokaoBench, MGSM.

/// AGIEval in Chinese.
#[rustfmt::skip]
pub(super) const AGIEVAL_CHINESE: [&str; 12] = [
    "gaokao-chinese", "gaokao-english", "gaokao-geography", "gaokao-history", "gaokao-biology", "gaokao-chemistry",
    "gaokao-physics", "gaokao-mathqa", "logiqa-zh", "jec-qa-kd", "jec-qa-ca", "gaokao-mathcloze",
];

/// AGIEval in English.
#[rustfmt::skip]
pub(super) const AGIEVAL_ENGLISH: [&str; 9] = [
    "lsat-ar", "lsat-lr", "lsat-rc", "logiqa-en", "sat-math", "sat-en", "sat-en-without-passage", "aqua-rat", "math",
];

/// The college entrance exams of AGIEval.
#[rustfmt::skip]
pub(super) const AGIEVAL_GAOKAO: [&str; 9] = [
    "gaokao-chinese", "gaokao-english", "gaokao-geography", "gaokao-history", "gaokao-biology", "gaokao-chemistry",
    "gaokao-physics", "gaokao-mathqa", "gaokao-mathcloze",
];

/// All of AGIEval, in OpenCompass's order.
#[rustfmt::skip]
pub(super) const AGIEVAL: [&str; 21] = [
    "gaokao-chinese", "gaokao-english", "gaokao-geography", "gaokao-history", "gaokao-biology", "gaokao-chemistry",
    "gaokao-physics", "gaokao-mathqa", "logiqa-zh", "lsat-ar", "lsat-lr", "lsat-rc", "logiqa-en", "sat-math",
    "sat-en", "sat-en-without-passage", "aqua-rat", "jec-qa-kd", "jec-qa-ca", "gaokao-mathcloze", "math",
];

/// BIG-Bench Hard.
#[rustfmt::skip]
pub(super) const BBH: [&str; 27] = [
    "temporal_sequences", "disambiguation_qa", "date_understanding", "tracking_shuffled_objects_three_objects",
    "penguins_in_a_table", "geometric_shapes", "snarks", "ruin_names", "tracking_shuffled_objects_seven_objects",
    "tracking_shuffled_objects_five_objects", "logical_deduction_three_objects", "hyperbaton",
    "logical_deduction_five_objects", "logical_deduction_seven_objects", "movie_recommendation",
    "salient_translation_error_detection", "reasoning_about_colored_objects", "multistep_arithmetic_two",
    "navigate", "dyck_languages", "word_sorting", "sports_understanding", "boolean_expressions", "object_counting",
    "formal_fallacies", "causal_judgement", "web_of_lies",
];

/// GaokaoBench: the exams and the points that each gives in all.
#[rustfmt::skip]
pub(super) const GAOKAO_BENCH: [(&str, u32); 14] = [
    ("2010-2022_Math_II_MCQs", 1090), ("2010-2022_Math_I_MCQs", 1070), ("2010-2022_History_MCQs", 1148),
    ("2010-2022_Biology_MCQs", 900), ("2010-2022_Political_Science_MCQs", 1280), ("2010-2022_Physics_MCQs", 384),
    ("2010-2022_Chemistry_MCQs", 744), ("2010-2013_English_MCQs", 105), ("2010-2022_Chinese_Modern_Lit", 261),
    ("2010-2022_English_Fill_in_Blanks", 900), ("2012-2022_English_Cloze_Test", 260),
    ("2010-2022_Geography_MCQs", 380), ("2010-2022_English_Reading_Comp", 940),
    ("2010-2022_Chinese_Lang_and_Usage_MCQs", 240),
];

/// MGSM in languages of Latin script.
#[rustfmt::skip]
pub(super) const MGSM_LATIN: [&str; 5] = [
    "de", "en", "es", "fr", "sw",
];

/// MGSM in languages of other scripts.
#[rustfmt::skip]
pub(super) const MGSM_NON_LATIN: [&str; 6] = [
    "bn", "ja", "ru", "te", "th", "zh",
];

/// MGSM in all languages.
#[rustfmt::skip]
pub(super) const MGSM: [&str; 11] = [
    "bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh",
];
