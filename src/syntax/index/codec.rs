//! The index as bytes.
//!
//! Invariant: reading what was written gives the same; reading anything else gives `None`. JSON would take four times
//! the bytes and, at a thousand files, more than the whole warm start may cost (L5). Absent: reading older formats; a
//! cache is made anew.

use super::{Stamp, State};
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind, SymbolTable};
use serde::Deserialize;
use serde::de::value::{Error, StringDeserializer};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

const MAGIC: &str = "planwright index 2";
/// Bytes of a blake3 hash, and of the checksum at the end.
const CHECKSUM: usize = 32;

/// Kinds by their number in the file. Only ever append.
const KINDS: [SymbolKind; 13] = [
    SymbolKind::Function,
    SymbolKind::Method,
    SymbolKind::Struct,
    SymbolKind::Enum,
    SymbolKind::Variant,
    SymbolKind::Field,
    SymbolKind::Trait,
    SymbolKind::Impl,
    SymbolKind::Module,
    SymbolKind::Const,
    SymbolKind::Static,
    SymbolKind::Type,
    SymbolKind::Macro,
];

pub(super) fn write(state: &State, version: &str) -> Vec<u8> {
    let mut out = Writer(Vec::new());
    out.text(MAGIC);
    out.text(version);
    out.number(state.table.files.len() as u64);
    for (path, file) in state.table.files.iter() {
        out.text(path.as_str());
        let stamp = state.stamps.get(path);
        out.number(stamp.map_or(0, |stamp| stamp.modified.cast_unsigned()));
        // One more than the size, so that 0 says: no stamp.
        out.number(stamp.map_or(0, |stamp| stamp.size.saturating_add(1)));
        out.hash(&file.content);
        out.number(file.symbols.len() as u64);
        for symbol in &file.symbols {
            out.text(&symbol.path);
            out.number(symbol.name.len() as u64);
            let kind = KINDS.iter().position(|kind| *kind == symbol.kind).unwrap_or(0) as u64;
            out.number(kind * 2 + u64::from(symbol.public));
            out.range(&symbol.range);
            out.range(&symbol.name_range);
            out.text(&symbol.signature);
            out.hash(&symbol.body);
        }
        out.number(file.mentions.len() as u64);
        for name in &file.mentions {
            out.text(name);
        }
    }
    let sum = blake3::hash(&out.0);
    out.0.extend_from_slice(sum.as_bytes());
    out.0
}

pub(super) fn read(bytes: &[u8], version: &str) -> Option<State> {
    let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
    if blake3::hash(body).as_bytes() != sum {
        return None;
    }
    let mut from = Reader(body);
    if from.text()? != MAGIC || from.text()? != version {
        return None;
    }
    let mut files = BTreeMap::new();
    let mut stamps = HashMap::new();
    for _ in 0..from.number()? {
        let path = WorkspacePath::new(from.text()?).ok()?;
        let modified = from.number()?.cast_signed();
        if let Some(size) = from.number()?.checked_sub(1) {
            stamps.insert(path.clone(), Stamp { modified, size });
        }
        let content = from.hash()?;
        let mut symbols = Vec::new();
        for _ in 0..from.number()? {
            let path = from.text()?.to_owned();
            // The name is the end of the path.
            let length = usize::try_from(from.number()?).ok()?;
            let name = path.get(path.len().checked_sub(length)?..)?.to_owned();
            let kind = from.number()?;
            symbols.push(Symbol {
                path,
                name,
                kind: *KINDS.get(usize::try_from(kind / 2).ok()?)?,
                public: kind % 2 == 1,
                range: from.range()?,
                name_range: from.range()?,
                signature: from.text()?.to_owned(),
                body: from.hash()?,
            });
        }
        let mut mentions = Vec::new();
        for _ in 0..from.number()? {
            mentions.push(from.text()?.to_owned());
        }
        files.insert(path, Arc::new(FileSymbols { content, symbols, mentions }));
    }
    from.0.is_empty().then(|| State { table: SymbolTable { files: Arc::new(files) }, stamps })
}

struct Writer(Vec<u8>);

impl Writer {
    /// Seven bits a byte, lowest first (LEB128).
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Two hex digits a byte.
    fn hash(&mut self, hash: &ContentHash) {
        let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
        let digits = hash.as_str().as_bytes();
        let bytes = digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, c| byte << 4 | digit(*c)));
        self.0.extend(bytes.chain(std::iter::repeat(0)).take(CHECKSUM));
    }

    fn range(&mut self, range: &Range<usize>) {
        self.number(range.start as u64);
        self.number(range.len() as u64);
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn range(&mut self) -> Option<Range<usize>> {
        let start = usize::try_from(self.number()?).ok()?;
        let length = usize::try_from(self.number()?).ok()?;
        Some(start..start.checked_add(length)?)
    }

    fn hash(&mut self) -> Option<ContentHash> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let (bytes, rest) = self.0.split_at_checked(CHECKSUM)?;
        self.0 = rest;
        let digit = |half: u8| DIGITS.get(usize::from(half & 0xf)).map_or('0', |digit| char::from(*digit));
        let text: String = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect();
        ContentHash::deserialize(StringDeserializer::<Error>::new(text)).ok()
    }
}
