//! CMMLU by discipline; the subjects specific to China are of all of them.

/// Humanities.
#[rustfmt::skip]
pub(super) const HUMANITIES: [&str; 13] = [
    "arts", "chinese_history", "chinese_literature", "college_law", "global_facts", "international_law",
    "jurisprudence", "logical", "marxist_theory", "philosophy", "professional_law", "world_history",
    "world_religions",
];

/// Science, technology, engineering, mathematics.
#[rustfmt::skip]
pub(super) const STEM: [&str; 17] = [
    "anatomy", "astronomy", "college_actuarial_science", "college_engineering_hydrology", "college_mathematics",
    "college_medical_statistics", "computer_science", "conceptual_physics", "electrical_engineering",
    "elementary_mathematics", "genetics", "high_school_biology", "high_school_chemistry", "high_school_mathematics",
    "high_school_physics", "machine_learning", "virology",
];

/// Social sciences.
#[rustfmt::skip]
pub(super) const SOCIAL_SCIENCE: [&str; 22] = [
    "ancient_chinese", "business_ethics", "chinese_civil_service_exam", "chinese_food_culture",
    "chinese_foreign_policy", "chinese_teacher_qualification", "college_education", "economics", "education",
    "elementary_chinese", "ethnology", "high_school_geography", "high_school_politics", "journalism", "management",
    "marketing", "modern_chinese", "professional_accounting", "professional_psychology", "public_relations",
    "security_study", "sociology",
];

/// Everything else.
#[rustfmt::skip]
pub(super) const OTHER: [&str; 15] = [
    "agronomy", "chinese_driving_rule", "clinical_knowledge", "college_medicine", "computer_security",
    "construction_project_management", "elementary_commonsense", "elementary_information_and_technology",
    "food_science", "human_sexuality", "legal_and_moral_basis", "nutrition", "professional_medicine",
    "sports_science", "traditional_chinese_medicine",
];

/// Subjects whose answers hold for China.
#[rustfmt::skip]
pub(super) const CHINA_SPECIFIC: [&str; 15] = [
    "ancient_chinese", "chinese_civil_service_exam", "chinese_driving_rule", "chinese_food_culture",
    "chinese_foreign_policy", "chinese_history", "chinese_literature", "chinese_teacher_qualification",
    "construction_project_management", "elementary_chinese", "elementary_commonsense", "ethnology",
    "high_school_politics", "modern_chinese", "traditional_chinese_medicine",
];

/// Every subject, in OpenCompass's order.
#[rustfmt::skip]
pub(super) const ALL: [&str; 67] = [
    "agronomy", "anatomy", "ancient_chinese", "arts", "astronomy", "business_ethics", "chinese_civil_service_exam",
    "chinese_driving_rule", "chinese_food_culture", "chinese_foreign_policy", "chinese_history",
    "chinese_literature", "chinese_teacher_qualification", "college_actuarial_science", "college_education",
    "college_engineering_hydrology", "college_law", "college_mathematics", "college_medical_statistics",
    "clinical_knowledge", "college_medicine", "computer_science", "computer_security", "conceptual_physics",
    "construction_project_management", "economics", "education", "elementary_chinese", "elementary_commonsense",
    "elementary_information_and_technology", "electrical_engineering", "elementary_mathematics", "ethnology",
    "food_science", "genetics", "global_facts", "high_school_biology", "high_school_chemistry",
    "high_school_geography", "high_school_mathematics", "high_school_physics", "high_school_politics",
    "human_sexuality", "international_law", "journalism", "jurisprudence", "legal_and_moral_basis", "logical",
    "machine_learning", "management", "marketing", "marxist_theory", "modern_chinese", "nutrition", "philosophy",
    "professional_accounting", "professional_law", "professional_medicine", "professional_psychology",
    "public_relations", "security_study", "sociology", "sports_science", "traditional_chinese_medicine", "virology",
    "world_history", "world_religions",
];
