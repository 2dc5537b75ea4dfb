//! Little stories in which an event has a consequence, and endings, one of which is that consequence.
//!
//! A story is held out as a whole: person, time, place, event, thing.

use super::holdout::held_out;
use super::random::Random;
use serde_json::{Value, json};

const NAMES: [&str; 12] =
    ["Anna", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry", "Ida", "Jack", "Kate", "Leo"];
const TIMES: [&str; 6] = ["One day", "In the morning", "After school", "On Sunday", "Last week", "In the evening"];
const PLACES: [&str; 8] = [
    "in the kitchen",
    "in the garden",
    "at school",
    "in the park",
    "at the farm",
    "on the beach",
    "in the yard",
    "at home",
];

/// An event: a sentence about a thing, and classes of things with the ending of each.
struct Situation {
    event: &'static str,
    classes: [(&'static [&'static str], &'static str); 3],
}

const SITUATIONS: [Situation; 6] = [
    Situation {
        event: "NAME dropped the THING on the hard floor.",
        classes: [
            (&["glass", "plate", "egg", "vase", "mirror", "bottle"], "It broke into many pieces."),
            (&["ball", "rubber duck", "tennis ball", "football"], "It bounced up and rolled away."),
            (&["pillow", "sock", "towel", "scarf", "blanket"], "It was soft and nothing broke."),
        ],
    },
    Situation {
        event: "NAME had no coat, and it began to THING.",
        classes: [
            (&["rain", "pour", "drizzle"], "NAME got very wet."),
            (&["snow", "freeze", "hail"], "NAME got very cold."),
            (&["get hot", "get sunny", "get warm"], "NAME did not need a coat."),
        ],
    },
    Situation {
        event: "NAME was very THING.",
        classes: [
            (&["hungry", "ready for lunch", "ready for dinner"], "So NAME ate some bread."),
            (&["thirsty", "dry from running", "hot from running"], "So NAME drank some water."),
            (&["tired", "sleepy", "ready for bed"], "So NAME went to sleep."),
        ],
    },
    Situation {
        event: "NAME saw a THING come near.",
        classes: [
            (&["dog", "puppy", "big dog"], "It barked at NAME."),
            (&["cat", "kitten", "small cat"], "It said meow to NAME."),
            (&["bird", "duck", "goose"], "It spread its wings and flew away."),
        ],
    },
    Situation {
        event: "NAME put the THING into the water.",
        classes: [
            (&["stone", "coin", "key", "hammer"], "It sank to the bottom."),
            (&["cork", "leaf", "toy boat", "feather"], "It stayed on top."),
            (&["sugar", "salt", "honey"], "It was gone after a while."),
        ],
    },
    Situation {
        event: "NAME THING today.",
        classes: [
            (&["won the game", "got a present", "found a treasure"], "NAME was happy and laughed."),
            (&["lost the game", "lost a toy", "missed a friend"], "NAME was sad and cried."),
            (&["heard a loud noise", "saw a snake", "had a bad dream"], "NAME was afraid and hid."),
        ],
    },
];

/// One story: situation, class, thing, person, time and place.
struct Story {
    situation: usize,
    class: usize,
    thing: &'static str,
    name: &'static str,
    time: &'static str,
    place: &'static str,
}

impl Story {
    fn draw(random: &mut Random) -> Self {
        let situation = random.below(SITUATIONS.len());
        let class = random.below(3);
        Self {
            situation,
            class,
            thing: random.pick(SITUATIONS[situation].classes[class].0),
            name: random.pick(&NAMES),
            time: random.pick(&TIMES),
            place: random.pick(&PLACES),
        }
    }

    /// Draws a story for training or for testing.
    fn draw_for(test: bool, random: &mut Random) -> Self {
        loop {
            let story = Self::draw(random);
            if held_out(&story.beginning()) == test {
                return story;
            }
        }
    }

    fn beginning(&self) -> String {
        let event = SITUATIONS[self.situation].event.replace("NAME", self.name).replace("THING", self.thing);
        format!("{} {} was {}. {event}", self.time, self.name, self.place)
    }

    fn ending(&self, class: usize) -> String {
        SITUATIONS[self.situation].classes[class].1.replace("NAME", self.name)
    }
}

/// Returns one story with its ending.
pub(crate) fn document(random: &mut Random) -> String {
    let story = Story::draw_for(false, random);
    format!("{} {}", story.beginning(), story.ending(story.class))
}

/// Returns rows of the test set: a beginning, three endings in random order, and the label of the right one.
pub(crate) fn rows(count: usize, random: &mut Random) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    while rows.len() < count {
        let story = Story::draw_for(true, random);
        if !seen.insert(story.beginning()) {
            continue;
        }
        let mut order = [0, 1, 2];
        random.shuffle(&mut order);
        let ending = |at: usize| story.ending(order[at]);
        let label = order.iter().position(|&class| class == story.class);
        rows.push(json!({
            "story": story.beginning(), "ending0": ending(0), "ending1": ending(1), "ending2": ending(2), "label": label
        }));
    }
    rows
}
