//! Configurations that only the interpreter can evaluate.

use crate::site::Site;
use compass_settings::RowLoader as _;

#[test]
fn a_configuration_is_what_mmengine_makes_of_it() {
    let Some(site) = Site::new() else { return };
    let text = "import threading\nmodels = [dict(type=LAZY, n=1, t=(1.5, None))]\nkey = {0: 'x', '0': [True]}\n\
                def build():\n    pass\n";
    site.write("eval.py", text);
    let read = || site.exporter().configuration(&site.world).unwrap().unwrap();
    let first = read();
    let models = serde_json::json!({"list": [{"dict": [["type", {"symbol": "opencompass.datasets.Plain"}], ["n", {"int": "1"}],
        ["t", {"tuple": [{"float": "1.5"}, null]}]]}]});
    let names = first.names["dict"].as_array().unwrap();
    assert!(names.contains(&serde_json::json!(["models", models])), "{names:?}");
    let key = serde_json::json!({"dict": [[{"int": "0"}, "x"], ["0", {"list": [true]}]]});
    assert!(names.contains(&serde_json::json!(["key", key])), "{names:?}");
    assert!(first.said.contains("OpenCompass 9.8.7) evaluated it"), "{}", first.said);
    assert!(read().said.contains("earlier: its files have not changed"));
    site.write("eval.py", "models = [1 / 0]\n");
    let none = site.exporter().configuration(&site.world).unwrap().unwrap_err();
    assert!(
        none.reason.contains("ZeroDivisionError: division by zero") && none.reason.contains("eval.py:1"),
        "{none:?}"
    );
}
