//! INV-5, DEL-1: acknowledged, dropped and named, or still there.

use super::*;
use crate::logic::group::LossReport;

fn seqs(store: &mut Store, after: Option<u64>, max: usize, bytes: u64) -> (Vec<u64>, bool) {
    let batch = store.batch(Lane::Events, after, max, bytes).unwrap();
    (batch.events.iter().map(|stored| stored.event.seq).collect(), batch.more)
}

#[test]
fn inv_5_batches_come_in_order_and_within_bounds() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..5);
    let store = &mut world.store;
    let all = store.batch(Lane::Events, None, 100, 1 << 20).unwrap();
    let one = all.events[0].body.len() as u64;
    assert_eq!(all.events[0].body, all.events[0].event.to_json());
    assert_eq!(all.last_seq(), Some(5));
    assert_eq!(seqs(store, None, 100, 1 << 20), (vec![1, 2, 3, 4, 5], false));
    assert_eq!(seqs(store, None, 2, 1 << 20), (vec![1, 2], true));
    assert_eq!(seqs(store, Some(3), 2, 1 << 20), (vec![4, 5], false));
    assert_eq!(seqs(store, None, 100, 1), (vec![1], true), "at least one");
    assert_eq!(seqs(store, None, 100, 2 * one + 20), (vec![1, 2], true));
    assert_eq!(seqs(store, Some(u64::MAX), 9, 9), (vec![], false));
}

#[test]
fn inv_5_acknowledged_is_not_sent_again_and_a_lost_deletion_only_resends() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..5);
    assert_eq!(world.store.acknowledge(Lane::Events, 3).unwrap(), 3);
    assert_eq!(world.store.acknowledge(Lane::Events, 2).unwrap(), 0, "cumulative");
    assert_eq!(world.waiting(Lane::Events), [4, 5]);
    assert!(world.store.ack_pending());
    let copy = killed(&path, "before");
    assert_eq!(World::start(&copy).waiting(Lane::Events), [1, 2, 3, 4, 5]);
    world.commit(&Group::default());
    assert!(!world.store.ack_pending());
    let copy = killed(&path, "after");
    let mut after = World::start(&copy);
    assert_eq!(after.waiting(Lane::Events), [4, 5]);
    let counts = after.store.counts().unwrap().events;
    assert_eq!((counts.acked_seq, counts.last_seq, counts.waiting), (3, 5, 2));
    assert_eq!(counts.oldest_recorded, Some(wall(2_000)));
    // A number that was never given acknowledges no future event.
    assert_eq!(after.store.acknowledge(Lane::Events, u64::MAX).unwrap(), 2);
    after.drive(5..6);
    assert_eq!(after.waiting(Lane::Events), [6]);
}

#[test]
fn the_last_acknowledged_events_stay_for_people_to_see() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    let mut group = Group::default();
    for at in 0..1_200 {
        group.merge(world.cross((at % 3) as u32, at));
    }
    world.commit(&group);
    world.store.acknowledge(Lane::Events, 1_190).unwrap();
    world.commit(&Group::default());
    let check = |query: EventQuery, expected: (u64, u64, usize)| {
        let found = world.store.events(Lane::Events, &query).unwrap().events;
        let (first, last) = (found.first().unwrap().seq, found.last().unwrap().seq);
        assert_eq!((first, last, found.len()), expected, "{query:?}");
    };
    let all = EventQuery { max: usize::MAX, ..EventQuery::default() };
    check(all.clone(), (191, 1_200, 1_010));
    check(EventQuery { max: 3, ..all.clone() }, (1_198, 1_200, 3));
    check(EventQuery { after: Some(1_195), ..all.clone() }, (1_196, 1_200, 5));
    check(EventQuery { since: Some(utc(1_197)), ..all.clone() }, (1_198, 1_200, 3));
    check(EventQuery { max: 2, zone: Some("z0".into()), ..all.clone() }, (1_195, 1_198, 2));
    check(EventQuery { max: 1, zone: Some("depots/z1".into()), ..all }, (1_199, 1_199, 1));
}

/// H5, DEL-1: telemetry goes first, then the oldest events; the ranges are named.
#[test]
fn del_1_over_quota_the_oldest_go_and_are_named() {
    let (_dir, path) = dir();
    let (mut world, _) = World::with(&path, &OpenOptions { max_bytes: 20_000, ..options() });
    for at in 0..30 {
        let mut group = world.cross((at % 3) as u32, at);
        group.merge(world.late(at));
        world.commit(&group);
    }
    assert!(world.waiting(Lane::Telemetry).len() < 20);
    let ranges = |world: &World| -> Vec<(Lane, u64, u64, String)> {
        let losses = world.store.pending_loss().unwrap();
        losses.into_iter().map(|loss| (loss.lane, loss.first, loss.last, loss.reason)).collect()
    };
    let lost = ranges(&world);
    assert!(lost.iter().any(|loss| loss.0 == Lane::Telemetry && loss.1 == 1), "{lost:?}");
    for at in 30..60 {
        let group = world.cross((at % 3) as u32, at);
        world.commit(&group);
    }
    let counts = world.store.counts().unwrap();
    assert!(counts.events.waiting_bytes <= 20_000 && counts.telemetry.waiting == 0, "{counts:?}");
    let waiting = world.waiting(Lane::Events);
    let lost = ranges(&world);
    assert_eq!(
        lost,
        [
            (Lane::Telemetry, 1, 30, "quota".to_owned()),
            (Lane::Events, 1, waiting[0] - 1, "quota".to_owned())
        ]
    );
    assert_eq!(*waiting.last().unwrap(), 60);
    assert_eq!(counts.events.lost, waiting[0] - 1);
    assert_eq!(counts.telemetry.lost, 30);
    // What is believed does not depend on what could be kept for sending.
    let expected = world.inside.clone();
    drop(world);
    let (world, restored) = World::with(&path, &OpenOptions { max_bytes: 20_000, ..options() });
    assert_eq!(memberships(&restored.pairs), expected);
    assert_eq!(ranges(&world), lost);
    assert_eq!(world.store.counts().unwrap().events.lost, counts.events.lost);
}

/// DEL-1: a loss is pending until an `events_lost` covers it, and again if that one is lost.
#[test]
fn del_1_a_loss_is_reported_once_and_again_if_the_report_is_lost() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..4);
    assert!(world.store.dead_letter(Lane::Events, 2, "413").unwrap());
    assert!(!world.store.dead_letter(Lane::Events, 2, "413").unwrap());
    assert!(!world.store.dead_letter(Lane::Events, 0, "413").unwrap());
    assert_eq!(world.waiting(Lane::Events), [1, 3, 4]);
    let loss = world.store.pending_loss().unwrap();
    assert_eq!((loss.len(), loss[0].first, loss[0].last), (1, 2, 2));
    assert_eq!(loss[0].reason, "dead_letter");

    let report = |world: &mut World, loss: u64| {
        let event = world.event(Kind::EventsLost, Body::default());
        let by = event.seq;
        let losses_reported = vec![LossReport { loss, by }];
        world.commit(&Group { events: vec![event], losses_reported, ..Group::default() });
        by
    };
    let by = report(&mut world, loss[0].id);
    assert!(world.store.pending_loss().unwrap().is_empty());
    assert!(world.store.dead_letter(Lane::Events, by, "413").unwrap());
    let pending = world.store.pending_loss().unwrap();
    assert_eq!(pending.iter().map(|loss| loss.first).collect::<Vec<_>>(), [2, by]);
    report(&mut world, pending[0].id);
    let by = report(&mut world, pending[1].id);
    assert!(world.store.pending_loss().unwrap().is_empty());
    world.store.acknowledge(Lane::Events, by).unwrap();
    world.commit(&Group::default());
    let rows = |sql: &str| world.store.conn.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(rows("SELECT count(*) FROM loss"), 0);
    assert_eq!(rows("SELECT count(*) FROM dead_letter"), 2);
    assert_eq!(world.store.counts().unwrap().events.dead_lettered, 2);
}

/// C12, `max_age`: age is event time; the system clock ages nothing.
#[test]
fn c12_spool_age_is_time_that_daemons_ran() {
    let (_dir, path) = dir();
    let age = OpenOptions { max_age: Span::from_secs(100), ..options() };
    let (mut world, _) = World::with(&path, &age);
    let started = world.event(Kind::GatewayStarted, Body::default());
    world.commit(&Group { events: vec![started], ..Group::default() });
    world.drive(1_000..1_003);
    // Neither a receiver two hundred days ahead nor a system clock that jumps ages anything.
    let beat = |world: &mut World, up: i64, clock: i64| {
        let group = Group { assets: vec![asset(200 * 86_400)], ..Group::default() };
        world.store.commit(&group, boot(up), wall(clock)).unwrap();
        world.waiting(Lane::Events)
    };
    assert_eq!(beat(&mut world, 50, 14 * 86_400), [1, 2, 3, 4]);
    assert_eq!(beat(&mut world, 100, -14 * 86_400), [1, 2, 3, 4]);
    assert_eq!(beat(&mut world, 500, 0), Vec::<u64>::new());
    let loss = world.store.pending_loss().unwrap();
    assert_eq!((loss[0].first, loss[0].last, loss[0].reason.as_str()), (1, 4, "age"));
}

/// An event is as old as it has waited, not as its own time says: a receiver that woke in 1980
/// must not make it old at birth, nor the `events_lost` and snapshots that would follow.
#[test]
fn del_1_what_was_just_committed_is_not_old() {
    let (_dir, path) = dir();
    let age = OpenOptions { max_age: Span::from_secs(100), ..options() };
    let (mut world, _) = World::with(&path, &age);
    world.drive(1_000..1_001);
    let body = Body { confirmed_at: Some(utc(0)), ..Body::default() };
    let event = world.event(Kind::MembershipSnapshot, body);
    world.commit(&Group { events: vec![event], ..Group::default() });
    assert_eq!(world.waiting(Lane::Events), [1, 2]);
    assert_eq!(world.store.pending_loss().unwrap(), []);
}

/// H3: an event whose bytes are not what we wrote is passed over and counted.
#[test]
fn h3_an_unreadable_event_is_passed_over_and_counted() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..4);
    let conn = &world.store.conn;
    conn.execute("UPDATE event SET body = substr(body, 3) WHERE seq = 2", ()).unwrap();
    conn.execute(
        "UPDATE event SET body = replace(body, '\"seq\":3', '\"seq\":7') WHERE seq = 3",
        (),
    )
    .unwrap();
    let query = EventQuery { max: 9, ..EventQuery::default() };
    let found = world.store.events(Lane::Events, &query).unwrap();
    assert_eq!((found.events.len(), found.unreadable), (2, 2));
    assert_eq!(world.waiting(Lane::Events), [1, 4]);
    let counts = world.store.counts().unwrap();
    assert_eq!((counts.events.dead_lettered, counts.meters.unreadable), (2, 2));
    let lost = world.store.pending_loss().unwrap();
    assert_eq!((lost[0].first, lost[0].last), (2, 3));
}
