//! The operations of a device's own kernels, against their formulas.

use super::finding::Finding;
use super::setup::CheckSetup;
use crate::config::read_json;
use crate::device::DeviceChoice;
use crate::fault::device_fault;
use crate::kernels::{
    Cuda, Fused, Kernels, Reference, Warp, attention_error, attention_tolerance, different_draws, different_from_twins,
    draw_seconds, norm_error,
};
use crate::load::kind_of;
use compass_plan::engine::EngineFault;
use serde_json::Value;
use std::path::Path;
use tch::{Device, Kind};

const SECTION: &str = "kernels";

/// Draws with every rule, and without any.
const WARPS: [(&str, Warp); 3] = [
    ("temperature", Warp { temperature: 0.7, top_k: 0, top_p: 1.0 }),
    ("top-k", Warp { temperature: 1.0, top_k: 50, top_p: 1.0 }),
    ("top-p", Warp { temperature: 0.8, top_k: 0, top_p: 0.95 }),
];

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let config: Value = read_json(&Path::new(&setup.plan.path).join("config.json"))?.unwrap_or_default();
    let size = |key: &str, default: i64| config.get(key).and_then(Value::as_i64).unwrap_or(default);
    let heads = size("num_attention_heads", 8);
    let (kv_heads, hidden) = (size("num_key_value_heads", heads), size("hidden_size", 512));
    let (head_dim, vocabulary) = (size("head_dim", hidden / heads), size("vocab_size", 1000));
    let device = match setup.device {
        DeviceChoice::Cuda(ordinal) => Device::Cuda(ordinal as usize),
        DeviceChoice::Auto | DeviceChoice::Cpu => Device::Cpu,
    };
    let kind = kind_of(setup.plan.dtype);
    tch::set_num_threads(i32::try_from(setup.threads.max(1)).unwrap_or(i32::MAX));
    let _no_grad = tch::no_grad_guard();
    tch::manual_seed(7);
    let kernels: Box<dyn Kernels> = match Cuda::new((kv_heads, head_dim), kind, device) {
        Ok(cuda) => Box::new(cuda),
        Err(why) => {
            // Without half precision on a GPU there are no other goals.
            let is_wanted = (device != Device::Cpu && kind != Kind::Float).then_some(false);
            report(Finding::measured(SECTION, "flash attention", why, "").judged("in use on a GPU", is_wanted));
            Box::new(Reference)
        }
    };
    let kernels = kernels.as_ref();
    let own = matches!((device, kind), (Device::Cuda(_), Kind::BFloat16)).then(|| Fused::new(device));
    match own {
        Some(Ok(fused)) => {
            for one in different_from_twins(&fused, &Reference, device).map_err(|error| device_fault(&error))? {
                let row =
                    Finding::measured(SECTION, format!("{}: unlike libtorch's operations", one.name), one.off, "");
                report(row.judged(format!("at most {:.1e} of the largest", one.most), Some(one.is_good)));
            }
        }
        Some(Err(why)) => {
            report(Finding::measured(SECTION, "kernels of our own", why, "").judged("in use on a GPU", Some(false)));
        }
        None => {}
    }
    let most = attention_tolerance(kind);
    for (name, heads) in [("grouped", heads), ("with a key for each query", kv_heads)] {
        let off = attention_error(kernels, (heads, kv_heads, head_dim), (kind, device));
        let off = off.map_err(|error| device_fault(&error))?;
        let row = Finding::measured(SECTION, format!("attention, {name}: error"), off, "");
        report(row.judged(format!("at most {most:.0e}"), Some(off <= most)));
    }
    let most = if kind == Kind::Float { 1e-6 } else { 8e-3 };
    let off = norm_error(kernels, hidden, (kind, device)).map_err(|error| device_fault(&error))?;
    report(
        Finding::measured(SECTION, "RMS norm: relative error", off, "")
            .judged(format!("at most {most:.0e}"), Some(off <= most)),
    );
    let rows = setup.amount(256, 40);
    for (name, warp) in WARPS {
        let different = different_draws(kernels, (rows, vocabulary), warp, device);
        let different = different.map_err(|error| device_fault(&error))?;
        let row = Finding::measured(SECTION, format!("draws by {name}, {rows}: unlike the host's"), different, "");
        report(row.judged("none", Some(different == 0)));
        let seconds = draw_seconds(kernels, (rows, vocabulary), warp, device).map_err(|error| device_fault(&error))?;
        report(Finding::measured(SECTION, format!("draws by {name}, {rows}"), 1e3 * seconds, "ms"));
    }
    Ok(())
}
