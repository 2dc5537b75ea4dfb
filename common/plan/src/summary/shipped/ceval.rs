//! C-Eval by discipline; the hard subjects are of all of them.

/// Science, technology, engineering, mathematics.
#[rustfmt::skip]
pub(super) const STEM: [&str; 20] = [
    "computer_network", "operating_system", "computer_architecture", "college_programming", "college_physics",
    "college_chemistry", "advanced_mathematics", "probability_and_statistics", "discrete_mathematics",
    "electrical_engineer", "metrology_engineer", "high_school_mathematics", "high_school_physics",
    "high_school_chemistry", "high_school_biology", "middle_school_mathematics", "middle_school_biology",
    "middle_school_physics", "middle_school_chemistry", "veterinary_medicine",
];

/// Social sciences.
#[rustfmt::skip]
pub(super) const SOCIAL_SCIENCE: [&str; 10] = [
    "college_economics", "business_administration", "marxism", "mao_zedong_thought", "education_science",
    "teacher_qualification", "high_school_politics", "high_school_geography", "middle_school_politics",
    "middle_school_geography",
];

/// Humanities.
#[rustfmt::skip]
pub(super) const HUMANITIES: [&str; 11] = [
    "modern_chinese_history", "ideological_and_moral_cultivation", "logic", "law",
    "chinese_language_and_literature", "art_studies", "professional_tour_guide", "legal_professional",
    "high_school_chinese", "high_school_history", "middle_school_history",
];

/// Everything else.
#[rustfmt::skip]
pub(super) const OTHER: [&str; 11] = [
    "civil_servant", "sports_science", "plant_protection", "basic_medicine", "clinical_medicine",
    "urban_and_rural_planner", "accountant", "fire_engineer", "environmental_impact_assessment_engineer",
    "tax_accountant", "physician",
];

/// The subjects of C-Eval Hard.
#[rustfmt::skip]
pub(super) const HARD: [&str; 8] = [
    "advanced_mathematics", "discrete_mathematics", "probability_and_statistics", "college_chemistry",
    "college_physics", "high_school_mathematics", "high_school_chemistry", "high_school_physics",
];
