//! One GeoJSON feature to a [`Zone`], naming everything wrong with it.

use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::coordinates::{self, Size, Sizes};
use super::fault::{Fault, Place, Repair};
use super::read::FAULTS_MAX;
use super::{Fingerprint, Zone, ZoneRules};
use crate::logic::config::{Decide, parse_duration};
use crate::logic::geometry::Shape;
use crate::units::{Span, ZoneId};

/// The longest name in bytes: fits a line of a status screen.
pub(super) const NAME_BYTES_MAX: usize = 256;
/// The most a zone's tags may take as JSON: they go into each of its events.
pub(super) const TAGS_BYTES_MAX: usize = 4096;
/// The widest margin in metres: more would swallow the zone's neighbours.
const MARGIN_MAX_M: f64 = 10_000.0;
/// The longest `confirm_for`: a longer one is a dwell.
const CONFIRM_FOR_MAX: Span = Span::from_secs(3_600);
/// The longest `dwell`: a year.
const DWELL_MAX: Span = Span::from_secs(366 * 86_400);

#[derive(Deserialize)]
struct Feature<'a> {
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    properties: Value,
    #[serde(borrow, default)]
    geometry: Option<&'a RawValue>,
}

/// What a feature's faults and repairs go into.
pub(super) struct Findings<'a> {
    pub(super) defaults: &'a Decide,
    pub(super) faults: Vec<Fault>,
    pub(super) repairs: Vec<Repair>,
}

impl Findings<'_> {
    /// A generator makes the same slip in every feature: nobody reads a hundred thousand.
    fn note(&mut self, repair: Repair) {
        match self.repairs.len().cmp(&FAULTS_MAX) {
            Ordering::Less => self.repairs.push(repair),
            Ordering::Equal => {
                let what = format!("there are more than {FAULTS_MAX} such lines; listing stops");
                self.repairs.push(Repair { place: Place::default(), what });
            }
            Ordering::Greater => {}
        }
    }
}

/// The properties that decide something. Not `id` and `name`: many a word is like them.
const DECIDING: [&str; 9] = [
    "enter_margin_m",
    "exit_margin_m",
    "confirm",
    "confirm_for",
    "dwell",
    "detect_pass",
    "tags",
    "radius_m",
    "width_m",
];

/// A property within so many slips of the finger from one of ours was meant to be it.
const SLIPS_MAX: usize = 2;

/// Properties that look like ours and are not: what they ask for does not hold.
fn misspelt(props: &Map<String, Value>) -> Vec<String> {
    let foreign = props.keys().filter(|key| !DECIDING.contains(&key.as_str()));
    let meant = foreign.filter_map(|key| {
        // Two slips make any word of four letters of another.
        let near = |right: &str| {
            let slips_max = if right.len() > 5 { SLIPS_MAX } else { 1 };
            strsim::damerau_levenshtein(key, right) <= slips_max
        };
        let right = DECIDING.iter().find(|right| key.len() <= 20 && near(right))?;
        Some(format!("`{key}` is not known and was ignored; is `{right}` meant?"))
    });
    meant.collect()
}

/// Sizes that this kind of shape has no use for.
fn useless(shape: &Shape, sizes: &Sizes) -> Vec<String> {
    let kind = match shape {
        Shape::Polygons(_) => "Polygon",
        Shape::Circle(_) => "Point",
        Shape::Corridor(_) => "LineString",
    };
    let all = [("radius_m", sizes.radius_m, "Point"), ("width_m", sizes.width_m, "LineString")];
    all.into_iter()
        .filter(|(_, size, user)| size.given && *user != kind)
        .map(|(key, _, user)| {
            format!("`{key}` was ignored: it is for a {user}, and this is a {kind}")
        })
        .collect()
}

/// Reads feature number `feature`; `None` when faults were added.
pub(super) fn zone(raw: &RawValue, feature: usize, findings: &mut Findings<'_>) -> Option<Zone> {
    let mut place = Place { feature: Some(feature), ..Place::default() };
    let before = findings.faults.len();
    let parsed = if raw.get().starts_with('{') {
        serde_json::from_str::<Feature<'_>>(raw.get()).map_err(|e| format!("cannot be read: {e}"))
    } else {
        Err("is not an object; write a GeoJSON Feature".to_owned())
    };
    let parsed = parsed.map_err(|reason| {
        findings.faults.push(Fault { place: place.clone(), reason });
    });
    let Feature { kind, id, mut properties, geometry } = parsed.ok()?;
    let none = &mut Map::new();
    let known = properties.is_null() || properties.is_object();
    let props = properties.as_object_mut().unwrap_or(none);
    let id = zone_id(&id, props);
    if let Ok(id) = &id {
        place.zone = Some(id.to_string());
    }
    let mut fields = Fields { props, place: place.clone(), findings };
    if let Err(reason) = &id {
        fields.refuse(reason.clone());
    }
    if kind.as_str() != Some("Feature") {
        fields.refuse("is not a Feature; its `type` must be \"Feature\"".to_owned());
    }
    if !known {
        fields.refuse("its `properties` are not an object".to_owned());
    }
    let name = fields.text("name", NAME_BYTES_MAX);
    let rules = rules(&mut fields);
    let tags = tags(&mut fields);
    let sizes = Sizes { radius_m: fields.size("radius_m"), width_m: fields.size("width_m") };
    let slips = misspelt(fields.props);
    let drawn = coordinates::shape(geometry, &sizes, &place, &mut findings.faults).ok()?;
    check_margin(&drawn.shape, &rules, &place, findings);
    if findings.faults.len() > before {
        return None;
    }
    for slip in &drawn.slips {
        findings.note(Repair::of_shape(place.clone(), slip));
    }
    for what in slips.into_iter().chain(useless(&drawn.shape, &sizes)) {
        findings.note(Repair { place: place.clone(), what });
    }
    let fingerprint = Fingerprint::of(&drawn.shape);
    Some(Zone { id: id.ok()?, name, shape: drawn.shape, fingerprint, rules, tags })
}

/// The feature's `id`, else `properties.id`; whole numbers count as text.
fn zone_id(id: &Value, props: &Map<String, Value>) -> Result<ZoneId, String> {
    let id = if id.is_null() { props.get("id").unwrap_or(&Value::Null) } else { id };
    let text = match id {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null => return Err("has no `id`; give each zone one of its own".to_owned()),
        _ => return Err("its `id` is neither text nor a number".to_owned()),
    };
    ZoneId::new(&text).map_err(|e| e.to_string())
}

/// OBS-1: an `enter_margin_m` that no point of the zone can satisfy is refused.
fn check_margin(shape: &Shape, rules: &ZoneRules, place: &Place, findings: &mut Findings<'_>) {
    let margin_m = rules.enter_margin_m.unwrap_or(findings.defaults.enter_margin_m);
    if margin_m <= 0.0 {
        return;
    }
    let depth_m = shape.greatest_depth_m();
    if margin_m > depth_m {
        let reason = format!(
            "no place in it is {margin_m} m inside, as `enter_margin_m` asks; the deepest is {depth_m:.1} m: ask for less or enlarge it"
        );
        findings.faults.push(Fault { place: place.clone(), reason });
    }
}

fn rules(fields: &mut Fields<'_, '_>) -> ZoneRules {
    let rules = ZoneRules {
        enter_margin_m: fields.number("enter_margin_m", 0.0, MARGIN_MAX_M),
        exit_margin_m: fields.number("exit_margin_m", 0.0, MARGIN_MAX_M),
        confirm: fields.confirm(),
        confirm_for: fields.duration("confirm_for", Span::ZERO, CONFIRM_FOR_MAX),
        dwell: fields.duration("dwell", Span::from_millis(1), DWELL_MAX),
        detect_pass: fields.flag("detect_pass"),
    };
    if let (Some(limit), Some(asked)) = (fields.findings.defaults.vote_timeout, rules.confirm_for)
        && asked > limit
    {
        fields.refuse("its `confirm_for` is longer than the configured `vote_timeout`".to_owned());
    }
    rules
}

fn tags(fields: &mut Fields<'_, '_>) -> Map<String, Value> {
    match fields.props.remove("tags") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(tags)) => {
            let bytes = serde_json::to_string(&tags).map_or(usize::MAX, |json| json.len());
            if bytes > TAGS_BYTES_MAX {
                fields.refuse(format!("its `tags` take {bytes} bytes; at most {TAGS_BYTES_MAX}"));
            }
            tags
        }
        Some(_) => {
            fields.refuse("`tags` must be an object, such as {\"site\": \"north\"}".to_owned());
            Map::new()
        }
    }
}

/// A feature's properties, read one by one; what is wrong is noted and read as absent.
struct Fields<'a, 'b> {
    props: &'a mut Map<String, Value>,
    place: Place,
    findings: &'a mut Findings<'b>,
}

impl Fields<'_, '_> {
    fn refuse(&mut self, reason: String) {
        self.findings.faults.push(Fault { place: self.place.clone(), reason });
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.props.get(key).filter(|v| !v.is_null())
    }

    fn text(&mut self, key: &str, bytes_max: usize) -> Option<String> {
        match self.get(key)? {
            Value::String(text) if text.len() <= bytes_max => Some(text.clone()),
            Value::String(_) => {
                self.refuse(format!("`{key}` is longer than {bytes_max} bytes"));
                None
            }
            _ => {
                self.refuse(format!("`{key}` must be text"));
                None
            }
        }
    }

    fn number(&mut self, key: &str, least: f64, most: f64) -> Option<f64> {
        let value = self.get(key)?;
        let number = value.as_f64().filter(|v| (least..=most).contains(v));
        if number.is_none() {
            let right = match (least, most) {
                (_, f64::MAX) => "a number of metres above 0".to_owned(),
                _ => format!("a number of metres from {least} to {most}"),
            };
            let reason = format!("`{key}` is {}; it must be {right}", shown(value));
            self.refuse(reason);
        }
        number
    }

    fn size(&mut self, key: &str) -> Size {
        let given = self.get(key).is_some();
        Size { given, metres: self.number(key, f64::MIN_POSITIVE, f64::MAX) }
    }

    fn confirm(&mut self) -> Option<u8> {
        let value = self.get("confirm")?;
        let votes = value.as_u64().filter(|v| (1..=31).contains(v));
        if votes.is_none() {
            let shown = shown(value);
            self.refuse(format!("`confirm` is {shown}; it must be a whole number from 1 to 31"));
        }
        votes.map(|v| v as u8)
    }

    fn duration(&mut self, key: &str, least: Span, most: Span) -> Option<Span> {
        let value = self.get(key)?;
        let read = match value {
            Value::String(text) => parse_duration(text).map_err(|e| e.to_string()),
            other => Err(format!("{} must be text such as \"2s\" or \"15min\"", shown(other))),
        };
        let (low, high) = (least.secs_f64(), most.secs_f64());
        let read = read.and_then(|span| {
            let fits = least <= span && span <= most;
            fits.then_some(span).ok_or(format!("must be from {low} s to {high} s"))
        });
        read.map_err(|why| self.refuse(format!("`{key}`: {why}"))).ok()
    }

    fn flag(&mut self, key: &str) -> bool {
        match self.get(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                let shown = shown(other);
                self.refuse(format!("`{key}` is {shown}; it must be true or false"));
                false
            }
        }
    }
}

/// A value as a message shows it.
fn shown(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}
