//! Parameters as the plan keeps them, turned into the metrics' own.

use compass_metrics::option::GaokaoQuestion as MetricQuestion;
use compass_metrics::rouge::Stemming as MetricStemming;
use compass_metrics::translation::BleuTokenizer as MetricTokenizer;
use compass_plan::evaluation::{BleuTokenizer, GaokaoQuestion, Language, Stemming};

pub(super) fn language(language: Language) -> compass_metrics::Language {
    match language {
        Language::En => compass_metrics::Language::En,
        Language::Zh => compass_metrics::Language::Zh,
    }
}

pub(super) fn stemming(stemming: Stemming) -> MetricStemming {
    match stemming {
        Stemming::Off => MetricStemming::Off,
        Stemming::Porter => MetricStemming::Porter,
    }
}

pub(super) fn tokenizer(tokenizer: BleuTokenizer) -> MetricTokenizer {
    match tokenizer {
        BleuTokenizer::V13a => MetricTokenizer::V13a,
        BleuTokenizer::Intl => MetricTokenizer::Intl,
        BleuTokenizer::Zh => MetricTokenizer::Zh,
        BleuTokenizer::Char => MetricTokenizer::Char,
        BleuTokenizer::None => MetricTokenizer::None,
    }
}

pub(super) fn question(question: GaokaoQuestion) -> MetricQuestion {
    match question {
        GaokaoQuestion::SingleChoice => MetricQuestion::SingleChoice,
        GaokaoQuestion::MultiChoice => MetricQuestion::MultiChoice,
        GaokaoQuestion::MultiQuestionChoice => MetricQuestion::MultiQuestionChoice,
        GaokaoQuestion::FiveOutOfSeven => MetricQuestion::FiveOutOfSeven,
    }
}
