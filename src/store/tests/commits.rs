//! STO-1, INV-2, INV-3, A12: one transaction, or nothing.

use super::*;

#[test]
fn inv_3_a_number_out_of_turn_is_our_bug_and_leaves_no_trace() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..3);
    let good = world.cross(1, 10);
    let check = |world: &mut World, change: &dyn Fn(&mut Event)| {
        let mut bad = good.clone();
        change(&mut bad.events[0]);
        let error = world.store.commit(&bad, boot(20), wall(20)).unwrap_err();
        assert!(matches!(error, StoreError::Sequence { .. }), "{error}");
        assert!(!error.may_recover());
        assert_eq!(world.waiting(Lane::Events), [1, 2, 3]);
    };
    check(&mut world, &|event| event.seq = 5);
    check(&mut world, &|event| event.seq = 3);
    check(&mut world, &|event| event.id = "other-4".into());
    // SQLite's own count is the other half of the pair.
    world
        .store
        .conn
        .execute("UPDATE sqlite_sequence SET seq = 9 WHERE name = 'event'", ())
        .unwrap();
    check(&mut world, &|_| {});
    world
        .store
        .conn
        .execute("UPDATE sqlite_sequence SET seq = 3 WHERE name = 'event'", ())
        .unwrap();
    world.commit(&good);
    assert_eq!(fold(&world.store), world.inside);
}

#[test]
fn inv_3_numbers_go_on_after_everything_is_acknowledged_and_deleted() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    for _ in 0..3 {
        let group = world.late(5);
        world.commit(&group);
    }
    assert_eq!(world.store.acknowledge(Lane::Telemetry, 3).unwrap(), 3);
    world.commit(&Group::default());
    drop(world);
    let (mut world, restored) = World::with(&path, &options());
    assert_eq!(restored.next_telemetry_seq, 4);
    let group = world.late(6);
    world.commit(&group);
    assert_eq!(world.waiting(Lane::Telemetry), [4]);
}

#[test]
fn inv_3_step_and_watermark_never_go_back() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    let mut check = |step: u32, watermark: Option<i64>, fine: bool| {
        let row = AssetRow { step, watermark: watermark.map(utc), ..asset(0) };
        let group = Group { assets: vec![row], ..Group::default() };
        let done = world.store.commit(&group, boot(20), wall(20));
        assert_eq!(done.is_ok(), fine, "step {step}, watermark {watermark:?}");
    };
    check(1, None, true);
    check(1, Some(100), true);
    check(1, Some(100), true);
    check(1, Some(99), false);
    check(1, None, false);
    check(0, Some(200), false);
    check(2, Some(50), true);
    check(3, None, true);
}

/// A12: the group that no longer fits leaves no trace; the same group goes in when there is room.
#[test]
fn a12_a_full_disk_keeps_all_or_nothing() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..3);
    let pages = open::pragma(&world.store.conn, "page_count").unwrap();
    let cap = |world: &World, pages: i64| {
        let sql = format!("PRAGMA max_page_count={pages}");
        world.store.conn.query_row(&sql, (), |_| Ok(())).unwrap();
    };
    cap(&world, pages);
    // Before, somewhere within, and after what one group writes.
    for events in [50, 200, 800] {
        let (next, inside) = (world.next, world.inside.clone());
        let before = (fold(&world.store), world.store.lanes);
        let mut group = Group::default();
        for at in 0..events {
            group.merge(world.cross(at % 7, 10 + i64::from(at)));
        }
        let error = world.store.commit(&group, boot(20), wall(20)).unwrap_err();
        assert!(matches!(error, StoreError::Full(_)) && error.may_recover(), "{error}");
        assert_eq!((fold(&world.store), world.store.lanes), before);
        let copy = killed(&path, &format!("full-{events}"));
        let (after, restored) = World::with(&copy, &options());
        assert_eq!(fold(&after.store), memberships(&restored.pairs));
        assert_eq!(memberships(&restored.pairs), before.0);
        if events == 800 {
            cap(&world, 1_000_000);
            assert_eq!(world.commit(&group).events, 800);
            assert_eq!(fold(&world.store), world.inside);
        } else {
            (world.next, world.inside) = (next, inside);
        }
    }
    assert_eq!(world.store.meters.commits_failed, 3);
    let wal = std::fs::metadata(aside::beside(&path, "-wal")).unwrap().len();
    println!("WAL after a full disk and 800 events: {wal} B");
}

/// A12, I1: the WAL cut at any offset is the state at some commit, never between two.
#[test]
fn a12_a_wal_cut_anywhere_is_the_state_at_some_commit() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    let mut states = vec![world.inside.clone()];
    for at in 0..6 {
        let mut group = world.cross((at % 3) as u32, at);
        group.merge(world.cross(((at + 1) % 3) as u32, at));
        world.commit(&group);
        states.push(world.inside.clone());
    }
    let whole = killed(&path, "whole");
    let wal = std::fs::read(aside::beside(&whole, "-wal")).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for cut in (0..wal.len()).step_by(1_361).chain([wal.len()]) {
        std::fs::copy(&whole, whole.with_extension("cut")).unwrap();
        let copy = whole.with_extension("cut");
        std::fs::write(aside::beside(&copy, "-wal"), &wal[..cut]).unwrap();
        let (after, restored) = World::with(&copy, &options());
        assert!(restored.set_aside.is_none());
        let fold = fold(&after.store);
        assert_eq!(fold, memberships(&restored.pairs), "cut at {cut}");
        let events = (restored.next_seq - 1) as usize;
        assert_eq!(fold, states[events / 2], "cut at {cut}");
        seen.insert(events);
    }
    assert!(seen.contains(&12) && seen.len() > 3, "{seen:?}");
}

/// STO-2: the meters move as SQLite works; printed for the record.
#[test]
fn sto_2_bytes_and_fsyncs_are_metered() {
    let dir = tempfile::tempdir().unwrap();
    let mut world = World::start(&dir.path().join("on-disk.db"));
    let before = world.store.counts().unwrap().meters;
    let commit = |world: &mut World, secs: std::ops::Range<i64>| {
        let mut group = Group { assets: vec![asset(secs.start)], ..Group::default() };
        for at in secs.clone() {
            group.merge(world.cross((at % 3) as u32, at));
        }
        world.store.commit(&group, boot(secs.start), wall(secs.start)).unwrap().bytes
    };
    let first = commit(&mut world, 1..2);
    let one = commit(&mut world, 2..3);
    let ten = commit(&mut world, 3..13);
    let beat = commit(&mut world, 13..13);
    println!("bytes: 1 event {one} (the first {first}), 10 events {ten}, heartbeat {beat}");
    assert!(beat >= 2 * 4096 && one > beat && ten >= one && ten < 65_536);
    let after = world.store.counts().unwrap().meters;
    assert_eq!(after.commits - before.commits, 4);
    assert_eq!(after.fsyncs - before.fsyncs, 5, "one each, and one where the WAL began anew");
    assert_eq!(after.bytes_written - before.bytes_written, first + one + ten + beat);
}

/// The WAL does not grow without end, and the database does not either once it is acknowledged.
#[test]
fn sto_2_the_files_stay_small() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    for at in 0..3_000 {
        let mut group = world.cross((at % 3) as u32, at);
        for _ in 0..5 {
            group.merge(world.cross((at % 3) as u32, at));
        }
        let last = group.events.last().unwrap().seq;
        world.commit(&group);
        world.store.acknowledge(Lane::Events, last).unwrap();
    }
    let size = |suffix: &str| std::fs::metadata(aside::beside(&path, suffix)).unwrap().len();
    let (db, wal) = (size(""), size("-wal"));
    println!("after 18,000 acknowledged events: database {db} B, WAL {wal} B");
    assert!(db < 2 * 1024 * 1024 && wal < 2 * 1024 * 1024, "{db} {wal}");
    let meters = world.store.counts().unwrap().meters;
    assert!(meters.checkpoints > 5, "{meters:?}");
}
