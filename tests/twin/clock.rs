//! The same where the receiver's clock is set back and forth (TIME-4), on a serial port.
//!
//! Always holds: the twin sees the fixes that order let through, as the engine reports them.
//! Does not know: what trust makes of a clock.

use super::*;

/// Less than S: what a longer step makes of the silences before it is no matter of the contract.
const STEPS: [i64; 6] = [-200, -60, -18, -3, 3, 60];

fn serial() -> Setup {
    let mut setup = setup(&decide(None));
    setup.time.floor = Some(EventTime::from_nanos(T0 - 86_400 * S));
    setup.sources[0].trusting = Trusting::Serial;
    setup.report_fixes = true;
    setup
}

/// A stream as it arrives, and what the clock of its receiver is off by from each fix on.
fn stepping(chance: &mut Chance) -> Vec<(i64, Spot)> {
    let mut spots = stream(chance);
    spots.retain(|spot| !spot.estimated);
    let rate = [0.01, 0.03][chance.below(2) as usize];
    let mut off = 0;
    let step = |spot: Spot| {
        if chance.unit() < rate {
            off += STEPS[chance.below(6) as usize] * S;
        }
        (spot.t, Spot { t: spot.t + off, ..spot })
    };
    spots.into_iter().map(step).collect()
}

/// What the engine says of each zone, and what the twin does.
type Answers = Vec<(Vec<Said>, Vec<Said>)>;

/// Both answers, and how many steps back there were.
fn both(rules: &[Rules], spots: &[(i64, Spot)]) -> (Answers, usize) {
    let mut engine = Engine::replay(serial(), &layer(rules));
    let (mut events, mut fixes) = (Vec::new(), Vec::new());
    let mut hear = |engine: &mut Engine, input: Input<'_>| {
        let step = engine.step(input);
        events.extend(step.events);
        fixes.extend(step.fixes.into_iter().filter(|fix| fix.reason.is_none()));
    };
    for &(arrives, spot) in spots {
        let at = BootTime::from_nanos(arrives - T0 + 3600 * S);
        hear(&mut engine, Input::Record { source: 0, at, record: record(spot) });
    }
    let at = BootTime::from_nanos(i64::MAX / 2);
    hear(&mut engine, Input::End { source: 0, at });
    hear(&mut engine, Input::Wake { now: at });
    let back = fixes.windows(2).filter(|two| two[1].fix.time < two[0].fix.time).count();
    let mut pairs = Vec::new();
    for (ix, own) in rules.iter().enumerate() {
        let mut twin = Twin::new(*own);
        for report in &fixes {
            let located = engine.ground().locate(ix as u32, report.fix.position);
            let (t, accuracy_m) = (report.fix.time.nanos(), report.fix.accuracy_m);
            let (d_m, inside) = (located.distance_m, located.inside);
            twin.fix(Fix { t, d_m, inside, accuracy_m });
        }
        let zone = engine.ground().zone(ix as u32).key.zone.clone();
        let own = events.iter().filter(|event: &&Event| event.body.zone.as_ref() == Some(&zone));
        let own: Vec<_> = own.collect();
        let opened = own.iter().enumerate().map(|(n, event)| (event.id.clone(), n)).collect();
        pairs.push((own.iter().map(|e| said(e, &opened)).collect(), twin.said().to_vec()));
    }
    (pairs, back)
}

/// TIME-4, §4: a clock that steps takes votes and brackets along.
#[test]
fn time_4_the_engine_is_its_twin_where_the_clock_steps() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let most = if std::env::var_os("GEOFENCED_LONG").is_some() { 5000 } else { 60 };
    let seeds = number("GEOFENCED_SEED").map_or(1..=most, |seed| seed..=seed);
    let (mut count, mut steps) = (0, 0);
    for seed in seeds {
        let mut chance = Chance::new(seed ^ 0xc10c);
        let mut rules: Vec<_> = (0..ZONES).map(|_| rules(&mut chance, None)).collect();
        for own in &mut rules {
            own.dwell = None;
        }
        let spots = stepping(&mut chance);
        let (answers, back) = both(&rules, &spots);
        steps += back;
        for (ix, (have, want)) in answers.iter().enumerate() {
            let at = (0..have.len().max(want.len())).find(|n| {
                !same(&have[..(n + 1).min(have.len())], &want[..(n + 1).min(want.len())])
            });
            if let Some(n) = at {
                let (have, want) = (have.get(n), want.get(n));
                panic!(
                    "seed {seed}: zone {ix} {:?}, event {n}:\nhave {have:#?}\nwant {want:#?}",
                    rules[ix]
                );
            }
            count += have.len();
        }
    }
    println!("TIME-4: {count} events, {steps} steps back");
    assert!(count > 0 && steps > 0);
}
