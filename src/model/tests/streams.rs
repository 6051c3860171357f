//! The decoder and the assembly without a wire.

use crate::domain::agent::dialogue::ModelReply;
use crate::domain::task::facts::Usage;
use crate::model::faults::Failure;
use crate::model::reply::Assembly;
use crate::model::stream::{Decoder, SseEvent};
use proptest::prelude::*;

/// Quirks of real servers in one stream: a comment first, `content: null`, CRLF, no blank after `data:`, an event
/// name, calls in pieces, both reasoning fields, a chunk without choices, and no blank line at the end.
const RECORDED: &str = concat!(
    "\u{feff}:\n\n",
    "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],\"model\":\"q.gguf\"}\r\n\r\n",
    "event: message\nid: 1\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"häh\"}}]}\n\n",
    ": still here\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"gröβ\"}}]}\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"er 🦀\"}}]}\r\r",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"list\",\"arguments\":{\"deep\":true}}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"x\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":27,\"prompt_tokens_details\":{\"cached_tokens\":39}}}\n\n",
    "data: [DONE]",
);

fn estimate(_: &str) -> Usage {
    Usage { estimated: true, ..Usage::default() }
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<ModelReply, Failure> {
    let (mut decoder, mut assembly) = (Decoder::default(), Assembly::default());
    for piece in pieces {
        for event in decoder.push(piece) {
            assembly.take(event)?;
        }
    }
    for event in decoder.finish() {
        assembly.take(event)?;
    }
    assembly.finish(estimate)
}

#[track_caller]
fn check(stream: &str, expect: &str) {
    let got = match read([stream.as_bytes()]) {
        Ok(reply) => {
            let calls: Vec<String> =
                reply.calls.iter().map(|call| format!(" {}:{}({})", call.id, call.name, call.arguments)).collect();
            format!("{:?} {:?}{}", reply.finish, reply.text, calls.concat())
        }
        Err(failure) => format!("! {failure:?}"),
    };
    assert_eq!(got, expect);
}

#[test]
fn a_recorded_stream_is_read_whole() {
    let reply = read([RECORDED.as_bytes()]).unwrap();
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str(), reply.model.as_str()), ("gröβer 🦀", "häh", "q.gguf"));
    assert_eq!(reply.usage, Usage { input: 40, cached: 39, output: 27, estimated: false });
    check(RECORDED, r#"Calls "gröβer 🦀" a:read({"path":"x"}) b:list({"deep":true})"#);
}

#[test]
fn a_terminal_event_is_required() {
    check("data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n", "! Truncated");
    check("data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\ndata: [DONE]\n\n", "! Truncated");
    check("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", "Stop \"a\"");
    check("", "! Truncated");
}

#[test]
fn servers_differ() {
    // All calls at index 0, told apart by their ids; then none has an index at all.
    let call = |index: &str, id: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{{index}\"id\":\"{id}\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}]}}}}]}}\n\n"
        )
    };
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    check(&[&call("\"index\":0,", "a"), &call("\"index\":0,", "b"), end].concat(), "Calls \"\" a:f({}) b:f({})");
    check(&[&call("", "a"), &call("", "b"), end].concat(), "Calls \"\" a:f({}) b:f({})");
    check(
        "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"p\"}]},\"finish_reason\":\"STOP\"}]}\n\n",
        "Stop \"p\"",
    );
    check(
        "data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"},\"finish_reason\":\"stop\"}]}\n\n",
        "Refusal(\"no\") \"\"",
    );
    check(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"who_knows\"}]}\n\n",
        "! Nonsense(\"the unknown finish reason `who_knows`\")",
    );
    check("data: {\"error\":{\"message\":\"x\"}}\n\n", r#"! Reported("{\"error\":{\"message\":\"x\"}}")"#);
    let coded = "data: {\"error\":{\"code\":429}}\n\n";
    check(coded, r#"! Status { code: 429, body: "{\"error\":{\"code\":429}}", retry_after: None }"#);
    check("data: \u{0}\n\n", "! Nonsense(\"a chunk that cannot be read (expected value at line 1 column 1)\")");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(Decoder::default().push(b"data: \xff\n\n"), [SseEvent::Broken("bytes that are not UTF-8")]);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_reply(cuts in proptest::collection::vec(0..RECORDED.len(), 0..40)) {
        let mut cuts = cuts;
        cuts.extend([0, RECORDED.len()]);
        cuts.sort_unstable();
        let bytes = RECORDED.as_bytes();
        let pieces = cuts.windows(2).map(|cut| bytes.get(cut[0]..cut[1]).unwrap());
        prop_assert_eq!(read(pieces), read([bytes]));
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_never_make_a_reply(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..400) {
        let at = cut.min(bytes.len());
        let (a, b) = bytes.split_at(at);
        prop_assert!(read([a, b]).is_err());
    }

    #[test]
    fn a_stream_cut_short_is_no_reply(cut in 0usize..RECORDED.len()) {
        // Up to the chunk with the finish reason; behind it only usage and the end mark are missing.
        let end = RECORDED.find("\"finish_reason\":\"tool_calls\"").unwrap();
        let cut = cut.min(end);
        prop_assert!(read([RECORDED.as_bytes().get(..cut).unwrap()]).is_err());
    }
}
