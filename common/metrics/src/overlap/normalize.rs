//! The two normalisers of answers: SQuAD's for English, LongBench's for Chinese.

use crate::text::{collapse, is_punctuation, replace_articles, split};

/// SQuAD's `normalize_answer`: lower case, ASCII punctuation dropped, articles made spaces, white space collapsed.
pub fn normalize_answer(text: &str) -> String {
    let lower = text.to_lowercase();
    let kept: String = lower.chars().filter(|&c| !is_punctuation(c)).collect();
    collapse(&replace_articles(&kept, " "))
}

/// LongBench's `normalize_zh_answer`: lower case, ASCII and Chinese punctuation and all white space dropped.
pub fn normalize_zh_answer(text: &str) -> String {
    let lower = text.to_lowercase();
    let kept: String = lower.chars().filter(|&c| !is_punctuation(c) && !CHINESE_PUNCTUATION.contains(c)).collect();
    split(&kept).collect()
}

const CHINESE_PUNCTUATION: &str = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀ ｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏.";
