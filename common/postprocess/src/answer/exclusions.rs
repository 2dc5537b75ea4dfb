//! Words around an option that say that it is not the answer.

use super::folded::constant;
use regex::Regex;
use std::sync::LazyLock;

/// Words behind an option that exclude it.
pub(super) static WITHDRAWN: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r#"(?i)^[)\]*"'”’」:\s]*(?:\?|吗|[✗✘❌×]|(?:(?:is|was|are|were|seems|looks|would be|can be|cannot be)\s+)?(?:clearly |definitely |also )?"#,
        r"(?:wrong|incorrect|not correct|not right|not the |mistaken|ruled out|eliminated|excluded)",
        r"|(?:项|选项)?(?:的?(?:说法|描述|表述|内容))?(?:是|也|都|显然|明显)*(?:不对|不正确|错误|错的|有误|不符合|不成立|排除|还是))",
    ))
});
/// Words before an option that exclude it.
pub(super) static EXCLUDES: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?:\bnot|n't|n’t|\beliminate[sd]?|\brules? out|\bexclud\w+|\bthan|\bwhy|排除|不是|不(?:能|可能|应该?|可|宜)?选|当选[,:]|并非)\s*(?:option |choice |选项)?[(\[*]*$",
    )
});
