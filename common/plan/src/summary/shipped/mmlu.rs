//! MMLU by discipline, and how many questions each subject has in the test split.
//!
//! Disciplines as in Hendrycks et al. 2021; the table of weights is OpenCompass's.

/// Humanities.
#[rustfmt::skip]
pub(super) const HUMANITIES: [(&str, u32); 13] = [
    ("formal_logic", 126), ("high_school_european_history", 165), ("high_school_us_history", 204),
    ("high_school_world_history", 237), ("international_law", 121), ("jurisprudence", 108),
    ("logical_fallacies", 163), ("moral_disputes", 346), ("moral_scenarios", 895), ("philosophy", 311),
    ("prehistory", 324), ("professional_law", 1534), ("world_religions", 171),
];

/// Science, technology, engineering, mathematics.
#[rustfmt::skip]
pub(super) const STEM: [(&str, u32); 19] = [
    ("abstract_algebra", 100), ("anatomy", 135), ("astronomy", 152), ("college_biology", 144),
    ("college_chemistry", 100), ("college_computer_science", 100), ("college_mathematics", 100),
    ("college_physics", 102), ("computer_security", 100), ("conceptual_physics", 235),
    ("electrical_engineering", 145), ("elementary_mathematics", 378), ("high_school_biology", 310),
    ("high_school_chemistry", 203), ("high_school_computer_science", 100), ("high_school_mathematics", 270),
    ("high_school_physics", 151), ("high_school_statistics", 216), ("machine_learning", 112),
];

/// Social sciences.
#[rustfmt::skip]
pub(super) const SOCIAL_SCIENCE: [(&str, u32); 12] = [
    ("econometrics", 114), ("high_school_geography", 198), ("high_school_government_and_politics", 193),
    ("high_school_macroeconomics", 390), ("high_school_microeconomics", 238), ("high_school_psychology", 545),
    ("human_sexuality", 131), ("professional_psychology", 612), ("public_relations", 110),
    ("security_studies", 245), ("sociology", 201), ("us_foreign_policy", 100),
];

/// Everything else.
#[rustfmt::skip]
pub(super) const OTHER: [(&str, u32); 13] = [
    ("business_ethics", 100), ("clinical_knowledge", 265), ("college_medicine", 173), ("global_facts", 100),
    ("human_aging", 223), ("management", 103), ("marketing", 234), ("medical_genetics", 100),
    ("miscellaneous", 783), ("nutrition", 306), ("professional_accounting", 282), ("professional_medicine", 272),
    ("virology", 166),
];

/// Categories of MMLU-Pro, in OpenCompass's order.
#[rustfmt::skip]
pub(super) const PRO: [&str; 14] = [
    "math", "physics", "chemistry", "law", "engineering", "other", "economics", "health", "psychology", "business",
    "biology", "philosophy", "computer_science", "history",
];
