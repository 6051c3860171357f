//! What the model said, and what that means: calls, code, the end of the work, or an answer that cannot be used.
//!
//! Invariant: nothing of a cut answer is read, and patience is bounded for every kind of unusable answer. Absent: doing
//! calls; `working` has them one by one.

use super::*;

impl Agent {
    pub(super) fn fault(&mut self, fault: &ModelFault) {
        match fault.kind {
            ModelFaultKind::ContextTooLong if !self.shrunk && self.transcript.shrink() > 0 => {
                (self.shrunk, self.issued) = (true, false);
            }
            ModelFaultKind::Empty => {
                self.turns += 1;
                self.empty();
            }
            // servers without tool support refuse the request as a whole
            ModelFaultKind::Rejected if self.form == CallForm::Native && self.turns == 0 => {
                self.form = CallForm::Text;
                self.again();
            }
            kind => self.stop(kind.cause(), &format!("{} ({})", fault.message, fault.next)),
        }
    }

    /// Accounts for an answer and says whether it may be read at all.
    pub(super) fn complete(&mut self, reply: &ModelReply) -> bool {
        self.turns += 1;
        self.used += reply.usage.input + reply.usage.output;
        self.shrunk = false;
        match &reply.finish {
            Finish::Stop | Finish::Calls => {
                self.misses.length = 0;
                true
            }
            Finish::Refusal(why) => {
                self.stop(Cause::ModelOutput, &format!("the model refused: {}", one_line(why, 200)));
                false
            }
            Finish::Length => {
                self.misses.length += 1;
                if self.misses.length >= PATIENCE {
                    self.stop(Cause::ModelOutput, "two answers in a row were cut at the length limit");
                } else {
                    self.transcript.word(
                        "Your answer was cut at the length limit, and nothing of it was done. Continue with a shorter \
                         one: a single call, a smaller item.",
                    );
                    self.again();
                }
                false
            }
        }
    }

    fn empty(&mut self) {
        self.misses.empty += 1;
        if self.misses.empty >= PATIENCE {
            return self.stop(Cause::ModelOutput, "two answers in a row held neither text nor a call");
        }
        self.transcript.word("Your answer was empty.");
        self.again();
    }

    pub(super) fn reply(&mut self, reply: &ModelReply) {
        let found = forms::read(reply, self.form, fenced);
        if !found.calls.is_empty() {
            return self.found(found);
        }
        if found.text.is_empty() {
            return self.empty();
        }
        self.misses.empty = 0;
        self.transcript.reply(&found.text, Vec::new(), false);
        if let Some(fault) = &found.broken {
            self.misses.broken += 1;
            if self.misses.broken > PATIENCE {
                return self.stop(Cause::ModelOutput, &format!("the model wrote {} time after time", fault.words()));
            }
            self.transcript
                .word(format!("A call in your answer is {}. Nothing was done; write it again.", fault.words()));
            return self.again();
        }
        self.words(found.text);
    }

    /// Text without a call: the end of the work, a model that does not write calls in this form, or chatter.
    fn words(&mut self, text: String) {
        let concludes = match self.brief.kind {
            AgentKind::Edit => !self.changed.is_empty(),
            AgentKind::Explore => self.useful,
        };
        self.misses.wordy += 1;
        let nudged = self.misses.wordy >= PATIENCE;
        match self.form {
            CallForm::Text | CallForm::Native
                if self.proven && concludes && (nudged || self.form == CallForm::Text) =>
            {
                self.state = State::Done { summary: text, slot: None };
            }
            CallForm::Native if self.proven && !nudged => {
                self.transcript.word("That was no call. If the step is done, call `finish`; else call the next tool.");
                self.again();
            }
            CallForm::Native | CallForm::Text if !self.proven || self.form == CallForm::Text => {
                (self.form, self.proven) = (CallForm::Schema, false);
                self.misses.wordy = 0;
                self.transcript.word("That was no call. Answer with one action as a JSON object and nothing else.");
                self.again();
            }
            CallForm::Native | CallForm::Text => {
                self.stop(Cause::ModelOutput, "the model wrote text where a call was needed, twice");
            }
            CallForm::Schema if nudged => {
                self.stop(Cause::ModelOutput, "the model found no way to make a call, not even as one JSON object");
            }
            CallForm::Schema => {
                self.transcript.word("That is no action of the list. Its key `tool` must name one of the tools.");
                self.again();
            }
        }
    }

    fn found(&mut self, found: Found) {
        (self.form, self.proven, self.misses) = (found.form, true, Misses::default());
        let native = found.form == CallForm::Native;
        let mut sent = Vec::new();
        for (n, mut call) in found.calls.into_iter().enumerate() {
            self.calls += 1;
            if call.id.is_empty() {
                call.id = format!("call-{}", self.calls);
            }
            sent.push(ToolCall { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone() });
            self.queue.push_back((n, call));
        }
        self.transcript.reply(&found.text, sent, native);
        self.held = None;
        self.advance();
    }

    /// The answer to "now the item": exactly one fence, or a change of mind.
    pub(super) fn code(&mut self, mut wanted: Wanted, asked: u32, reply: &ModelReply) {
        let found = forms::read(reply, self.form, fenced);
        // the same call once more is no change of mind: small models repeat it in place of the code
        let repeated = found.form != CallForm::Native && found.calls.iter().any(|call| call.name == wanted.name());
        if !found.calls.is_empty() && found.fences.is_empty() && !repeated {
            return self.found(found);
        }
        self.transcript.reply(&found.text, Vec::new(), false);
        match found.fences.as_slice() {
            [code] if !code.trim().is_empty() => {
                self.state = State::Tool(wanted.order(code), Slot::Late);
            }
            fences if asked < PATIENCE => {
                // A small model that is told of fences while it repeats its call repeats it for ever (seen with 1.5B);
                // told that the call is taken, it writes the code.
                let complaint = match (repeated, fences.len()) {
                    (true, 0) => {
                        "That was the call again, and the call is taken already. Write no JSON now.".to_owned()
                    }
                    (_, 0) => "There was no closed code fence in your answer.".to_owned(),
                    (_, 1) => "There was an empty code fence in your answer.".to_owned(),
                    (_, _) => "There was more than one code fence in your answer.".to_owned(),
                };
                self.transcript.word(complaint.clone());
                wanted.complaint = Some(complaint);
                self.turn(State::Code(wanted, asked + 1));
            }
            _ => {
                let name = wanted.name();
                let error = ToolError::new(
                    format!("no code came for `{name}`; nothing was changed"),
                    "send the call with its code in one fence right below it",
                );
                self.settle(name, Slot::Late, name, &ToolResult::Err(error), false);
            }
        }
    }
}
