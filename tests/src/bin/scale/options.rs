//! The command line.

pub(crate) const USAGE: &str =
    "usage: scale [--small] [--part NAME,NAME] [--samples N] [--agents N,N] [--partitioner NAME,NAME]
  --part         units, models, generations, grants, pages [all]
  --samples      of the 40 units together [1000000]
  --agents       processes of compass-worker, of one slot each [1,8,64]
  --partitioner  balanced, size, num_worker, naive [all]
  --small        60,000 samples in 40 units, 6 models, 500 generations, 1 and 8 agents, balanced and size";

/// A part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Samples in 40 units, under each partitioner with each number of agents.
    Units,
    /// Many models on 20 data sets.
    Models,
    /// Generations with the demo's model.
    Generations,
    /// Waits for grants.
    Grants,
    /// The same with and without open pages.
    Pages,
}

const PARTS: [(&str, Part); 5] = [
    ("units", Part::Units),
    ("models", Part::Models),
    ("generations", Part::Generations),
    ("grants", Part::Grants),
    ("pages", Part::Pages),
];
const PARTITIONERS: [&str; 4] = ["balanced", "size", "num_worker", "naive"];

/// Parts to run, and their options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) parts: Vec<Part>,
    pub(crate) samples: u32,
    pub(crate) agents: Vec<usize>,
    pub(crate) partitioners: Vec<&'static str>,
    /// Models of the part `models`.
    pub(crate) models: u32,
    pub(crate) generations: u32,
}

impl Options {
    /// Reads the words after the program's name; `None` where they are wrong.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut options = Self {
            parts: PARTS.map(|(_, part)| part).to_vec(),
            samples: 1_000_000,
            agents: vec![1, 8, 64],
            partitioners: PARTITIONERS.to_vec(),
            models: 60,
            generations: 20_000,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--small" {
                (options.samples, options.models, options.generations) = (60_000, 6, 500);
                (options.agents, options.partitioners) = (vec![1, 8], vec!["balanced", "size"]);
                continue;
            }
            let value = words.next()?;
            let names = value.split(',');
            match word.as_str() {
                "--part" => options.parts = names.map(part).collect::<Option<_>>()?,
                "--samples" => options.samples = value.parse().ok().filter(|samples| *samples >= 40)?,
                "--agents" => {
                    options.agents = names.map(|count| count.parse().ok().filter(|&n| n > 0)).collect::<Option<_>>()?
                }
                "--partitioner" => options.partitioners = names.map(partitioner).collect::<Option<_>>()?,
                _ => return None,
            }
        }
        Some(options)
    }
}

fn part(name: &str) -> Option<Part> {
    PARTS.into_iter().find_map(|(known, part)| (known == name).then_some(part))
}

fn partitioner(name: &str) -> Option<&'static str> {
    PARTITIONERS.into_iter().find(|known| *known == name)
}
