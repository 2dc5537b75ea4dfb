//! Loader classes on the command line: lines of calls in, rows out. A small host; the program's own is in compass-loader.
use compass_python::*;
use std::path::{Path, PathBuf};

struct W {
    tree: PathBuf,
    data: PathBuf,
}
impl W {
    fn place(&self, path: &Path) -> PathBuf {
        if path.is_absolute() {
            return path.into();
        }
        let p = path.strip_prefix("./").unwrap_or(path);
        self.data.join(p)
    }
}
impl Host for W {
    fn base(&self, _: &Path, _: u32, m: &str) -> Imported {
        Imported::Missing { reason: m.into(), help: None }
    }
    fn read(&self, path: &Path) -> Result<String, String> {
        std::fs::read_to_string(self.place(path)).map_err(|e| e.to_string())
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}
impl Library for W {
    fn module(&self, dotted: &str) -> Option<LibrarySource> {
        let rel: PathBuf = dotted.strip_prefix("opencompass.")?.split('.').collect();
        let p = self.tree.join(&rel).join("__init__.py");
        if let Ok(text) = std::fs::read_to_string(&p) {
            return Some(LibrarySource { path: p, text, is_package: true });
        }
        let p = self.tree.join(&rel).with_extension("py");
        let text = std::fs::read_to_string(&p).ok()?;
        Some(LibrarySource { path: p, text, is_package: false })
    }
    fn bytes(&self, path: &Path) -> Result<Vec<u8>, FileFault> {
        let p = self.place(path);
        std::fs::read(&p).map_err(|_| FileFault::Missing(p))
    }
    fn kind(&self, path: &Path) -> Option<FileKind> {
        let m = std::fs::metadata(self.place(path)).ok()?;
        Some(if m.is_dir() { FileKind::Folder } else { FileKind::File })
    }
    fn list(&self, path: &Path) -> Result<Vec<String>, FileFault> {
        let p = self.place(path);
        let mut v: Vec<String> = std::fs::read_dir(&p)
            .map_err(|_| FileFault::Missing(p))?
            .flatten()
            .filter_map(|e| e.file_name().into_string().ok())
            .collect();
        v.sort();
        Ok(v)
    }
    fn data(&self, path: &str) -> Result<PathBuf, FileFault> {
        let p = self.place(Path::new(path));
        if p.exists() { Ok(p) } else { Err(FileFault::Missing(p)) }
    }
    fn tables(&self, r: &TableRequest, split: Option<&str>) -> Result<Tables, FileFault> {
        let read = |p: &Path| -> Result<Vec<serde_json::Map<String, serde_json::Value>>, FileFault> {
            let t = std::fs::read_to_string(p).map_err(|_| FileFault::Missing(p.into()))?;
            if t.trim_start().starts_with('[') {
                return serde_json::from_str(&t).map_err(|e| FileFault::Other(e.to_string()));
            }
            t.lines().map(|l| serde_json::from_str(l).map_err(|e| FileFault::Other(e.to_string()))).collect()
        };
        let mut out = Vec::new();
        if matches!(r.path.as_str(), "json") {
            for (name, paths) in &r.files {
                let mut rows = Vec::new();
                for p in paths {
                    rows.extend(read(&self.place(Path::new(p)))?);
                }
                out.push((name.clone(), rows));
            }
            return Ok(out);
        }
        let mut root = self.place(Path::new(&r.path));
        if !root.exists() {
            root =
                self.data.join("data/hub").join(format!("datasets--{}", r.path.replace('/', "--"))).join("snapshots/x");
        }
        if let Some(n) = &r.name {
            root = root.join(n);
        }
        for s in ["train", "validation", "test"].into_iter().chain(split) {
            if let Ok(rows) = read(&root.join(format!("{s}.jsonl")))
                && !out.iter().any(|(n, _)| n == s)
            {
                out.push((s.to_owned(), rows));
            }
        }
        if out.is_empty() {
            return Err(FileFault::Missing(root));
        }
        Ok(out)
    }
}
fn main() {
    // lines: {"call":..., "files":{...}, "splits":...}
    let tree: PathBuf = std::env::args().nth(1).unwrap().into();
    let tmp: PathBuf = std::env::args().nth(2).unwrap().into();
    for line in std::io::stdin().lines() {
        let v: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let _ = std::fs::remove_dir_all(&tmp);
        std::fs::create_dir_all(tmp.join("data")).unwrap();
        for (p, t) in v["files"].as_object().into_iter().flatten() {
            let p = tmp.join(p);
            std::fs::create_dir_all(p.parent().unwrap()).unwrap();
            std::fs::write(p, t.as_str().unwrap()).unwrap();
        }
        let c = &v["call"];
        let w = W { tree: tree.join("opencompass"), data: tmp.clone() };
        let call = LibraryCall {
            class: c["class"].as_str().unwrap().into(),
            parameters: c["parameters"].as_object().unwrap().clone(),
        };
        let limits = Limits { steps: 200_000_000, bytes: 8 << 30, depth: 400, file_bytes: 8 << 20 };
        let l = load_rows(&call, &w, limits);
        let out = match l.result {
            Ok(splits) => {
                serde_json::json!({"class": call.class, "ok": splits.iter().map(|s| serde_json::json!([s.name, s.lines])).collect::<Vec<_>>()})
            }
            Err(e) => serde_json::json!({"class": call.class, "error": e.to_string()}),
        };
        println!("{out}");
    }
}
