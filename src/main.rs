//! planwright: arguments in, one exit code out. Everything else is in the library.

fn main() -> std::process::ExitCode {
    planwright::app::main(std::env::args_os()).into()
}
