//! The effective config as TOML that reads back as the same config.
//!
//! Always holds: one key a line. Does not know: files.

use std::fmt::Write as _;

use super::Effective;
use super::schema::SOURCE;

pub(super) fn show(settings: &[Effective], origin: bool) -> String {
    let mut text = String::new();
    let mut open = ("", 0);
    for Effective { section, index, key, literal, origin: from } in settings {
        if open != (*section, *index) {
            open = (section, *index);
            let header = if *section == SOURCE {
                format!("\n[[{section}]]\n")
            } else {
                format!("\n[{section}]\n")
            };
            text.push_str(&header);
        }
        let line = format!("{key} = {literal}");
        if origin {
            // Origins stand in a column of their own, past what most lines need.
            writeln!(text, "{line:<44} # {from}").expect("a String takes all");
        } else {
            writeln!(text, "{line}").expect("a String takes all");
        }
    }
    text
}
