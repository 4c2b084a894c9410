//! Restarts and clocks of one asset; its zones are tested as timelines in `tests/field`.

use super::*;

fn at(s: i64) -> EventTime {
    EventTime::from_nanos(0) + Span::from_secs(s)
}

/// BRK-2: starts with nothing heard between them are one gap, and the power was off in it.
#[test]
fn brk_2_starts_without_a_fix_between_are_one_gap() {
    let mut asset = AssetCrossing::default();
    asset.heard(at(10), None);
    for _ in 0..20 {
        asset.restarted(GapCause::Restart);
    }
    asset.restarted(GapCause::Power);
    asset.restarted(GapCause::Restart);
    asset.heard(at(99), Some(at(90)));
    asset.restarted(GapCause::Restart);
    asset.heard(at(120), Some(at(90)));
    let restart = |after, until, cause, powered_from| Restart {
        after: at(after),
        until: Some(at(until)),
        cause,
        powered_from,
    };
    let want =
        [restart(10, 99, GapCause::Power, Some(at(90))), restart(99, 120, GapCause::Restart, None)];
    assert_eq!(asset.remembered.restarts, want);
}

/// TIME-4: after a step back a restart that was lived through does not lie in every bracket.
#[test]
fn time_4_a_restart_is_not_in_the_future() {
    let mut asset = AssetCrossing::default();
    asset.heard(at(7200), None);
    asset.restarted(GapCause::Restart);
    asset.heard(at(50), None);
    assert_eq!(asset.remembered.restarts[0].after, at(50));
    assert_eq!(asset.remembered.unheard, None, "no time has passed that can be told");
}
