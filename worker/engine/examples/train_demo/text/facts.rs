//! Small facts, so that the text is not all numbers and stories.

use super::random::Random;

const FACTS: [&str; 24] = [
    "The opposite of hot is cold.",
    "The opposite of big is small.",
    "The opposite of wet is dry.",
    "The opposite of happy is sad.",
    "The opposite of day is night.",
    "The opposite of up is down.",
    "A dog barks.",
    "A cat says meow.",
    "A cow says moo.",
    "A bird can fly.",
    "A fish can swim.",
    "A week has seven days.",
    "Monday comes before Tuesday.",
    "Friday comes before Saturday.",
    "Snow is white and cold.",
    "The sun is hot.",
    "Ice melts in the sun.",
    "Glass breaks when it falls.",
    "A ball bounces.",
    "A pillow is soft.",
    "Ten is larger than nine.",
    "Two and two make four.",
    "A tree has leaves.",
    "A car has four wheels.",
];

/// Two to four facts.
pub(crate) fn document(random: &mut Random) -> String {
    let count = random.between(2, 4);
    let facts: Vec<&str> = (0..count).map(|_| random.pick(&FACTS)).collect();
    facts.join(" ")
}
