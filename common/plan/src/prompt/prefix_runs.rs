//! The work of a data set's samples when what their prompts have in common is computed once, and the ends of these common
//! prefixes: partitioners cut by both.
//!
//! Estimates in characters; no number of any sample depends on them.

use super::shot::Shot;
use super::structured::{Prompt, Segment, ShotFormat};
use crate::{Body, Program, Sample};
use serde::{Deserialize, Serialize};

/// Runs of samples that a data set may have on average, and at most, to be worth naming.
const LEAST_RUN: usize = 2;
const MOST_RUNS: usize = 4096;

/// A run of neighbouring samples whose prompts begin alike: it starts where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixRun {
    /// After its last sample.
    pub end: u32,
    /// Unicode code points of what they have in common.
    pub characters: u64,
}

/// The work of a data set's samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Code points that are the samples' own, each counted once however many options share it.
    pub own_characters: u64,
    /// Empty where neighbours have nothing in common: all is their own then.
    pub prefix_runs: Vec<PrefixRun>,
}

/// The headers and shots before the first word of a sample's own, of one of its prompts.
#[derive(PartialEq, Eq)]
struct Lead<'a> {
    segments: &'a [Segment],
    shots: &'a [u32],
}

/// The same, kept for the samples that follow.
#[derive(Debug)]
struct KeptLead {
    segments: Vec<Segment>,
    shots: Vec<u32>,
}

/// Counts the work of samples that come one after the other, in order.
#[derive(Debug, Default)]
pub struct WorkloadCounter {
    found: Workload,
    /// The leads of the latest sample.
    before: Option<Vec<KeptLead>>,
    samples: usize,
    /// Runs, and what they have in common, of which no more are kept than may be named.
    runs: usize,
    characters: u64,
}

impl WorkloadCounter {
    /// Counts the next sample, whose shots are among `shots`.
    pub fn count(&mut self, sample: &Sample, shots: &[Shot], format: &ShotFormat) {
        let shown: Vec<&Shot> = sample.shots.iter().filter_map(|&at| shots.get(at as usize)).collect();
        let leads = leads(sample);
        self.samples += 1;
        self.found.own_characters += own_characters(sample, &shown, format);
        let same =
            |(before, lead): (&KeptLead, &Lead<'_>)| before.segments == lead.segments && before.shots == lead.shots;
        let is_alike = |before: &Vec<KeptLead>| before.len() == leads.len() && before.iter().zip(&leads).all(same);
        let alike = self.before.as_ref().is_some_and(is_alike);
        match self.found.prefix_runs.last_mut() {
            Some(run) if alike => run.end = sample.index + 1,
            _ => {
                let length = |lead: &Lead<'_>| {
                    let shown = if lead.shots.is_empty() { &[][..] } else { &shown };
                    Prompt(lead.segments.to_vec()).inline(shown, format).chars().count() as u64
                };
                let characters = leads.iter().map(length).sum();
                self.runs += 1;
                self.characters += characters;
                if self.runs <= MOST_RUNS {
                    self.found.prefix_runs.push(PrefixRun { end: sample.index + 1, characters });
                }
                let kept = |lead: &Lead<'_>| KeptLead { segments: lead.segments.to_vec(), shots: lead.shots.to_vec() };
                self.before = Some(leads.iter().map(kept).collect());
            }
        }
    }

    /// The work of all of them.
    pub fn finish(self) -> Workload {
        let mut found = self.found;
        if self.runs > MOST_RUNS || self.runs * LEAST_RUN > self.samples {
            found.own_characters += self.characters;
            found.prefix_runs.clear();
        }
        if found.prefix_runs.iter().all(|run| run.characters == 0) {
            found.prefix_runs.clear();
        }
        found
    }
}

/// The leads of a sample's prompts, each once.
fn leads(sample: &Sample) -> Vec<Lead<'_>> {
    let mut leads: Vec<Lead<'_>> = Vec::new();
    for prompt in prompts(&sample.body) {
        let own = prompt.0.iter().position(|segment| Prompt(vec![segment.clone()]).has_own_words());
        let segments = &prompt.0[..own.unwrap_or(prompt.0.len())];
        let takes = Prompt(segments.to_vec()).takes_shots();
        let lead = Lead { segments, shots: if takes { &sample.shots } else { &[] } };
        if !leads.contains(&lead) {
            leads.push(lead);
        }
    }
    leads
}

fn prompts(body: &Body) -> Vec<&Prompt> {
    match body {
        Body::Gen { prompt } | Body::Clp { prompt, .. } | Body::Rolling { text: prompt, .. } => vec![prompt],
        Body::Ppl { options } => options.iter().map(|option| &option.prompt).collect(),
        Body::Loglikelihood { context, options } => {
            let mut prompts: Vec<&Prompt> = options.iter().filter_map(|option| option.context.as_ref()).collect();
            prompts.extend(options.iter().any(|option| option.context.is_none()).then_some(context));
            prompts
        }
        Body::Windows { .. } | Body::Chat { .. } | Body::Execute { .. } => Vec::new(),
    }
}

/// Code points after the lead, of all options; what an option shares with the one before it is counted there.
fn own_characters(sample: &Sample, shown: &[&Shot], format: &ShotFormat) -> u64 {
    let rest = |prompt: &Prompt| {
        let own = prompt.0.iter().position(|segment| Prompt(vec![segment.clone()]).has_own_words());
        let rest = prompt.0.get(own.unwrap_or(prompt.0.len())..).unwrap_or_default();
        Prompt(rest.to_vec()).inline(shown, format)
    };
    let texts: Vec<String> = match &sample.body {
        Body::Gen { prompt } | Body::Clp { prompt, .. } | Body::Rolling { text: prompt, .. } => vec![rest(prompt)],
        Body::Ppl { options } => options.iter().map(|option| rest(&option.prompt)).collect(),
        Body::Loglikelihood { context, options } => {
            let shared = rest(context);
            let context = |own: &Option<Prompt>| own.as_ref().map_or_else(|| shared.clone(), rest);
            options.iter().map(|option| context(&option.context) + &option.continuation).collect()
        }
        Body::Windows { characters, .. } => return *characters,
        Body::Chat { turns } => return turns.iter().map(|turn| turn.content.chars().count() as u64).sum(),
        Body::Execute { programs } => return programs.iter().map(Program::characters).sum(),
    };
    let mut before = "";
    let mut sum = 0;
    for text in &texts {
        let common = text.chars().zip(before.chars()).take_while(|(a, b)| a == b).count();
        sum += text.chars().count().saturating_sub(common) as u64;
        before = text;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OptionPrompt;
    use serde_json::Value;

    fn workload(samples: &[Sample], shots: &[Shot], format: &ShotFormat) -> Workload {
        let mut counter = WorkloadCounter::default();
        samples.iter().for_each(|sample| counter.count(sample, shots, format));
        counter.finish()
    }

    fn sample(index: u32, shots: &[u32], header: &str, endings: &[&str]) -> Sample {
        let option = |ending: &&str| OptionPrompt {
            label: Value::from(*ending),
            prompt: Prompt(vec![
                Segment::Header(header.into()),
                Segment::Shots,
                Segment::Question("q: ".into()),
                Segment::Option((*ending).into()),
            ]),
            answer: None,
        };
        let options = endings.iter().map(option).collect();
        Sample { index, gold: Value::Null, shots: shots.to_vec(), body: Body::Ppl { options } }
    }

    #[test]
    fn runs_end_where_headers_or_shots_change() {
        let shots = [Shot::from("one"), Shot::from("three")];
        let format = ShotFormat { separator: "|".into(), end: "!".into() };
        let samples = [
            sample(0, &[0, 1], "h", &["ab", "ac"]),
            sample(1, &[0, 1], "h", &["x"]),
            sample(2, &[0], "h", &["x"]),
            sample(3, &[0], "h", &["x"]),
            sample(4, &[0], "other", &["x"]),
            sample(5, &[0], "other", &["x"]),
        ];
        let found = workload(&samples, &shots, &format);
        // Of the first: `q: ab`, and the `c` of the second option; of the others `q: x`.
        assert_eq!(found.own_characters, 5 + 1 + 5 * 4);
        let ends: Vec<(u32, u64)> = found.prefix_runs.iter().map(|run| (run.end, run.characters)).collect();
        assert_eq!(ends, [(2, 11), (4, 5), (6, 9)], "`hone|three!`, `hone!`, `otherone!`");
    }

    #[test]
    fn what_no_neighbour_shares_is_the_samples_own() {
        let shots = [Shot::from("one"), Shot::from("three")];
        let samples = [sample(0, &[0], "", &["x"]), sample(1, &[1], "", &["x"])];
        let found = workload(&samples, &shots, &ShotFormat::default());
        assert_eq!(found, Workload { own_characters: 3 + 5 + 2 * 4, prefix_runs: Vec::new() });
        let plain: Vec<Sample> = (0..4).map(|index| sample(index, &[], "", &["x"])).collect();
        assert_eq!(workload(&plain, &[], &ShotFormat::default()).prefix_runs, []);
    }
}
