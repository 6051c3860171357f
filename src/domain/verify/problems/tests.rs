//! Outputs are those of the real tools, cut; the root is the one they ran in.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the test's finding"
)]

use super::*;
use proptest::prelude::*;

const ROOT: &str = "/work/w";

fn files(names: &[&str]) -> BTreeSet<WorkspacePath> {
    names.iter().map(|name| WorkspacePath::new(name).unwrap()).collect()
}

fn told(output: &str, ground: Ground<'_>) -> String {
    let row = |problem: &ReadProblem| {
        let column = problem.site.as_ref().and_then(|site| site.column).map(|n| format!(" @{n}")).unwrap_or_default();
        format!("{problem}{column}\n")
    };
    read(output, ground).iter().map(row).collect()
}

/// What is read with the root known, and the same with line ends of Windows, colours and the second half lost.
fn check(output: &str) -> String {
    let ground = Ground { root: ROOT, ..Ground::default() };
    let plain = told(output, ground);
    let windows: String = output.lines().map(|line| format!("\x1b[31m{line}\x1b[0m\r\n")).collect();
    assert_eq!(told(&windows, ground), plain, "line ends and colours");
    let half = output.floor_char_boundary(output.len() / 2);
    let _ = read(output.get(..half).unwrap(), ground);
    let _ = read(output.get(half..).unwrap(), ground);
    plain
}

#[test]
fn rustc_and_clippy() {
    let human = r#"    Checking xx v0.1.0 (/work/w)
warning: unused variable: `z`
  --> src/lib.rs:3:9
   |
error[E0308]: mismatched types
  --> src/lib.rs:18:23
   |
18 | pub fn two() -> i32 { "x" }
   |                 ---   ^^^ expected `i32`, found `&str`

error: unneeded `return` statement
 --> /work/w/src/lib.rs:5:23
  |
5 | pub fn one() -> i32 { return 1; }
  |                       ^^^^^^^^
  |
  = help: for further information visit https://rust-lang.github.io/rust-clippy/rust-1.95.0/index.html#needless_return
  = note: requested on the command line with `-D clippy::needless-return`

error: could not compile `xx` (lib) due to 2 previous errors
 --> /rustc/abc/library/core/src/x.rs:1:1
"#;
    insta::assert_snapshot!(check(human), @r"
    src/lib.rs:3: warning: unused variable: `z` @9
    src/lib.rs:18: error[E0308]: mismatched types @23
    src/lib.rs:5: error[clippy::needless_return]: unneeded `return` statement @23
    ");
    let short =
        "src/lib.rs:18:23: error[E0308]: mismatched types: expected `i32`, found `&str`\nsrc/lib.rs:1:2: warning: x\n";
    insta::assert_snapshot!(check(short), @r"
    src/lib.rs:18: error[E0308]: mismatched types: expected `i32`, found `&str` @23
    src/lib.rs:1: warning: x @2
    ");
    let json = concat!(
        r#"{"reason":"compiler-message","manifest_path":"/work/w/Cargo.toml","message":{"code":{"code":"E0308","explanation":"x"},"level":"error","message":"mismatched types","rendered":"x","spans":[{"file_name":"src/a.rs","is_primary":false,"line_start":1,"column_start":1},{"file_name":"src/lib.rs","is_primary":true,"line_start":18,"column_start":23}]}}"#,
        "\n",
        r#"{"reason":"compiler-message","message":{"code":null,"level":"error","message":"aborting due to 1 previous error","spans":[]}}"#,
        "\n",
        r#"{"reason":"build-finished","success":false}"#,
        "\n",
        r#"{"$message_type":"diagnostic","level":"warning","message":"unused","code":{"code":"unused_variables"},"spans":[{"file_name":"src/b.rs","is_primary":true,"line_start":2,"column_start":1}]}"#,
        "\n",
        r#"{"type":"test","event":"failed","name":"tests::a"}"#,
    );
    insta::assert_snapshot!(check(json), @r"
    src/lib.rs:18: error[E0308]: mismatched types @23
    src/b.rs:2: warning[unused_variables]: unused @1
    tests::a: failed
    ");
    let format = "Diff in /work/w/src/lib.rs:2:\n /// ```\n\x1b[31m-pub fn one()\n\x1b(B\x1b[m\x1b[32m+pub\n\x1b(B\x1b[m\nDiff in src/a.rs at line 9:\n x\n";
    insta::assert_snapshot!(check(format), @r"
    src/lib.rs:2: error[rustfmt]: not formatted
    src/a.rs:9: error[rustfmt]: not formatted
    ");
}

#[test]
fn rust_tests() {
    let libtest = r"running 4 tests
test tests::fine ... ok
test tests::panics - should panic ... ok
test tests::deep ... FAILED
test tests::works ... FAILED
test tests::silent ... FAILED

---- tests::panics stdout ----

thread 'tests::panics' (1640) panicked at src/lib.rs:14:17:
meant

---- tests::deep stdout ----

thread 'tests::deep' (1649) panicked at src/lib.rs:16:57:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616/library/std/src/panicking.rs:689:5
   5: xx::tests::deep
             at ./src/lib.rs:16:57

---- tests::works stdout ----

thread 'tests::works' (1658) panicked at src/lib.rs:9:18:
assertion `left == right` failed
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

failures:
    tests::deep

test src/lib.rs - one (line 2) ... FAILED

thread 'main' (1692) panicked at /tmp/rustdoctestn0QItk/doctest_bundle_2024.rs:6:1:
assertion `left == right` failed
error: 2 targets failed:
";
    insta::assert_snapshot!(check(libtest), @r"
    src/lib.rs:16: tests::deep: called `Option::unwrap()` on a `None` value @57
    src/lib.rs:9: tests::works: assertion `left == right` failed, left: 1, right: 2 @18
    tests::silent: failed
    src/lib.rs:2: src/lib.rs - one (line 2): failed
    ");
    let nextest = r"        PASS [   0.176s] (2/4) xx tests::panics
        FAIL [   0.343s] (3/4) xx tests::deep
  stdout ───

    running 1 test
    test tests::deep ... FAILED

  stderr ───

    thread 'tests::deep' (1731) panicked at src/lib.rs:16:57:
    called `Option::unwrap()` on a `None` value
    stack backtrace:
       0: __rustc::rust_begin_unwind

     Summary [   0.433s] 4 tests run: 2 passed, 2 failed, 0 skipped
        FAIL [   0.343s] (3/4) xx tests::deep
     SIGABRT [   0.220s] (4/4) xx tests::gone
error: test run failed
";
    insta::assert_snapshot!(check(nextest), @r"
    src/lib.rs:16: tests::deep: called `Option::unwrap()` on a `None` value @57
    tests::gone: failed
    ");
}

#[test]
fn python() {
    let pytest = r"tests/test_a.py F.FFF                                                    [100%]

==================================== ERRORS ====================================
_______________________ ERROR collecting tests/test_b.py _______________________
ImportError while importing test module '/work/w/tests/test_b.py'.
Traceback:
/root/.pyenv/versions/3.11.7/lib/python3.11/importlib/__init__.py:126: in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
tests/test_b.py:1: in <module>
    import nothing_here
E   ModuleNotFoundError: No module named 'nothing_here'
=================================== FAILURES ===================================
__________________________________ test_half ___________________________________

    def test_half():
>       assert half(4) == 3
E       assert 2.0 == 3
E        +  where 2.0 = half(4)

tests/test_a.py:6: AssertionError
_____________________________ TestMore.test_div[0] _____________________________

    def test_div(self, n):
>       assert half(n) == 0.5
E       assert 0.0 == 0.5

tests/test_a.py:11: AssertionError
_________________________________ test_raises __________________________________

    def test_raises():
>       half('x')

tests/test_a.py:14: 
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 

n = 'x'

>       return n / 2
E       TypeError: unsupported operand type(s) for /: 'str' and 'int'

pkg/calc.py:3: TypeError
=========================== short test summary info ============================
ERROR tests/test_b.py
FAILED tests/test_a.py::test_half - assert 2.0 == 3
FAILED tests/test_a.py::TestMore::test_div[0] - assert 0.0 == 0.5
FAILED tests/test_a.py::test_raises - TypeError: unsupported operand type(s) ...
FAILED tests/test_a.py::test_cut - AssertionError: 1.0 != 5
========================= 4 failed, 1 passed in 0.04s ==========================
";
    insta::assert_snapshot!(check(pytest), @r"
    tests/test_b.py:1: error: ModuleNotFoundError: No module named 'nothing_here'
    tests/test_a.py:6: test_half: assert 2.0 == 3
    tests/test_a.py:11: TestMore.test_div[0]: assert 0.0 == 0.5
    pkg/calc.py:3: test_raises: TypeError: unsupported operand type(s) for /: 'str' and 'int'
    tests/test_a.py: test_cut: AssertionError: 1.0 != 5
    ");
    let unittest = r#"FE
======================================================================
ERROR: tests.test_b (unittest.loader._FailedTest.tests.test_b)
----------------------------------------------------------------------
ImportError: Failed to import test module: tests.test_b
Traceback (most recent call last):
  File "/root/.pyenv/versions/3.11.7/lib/python3.11/unittest/loader.py", line 419, in _find_test_path
    module = self._get_module_from_name(name)
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/work/w/tests/test_b.py", line 1, in <module>
    import nothing_here
ModuleNotFoundError: No module named 'nothing_here'

======================================================================
FAIL: test_old (tests.test_a.Old.test_old)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/work/w/tests/test_a.py", line 18, in test_old
    self.assertEqual(half(2), 5)
AssertionError: 1.0 != 5

----------------------------------------------------------------------
Ran 2 tests in 0.000s

FAILED (failures=1, errors=1)
"#;
    insta::assert_snapshot!(check(unittest), @r"
    tests/test_b.py:1: tests.test_b: ModuleNotFoundError: No module named 'nothing_here'
    tests/test_a.py:18: tests.test_a.Old.test_old: AssertionError: 1.0 != 5
    ");
    let lines = "pkg/calc.py:3: error: Incompatible return value type (got \"float\", expected \"int\")  [return-value]\n\
                 pkg/calc.py:1:8: F401 [*] `os` imported but unused\npkg/calc.py:9: DeprecationWarning: old\n\
                 F401 [*] `re` imported but unused\n --> pkg/b.py:1:8\n  |\n1 | import re\n\nunformatted: File would be reformatted\n --> pkg/c.py:2:1\n";
    insta::assert_snapshot!(check(lines), @r#"
    pkg/calc.py:3: error[return-value]: Incompatible return value type (got "float", expected "int")
    pkg/calc.py:1: error[F401]: `os` imported but unused @8
    pkg/calc.py:9: warning: DeprecationWarning: old
    pkg/b.py:1: error[F401]: `re` imported but unused @8
    pkg/c.py:2: error: File would be reformatted @1
    "#);
}

#[test]
fn javascript() {
    let types = "src/a.ts(1,43): error TS2322: Type 'number' is not assignable to type 'string'.\n\
                 app/(group)/page.tsx:2:19 - error TS2304: Cannot find name 'y'.\n\n2 const z: number = y;\n                    ~\n";
    insta::assert_snapshot!(check(types), @r"
    src/a.ts:1: error[TS2322]: Type 'number' is not assignable to type 'string'. @43
    app/(group)/page.tsx:2: error[TS2304]: Cannot find name 'y'. @19
    ");
    let eslint = "\n/work/w/lint/x.js\n  1:5  warning  'a' is assigned a value but never used  no-unused-vars\n  2:1  error    'foo' is not defined                    no-undef\n\n✖ 2 problems (1 error, 1 warning)\n\
                  /work/w/lint/y.js:2:1: 'bar' is not defined. [Error/no-undef]\n/work/w/lint/y.js: line 3, col 1, Error - 'baz' is not defined. (no-undef)\n/work/w/lint/y.js:4:1: odd [Warning/@ts/odd]\n";
    insta::assert_snapshot!(check(eslint), @r"
    lint/x.js:1: warning[no-unused-vars]: 'a' is assigned a value but never used @5
    lint/x.js:2: error[no-undef]: 'foo' is not defined @1
    lint/y.js:2: error[no-undef]: 'bar' is not defined. @1
    lint/y.js:3: error[no-undef]: 'baz' is not defined. @1
    lint/y.js:4: warning[@ts/odd]: odd @1
    ");
    let tap = r"TAP version 13
not ok 1 - adds
  ---
  duration_ms: 1.774767
  location: '/work/w/test/half.test.js:3:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:
    
    1 !== 2
    
  code: 'ERR_ASSERTION'
  stack: |-
    TestContext.<anonymous> (/work/w/test/half.test.js:3:29)
    Test.runInAsyncScope (node:async_hooks:206:9)
  ...
ok 2 - fine
    not ok 1 - inner breaks
      ---
      location: '/work/w/test/half.test.js:5:27'
      error: 'boom'
      stack: |-
        new SafePromise (node:internal/per_context/primordials:450:29)
        Array.map (<anonymous>)
      ...
not ok 3 - suite
  ---
  location: '/work/w/test/half.test.js:5:1'
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
not ok 4 - later # TODO
";
    insta::assert_snapshot!(check(tap), @r"
    test/half.test.js:3: adds: Expected values to be strictly equal: 1 !== 2 @29
    test/half.test.js:5: inner breaks: boom @27
    ");
    let spec = r"✖ adds (2.00487ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
▶ suite
  ✖ inner breaks (0.212147ms)
  ✖ lost below (0.1ms)
✖ suite (0.658543ms)
ℹ tests 5

✖ failing tests:

test at test/half.test.js:3:1
✖ adds (2.00487ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
  
  1 !== 2
  
      at TestContext.<anonymous> (/work/w/test/half.test.js:3:29)
      at Test.runInAsyncScope (node:async_hooks:206:9)

test at test/half.test.js:5:27
✖ inner breaks (0.212147ms)
  Error: boom
      at new Promise (<anonymous>)
";
    insta::assert_snapshot!(check(spec), @r"
    test/half.test.js:3: adds: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 1 !== 2 @29
    test/half.test.js:5: inner breaks: Error: boom @27
    lost below: failed
    ");
    let others = r"FAIL test/j.spec.cjs
  ● maths › halves

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 1

      at Object.toBe (node_modules/expect/x.js:9:1)
      at Object.<anonymous> (test/j.spec.cjs:1:60)

Test Suites: 1 failed, 1 total

 FAIL  v.test.mjs > maths > halves
AssertionError: expected 1 to be 2 // Object.is equality

- Expected
+ Received

 ❯ v.test.mjs:2:60
";
    insta::assert_snapshot!(check(others), @r"
    test/j.spec.cjs:1: maths › halves: expect(received).toBe(expected) // Object.is equality @60
    v.test.mjs:2: maths > halves: AssertionError: expected 1 to be 2 // Object.is equality @60
    ");
}

#[test]
fn c_and_go() {
    let c = "a.c: In function ‘main’:\na.c:3:24: error: ‘y’ undeclared (first use in this function)\n    3 | y\n\
             a.c:3:24: note: each undeclared identifier is reported only once\na.c:3:21: warning: unused variable ‘u’ [-Wunused-variable]\n\
             ./lib/b.h:4:10: fatal error: x.h: No such file or directory\n/usr/bin/ld: /tmp/cc3bgz4v.o: in function `main':\n\
             b.c:(.text+0x5): undefined reference to `g'\ncollect2: error: ld returned 1 exit status\n/usr/include/z.h:1:1: error: z\n\
             CMake Error at CMakeLists.txt:3 (foo):\n  Unknown CMake command \"foo\".\n\nmake: *** [Makefile:12: all] Error 1\n";
    insta::assert_snapshot!(check(c), @r#"
    a.c:3: error: ‘y’ undeclared (first use in this function) @24
    a.c:3: warning[-Wunused-variable]: unused variable ‘u’ @21
    lib/b.h:4: error: x.h: No such file or directory @10
    b.c: error: undefined reference to `g'
    CMakeLists.txt:3: error: Unknown CMake command "foo".
    "#);
    let go = "# example.com/m/cmd\ncmd/a.go:12:2: undefined: y\nvet: ./b.go:3:2: x declared and not used\n\
              --- FAIL: TestHalf (0.00s)\n    calc_test.go:9: got 1\n    --- FAIL: TestHalf/zero (0.00s)\n        calc_test.go:11: got 0\n\
              --- FAIL: TestQuiet (0.00s)\nFAIL\nFAIL\texample.com/m/calc\t0.003s\n\
              === RUN   TestTalks\n    calc_test.go:20: only talk\n--- PASS: TestTalks (0.00s)\nok  \texample.com/m/other\t0.003s\n\
              --- FAIL: TestDies (0.00s)\npanic: boom [recovered]\n\tpanic: boom\n\ngoroutine 7 [running]:\ntesting.tRunner.func1.2\n\t/usr/local/go/src/testing/testing.go:1631 +0x1\n\
              example.com/m/calc.Half(...)\n\t/work/w/calc/calc.go:5\nFAIL\texample.com/m/calc\t0.004s\n";
    insta::assert_snapshot!(check(go), @r"
    cmd/a.go:12: error: undefined: y @2
    b.go:3: error: x declared and not used @2
    calc_test.go:9: TestHalf: got 1
    calc_test.go:11: TestHalf/zero: got 0
    TestQuiet: failed
    calc/calc.go:5: TestDies: panic: boom
    ");
}

/// Where the files are known, they say from where a path is counted.
#[test]
fn known_files_place_what_is_ambiguous() {
    let files =
        files(&["calc/calc_test.go", "other/calc_test.go", "web/src/a.ts", "web/b.ts", "src/lib.rs", "one_test.go"]);
    let ground = Ground { root: ROOT, dir: "web", files: &files };
    let output = "src/a.ts:1:1: x\nsrc/lib.rs:1:1: from the root\ngone.ts:1:1: as told\n--- FAIL: TestA (0.00s)\n    calc_test.go:9: got 1\n    one_test.go:2: got 2\nFAIL\texample.com/m/calc\t0.1s\n";
    insta::assert_snapshot!(told(output, ground), @r"
    web/src/a.ts:1: error: x @1
    src/lib.rs:1: error: from the root @1
    web/gone.ts:1: error: as told @1
    calc/calc_test.go:9: TestA: got 1
    one_test.go:2: TestA: got 2
    ");
}

#[test]
fn what_is_no_problem_is_none() {
    for output in [
        "",
        "hello\n",
        "12:30:45: a clock\n127.0.0.1:80: refused\n",
        "error: could not compile `x`\n",
        "{\"level\":\"error\"}\n",
        "{{{",
    ] {
        assert_eq!(check(output), "", "{output}");
    }
}

/// Text that would take time by the square of its length.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn hostile_output_is_read_in_time() {
    let repeated = |line: &str, n: usize| line.repeat(n);
    let texts = [
        repeated("error: x\n", 2_000),
        repeated("error[E0001]: x\n --> src/a.rs:1:1\n\n", 2_000),
        repeated("thread 'a' panicked at src/a.rs:1:1:\n", 2_000),
        repeated("test a ... FAILED\n", 2_000),
        repeated("--- FAIL: TestA (0.1s)\n", 2_000),
        repeated("not ok 1 - a\n", 2_000),
        repeated("  File \"a.py\", line 1\n", 2_000),
        repeated("✖ a (1ms)\n", 2_000),
        repeated("{\"a\":", 30_000),
        repeated("[", 30_000),
        repeated("\x1b]", 30_000),
        repeated("\x1b[", 30_000),
        (0..2_000).map(|n| format!("test t{n} ... FAILED\n")).collect(),
        (0..2_000).map(|n| format!("    --- FAIL: Test/{n} (0s)\n")).collect(),
        (0..2_000).map(|n| format!("src/a.rs:{n}:1: error: x\n")).collect(),
    ];
    for text in texts {
        let started = std::time::Instant::now();
        let found = problems(&text);
        assert!(found.len() <= MOST, "{}", found.len());
        let head: String = text.chars().take(30).collect();
        assert!(started.elapsed() < std::time::Duration::from_secs(8), "{:?} {head}", started.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any text at all, and any mixture of the forms.
    #[test]
    fn no_text_breaks_a_reader(
        any in "\\PC{0,60}",
        lines in proptest::collection::vec(prop_oneof![
            "(error|warning)(\\[E[0-9]{4}\\])?: \\PC{0,12}",
            "( --> |Diff in |)(src/|/work/w/|\\.\\./)?é?a\\.(rs|py|go|ts|c):[0-9]{0,12}:[0-9]{0,3}:? ?(error|E501|\\PC{0,9})",
            "(thread 'a' panicked at |test a \\.\\.\\. FAILED|--- FAIL: T|=== RUN   T|panic: |FAILED a\\.py::b|E   |___ a ___|=====)\\PC{0,9}",
            "(not ok 1 - |✖ a \\(1ms\\)|  ● |test at a:1:1| FAIL a\\.ts > |  \\.\\.\\.|  error: )\\PC{0,9}",
            "(\u{1b}\\[3?|\u{1b}\\]|\\{|\r|\u{7})\\PC{0,9}",
        ], 0..24),
    ) {
        let text = format!("{any}\n{}", lines.join("\n"));
        let files = files(&["a.rs", "src/a.rs"]);
        for ground in [Ground::default(), Ground { root: ROOT, dir: "src", files: &files }] {
            for problem in read(&text, ground) {
                prop_assert!(!problem.to_string().chars().any(char::is_control), "{problem}");
                prop_assert!(problem.to_string().chars().count() < 3 * LONGEST);
            }
        }
    }
}
