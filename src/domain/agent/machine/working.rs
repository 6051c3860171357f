//! The calls of one message, in order, each answered; and the check after the last.
//!
//! Invariant: every call of a message is answered before the model is asked again; after a failed call nothing that
//! changes something is tried. Absent: reading calls from text.

use super::*;

impl Agent {
    pub(super) fn advance(&mut self) {
        while let Some((n, call)) = self.queue.pop_front() {
            let slot = Slot::Call(n);
            let changes = tools::row(&call.name).is_none_or(|row| row.class != EffectClass::Reads);
            if let Some(why) = self.held.filter(|_| changes || call.name == "finish") {
                let error = ToolError {
                    what: why.to_owned(),
                    retry: true,
                    instead: "call it again, if it still fits".to_owned(),
                };
                self.transcript.answer(slot, &call.name, rendered(&call.name, &ToolResult::Err(error)));
                continue;
            }
            match calls::resolve(&call, &self.brief.rights) {
                Err(error) => {
                    self.held = Some("not tried, since a call before it in the same message failed");
                    let key = format!("{} {}", call.name, call.arguments);
                    self.settle(&key, slot, &call.name, &ToolResult::Err(error), false);
                    if matches!(self.state, State::Stopped { .. }) {
                        return;
                    }
                }
                Ok((resolved, slips)) => {
                    self.slips += u32::try_from(slips.len()).unwrap_or(u32::MAX);
                    if self.start_call(resolved, slot) {
                        return;
                    }
                }
            }
        }
        match self.wanted.take() {
            Some(wanted) => self.turn(State::Code(wanted, 1)),
            None => self.turn(State::Model),
        }
    }

    /// True: the machine waits for somebody.
    fn start_call(&mut self, resolved: Resolved, slot: Slot) -> bool {
        match resolved {
            Resolved::Order(order) => self.state = State::Tool(order, slot),
            Resolved::Ask(question) => self.state = State::Person { question, slot },
            Resolved::Scope { paths, reason } => self.state = State::Scope { paths, reason, slot },
            Resolved::Code(wanted) => {
                self.held = Some("not tried, since the code of a call before it is still missing");
                let look = wanted.look();
                let (name, words) = (wanted.name(), wanted.words());
                self.wanted = Some(wanted);
                let Some(look) = look else {
                    self.transcript.answer(slot, name, words);
                    return false;
                };
                self.state = State::Look(look, slot);
            }
            Resolved::Finish(_) if self.idle_finish() => {
                self.doubted = true;
                let words = "Nothing has been changed in this step. If that is right, call `finish` again; else go on.";
                self.transcript.answer(slot, "finish", words.to_owned());
                return false;
            }
            Resolved::Finish(summary) => {
                for (n, call) in std::mem::take(&mut self.queue) {
                    self.transcript.answer(Slot::Call(n), &call.name, "not done: it came after `finish`".to_owned());
                }
                self.state = State::Done { summary, slot: Some(slot) };
            }
        }
        true
    }

    /// The first `finish` of an edit step that changed nothing: small models call it at once.
    fn idle_finish(&self) -> bool {
        self.brief.kind == AgentKind::Edit && self.changed.is_empty() && !self.doubted
    }

    pub(super) fn result(&mut self, order: &ToolOrder, slot: Slot, result: &ToolResult) {
        let name = order.act.name();
        let ok = matches!(result, ToolResult::Ok { .. });
        if ok {
            self.useful = true;
            self.changed.extend(order.act.writes().iter().map(|path| path.to_string()));
            if let Act::Note { text } = &order.act {
                self.notes.push(text.clone());
            }
        } else {
            self.held = Some("not tried, since a call before it in the same message failed");
        }
        let key = serde_json::to_string(&order.act).unwrap_or_default();
        self.settle(&key, slot, name, result, ok && !order.act.writes().is_empty());
        if !matches!(self.state, State::Stopped { .. }) {
            self.advance();
        }
    }

    /// The text that code is asked for came, or is not there: then there is nothing to ask for.
    pub(super) fn looked(&mut self, slot: Slot, result: &ToolResult) {
        let Some(mut wanted) = self.wanted.take() else { return self.advance() };
        let name = wanted.name();
        match result {
            ToolResult::Ok { .. } => {
                let shown = rendered(name, result);
                self.transcript.answer(slot, name, format!("As it stands:\n{shown}\n{}", wanted.words()));
                wanted.shown = Some(shown);
                self.wanted = Some(wanted);
            }
            ToolResult::Err(_) => {
                self.held = Some("not tried, since a call before it in the same message failed");
                self.settle(&wanted.words(), slot, name, result, false);
            }
        }
        if !matches!(self.state, State::Stopped { .. }) {
            self.advance();
        }
    }

    /// Puts a result where it belongs and counts repetitions.
    pub(super) fn settle(&mut self, key: &str, slot: Slot, name: &str, result: &ToolResult, changes: bool) {
        let text = rendered(name, result);
        self.last = match result {
            ToolResult::Ok { text, .. } => format!("`{name}`: {}", one_line(text, 160)),
            ToolResult::Err(error) => format!("`{name}`: {}", one_line(&error.what, 160)),
        };
        self.transcript.answer(slot, name, text.clone());
        let seen = self.repeats.record(key, &text, changes);
        if seen >= REPEATS {
            self.stop(
                Cause::Guard,
                &format!("the same call with the same result {seen} times: {}", one_line(key, 160)),
            );
        } else if slot == Slot::Late && !matches!(self.state, State::Tool(..)) {
            self.turn(State::Model);
        }
    }

    pub(super) fn check(&mut self, slot: Option<Slot>, errors: &[String]) {
        if errors.is_empty() {
            return;
        }
        let errors = errors.join("\n");
        if self.repairs >= self.brief.limits.repairs {
            let why = format!("the check still fails after {} repair rounds: {}", self.repairs, one_line(&errors, 400));
            return self.stop(Cause::Check, &why);
        }
        self.repairs += 1;
        self.useful = true;
        let shown = cut::cut(&errors, cut::RESULT, "call `check` after mending these").unwrap_or(errors);
        let shown = data("check", &shown);
        let text = format!("The check failed. Mend this, then `finish` again.\n{shown}");
        self.failure = Some(shown);
        match slot {
            Some(slot) => self.transcript.answer(slot, "finish", text),
            None => self.transcript.word(text),
        }
        self.turn(State::Model);
    }
}
