//! Random drives over a fixed ground: routes, what a receiver says of them, and the truth.
//!
//! Always holds: a route is straight and even between its points, so the truth is known.
//! Does not know: gateways.

use std::sync::Arc;

use geofenced::logic::gnss::record::Record;
use geofenced::logic::zones::Layer;
use geofenced::units::Position;

use crate::chance::Chance;
use crate::harness::{Place, VAN, feature, layer, record};

/// Who drives.
pub(crate) const ASSETS: [&str; 2] = [VAN, "bus"];

/// The middle of the ground, and metres per degree there.
const MIDDLE: Place = (48.0005, 11.0010);
const NORTH_M: f64 = 111_200.0;
const EAST_M: f64 = 74_636.0;

/// A place `east` and `north` metres from the middle.
fn place(east: f64, north: f64) -> Place {
    (MIDDLE.0 + north / NORTH_M, MIDDLE.1 + east / EAST_M)
}

fn polygon(rings: &[&[(f64, f64)]]) -> String {
    let ring = |points: &&[(f64, f64)]| {
        let points = points.iter().chain(points.first());
        let text = points.map(|&(east, north)| {
            let (lat, lon) = place(east, north);
            format!("[{lon:.7},{lat:.7}]")
        });
        format!("[{}]", text.collect::<Vec<_>>().join(","))
    };
    let rings: Vec<String> = rings.iter().map(ring).collect();
    format!(r#"{{"type":"Polygon","coordinates":[{}]}}"#, rings.join(","))
}

/// Zones of all shapes; each version changes some of them.
pub(crate) fn layers(version: u64) -> Vec<Arc<Layer>> {
    let turn = version % 4;
    let shift = if turn == 1 { 30.0 } else { 0.0 };
    let mut zones = vec![
        feature(
            "square",
            &polygon(&[&[(-75.0, -55.0), (75.0, -55.0), (75.0, 55.0), (-75.0, 55.0)]]),
            if turn == 2 { r#""exit_margin_m":15"# } else { r#""dwell":"40s""# },
        ),
        feature(
            "east",
            &polygon(&[&[(75.0, -55.0), (225.0 + shift, -55.0), (225.0, 55.0), (75.0, 55.0)]]),
            "",
        ),
        feature(
            "holed",
            &polygon(&[
                &[(-300.0, 80.0), (-60.0, 80.0), (-60.0, 300.0), (-300.0, 300.0)],
                &[(-220.0, 150.0), (-140.0, 150.0), (-140.0, 230.0), (-220.0, 230.0)],
            ]),
            r#""confirm":2,"confirm_for":"1s""#,
        ),
        feature(
            "road",
            &{
                let line = [(-300.0, -150.0), (0.0, -150.0), (150.0, -300.0)].map(|(e, n)| {
                    let (lat, lon) = place(e, n);
                    format!("[{lon:.7},{lat:.7}]")
                });
                format!(r#"{{"type":"LineString","coordinates":[{}]}}"#, line.join(","))
            },
            r#""width_m":40,"detect_pass":true"#,
        ),
        feature(
            "tiny",
            &polygon(&[&[(200.0, 200.0), (215.0, 200.0), (207.0, 215.0)]]),
            r#""detect_pass":true,"confirm":1,"confirm_for":"0s""#,
        ),
    ];
    if turn != 3 {
        let (lat, lon) = place(150.0 + shift * 10.0, 150.0);
        let geometry = format!(r#"{{"type":"Point","coordinates":[{lon:.7},{lat:.7}]}}"#);
        zones.push(feature("circle", &geometry, r#""radius_m":90,"confirm":5"#));
    }
    layer(version + 1, &zones)
}

/// One fix on its way.
#[derive(Clone, Copy)]
pub(crate) struct Report {
    pub(crate) asset: &'static str,
    pub(crate) t: f64,
    place: Place,
    accuracy_m: f64,
}

impl Report {
    pub(crate) fn record(&self) -> Record {
        record(self.asset, self.t, self.place, Some(self.accuracy_m))
    }

    /// RMC and GST of this fix.
    pub(crate) fn nmea(&self) -> String {
        let sentence = |body: &str| {
            let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
            format!("${body}*{sum:02X}\r\n")
        };
        let of_day = 43_200.0 + self.t;
        let (h, m) = ((of_day / 3600.0).floor(), (of_day / 60.0).floor() % 60.0);
        let time = format!("{h:02}{m:02}{:05.2}", of_day % 60.0);
        let minutes = |deg: f64| (deg.floor(), deg.fract() * 60.0);
        let ((lat, lat_min), (lon, lon_min)) = (minutes(self.place.0), minutes(self.place.1));
        let at = format!("{lat:02}{lat_min:010.7},N,{lon:03}{lon_min:010.7},E");
        let sigma = self.accuracy_m / std::f64::consts::SQRT_2;
        sentence(&format!("GNRMC,{time},A,{at},0.0,,301126,,,A,V"))
            + &sentence(&format!("GNGST,{time},1.0,,,,{sigma:.2},{sigma:.2},3.0"))
    }
}

/// What is wrong with a receiver.
#[derive(Clone, Copy)]
pub(crate) struct Noise {
    sigma_m: f64,
    outliers: f64,
}

impl Noise {
    pub(crate) fn none() -> Self {
        Self { sigma_m: 0.0, outliers: 0.0 }
    }
    pub(crate) fn any(chance: &mut Chance) -> Self {
        let sigma_m = [0.0, 1.0, 3.0, 8.0][chance.below(4) as usize];
        Self { sigma_m, outliers: [0.0, 0.01, 0.05][chance.below(3) as usize] }
    }
}

/// One straight, even way.
#[derive(Clone, Copy)]
struct Leg {
    from_t: f64,
    to_t: f64,
    from: (f64, f64),
    to: (f64, f64),
    /// Seconds between fixes; none are heard where it is infinite.
    every: f64,
}

impl Leg {
    fn at(&self, t: f64) -> Place {
        let share = ((t - self.from_t) / (self.to_t - self.from_t)).clamp(0.0, 1.0);
        let mix = |a: f64, b: f64| a + (b - a) * share;
        place(mix(self.from.0, self.to.0), mix(self.from.1, self.to.1))
    }
}

/// The routes of all assets.
pub(crate) struct Drive {
    legs: Vec<(&'static str, Vec<Leg>)>,
}

impl Drive {
    /// Random ways with stops, gaps and changes of rate: about `fixes` fixes.
    pub(crate) fn random(chance: &mut Chance, fixes: u32) -> Self {
        Self::random_of(&ASSETS, chance, fixes)
    }

    /// The same of other assets.
    pub(crate) fn random_of(assets: &[&'static str], chance: &mut Chance, fixes: u32) -> Self {
        let each = f64::from(fixes) / assets.len() as f64;
        Self { legs: assets.iter().map(|asset| (*asset, route(chance, each))).collect() }
    }

    /// What receivers say, in order of time. No two of one asset share a hundredth of a second.
    pub(crate) fn reports(&self, chance: &mut Chance, noise: Noise) -> Vec<Report> {
        let mut reports = Vec::new();
        for (asset, legs) in &self.legs {
            let mut t = 0.0;
            for leg in legs {
                while t < leg.to_t {
                    if leg.every.is_finite() {
                        reports.push(report(chance, noise, asset, leg, t));
                        t = ((t + leg.every) * 100.0).round() / 100.0;
                    } else {
                        t = (leg.to_t * 100.0).ceil() / 100.0;
                    }
                }
            }
        }
        reports.sort_by(|a, b| a.t.total_cmp(&b.t));
        reports
    }

    /// When an asset truly crossed a zone's boundary inwards, or outwards.
    pub(crate) fn crossings(&self, asset: &str, zone: &str, inwards: bool) -> Vec<f64> {
        let layers = layers(0);
        let zone = layers[0].zones.iter().find(|z| z.id.as_str() == zone).unwrap();
        let inside = |leg: &Leg, t: f64| {
            let place = leg.at(t);
            zone.shape.locate(Position::new(place.0, place.1).unwrap()).inside
        };
        let legs = &self.legs.iter().find(|(name, _)| *name == asset).unwrap().1;
        let mut found = Vec::new();
        let mut before = None;
        for leg in legs {
            let length = (leg.to.0 - leg.from.0).hypot(leg.to.1 - leg.from.1);
            // Half a metre at a time: a finer touch of a corner is no crossing to speak of.
            let steps = (length * 2.0).ceil().max(1.0);
            let mut last = leg.from_t;
            for i in 0..=steps as u32 {
                let t = leg.from_t + (leg.to_t - leg.from_t) * f64::from(i) / steps;
                let now = inside(leg, t);
                if before.is_some_and(|before| before != now) && now == inwards {
                    found.push(bisect(last, t, |t| inside(leg, t) == now));
                }
                before = Some(now);
                last = t;
            }
        }
        found
    }
}

/// The first moment at which `there` holds.
fn bisect(mut from: f64, mut to: f64, there: impl Fn(f64) -> bool) -> f64 {
    while to - from > 0.001 {
        let middle = f64::midpoint(from, to);
        if there(middle) { to = middle } else { from = middle }
    }
    to
}

fn report(chance: &mut Chance, noise: Noise, asset: &'static str, leg: &Leg, t: f64) -> Report {
    let (mut lat, mut lon) = leg.at(t);
    let mut off_m = noise.sigma_m;
    if chance.unit() < noise.outliers {
        // Below what a jump is refused for: 100 m/s and both accuracies.
        off_m += 3.0 * leg.every.min(8.0);
    }
    lat += off_m * chance.normal().clamp(-3.0, 3.0) / NORTH_M;
    lon += off_m * chance.normal().clamp(-3.0, 3.0) / EAST_M;
    Report { asset, t, place: (lat, lon), accuracy_m: noise.sigma_m.max(1.5) }
}

fn route(chance: &mut Chance, fixes: f64) -> Vec<Leg> {
    let mut legs: Vec<Leg> = Vec::new();
    let spot = |chance: &mut Chance| (600.0 * chance.unit() - 300.0, 600.0 * chance.unit() - 300.0);
    let (mut t, mut from, mut every) = (0.0, spot(chance), 1.0);
    let mut heard = 0.0;
    while heard < fixes {
        if chance.unit() < 0.15 {
            every = [0.1, 0.2, 0.5, 1.0, 1.0, 5.0, 20.0, 60.0][chance.below(8) as usize];
        }
        let silent = chance.unit() < 0.08;
        let to = if chance.unit() < 0.2 { from } else { spot(chance) };
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let takes = if silent {
            [60.0_f64, 250.0, 400.0, 4000.0][chance.below(4) as usize].max(length / 30.0)
        } else if length == 0.0 {
            every * (2.0 + 20.0 * chance.unit())
        } else {
            length / (0.5 + 25.0 * chance.unit())
        };
        let gap = if silent { f64::INFINITY } else { every };
        legs.push(Leg { from_t: t, to_t: t + takes, from, to, every: gap });
        heard += if silent { 0.0 } else { takes / every };
        (t, from) = (t + takes, to);
    }
    legs
}
