//! Answers that come as events, in every form that the standard has for one.

use super::Served;
use compass_mirrors::openai::{Endpoint, Script};
use compass_plan::EndpointApi;
use compass_types::result::Outcome;

#[test]
fn a_stream_is_an_answer_in_every_form() {
    let forms = [
        "data: JSON\n\ndata: [DONE]\n\n",
        "id: 1\nevent: message\ndata: JSON\n\nid: 2\ndata: [DONE]\n\n",
        "event: message\nid: 1\ndata: JSON\n\n",
        "retry: 1000\ndata: JSON\n\n",
        ": OPENROUTER PROCESSING\n\ndata: JSON\n\n",
        "\u{feff}data:JSON\n\ndata:[DONE]\n\n",
        "data: JSON\r\n\r\ndata: [DONE]\r\n\r\n",
        "id: 1\rdata: JSON\r\r",
        "\n\ndata: LINES\n\n",
        "id: 1\r\ndata: LINES\r\n\r\n",
    ];
    for form in forms {
        for api in [EndpointApi::Chat, EndpointApi::Completions] {
            let endpoint = Endpoint::start(Script { stream: Some(form.into()), ..Script::default() }).unwrap();
            let result = Served::new(&endpoint, api).ask("What is 4", 8, 1);
            let Outcome::Generated(answers) = &result.outcome else { panic!("{form:?}: {result:?}") };
            assert_eq!((answers[0].text.as_str(), answers[0].tokens), ("the answer is 4", 5), "{form:?}");
            assert_eq!(endpoint.seen().len(), 2, "{form:?}");
        }
    }
}
