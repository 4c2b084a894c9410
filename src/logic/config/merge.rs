//! Files to one set of settings: parse, check each key against the schema, later wins.
//!
//! Always holds: every key in the result is in the schema and fits its shape; every fault of every
//! file is reported, in the order of the text. Does not know: what two keys mean together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{ConfigFault, Origin};
use super::schema::{self, SOURCE};
use super::value::{self, Value};
use super::{ConfigFile, Env};

/// The name of a source that gives none.
pub(super) const SOURCE_NAME: &str = "gnss";

/// One value and who set it.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// The keys of one section as far as they were given.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub(super) keys: BTreeMap<&'static str, Setting>,
    /// Keys that were given and refused: not missing, already told.
    pub(super) bad: BTreeSet<&'static str>,
    /// Where the section was last opened.
    pub(super) at: Option<Origin>,
}

/// All files, merged.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) sections: BTreeMap<&'static str, Section>,
    /// In the order their names first appear.
    pub(super) sources: Vec<(String, Section)>,
    /// The last file, as the place of what is missing altogether.
    pub(super) last: Option<Origin>,
}

/// Reads all files in order.
pub(super) fn merge(files: &[ConfigFile], env: &Env) -> (Merged, Vec<ConfigFault>) {
    let mut merged = Merged::default();
    let mut faults = Vec::new();
    for file in files {
        let (doc, errors) = DeTable::parse_recoverable(&file.text);
        let mut walk =
            Walk { file: &file.path.as_str().into(), text: &file.text, env, faults: vec![] };
        merged.last = Some(Origin::File { file: Arc::clone(walk.file), line: 0, column: 0 });
        for error in &errors {
            let at = error.span().map_or(0, |span| span.start);
            let what = format!("is not TOML: {}", error.message().replace('\n', ", "));
            walk.fault(at, "", what, "");
        }
        // After a syntax error what follows is guesswork: one honest message, not ten wrong ones.
        if errors.is_empty() {
            walk.document(doc.get_ref(), &mut merged);
        }
        walk.faults.sort_by_key(|(at, _)| *at);
        faults.extend(walk.faults.into_iter().map(|(_, fault)| fault));
    }
    (merged, faults)
}

struct Walk<'a> {
    file: &'a Arc<str>,
    text: &'a str,
    env: &'a Env,
    /// With their place, to be told in the order of the text.
    faults: Vec<(usize, ConfigFault)>,
}

impl Walk<'_> {
    /// Line and column, from 1, of a byte.
    fn place(&self, at: usize) -> Origin {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Origin::File {
            file: Arc::clone(self.file),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    fn fault(&mut self, at: usize, key: &str, what: impl Into<String>, fix: impl Into<String>) {
        let origin = self.place(at);
        self.faults.push((at, ConfigFault::at(&origin, key, what, fix)));
    }

    fn document(&mut self, doc: &DeTable<'_>, merged: &mut Merged) {
        let sections = schema::sections();
        for (name, value) in doc {
            let at = name.span().start;
            let known = sections.iter().find(|s| **s == name.get_ref().as_ref());
            match (known, value.get_ref()) {
                (Some(&SOURCE), DeValue::Array(tables)) => {
                    let tables: Vec<_> = tables.iter().collect();
                    self.sources(&tables, merged);
                }
                (Some(&SOURCE), _) => {
                    self.fault(at, SOURCE, "is one table", "write [[source]], with two brackets");
                }
                (Some(section), DeValue::Table(table)) => {
                    let into = merged.sections.entry(section).or_default();
                    into.at = Some(self.place(at));
                    self.section(section, section, table, into);
                }
                (Some(section), _) => {
                    let fix = format!("write [{section}] and its keys below");
                    self.fault(at, section, "is not a table", fix);
                }
                (None, _) => self.above(name, value, merged, &sections),
            }
        }
    }

    /// A key above all sections: a known one, or a slip.
    fn above(
        &mut self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        merged: &mut Merged,
        sections: &[&'static str],
    ) {
        if let Some(key) = schema::of("").find(|k| k.name == name.get_ref().as_ref()) {
            let into = merged.sections.entry("").or_default();
            self.key(key, key.name, value, into);
            return;
        }
        let word: &str = name.get_ref();
        let all = schema::of("").map(|k| k.name).chain(sections.iter().copied());
        let (what, fix) = match (value.get_ref(), schema::nearest(word, all)) {
            (_, Some(SOURCE)) => ("unknown section", "did you mean [[source]]?".to_owned()),
            (DeValue::Table(_) | DeValue::Array(_), Some(near)) => {
                ("unknown section", format!("did you mean [{near}]?"))
            }
            (DeValue::Table(_) | DeValue::Array(_), None) => {
                ("unknown section", format!("there are {}", sections.join(", ")))
            }
            (_, near) => ("unknown key", elsewhere(word, "", near)),
        };
        self.fault(name.span().start, word, what, fix);
    }

    fn section(
        &mut self,
        section: &'static str,
        shown: &str,
        table: &DeTable<'_>,
        into: &mut Section,
    ) {
        for (name, value) in table {
            let word: &str = name.get_ref();
            let dotted = format!("{shown}.{word}");
            if let Some(key) = schema::of(section).find(|k| k.name == word) {
                self.key(key, &dotted, value, into);
                continue;
            }
            let at = name.span().start;
            if let Some((_, instead)) = schema::SECRETS.iter().find(|(w, _)| *w == word) {
                let fix = format!(
                    "put it in a file of its own and name it: \
                     {instead} = \"$CREDENTIALS_DIRECTORY/…\""
                );
                self.fault(at, &dotted, "a secret does not belong in a config", fix);
            } else {
                let near = schema::nearest(word, schema::of(section).map(|k| k.name));
                self.fault(at, &dotted, "unknown key", elsewhere(word, section, near));
            }
        }
    }

    fn key(
        &mut self,
        key: &'static schema::Key,
        dotted: &str,
        value: &Spanned<DeValue<'_>>,
        into: &mut Section,
    ) {
        let at = value.span().start;
        match value::read(key.shape, value.get_ref(), self.env) {
            Ok(value) => {
                let origin = self.place(at);
                into.bad.remove(key.name);
                into.keys.insert(key.name, Setting { value, origin });
            }
            Err(e) => {
                into.bad.insert(key.name);
                self.fault(at, dotted, e.what, e.fix);
            }
        }
    }

    fn sources(&mut self, tables: &[&Spanned<DeValue<'_>>], merged: &mut Merged) {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for entry in tables {
            let at = entry.span().start;
            let DeValue::Table(table) = entry.get_ref() else {
                self.fault(at, SOURCE, "is not a table", "write [[source]] and its keys below");
                continue;
            };
            let named = table.iter().find(|(k, _)| k.get_ref().as_ref() == "name");
            let name = match named.map(|(_, v)| v.get_ref()) {
                Some(DeValue::String(name)) => name.to_string(),
                _ => SOURCE_NAME.to_owned(),
            };
            if !seen.insert(name.clone()) {
                let at = named.map_or(at, |(_, v)| v.span().start);
                let what = format!("two sources of one file are named {name:?}");
                self.fault(at, "source.name", what, "give each a `name` of its own");
            }
            let found = merged.sources.iter().position(|(n, _)| *n == name);
            let index = found.unwrap_or_else(|| {
                merged.sources.push((name.clone(), Section::default()));
                merged.sources.len() - 1
            });
            let into = &mut merged.sources[index].1;
            into.at = Some(self.place(at));
            self.section(SOURCE, &shown(&name), table, into);
        }
    }
}

/// How a source's keys are named in messages.
pub(super) fn shown(name: &str) -> String {
    format!("source {name}")
}

/// The hint for an unknown key: the same word in another section, else the nearest here.
fn elsewhere(word: &str, section: &str, near: Option<&str>) -> String {
    let other = schema::KEYS.iter().find(|k| k.name == word && k.section != section);
    match (other, near) {
        (Some(key), _) if key.section == SOURCE => format!("`{word}` belongs to [[source]]"),
        (Some(key), _) if !key.section.is_empty() => {
            format!("`{word}` belongs to [{}]", key.section)
        }
        (Some(_), _) => format!("`{word}` stands above all sections"),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => {
            let names: Vec<&str> = schema::of(section).map(|k| k.name).collect();
            format!("the keys here are {}", names.join(", "))
        }
    }
}
