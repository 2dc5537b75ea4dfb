//! Paths that are called otherwise in another place: `model_weights:s3://bucket/` in one cluster, `/cpfs/weights/` in another.

/// Returns `path` with its longest prefix among `rules` replaced; `None` when none fits. A rule fits whole names only: `/a/b` is
/// not a prefix of `/a/bc`.
pub fn map_path(rules: &[(String, String)], path: &str) -> Option<String> {
    let fits = |from: &str| {
        let rest = path.strip_prefix(from);
        !from.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || from.ends_with('/'))
    };
    let (from, to) = rules.iter().filter(|(from, _)| fits(from)).max_by_key(|(from, _)| from.len())?;
    Some(format!("{to}{}", &path[from.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_whole_beginning_counts() {
        let rules: Vec<(String, String)> = [("/m/", "/mnt/"), ("/m/llama", "/fast/llama"), ("w:s3://b/x/", "/cpfs/x/")]
            .map(|(from, to)| (from.to_owned(), to.to_owned()))
            .to_vec();
        for (path, expected) in [
            ("/m/gemma", Some("/mnt/gemma")),
            ("/m/llama", Some("/fast/llama")),
            ("/m/llama/7b", Some("/fast/llama/7b")),
            ("/m/llama2", Some("/mnt/llama2")),
            ("w:s3://b/x/7b/", Some("/cpfs/x/7b/")),
            ("/elsewhere", None),
            ("", None),
        ] {
            assert_eq!(map_path(&rules, path).as_deref(), expected, "{path}");
        }
    }
}
