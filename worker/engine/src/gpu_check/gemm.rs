//! Products of matrices in the model's shapes: their speed, and whether the bits of a row depend on the number of rows.

use super::finding::Finding;
use super::setup::CheckSetup;
use crate::config::read_json;
use crate::device::{DeviceChoice, device_name};
use crate::fault::device_fault;
use crate::load::kind_of;
use compass_plan::engine::EngineFault;
use serde_json::Value;
use std::path::Path;
use std::time::Instant;
use tch::{Cuda, Device, Kind, TchError, Tensor};

const SECTION: &str = "gemm";

/// Rows at which a row is compared with itself among the most; the engine fills up to the fewest that it uses.
const FULL: [i64; 12] = [1, 2, 8, 16, 17, 32, 64, 100, 128, 256, 512, 1024];
const SMALL: [i64; 6] = [1, 2, 8, 16, 17, 32];

/// Fewest rows of a product in the engine, on a GPU and on the CPU.
const FEWEST_ROWS: (i64, i64) = (32, 16);

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let config: Value = read_json(&Path::new(&setup.plan.path).join("config.json"))?.unwrap_or_default();
    let size = |key: &str| config.get(key).and_then(Value::as_i64);
    let (Some(hidden), Some(inner), Some(vocabulary)) =
        (size("hidden_size"), size("intermediate_size"), size("vocab_size"))
    else {
        report(Finding::measured(
            SECTION,
            "shapes",
            "config.json has no hidden_size, intermediate_size, vocab_size",
            "",
        ));
        return Ok(());
    };
    let shapes =
        [("o", hidden, hidden), ("gate_up", hidden, 2 * inner), ("down", inner, hidden), ("head", hidden, vocabulary)];
    let device = match setup.device {
        DeviceChoice::Cuda(ordinal) => Device::Cuda(ordinal as usize),
        DeviceChoice::Auto | DeviceChoice::Cpu => Device::Cpu,
    };
    let kind = kind_of(setup.plan.dtype);
    tch::set_num_threads(i32::try_from(setup.threads.max(1)).unwrap_or(i32::MAX));
    let _no_grad = tch::no_grad_guard();
    tch::manual_seed(5);
    let has_goals = setup.has_speed_goals(&device_name(device));
    let (most, rows) = (setup.amount(2048, 64), setup.amount(&FULL[..], &SMALL[..]));
    let fewest = setup.amount(FEWEST_ROWS.0, FEWEST_ROWS.1);
    for (name, inputs, outputs) in shapes {
        let measured =
            measure((inputs, outputs), (most, rows), (kind, device)).map_err(|error| device_fault(&error))?;
        let is_met = has_goals.then_some(measured.teraflops >= 600.0);
        let row = Finding::measured(
            SECTION,
            format!("{name} [{inputs} x {outputs}] of {most} rows"),
            measured.teraflops,
            "TFLOP/s",
        );
        report(row.judged("at least 600 TFLOP/s for llama-8b on an H100", is_met));
        let differs: Vec<i64> = measured.differs.iter().copied().filter(|rows| *rows >= fewest).collect();
        let row =
            Finding::measured(SECTION, format!("{name}: rows at which a row has other bits"), measured.differs, "");
        report(row.judged(format!("none from {fewest} rows up"), Some(differs.is_empty())));
    }
    Ok(())
}

struct Measured {
    teraflops: f64,
    /// Numbers of rows at which the first row is not that among the most.
    differs: Vec<i64>,
}

fn measure(
    (inputs, outputs): (i64, i64),
    (most, rows): (i64, &[i64]),
    options: (Kind, Device),
) -> Result<Measured, TchError> {
    let weight = Tensor::f_randn([outputs, inputs], options)?;
    let input = Tensor::f_randn([most, inputs], options)?;
    let whole = input.f_linear(&weight, None::<Tensor>)?;
    let mut differs = Vec::new();
    for &count in rows {
        let part = input.f_narrow(0, 0, count)?.f_linear(&weight, None::<Tensor>)?;
        if !part.f_narrow(0, 0, 1)?.f_equal(&whole.f_narrow(0, 0, 1)?)? {
            differs.push(count);
        }
    }
    let wait = || {
        if let Device::Cuda(ordinal) = options.1 {
            Cuda::synchronize(ordinal as i64);
        }
    };
    wait();
    let (start, mut times) = (Instant::now(), 0);
    while times < 3 || (times < 50 && start.elapsed().as_millis() < 200) {
        let _ = input.f_linear(&weight, None::<Tensor>)?;
        times += 1;
    }
    wait();
    let operations = 2.0 * most as f64 * inputs as f64 * outputs as f64 * f64::from(times);
    Ok(Measured { teraflops: operations / start.elapsed().as_secs_f64() / 1e12, differs })
}
