//! GeoJSON geometry to a drawn [`Shape`], naming every bad coordinate.
//!
//! Always holds: a vertex costs 24 bytes while reading, whatever the file puts there; longitude
//! comes first (RFC 7946); a third and fourth coordinate are read over.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::fault::{Fault, Place};
use crate::logic::geometry::{Drawn, RingName, Shape};
use crate::units::Position;

/// One position of a geometry, or what it is instead.
struct Pos(Result<[f64; 2], &'static str>);

const NOT_A_POSITION: &str = "is not a position; write [longitude, latitude]";
const TOO_SHORT: &str = "has fewer than two numbers; write [longitude, latitude]";
const NOT_NUMBERS: &str = "has a coordinate that is not a number; write [longitude, latitude]";

impl<'de> Deserialize<'de> for Pos {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(PosVisitor)
    }
}

struct PosVisitor;

/// Answers every scalar alike.
macro_rules! not_a_position {
    ($($name:ident: $kind:ty),*) => {
        $(fn $name<E>(self, _: $kind) -> Result<Pos, E> {
            Ok(Pos(Err(NOT_A_POSITION)))
        })*
    };
}

impl<'de> Visitor<'de> for PosVisitor {
    type Value = Pos;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a position")
    }

    not_a_position!(visit_bool: bool, visit_i64: i64, visit_u64: u64);
    not_a_position!(visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Pos, E> {
        Ok(Pos(Err(NOT_A_POSITION)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pos, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Pos(Err(NOT_A_POSITION)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pos, A::Error> {
        let mut pair = [0.0; 2];
        let mut verdict = Ok(());
        for slot in &mut pair {
            match seq.next_element::<Number>()? {
                Some(Number(Some(number))) => *slot = number,
                Some(Number(None)) => verdict = Err(NOT_NUMBERS),
                None => verdict = verdict.and(Err(TOO_SHORT)),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Pos(verdict.map(|()| pair)))
    }
}

/// A number, or anything else.
struct Number(Option<f64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number")
    }
    fn visit_f64<E>(self, v: f64) -> Result<Number, E> {
        Ok(Number(Some(v)))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Number, E> {
        Ok(Number(Some(v as f64)))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Number, E> {
        Ok(Number(Some(v as f64)))
    }
    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number(None))
    }
    fn visit_str<E>(self, _: &str) -> Result<Number, E> {
        Ok(Number(None))
    }
    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number(None))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Number, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number(None))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number(None))
    }
}

#[derive(Deserialize)]
struct Geometry<'a> {
    #[serde(rename = "type", default)]
    kind: serde_json::Value,
    #[serde(borrow, default)]
    coordinates: Option<&'a RawValue>,
}

/// A size that a feature's properties may give.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Whether the property is there, right or wrong.
    pub(super) given: bool,
    /// What it says, where it is right.
    pub(super) metres: Option<f64>,
}

/// The sizes that a feature's properties give to points and lines.
pub(super) struct Sizes {
    pub(super) radius_m: Size,
    pub(super) width_m: Size,
}

/// Reads a geometry. `Err` means that faults were added.
pub(super) fn shape(
    raw: Option<&RawValue>,
    sizes: &Sizes,
    feature: &Place,
    faults: &mut Vec<Fault>,
) -> Result<Drawn, ()> {
    let before = faults.len();
    let mut refuse = |reason: String| faults.push(Fault { place: feature.clone(), reason });
    let Some(raw) = raw.filter(|r| r.get().starts_with('{')) else {
        refuse("has no geometry; give it a Polygon, MultiPolygon, Point or LineString".to_owned());
        return Err(());
    };
    let geometry: Geometry<'_> = match serde_json::from_str(raw.get()) {
        Ok(geometry) => geometry,
        Err(e) => {
            refuse(format!("its geometry cannot be read: {}", plain(&e)));
            return Err(());
        }
    };
    let Some(coordinates) = geometry.coordinates.map(RawValue::get) else {
        refuse(match geometry.kind.as_str() {
            Some("GeometryCollection") => not_a_zone("GeometryCollection"),
            _ => "its geometry has no coordinates".to_owned(),
        });
        return Err(());
    };
    let drawn = match geometry.kind.as_str() {
        Some("Polygon") => {
            polygons(nested(coordinates, "Polygon").map(|p| vec![p]), feature, faults)
        }
        Some("MultiPolygon") => polygons(nested(coordinates, "MultiPolygon"), feature, faults),
        Some("Point") => circle(coordinates, sizes, feature, faults),
        Some("LineString") => corridor(coordinates, sizes, feature, faults),
        Some(other) => {
            refuse(not_a_zone(other));
            None
        }
        None => {
            refuse("its geometry has no type".to_owned());
            None
        }
    };
    drawn.filter(|_| faults.len() == before).ok_or(())
}

fn not_a_zone(kind: &str) -> String {
    let kind: String = kind.chars().take(40).collect();
    format!(
        "a {kind} is no zone; draw a Polygon or MultiPolygon, a Point with `radius_m`, or a LineString with `width_m`"
    )
}

/// A JSON error without its line and column, which would be those of a fragment.
fn plain(e: &serde_json::Error) -> String {
    let text = e.to_string();
    text.rfind(" at line ").map_or(text.clone(), |end| text[..end].to_owned())
}

/// Reads coordinates nested as the geometry's kind asks.
fn nested<'a, T: Deserialize<'a>>(coordinates: &'a str, kind: &str) -> Result<T, String> {
    serde_json::from_str(coordinates).map_err(|e| {
        let right = match kind {
            "Polygon" => "[[[lon, lat], …], …]",
            "MultiPolygon" => "[[[[lon, lat], …], …], …]",
            "LineString" => "[[lon, lat], …]",
            _ => "[lon, lat]",
        };
        format!("its coordinates are not those of a {kind}, {right}: {}", plain(&e))
    })
}

type Parts = Vec<Vec<Vec<Pos>>>;

fn polygons(
    parts: Result<Parts, String>,
    feature: &Place,
    faults: &mut Vec<Fault>,
) -> Option<Drawn> {
    let parts =
        parts.map_err(|reason| faults.push(Fault { place: feature.clone(), reason })).ok()?;
    let before = faults.len();
    let mut places = Vec::with_capacity(parts.len());
    for (part, rings) in parts.into_iter().enumerate() {
        let rings = rings.into_iter().enumerate().map(|(ring, points)| {
            positions(
                points,
                &Place { ring: Some(RingName { part, ring }), ..feature.clone() },
                faults,
            )
        });
        places.push(rings.collect::<Vec<_>>());
    }
    if faults.len() > before {
        return None;
    }
    let found = Shape::polygons(&places);
    found.map_err(|all| faults.extend(all.iter().map(|f| Fault::of_shape(feature.clone(), f)))).ok()
}

fn circle(
    coordinates: &str,
    sizes: &Sizes,
    feature: &Place,
    faults: &mut Vec<Fault>,
) -> Option<Drawn> {
    let mut refuse = |reason: String| faults.push(Fault { place: feature.clone(), reason });
    if !sizes.radius_m.given {
        refuse("a Point needs the property `radius_m`: the circle's radius in metres".to_owned());
    }
    let pos: Pos = nested(coordinates, "Point").map_err(&mut refuse).ok()?;
    let centre = *positions(vec![pos], feature, faults).first()?;
    let shape = Shape::circle(centre, sizes.radius_m.metres?);
    let shape = shape.map_err(|f| faults.push(Fault::of_shape(feature.clone(), &f))).ok()?;
    Some(Drawn { shape, slips: Vec::new() })
}

fn corridor(
    coordinates: &str,
    sizes: &Sizes,
    feature: &Place,
    faults: &mut Vec<Fault>,
) -> Option<Drawn> {
    let mut refuse = |reason: String| faults.push(Fault { place: feature.clone(), reason });
    if !sizes.width_m.given {
        let right =
            "a LineString needs the property `width_m`: the corridor's whole width in metres";
        refuse(right.to_owned());
    }
    let points: Vec<Pos> = nested(coordinates, "LineString").map_err(&mut refuse).ok()?;
    let before = faults.len();
    let line = positions(points, feature, faults);
    if faults.len() > before {
        return None;
    }
    let shape = Shape::corridor(&line, 0.5 * sizes.width_m.metres?);
    shape.map_err(|f| faults.push(Fault::of_shape(feature.clone(), &f))).ok()
}

/// The good positions; a fault for each of the others.
fn positions(points: Vec<Pos>, place: &Place, faults: &mut Vec<Fault>) -> Vec<Position> {
    let mut good = Vec::with_capacity(points.len());
    if !points.is_empty() && points.iter().all(|p| p.0 == Err(NOT_A_POSITION)) {
        let reason = "holds numbers where positions should be; is a pair of brackets missing?";
        faults.push(Fault { place: place.clone(), reason: reason.to_owned() });
        return good;
    }
    for (vertex, Pos(read)) in points.into_iter().enumerate() {
        let place = Place { vertex: Some(vertex), ..place.clone() };
        match read.map(|[lon, lat]| Position::new(lat, lon).ok_or([lon, lat])) {
            Ok(Ok(position)) => good.push(position),
            Ok(Err([lon, lat])) => {
                let place = Place { at: Some([lon, lat]), ..place };
                faults.push(Fault { place, reason: out_of_range(lon, lat) });
            }
            Err(reason) => faults.push(Fault { place, reason: reason.to_owned() }),
        }
        if faults.len() > super::read::FAULTS_MAX {
            break;
        }
    }
    good
}

fn out_of_range(lon: f64, lat: f64) -> String {
    let within = |v: f64, limit: f64| v.abs() <= limit;
    if !within(lat, 90.0) && within(lat, 180.0) && within(lon, 90.0) {
        return format!("latitude {lat} is out of range; longitude comes first, are they swapped?");
    }
    if !within(lat, 90.0) {
        return format!("latitude {lat} is out of range; it must be within ±90");
    }
    if lon.abs() < 540.0 {
        let right = crate::logic::geometry::ground::wrap_deg(lon);
        return format!("longitude {lon} is out of range ±180; write {right}");
    }
    format!("longitude {lon} is out of range; it must be within ±180")
}
