//! `docs/defaults.md`: where the tables stand, and what of it must stay true.
//!
//! Always holds: only what lies between two markers is written. Does not know: what tables say.

use std::path::{Path, PathBuf};

use geofenced::logic::config::Decide;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/defaults.md")
}

/// The page with the text between a table's markers replaced; `None` without these markers.
fn with(page: &str, name: &str, table: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end {name} -->"));
    let from = page.find(&begin)? + begin.len();
    let to = from + page[from..].find(&end)?;
    Some(format!("{}{table}{}", &page[..from], &page[to..]))
}

/// Tells a table, and writes it into the page where that is wanted.
#[expect(clippy::print_stdout, reason = "what a long test measured is its result")]
pub(crate) fn bless(name: &str, table: &str) {
    // Tests run beside each other, and the page is one file.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    println!("{name}\n{table}");
    if std::env::var_os("GEOFENCED_BLESS").is_none() {
        return;
    }
    let _one = ONE.lock().unwrap();
    let page = std::fs::read_to_string(path()).unwrap();
    let page = with(&page, name, table).unwrap_or_else(|| panic!("no markers for {name}"));
    std::fs::write(path(), page).unwrap();
}

/// The page says what is shipped, and every table has its place and rows.
#[test]
fn the_page_says_what_is_shipped() {
    let page = std::fs::read_to_string(path()).unwrap();
    let Decide { confirm, confirm_for, enter_margin_m, exit_margin_m, .. } = Decide::default();
    let confirm_for_s = confirm_for.secs_f64();
    for line in [
        format!("| `confirm` | {confirm} |"),
        format!("| `confirm_for` | `\"{confirm_for_s}s\"` |"),
        format!("| `exit_margin_m` | {exit_margin_m} |"),
        format!("| `enter_margin_m` | {enter_margin_m} |"),
    ] {
        assert!(page.contains(&line), "docs/defaults.md does not say: {line}");
    }
    for name in ["shipped", "votes", "margins", "worst", "standing", "parked", "small"] {
        let emptied = with(&page, name, "").unwrap_or_else(|| panic!("no markers for {name}"));
        assert!(page.len() > emptied.len() + 200, "the table {name} is empty");
    }
}
