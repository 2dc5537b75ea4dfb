//! Language of a text.
//!
//! lm-eval asks langdetect, which draws at random and may change its mind; here whatlang decides, always in the same way,
//! from the text in lower case. The two agree on texts of some length. Albanian, Somali and Swahili, which langdetect knows
//! and whatlang does not, cannot be told from other languages: an instruction that asks for one is not checked.

use std::sync::LazyLock;
use whatlang::{Detector, Lang};

/// The ISO 639-1 code of the language (`zh-cn` for Chinese, as langdetect writes it); `None` for a text without letters.
pub fn detect_language(text: &str) -> Option<&'static str> {
    detect(text).and_then(code)
}

/// Only languages that langdetect knows are considered.
fn detect(text: &str) -> Option<Lang> {
    static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
        Detector::with_allowlist(Lang::all().iter().copied().filter(|&language| code(language).is_some()).collect())
    });
    DETECTOR.detect_lang(&text.to_lowercase())
}

/// Languages that langdetect knows and this detector does not.
const UNTOLD: [&str; 3] = ["so", "sq", "sw"];

/// Returns whether a text can be told to be in the language. A code that no detector knows is told: no text is in it.
pub(super) fn is_told(language: &str) -> bool {
    !UNTOLD.contains(&language)
}

/// Returns whether the text is in the language; a text without letters is in any, as lm-eval has it.
pub(super) fn speaks(text: &str, language: &str) -> bool {
    match detect(text) {
        None => true,
        Some(Lang::Cmn) => language.starts_with("zh"),
        Some(found) => code(found) == Some(language),
    }
}

#[rustfmt::skip]
fn code(language: Lang) -> Option<&'static str> {
    Some(match language {
        Lang::Afr => "af", Lang::Ara => "ar", Lang::Bul => "bg", Lang::Ben => "bn", Lang::Cat => "ca", Lang::Ces => "cs",
        Lang::Cym => "cy", Lang::Dan => "da", Lang::Deu => "de", Lang::Ell => "el", Lang::Eng => "en", Lang::Spa => "es",
        Lang::Est => "et", Lang::Pes => "fa", Lang::Fin => "fi", Lang::Fra => "fr", Lang::Guj => "gu", Lang::Heb => "he",
        Lang::Hin => "hi", Lang::Hrv => "hr", Lang::Hun => "hu", Lang::Ind => "id", Lang::Ita => "it", Lang::Jpn => "ja",
        Lang::Kan => "kn", Lang::Kor => "ko", Lang::Lit => "lt", Lang::Lav => "lv", Lang::Mkd => "mk", Lang::Mal => "ml",
        Lang::Mar => "mr", Lang::Nep => "ne", Lang::Nld => "nl", Lang::Nob => "no", Lang::Pan => "pa", Lang::Pol => "pl",
        Lang::Por => "pt", Lang::Ron => "ro", Lang::Rus => "ru", Lang::Slk => "sk", Lang::Slv => "sl", Lang::Swe => "sv",
        Lang::Tam => "ta", Lang::Tel => "te", Lang::Tha => "th", Lang::Tgl => "tl", Lang::Tur => "tr", Lang::Ukr => "uk",
        Lang::Urd => "ur", Lang::Vie => "vi", Lang::Cmn => "zh-cn",
        _ => return None,
    })
}
