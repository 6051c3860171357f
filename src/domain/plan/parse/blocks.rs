//! The block structure of a plan document, as far as it matters here, over pulldown-cmark.
//!
//! Every range is a byte range of the source, and text is always cut from the source: emphasis, links and raw HTML
//! are recognised by no one. To that end the library reads a masked copy of equal length in which nothing can be
//! HTML (but for comments) or a link definition; a definition would otherwise be text without an event.
//!
//! **Invariant:** ranges lie on character boundaries and children lie inside their parent. **Absent:** what a block
//! means; and nesting beyond [`DEEPEST`], which is taken as literal text, so that no document exhausts the stack.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Containers inside containers that are followed. People nest three deep; a hostile text may nest a million deep.
const DEEPEST: usize = 16;

/// What a block is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Inline text.
    Paragraph,
    /// A heading; `atx` = written with `#`. An underlined one has no structure here, as prose above `---` makes one.
    Heading {
        /// 1 to 6.
        level: u8,
        /// Written with `#`.
        atx: bool,
    },
    /// Fenced or indented code.
    Code {
        /// What follows the opening fence.
        info: String,
        /// The lines, without container prefixes, each ended by `\n`.
        text: String,
    },
    /// A list; `start` is the first number of a numbered one.
    List {
        /// The first number.
        start: Option<u64>,
    },
    /// An item of a list.
    Item,
    /// A block quote.
    Quote,
    /// A block that begins with a comment.
    Html,
    /// A thematic break.
    Rule,
}

/// A block of the document.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// What it is.
    pub kind: Kind,
    /// Without blanks at its end.
    pub range: Range<usize>,
    /// Of containers.
    pub children: Vec<Block>,
    /// Inline code, with its backticks.
    pub code: Vec<Range<usize>>,
    /// Inline comments.
    pub comments: Vec<Range<usize>>,
    /// Block quotes around it: so many `>` may precede each of its lines.
    pub quotes: usize,
}

/// Replaces, byte for byte, what must not be recognised.
fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    if let Some(after) = rest.strip_prefix('\u{feff}') {
        out.push_str("   ");
        rest = after;
    }
    while let Some(at) = rest.find(['<', ']']) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let (shown, taken) = match () {
            () if tail.starts_with("<!--") => ("<!--", 4),
            () if tail.starts_with('<') => ("x", 1),
            () if tail.starts_with("]:") => ("];", 2),
            () => ("]", 1),
        };
        out.push_str(shown);
        rest = tail.get(taken..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

/// The top-level blocks of a text, in order.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let masked = mask(text);
    let mut tree = Tree { text, stack: vec![root(text.len())], loose: false, skip: 0 };
    for (event, range) in Parser::new_ext(&masked, Options::empty()).into_offset_iter() {
        tree.take(event, range);
    }
    tree.end_loose_text();
    while tree.stack.len() > 1 {
        tree.close();
    }
    tree.stack.pop().map(|root| root.children).unwrap_or_default()
}

fn root(len: usize) -> Block {
    Block { kind: Kind::Item, range: 0..len, children: vec![], code: vec![], comments: vec![], quotes: 0 }
}

struct Tree<'a> {
    text: &'a str,
    stack: Vec<Block>,
    /// The innermost block is a paragraph that the library did not open.
    loose: bool,
    /// Block tags opened inside a block that is taken literally.
    skip: usize,
}

impl Tree<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => match block_kind(&tag, self.text.get(range.clone()).unwrap_or("")) {
                Some(kind) => self.open(kind, range),
                None => self.inline(range),
            },
            Event::End(end) => {
                if is_block(&end) {
                    if self.skip > 0 {
                        self.skip -= 1;
                    } else {
                        self.end_loose_text();
                        self.close();
                    }
                }
            }
            Event::Rule => {
                if self.skip == 0 {
                    self.end_loose_text();
                    self.push(Kind::Rule, range);
                    self.close();
                }
            }
            Event::Code(_) => {
                self.inline(range.clone());
                if let Some(top) = self.stack.last_mut().filter(|_| self.skip == 0) {
                    top.code.push(range);
                }
            }
            Event::InlineHtml(_) => {
                self.inline(range.clone());
                if let Some(top) = self.stack.last_mut().filter(|_| self.skip == 0) {
                    top.comments.push(range);
                }
            }
            Event::Text(words) => {
                let cut = self.text.get(range.clone()).filter(|cut| cut.len() == words.len());
                let words = cut.unwrap_or(&words).replace("\r\n", "\n");
                match self.stack.last_mut().map(|top| &mut top.kind) {
                    _ if self.skip > 0 => {}
                    Some(Kind::Code { text, .. }) => text.push_str(&words),
                    Some(_) | None => self.inline(range),
                }
            }
            Event::Html(_) => {}
            Event::SoftBreak
            | Event::HardBreak
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => self.inline(range),
        }
    }

    fn open(&mut self, kind: Kind, range: Range<usize>) {
        if self.skip > 0 {
            self.skip += 1;
            return;
        }
        self.end_loose_text();
        if self.stack.len() > DEEPEST && matches!(kind, Kind::List { .. } | Kind::Quote) {
            let literal = self.text.get(range.clone()).unwrap_or("").replace("\r\n", "\n");
            self.push(Kind::Code { info: String::new(), text: literal }, range);
            self.close();
            self.skip = 1;
            return;
        }
        self.push(kind, range);
    }

    fn push(&mut self, kind: Kind, range: Range<usize>) {
        let around = self.stack.last();
        let quotes = around.map_or(0, |top| top.quotes + usize::from(top.kind == Kind::Quote));
        self.stack.push(Block { kind, range, children: vec![], code: vec![], comments: vec![], quotes });
    }

    /// Inline text that stands directly in an item of a tight list gets a paragraph of its own.
    fn inline(&mut self, range: Range<usize>) {
        if self.skip > 0 {
            return;
        }
        match self.stack.last_mut() {
            Some(top) if top.kind == Kind::Paragraph => top.range.end = top.range.end.max(range.end),
            Some(Block { kind: Kind::Item | Kind::Quote, .. }) => {
                // An escaped character's event leaves its backslash out.
                let escaped = range.start > 0 && self.text.as_bytes().get(range.start - 1) == Some(&b'\\');
                let start = if escaped { range.start - 1 } else { range.start };
                self.push(Kind::Paragraph, start..range.end);
                self.loose = true;
            }
            Some(_) | None => {}
        }
    }

    fn end_loose_text(&mut self) {
        if self.loose {
            self.loose = false;
            self.close();
        }
    }

    fn close(&mut self) {
        if self.stack.len() < 2 {
            return;
        }
        let Some(mut block) = self.stack.pop() else { return };
        let cut = self.text.get(block.range.clone()).unwrap_or("");
        block.range.end = block.range.start + cut.trim_end_matches([' ', '\t', '\r', '\n']).len();
        if let Kind::Code { text, .. } = &mut block.kind
            && !text.is_empty()
            && !text.ends_with('\n')
        {
            text.push('\n');
        }
        if let Some(around) = self.stack.last_mut() {
            around.children.push(block);
        }
    }
}

fn block_kind(tag: &Tag<'_>, cut: &str) -> Option<Kind> {
    Some(match tag {
        Tag::Paragraph => Kind::Paragraph,
        Tag::Heading { level, .. } => Kind::Heading { level: *level as u8, atx: cut.starts_with('#') },
        Tag::BlockQuote(_) => Kind::Quote,
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => Kind::Code { info: fence_info(cut), text: String::new() },
        Tag::CodeBlock(CodeBlockKind::Indented) => Kind::Code { info: String::new(), text: String::new() },
        Tag::HtmlBlock => Kind::Html,
        Tag::List(start) => Kind::List { start: *start },
        Tag::Item => Kind::Item,
        _ => return None,
    })
}

fn is_block(end: &TagEnd) -> bool {
    matches!(
        end,
        TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::BlockQuote(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::List(_)
            | TagEnd::Item
    )
}

/// What follows the fence characters on the opening line, as written.
fn fence_info(cut: &str) -> String {
    let line = cut.lines().next().unwrap_or("");
    let mark = line.chars().next().unwrap_or('`');
    line.trim_start_matches(mark).trim().to_owned()
}
