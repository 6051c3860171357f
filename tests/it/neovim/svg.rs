//! What a terminal shows, as a picture that a browser scales.
//!
//! Invariant: every cell stands in its column, whatever font is there: each run of cells is given its width. Absent:
//! what `tmux capture-pane -e` does not emit, which is everything but text and SGR sequences.

use std::fmt::Write as _;

/// Pixels of a cell.
const CELL: (f32, f32) = (8.4, 18.0);
const EDGE: f32 = 12.0;
const TEXT: &str = "#e0e2ea";
const GROUND: &str = "#14161b";

/// The first sixteen colours, as most terminals have them.
const COLOURS: [&str; 16] = [
    "#07080d", "#ffc0b9", "#b3f6c0", "#fce094", "#a6dbff", "#ffcaff", "#8cf8f7", "#eef1f8", "#4f5258", "#ff8a80",
    "#8ff0a4", "#f9d36a", "#7cc7ff", "#ff9dff", "#5ef1ef", "#ffffff",
];

#[derive(Clone, Default, PartialEq)]
struct Style {
    text: Option<String>,
    ground: Option<String>,
    bold: bool,
    italic: bool,
    underlined: bool,
    reversed: bool,
}

impl Style {
    /// Takes one SGR sequence in, the part between `[` and `m`.
    fn take(&mut self, sequence: &str) {
        let mut codes = sequence.split(';');
        while let Some(code) = codes.next() {
            // `4:3` is a curly line, `58:…` its colour: a line will do.
            let (number, rest) = code.split_once(':').unwrap_or((code, ""));
            let number = number.parse::<u32>().unwrap_or(0);
            match number {
                0 => *self = Style::default(),
                1 => self.bold = true,
                3 => self.italic = true,
                4 => self.underlined = rest != "0",
                7 => self.reversed = true,
                22 => self.bold = false,
                23 => self.italic = false,
                24 => self.underlined = false,
                27 => self.reversed = false,
                30..=37 => self.text = colour(number - 30),
                90..=97 => self.text = colour(number - 82),
                39 => self.text = None,
                40..=47 => self.ground = colour(number - 40),
                100..=107 => self.ground = colour(number - 92),
                49 => self.ground = None,
                38 | 48 | 58 if rest.is_empty() => {
                    let given = extended(&mut codes);
                    match number {
                        38 => self.text = given,
                        48 => self.ground = given,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
}

fn colour(index: u32) -> Option<String> {
    COLOURS.get(usize::try_from(index).ok()?).map(|name| (*name).to_owned())
}

/// `5;N` or `2;R;G;B`.
fn extended<'a>(codes: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let mut next = || codes.next()?.parse::<u32>().ok();
    match next()? {
        2 => Some(format!("#{:02x}{:02x}{:02x}", next()?, next()?, next()?)),
        5 => match next()? {
            index @ 0..=15 => colour(index),
            index @ 16..=231 => {
                let part = |n: u32| if n == 0 { 0 } else { 55 + 40 * n };
                let cube = index - 16;
                Some(format!("#{:02x}{:02x}{:02x}", part(cube / 36), part(cube / 6 % 6), part(cube % 6)))
            }
            index => {
                let grey = 8 + 10 * (index.min(255) - 232);
                Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
            }
        },
        _ => None,
    }
}

/// Runs of equal style in a line, with their columns.
fn runs(line: &str, style: &mut Style) -> Vec<(usize, String, Style)> {
    let mut found: Vec<(usize, String, Style)> = Vec::new();
    let mut column = 0;
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
            let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(sequence.len().saturating_sub(1));
            if sequence[end..].starts_with('m') {
                style.take(&sequence[..end]);
            }
            rest = &sequence[end + 1..];
            continue;
        }
        match found.last_mut() {
            Some((_, text, same)) if same == style => text.push(character),
            _ => found.push((column, character.to_string(), style.clone())),
        }
        column += 1;
        rest = &rest[character.len_utf8()..];
    }
    found
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A picture of a captured screen, with a name for those who do not see it.
pub fn picture(screen: &str, columns: usize, name: &str) -> String {
    let lines: Vec<&str> = screen.trim_end_matches('\n').split('\n').collect();
    let size = |cells: usize, pixels: f32| cells as f32 * pixels;
    let (width, height) = (size(columns, CELL.0) + 2.0 * EDGE, size(lines.len(), CELL.1) + 2.0 * EDGE);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.1} \
         {height:.1}\" role=\"img\" aria-label=\"{}\">\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\">\n",
        escaped(name)
    );
    let mut style = Style::default();
    for (row, line) in lines.iter().enumerate() {
        let top = EDGE + size(row, CELL.1);
        for (column, text, style) in runs(line, &mut style) {
            let (left, cells) = (EDGE + size(column, CELL.0), text.chars().count());
            let width = size(cells, CELL.0);
            let (mut front, mut back) = (style.text.clone(), style.ground.clone());
            if style.reversed {
                front = Some(back.unwrap_or_else(|| GROUND.to_owned()));
                back = Some(style.text.clone().unwrap_or_else(|| TEXT.to_owned()));
            }
            if let Some(back) = back {
                let height = CELL.1;
                writeln!(
                    out,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{back}\"/>"
                )
                .unwrap();
            }
            if text.trim().is_empty() {
                continue;
            }
            let mut how = String::new();
            for (set, what) in [
                (style.bold, " font-weight=\"bold\""),
                (style.italic, " font-style=\"italic\""),
                (style.underlined, " text-decoration=\"underline\""),
            ] {
                if set {
                    how.push_str(what);
                }
            }
            let (base, front) = (top + CELL.1 * 0.74, front.as_deref().unwrap_or(TEXT));
            writeln!(
                out,
                "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{width:.1}\" xml:space=\"preserve\" fill=\"{front}\"{how}>{}</text>",
                escaped(&text)
            )
            .unwrap();
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

#[test]
fn colours_columns_and_marks_are_kept() {
    let screen = "a\u{1b}[1;38;2;1;2;3mb<\u{1b}[0m \u{1b}[48;5;16mc\u{1b}[4:3md\u{1b}[m\n\u{1b}[7me\u{1b}[m\n";
    let drawn = picture(screen, 10, "two \"lines\"");
    let texts: Vec<&str> = drawn.lines().filter(|line| line.starts_with("<text")).collect();
    assert_eq!(texts.len(), 5, "{drawn}");
    assert!(texts[1].contains("fill=\"#010203\" font-weight=\"bold\">b&lt;</text>"), "{drawn}");
    assert!(texts[2].contains("x=\"45.6\"") && texts[3].contains("underline"), "{drawn}");
    assert!(drawn.contains("fill=\"#000000\"") && texts[4].contains(GROUND), "{drawn}");
}
