//! Rates by k: their values, and how often their intervals hold the truth, by simulation from fixed seeds.

use super::*;
use compass_types::seeded::Rng;

fn questions(votes: &[(u64, u64, &[u64])]) -> Vec<Question> {
    let one =
        |&(right, answers, rivals): &(u64, u64, &[u64])| Question { right, answers, rivals: Some(rivals.to_vec()) };
    votes.iter().map(one).collect()
}

#[test]
fn powers_of_two_all_answers_and_what_is_asked() {
    let asked = questions(&[(3, 6, &[2, 1]), (0, 6, &[6]), (6, 6, &[])]);
    let found = rates(&asked, &[5, 2, 9, 0]).unwrap();
    assert_eq!(found.rates.iter().map(|at| at.k).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
    assert_eq!((found.questions, found.answers, found.unsettled), (3, (6, 6), 1));
    let last = &found.rates[4];
    let values = [&last.pass, last.maj.as_ref().unwrap(), &last.all].map(|metric| metric.value);
    assert!(
        values.iter().zip([200.0 / 3.0, 200.0 / 3.0, 100.0 / 3.0]).all(|(found, value)| (found - value).abs() < 1e-12)
    );
    assert_eq!(last.all.name, "all@6");
    let alone = (0.25_f64 / 5.0 / 9.0).sqrt() * 100.0;
    assert!((found.draws_stderr.unwrap() - alone).abs() < 1e-12);
}

#[test]
fn questions_of_fewer_answers_bound_k() {
    let ragged = rates(&questions(&[(1, 3, &[2]), (2, 8, &[4])]), &[]).unwrap();
    assert_eq!((ragged.answers, ragged.rates.last().unwrap().k), ((3, 8), 3));
    assert_eq!(rates(&questions(&[(1, 3, &[2]), (1, 1, &[])]), &[]), None);
    assert_eq!(rates(&[], &[]), None);
    let programs = [Question { right: 1, answers: 2, rivals: None }];
    let found = rates(&programs, &[]).unwrap();
    assert!(found.rates.iter().all(|at| at.maj.is_none() && at.pass.stderr.is_none() && at.pass.ci95.is_none()));
}

#[test]
fn more_answers_than_have_a_majority_have_the_other_rates() {
    let found = rates(&questions(&[(200, 300, &[100])]), &[]).unwrap();
    assert!(found.rates.iter().all(|at| at.maj.is_none()));
}

const RUNS: u32 = 2_000;
const QUESTIONS: usize = 40;
const ANSWERS: u64 = 9;

/// Right answers of a question whose answers are right with probability `p`; the wrong ones agree.
fn draw(rng: &mut Rng, p: f64) -> Question {
    let right = (0..ANSWERS).filter(|_| rng.unit() < p).count() as u64;
    let wrong = ANSWERS - right;
    Question { right, answers: ANSWERS, rivals: Some(if wrong > 0 { vec![wrong] } else { vec![] }) }
}

fn choose(n: i32, k: i32) -> f64 {
    (1..=k).fold(1.0, |ways, i| ways * f64::from(n - k + i) / f64::from(i))
}

/// Probabilities that any, the majority and all of `k` answers are right.
fn truth(p: f64, k: u64) -> [f64; 3] {
    let k = k as i32;
    let exactly = |right: i32| choose(k, right) * p.powi(right) * (1.0 - p).powi(k - right);
    let majority =
        (0..=k).map(|right| exactly(right) * if 2 * right == k { 0.5 } else { f64::from(u8::from(2 * right > k)) });
    [1.0 - (1.0 - p).powi(k), majority.sum(), p.powi(k)]
}

/// Questions of all difficulties: p is uniform between 0 and 1, of which the means are known to many digits by the midpoint rule.
#[test]
fn intervals_by_question_cover_the_truth() {
    let grid: Vec<f64> = (0..20_000).map(|at| (f64::from(at) + 0.5) / 20_000.0).collect();
    let mut rng = Rng::new(41);
    let mut covered = vec![[0_u32; 3]; 5];
    let truths: Vec<[f64; 3]> = [1, 2, 4, 8, ANSWERS]
        .map(|k| [0, 1, 2].map(|rate| grid.iter().map(|p| truth(*p, k)[rate]).sum::<f64>() / grid.len() as f64))
        .to_vec();
    for _ in 0..RUNS {
        let asked: Vec<Question> = (0..QUESTIONS)
            .map(|_| {
                let p = rng.unit();
                draw(&mut rng, p)
            })
            .collect();
        let found = rates(&asked, &[]).unwrap();
        for ((at, covered), truth) in found.rates.iter().zip(&mut covered).zip(&truths) {
            let metrics = [Some(&at.pass), at.maj.as_ref(), Some(&at.all)];
            for ((metric, covered), truth) in metrics.into_iter().zip(covered).zip(truth) {
                let (low, high) = metric.unwrap().ci95.unwrap();
                *covered += u32::from((low..=high).contains(&(100.0 * truth)));
            }
        }
    }
    let shares: Vec<[f64; 3]> =
        covered.iter().map(|counts| counts.map(|count| f64::from(count) / f64::from(RUNS))).collect();
    assert!(shares.iter().flatten().all(|share| (0.93..=0.97).contains(share)), "{shares:?}");
}

/// The same questions are answered again and again.
#[test]
fn the_error_of_draws_covers_the_mean_of_these_questions() {
    let mut rng = Rng::new(43);
    let difficulties: Vec<f64> = (0..QUESTIONS).map(|_| rng.unit()).collect();
    let truth = 100.0 * difficulties.iter().sum::<f64>() / QUESTIONS as f64;
    let covers = |_| {
        let asked: Vec<Question> = difficulties.iter().map(|p| draw(&mut rng, *p)).collect();
        let found = rates(&asked, &[]).unwrap();
        (found.rates[0].pass.value - truth).abs() <= crate::evaluator::Z_95 * found.draws_stderr.unwrap()
    };
    let share = f64::from((0..RUNS).map(covers).map(u32::from).sum::<u32>()) / f64::from(RUNS);
    assert!((0.93..=0.97).contains(&share), "{share}");
}
