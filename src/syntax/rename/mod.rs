//! stub
use crate::ports::{FileEdits, RuleRefusal, Source};
pub(super) fn of(_sources: &[Source], symbol: &str, _to: &str) -> Result<Vec<FileEdits>, RuleRefusal> {
    Err(RuleRefusal { message: symbol.to_owned(), candidates: Vec::new() })
}
