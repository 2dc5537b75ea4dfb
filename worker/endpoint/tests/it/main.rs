//! The engine at scripted endpoints.

#![warn(clippy::disallowed_methods)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod budget;
mod contexts;
mod drawn;
mod events;
mod thinking;

use compass_mirrors::openai;
use compass_plan::engine::{BatchSpec, Engine, Request};
use compass_plan::prompt::{MetaTemplate, Prompt, Segment, ShotFormat};
use compass_plan::{
    Body, Decoding, Endpoint, EndpointApi, EndpointBudget, GenSpec, InferSpec, ModelKind, ModelPlan, Sample,
};
use compass_types::result::SampleResult;
use std::collections::BTreeMap;

/// A scripted endpoint as a plan has it, which is asked one request after the other.
fn asked(endpoint: &openai::Endpoint, api: EndpointApi) -> Endpoint {
    let budget = EndpointBudget { max_concurrency: 1, ..EndpointBudget::default() };
    let (url, model) = (endpoint.url(), "tiny".to_owned());
    let (headers, body) = (BTreeMap::new(), serde_json::Map::new());
    Endpoint { url, model, api, key: None, headers, body, scores: false, budget }
}

/// A scripted endpoint as an engine, which asks one request after the other.
struct Served {
    engine: Box<dyn Engine>,
    api: EndpointApi,
}

impl Served {
    fn new(endpoint: &openai::Endpoint, api: EndpointApi) -> Self {
        let asked = Some(asked(endpoint, api));
        Self::load(&ModelPlan { endpoint: asked, ..ModelPlan::new("served", ModelKind::Endpoint, "") }, false)
    }

    /// A model whose prompts are messages if `chat` is set, else as its endpoint takes them.
    fn load(plan: &ModelPlan, chat: bool) -> Self {
        let api = plan.endpoint.as_ref().unwrap().api;
        let api = if chat { EndpointApi::Chat } else { api };
        Self { engine: compass_endpoint::load(plan, &|why| panic!("not reached: {why}")).unwrap(), api }
    }

    /// Asks for `sequences` answers of at most `max_out_len` tokens to a prompt.
    fn ask(&mut self, prompt: &str, max_out_len: u32, sequences: u32) -> SampleResult {
        let decoding = Decoding { num_return_sequences: Some(sequences), ..Decoding::default() };
        self.run(prompt, GenSpec { max_out_len: Some(max_out_len), decoding, ..GenSpec::default() })
    }

    /// Asks for an answer that ends at one of these strings.
    fn ask_until(&mut self, prompt: &str, max_out_len: u32, stop: &[&str]) -> SampleResult {
        let stop = stop.iter().map(|stop| (*stop).to_owned()).collect();
        self.run(prompt, GenSpec { max_out_len: Some(max_out_len), stop, ..GenSpec::default() })
    }

    fn run(&mut self, prompt: &str, spec: GenSpec) -> SampleResult {
        self.run_after(prompt, spec, 0)
    }

    /// As [`Self::run`], where the first `drawn` answers are there.
    fn run_after(&mut self, prompt: &str, spec: GenSpec, drawn: u32) -> SampleResult {
        let infer = InferSpec::Gen(spec);
        let meta_template = (self.api == EndpointApi::Chat).then(MetaTemplate::service);
        let batch = BatchSpec { infer, shot_format: ShotFormat::default(), meta_template, takes_programs: false };
        let prompt = Prompt(vec![Segment::Question(prompt.into())]);
        let sample = Sample { index: 0, gold: 0.into(), shots: Vec::new(), body: Body::Gen { prompt } };
        let mut results = Vec::new();
        let request = Request { drawn, ..Request::new(&sample, Vec::new()) };
        self.engine.run(&batch, &[request], &mut |result| results.push(result)).unwrap();
        results.remove(0)
    }
}
