//! INV-2, INV-3, INV-5 under any order of commits, acknowledgements, kills and restarts.

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;

#[derive(Clone, Debug)]
enum Do {
    /// A group of crossings, by zone, and so many telemetry records.
    Commit(Vec<u32>, u8),
    /// The server has this share of what was ever numbered, in percent.
    Acknowledge(u8),
    /// The server will not have the oldest waiting event.
    Refuse,
    /// kill -9: the files as they are.
    Kill,
    /// A clean end.
    Stop,
}

fn any_do() -> impl Strategy<Value = Do> {
    prop_oneof![
        5 => (prop::collection::vec(0_u32..6, 0..12), 0_u8..3).prop_map(|(z, t)| Do::Commit(z, t)),
        2 => (0_u8..=100).prop_map(Do::Acknowledge),
        1 => Just(Do::Refuse),
        2 => Just(Do::Kill),
        1 => Just(Do::Stop),
    ]
}

/// What a server has: everything it was sent, by number, and what was named as lost.
#[derive(Default)]
struct Server {
    acknowledged: u64,
    refused: Vec<u64>,
}

fn check(world: &mut World, server: &Server, last: u64) {
    let waiting = world.waiting(Lane::Events);
    assert!(waiting.is_sorted());
    let lost = world.store.pending_loss().unwrap();
    let lost = |seq| lost.iter().any(|loss| (loss.first..=loss.last).contains(&seq));
    for seq in server.acknowledged + 1..=last {
        let there = waiting.binary_search(&seq).is_ok();
        assert!(there || server.refused.contains(&seq) && lost(seq), "{seq} is gone");
    }
    let counts = world.store.counts().unwrap().events;
    assert_eq!(counts.waiting, waiting.len() as u64);
    assert_eq!(counts.last_seq, last);
    let state = world.store.lanes[0];
    let weighed = spool::weigh(&world.store.conn, Lane::Events, state.acked, last).unwrap();
    assert_eq!((state.waiting, state.bytes), weighed);
}

fn play(steps: &[Do]) {
    let (_dir, mut path) = dir();
    let mut world = World::start(&path);
    let mut server = Server::default();
    for (index, step) in (0_i64..).zip(steps) {
        match step {
            Do::Commit(zones, telemetry) => {
                let mut group = Group::default();
                for zone in zones {
                    group.merge(world.cross(*zone, index));
                }
                for _ in 0..*telemetry {
                    group.merge(world.late(index));
                }
                world.commit(&group);
            }
            Do::Acknowledge(percent) => {
                let up_to = (world.next[0] - 1) * u64::from(*percent) / 100;
                world.store.acknowledge(Lane::Events, up_to).unwrap();
                server.acknowledged = server.acknowledged.max(up_to);
            }
            Do::Refuse => {
                if let Some(seq) = world.waiting(Lane::Events).first().copied() {
                    world.store.dead_letter(Lane::Events, seq, "400").unwrap();
                    server.refused.push(seq);
                }
            }
            Do::Kill | Do::Stop => {
                let (next, inside) = (world.next, world.inside.clone());
                if matches!(step, Do::Stop) {
                    world.store.close_clean(boot(30), wall(30)).unwrap();
                } else {
                    path = killed(&path, &format!("kill-{index}"));
                }
                let restored;
                (world, restored) = World::with(&path, &options());
                assert!(!restored.fresh && restored.set_aside.is_none());
                assert_eq!((world.next, &world.inside), (next, &inside));
                assert_eq!(restored.last_run.unwrap().clean, matches!(step, Do::Stop));
                if server.refused.is_empty() {
                    assert_eq!(fold(&world.store), inside);
                }
            }
        }
        let last = world.next[0] - 1;
        check(&mut world, &server, last);
    }
}

proptest! {
    // Each case makes some twenty durable commits on a real disk.
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]
    #[test]
    fn inv_2_3_5_hold_whatever_happens(steps in prop::collection::vec(any_do(), 1..25)) {
        play(&steps);
    }
}
