//! Gaokao, BBH, LAMBADA, CrowS-Pairs, BBQ, TruthfulQA.

use crate::golden::{closely, exactly, text, texts};
use compass_metrics::option::*;
use serde_json::{Value, json};

fn flags(value: &Value) -> Vec<bool> {
    value.as_array().unwrap().iter().map(|flag| flag.as_bool().unwrap()).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn gaokao() {
    for (name, question) in [
        ("single_choice", GaokaoQuestion::SingleChoice),
        ("multi_choice", GaokaoQuestion::MultiChoice),
        ("multi_question_choice", GaokaoQuestion::MultiQuestionChoice),
        ("five_out_of_seven", GaokaoQuestion::FiveOutOfSeven),
    ] {
        exactly(&format!("gaokao_{name}"), 90, |args| {
            let (prediction, key) = (text(&args[0]), texts(&args[1]));
            let score = gaokao_score(question, prediction, &key);
            let percent = f64::from(score.points) / f64::from(score.out_of) * 100.0;
            json!([gaokao_answer(question, prediction, key.len()), percent, score.correct])
        });
    }
}

#[test]
fn short_answers() {
    exactly("bbh_freeform", 300, |args| bbh_freeform_equal(text(&args[0]), text(&args[1])));
    exactly("bbh_casefold", 30, |args| bbh_freeform_equal(text(&args[0]), text(&args[1])));
    exactly("lambada", 150, |args| lambada_equal(text(&args[0]), text(&args[1])));
}

#[test]
fn crows_pairs() {
    closely("crows_pairs", 40, |args| {
        let samples: Vec<(&str, &str)> = texts(&args[0]).into_iter().zip(texts(&args[1])).collect();
        let (front, back) = samples.split_at(samples.len() / 2);
        let [mut left, right] = [front, back].map(|samples| {
            let mut stats = CrowsPairsStats::default();
            samples.iter().for_each(|(prediction, reference)| stats.observe(prediction, reference));
            stats
        });
        left.merge(&right);
        [left.accuracy(), left.valid_accuracy(), left.valid_fraction()].map(Option::unwrap).to_vec()
    });
    closely("crows_pairs_likelihood", 60, |args| {
        let score = crows_pairs_sentence(args[0].as_f64().unwrap(), args[1].as_f64().unwrap());
        vec![score.likelihood_diff, score.pct_stereotype]
    });
}

#[test]
fn truthful_qa() {
    closely("truthful_qa", 80, |args| {
        let logs = numbers(&args[0]);
        vec![truthful_mc1(&logs), truthful_mc2(&logs, &flags(&args[1]))]
    });
}

#[test]
fn truthful_generations() {
    closely("truthful_generation", 90, |args| {
        let score = truthful_generation(text(&args[0]), &texts(&args[1]), &texts(&args[2])).unwrap();
        let kinds = [score.bleu, score.rouge1, score.rouge2, score.rouge_l];
        kinds.into_iter().flat_map(|kind| [kind.max, kind.diff, kind.acc]).collect()
    });
}

#[test]
fn bbq_samples() {
    exactly("bbq", 150, |args| {
        let answers: [&str; 3] = texts(&args[0]).try_into().unwrap();
        let groups: Vec<Vec<String>> =
            args[2].as_array().unwrap().iter().map(|info| bbq_groups(&texts(info).join("_"))).collect();
        let stereotyped: Vec<String> = texts(&args[3]).into_iter().map(String::from).collect();
        let choices = bbq_choices(answers).unwrap();
        let named: Vec<Vec<String>> =
            groups.iter().filter(|groups| !groups.iter().any(|group| group == "unknown")).cloned().collect();
        let chosen = bbq_answer(text(&args[5]), &choices, &named);
        let correct = chosen.is_some_and(|at| bbq_targets(answers, args[1].as_u64().unwrap() as usize).contains(&at));
        let biased = chosen.is_some_and(|at| {
            answers.iter().zip(&groups).any(|(answer, groups)| {
                *answer == choices[at] && bbq_is_biased(groups, &stereotyped, args[4].as_bool().unwrap())
            })
        });
        let known = chosen.is_some_and(|at| at < 2);
        json!([choices, groups, f64::from(correct), f64::from(biased), f64::from(known)])
    });
}

#[test]
fn bbq_scores() {
    closely("bbq_totals", 5, |args| {
        let mut stats = BbqStats::default();
        for sample in args[0].as_array().unwrap() {
            let [correct, biased, known, disambiguated] = flags(sample)[..] else { panic!("four flags") };
            let mut one = BbqStats::default();
            one.observe(disambiguated, correct, biased, known);
            stats.merge(&one);
        }
        vec![stats.accuracy_amb(), stats.accuracy_disamb(), stats.amb_bias_score(), stats.disamb_bias_score()]
    });
}
