//! planwright: arguments in, one exit code out. Everything else is in the library.
//!
//! Invariant: the process ends here and nowhere else, after the runtime has. Absent: everything else.

fn main() -> std::process::ExitCode {
    planwright::app::main(std::env::args_os()).into()
}
