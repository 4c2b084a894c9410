//! STO-5, H3: a store that cannot be read never keeps the daemon from starting.

use super::*;
use crate::logic::group::SetAsideWhy;

fn closed_store(path: &Path, events: i64) -> Vec<u8> {
    let mut world = World::start(path);
    world.drive(0..events);
    world.store.close_clean(boot(30), wall(30)).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn sto_5_a_damaged_store_is_set_aside_and_at_most_three_are_kept() {
    let (dir, path) = dir();
    let whole = closed_store(&path, 20);
    let mut removed = Vec::new();
    for round in 1..=5 {
        let mut bytes = whole.clone();
        bytes.truncate(whole.len() - 5_000);
        std::fs::write(&path, &bytes).unwrap();
        let (mut world, restored) = World::with(&path, &options());
        assert!(restored.fresh);
        let aside = restored.set_aside.unwrap();
        assert_eq!(aside.why, SetAsideWhy::Damaged);
        assert!(aside.path.to_str().unwrap().ends_with(&format!("geofenced.db.damaged-{round}")));
        assert_eq!(std::fs::read(&aside.path).unwrap(), bytes);
        removed.extend(aside.removed);
        world.drive(0..3);
        world.store.close_clean(boot(30), wall(30)).unwrap();
    }
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        removed.iter().map(|path| name(path)).collect::<Vec<_>>(),
        ["geofenced.db.damaged-1", "geofenced.db.damaged-2"]
    );
    let mut left: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| name(&entry.unwrap().path())).collect();
    left.sort();
    assert_eq!(
        left,
        [
            "geofenced.db",
            "geofenced.db.damaged-3",
            "geofenced.db.damaged-4",
            "geofenced.db.damaged-5"
        ]
    );
}

/// What a power cut leaves of a store that was being made is no reason not to start.
#[test]
fn sto_5_remains_of_a_first_start_are_no_obstacle() {
    for content in [vec![], vec![0; 4096], b"SQLite f".to_vec(), b"SQLite format 3\0".to_vec()] {
        let (_dir, path) = dir();
        std::fs::write(&path, &content).unwrap();
        World::start(&path).drive(0..2);
        assert!(!World::with(&path, &options()).1.fresh, "{content:?}");
    }
}

/// A kill between the two renames leaves a WAL alone: it goes to its database.
#[test]
fn sto_5_a_kill_while_setting_aside_is_finished_by_the_next_start() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..5);
    let copy = killed(&path, "copy");
    let aside = aside::beside(&copy, ".damaged-1");
    std::fs::rename(&copy, &aside).unwrap();
    let (_world, restored) = World::with(&copy, &options());
    assert!(restored.fresh);
    assert_eq!(ReadOnly::open(&aside).unwrap().waiting(Lane::Events).unwrap(), 5);
}

/// H3: a byte flipped anywhere, after a clean end or a kill: it starts, and works, and no loop.
#[test]
fn h3_a_byte_flipped_anywhere_and_it_starts() {
    let (_dir, path) = dir();
    let whole = closed_store(&path, 30);
    let mut aside = 0;
    let mut refused = Vec::new();
    for at in (0..100).chain((100..whole.len()).step_by(613)) {
        let (_dir, path) = dir();
        let mut bytes = whole.clone();
        bytes[at] ^= 0x15;
        std::fs::write(&path, &bytes).unwrap();
        match Store::start(&path, &options()) {
            Ok((store, restored)) => {
                let mut world = World {
                    next: [restored.next_seq, restored.next_telemetry_seq],
                    inside: memberships(&restored.pairs),
                    store,
                };
                aside += u32::from(restored.set_aside.is_some());
                // What the flip hid until now may show here, as an error; never as a panic.
                let group = world.cross(1, 100_000);
                let _ = world.store.batch(Lane::Events, None, 100, 1 << 20);
                let _ = world.store.commit(&group, boot(20), wall(20));
                let _ = world.store.close_clean(boot(30), wall(30));
            }
            Err(error) => refused.push((at, error.to_string())),
        }
        if at < 100 {
            continue;
        }
        // Whatever came of it, the next start goes on.
        World::start(&path).drive(200_000..200_001);
    }
    println!("{} bytes, set aside {aside} times, refused {refused:?}", whole.len());
    // Byte 60..64 is the format's number: a flip there may look like a later major.
    assert!(refused.iter().all(|(at, _)| (60..64).contains(at)), "{refused:?}");
}

#[test]
fn h3_the_tail_cut_at_every_offset_and_it_starts() {
    let (_dir, path) = dir();
    let whole = closed_store(&path, 30);
    for cut in (0..200).step_by(9).chain((200..whole.len()).step_by(1_021)) {
        let (_dir, path) = dir();
        std::fs::write(&path, &whole[..cut]).unwrap();
        let (_, restored) = World::with(&path, &options());
        assert!(restored.fresh, "cut at {cut}");
        assert_eq!(restored.set_aside.is_some(), cut > 0, "cut at {cut}");
        World::start(&path).drive(0..2);
    }
}
