//! Zones of several shapes, each drawn once for every combination of rules: one run of the engine
//! then answers for the whole grid.
//!
//! Always holds: copies of a shape differ in their rules alone. Does not know: drives.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use geofenced::logic::config::Decide;
use geofenced::logic::geometry::Shape;
use geofenced::logic::zones::{Layer, Zone, parse_layer};

/// What is tried for one zone.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub(crate) struct Rules {
    pub(crate) confirm: u8,
    pub(crate) confirm_for_s: u8,
    pub(crate) exit_margin_m: u8,
    pub(crate) enter_margin_m: u8,
}

impl Rules {
    /// As shipped.
    pub(crate) fn shipped() -> Self {
        let own = Decide::default();
        Self {
            confirm: own.confirm,
            confirm_for_s: own.confirm_for.secs_f64() as u8,
            exit_margin_m: own.exit_margin_m as u8,
            enter_margin_m: own.enter_margin_m as u8,
        }
    }

    /// `[decide]` with these.
    fn properties(self) -> String {
        let Self { confirm, confirm_for_s, exit_margin_m, enter_margin_m } = self;
        format!(
            r#""confirm":{confirm},"confirm_for":"{confirm_for_s}s","exit_margin_m":{exit_margin_m},
            "enter_margin_m":{enter_margin_m}"#
        )
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { confirm, confirm_for_s, exit_margin_m, enter_margin_m } = self;
        write!(
            f,
            "confirm {confirm}, {confirm_for_s} s, exit {exit_margin_m} m, enter {enter_margin_m} m"
        )
    }
}

/// Every combination; the shipped rules first.
pub(crate) fn grid(confirm: &[u8], for_s: &[u8], exit_m: &[u8], enter_m: &[u8]) -> Vec<Rules> {
    let mut grid = vec![Rules::shipped()];
    for &confirm in confirm {
        for &confirm_for_s in for_s {
            for &exit_margin_m in exit_m {
                for &enter_margin_m in enter_m {
                    let own = Rules { confirm, confirm_for_s, exit_margin_m, enter_margin_m };
                    if own != Rules::shipped() {
                        grid.push(own);
                    }
                }
            }
        }
    }
    grid
}

/// Metres east and north of the middle of it all.
pub(crate) type Offset = (f64, f64);

/// A shape as it is drawn.
#[derive(Clone, Debug)]
pub(crate) enum Drawing {
    Circle { centre: Offset, radius_m: u32 },
    Ring(Vec<Offset>),
    Corridor { line: Vec<Offset>, width_m: u32 },
}

/// The middle of it all.
pub(crate) const LAT: f64 = 48.15;
pub(crate) const LON: f64 = 11.56;
/// Metres in a degree there (WGS84).
const NORTH_M: f64 = 111_203.3;
const EAST_M: f64 = 74_408.8;

fn coordinate((east_m, north_m): Offset) -> String {
    format!("[{:.7},{:.7}]", LON + east_m / EAST_M, LAT + north_m / NORTH_M)
}

impl Drawing {
    /// A rectangle around a centre.
    pub(crate) fn rectangle(centre: Offset, width_m: f64, height_m: f64) -> Self {
        let (x, y) = (0.5 * width_m, 0.5 * height_m);
        let corners = [(-x, -y), (x, -y), (x, y), (-x, y)];
        Self::Ring(corners.map(|(e, n)| (centre.0 + e, centre.1 + n)).to_vec())
    }

    /// Its geometry, and the property that belongs to it.
    fn geojson(&self) -> (String, String) {
        let places = |list: &[Offset]| {
            list.iter().map(|offset| coordinate(*offset)).collect::<Vec<_>>().join(",")
        };
        match self {
            Self::Circle { centre, radius_m } => (
                format!(r#"{{"type":"Point","coordinates":{}}}"#, coordinate(*centre)),
                format!(r#""radius_m":{radius_m},"#),
            ),
            Self::Ring(ring) => {
                let closed = [&ring[..], &ring[..1]].concat();
                let ring = places(&closed);
                (format!(r#"{{"type":"Polygon","coordinates":[[{ring}]]}}"#), String::new())
            }
            Self::Corridor { line, width_m } => (
                format!(r#"{{"type":"LineString","coordinates":[{}]}}"#, places(line)),
                format!(r#""width_m":{width_m},"#),
            ),
        }
    }
}

/// A layer with every drawing under every combination of rules.
pub(crate) struct Field {
    pub(crate) layer: Arc<Layer>,
    pub(crate) rules: Vec<Rules>,
}

impl Field {
    pub(crate) fn new(drawings: &[Drawing], rules: &[Rules]) -> Self {
        let mut features = String::new();
        for (base, drawing) in drawings.iter().enumerate() {
            let (geometry, property) = drawing.geojson();
            for (ix, own) in rules.iter().enumerate() {
                let comma = if features.is_empty() { "" } else { "," };
                write!(
                    features,
                    r#"{comma}{{"type":"Feature","id":"{base}.{ix}","geometry":{geometry},
                    "properties":{{{property}{}}}}}"#,
                    own.properties()
                )
                .unwrap();
            }
        }
        let text = format!(
            r#"{{"type":"FeatureCollection","geofenced":{{"layer":"truth","version":1}},
            "features":[{features}]}}"#
        );
        let checked = parse_layer(text.as_bytes(), &Decide::default());
        let layer = checked.unwrap_or_else(|faults| panic!("{faults:?}")).layer;
        Self { layer: Arc::new(layer), rules: rules.to_vec() }
    }

    /// Each drawing once.
    pub(crate) fn shapes(&self) -> Vec<&Shape> {
        let once = self.layer.zones.iter().step_by(self.rules.len());
        once.map(|zone: &Zone| &zone.shape).collect()
    }
}

/// Four zones of a quarter of a square kilometre or more, 4 km apart.
pub(crate) fn four() -> Vec<Drawing> {
    vec![
        Drawing::rectangle((0.0, 0.0), 900.0, 800.0),
        Drawing::Circle { centre: (4_000.0, 0.0), radius_m: 450 },
        Drawing::Ring(vec![
            (3_600.0, 4_000.0),
            (3_900.0, 3_550.0),
            (4_450.0, 3_700.0),
            (4_500.0, 4_300.0),
            (4_000.0, 4_500.0),
        ]),
        Drawing::Corridor { line: vec![(-300.0, 4_000.0), (300.0, 4_100.0)], width_m: 800 },
    ]
}
