//! Names that much Rust code uses for members of types that no workspace defines, and macros whose tokens are code.
//!
//! Invariant: a name in `MEMBERS` never makes a call on an unknown receiver certain. It need not be complete: the list
//! takes in std's and the most used crates' members that people also give to their own types.

/// Methods and fields of std and widely used crates, sorted.
pub(super) const MEMBERS: &str = "
    abort abs accept acquire add advance all and and_then any append apply arg args as_bytes as_mut as_path
    as_ref as_slice as_str await back begin bind body borrow borrow_mut build builder by_ref bytes cancel
    capacity ceil chain changed chars check child children chunks clear clone cloned close cmp code collect
    column command commit compare concat connect contains contains_key context copied copy count create current
    data decode dedup default delete deref description deserialize difference display div drain drop elapsed
    encode end end_byte ends_with entry enumerate env eq err error exec execute exists exit expect extend
    extension field file file_name filename fill filter filter_map find finish first flag flat_map flatten flush
    fmt fold for_each format front get get_mut get_or_insert handle hash head header headers height id index
    info init input insert inspect instrument into into_inner into_iter is_empty is_err is_none is_ok is_some
    iter iter_mut join json key keys kill kind label last left len length level line lines list load lock log
    lookup map map_err matches max merge message metadata method min mode modified mul name ne neg new next node
    not notify now nth number offset ok ok_or open option or or_else output parent parse partition path peek
    permissions pid poll pop port position post pow prepare print process product push push_str put query range
    read read_line read_to_string recv register release remove rename render repeat replace request reserve
    reset resize resolve retain rev right root round rows run save scan search seek select send serialize set
    shutdown size skip sleep sort source span spawn split split_at sqrt start start_byte starts_with state
    status step stop store strip_prefix sub sum swap sync tail take target test text then to_owned to_string
    to_vec token trim truncate try_from try_into try_lock try_recv try_send type_id union unlock unwrap
    unwrap_or update url user value values version visit wait wake walk width with write write_all write_str zip
";

/// Macros of std (and tracing) that take expressions as functions do.
pub(super) const EXPRESSION_MACROS: &str = "
    assert assert_eq assert_ne dbg debug debug_assert debug_assert_eq debug_assert_ne eprint eprintln error
    format format_args info panic print println todo trace unimplemented unreachable vec warn write writeln
";

/// Attributes of the language itself; no symbol of a program stands in them.
pub(super) const BUILT_IN_ATTRIBUTES: &str = "
    allow cfg cold deny deprecated doc expect feature forbid ignore inline must_use non_exhaustive repr
    should_panic test track_caller warn
";

/// Whether one of these lists holds the word.
pub(super) fn holds(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}
