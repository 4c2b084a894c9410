//! STO-4, STO-6, STO-7: what a start accepts, refuses and gives back.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::logic::group::SetAsideWhy;

#[test]
fn sto_4_first_start_believes_nothing_and_names_its_stream() {
    let (_dir, path) = dir();
    let (world, restored) = World::with(&path, &options());
    assert_eq!(restored.stream.as_str(), "bcdefghi");
    assert_eq!((restored.next_seq, restored.next_telemetry_seq), (1, 1));
    assert!(restored.fresh && restored.last_run.is_none() && restored.set_aside.is_none());
    assert!(restored.assets.is_empty() && restored.pairs.is_empty());
    drop(world);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode & !0o640, 0, "{mode:o}");
}

#[test]
fn sto_4_everything_believed_comes_back() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    let mut group = world.cross(1, 100);
    group.merge(world.cross(2, 101));
    group.layers.push(layer(1, &["z1", "z2", "z3"]));
    world.commit(&group);
    let mut next = world.cross(2, 102);
    next.pairs_gone = vec![key(9)];
    next.layers.push(layer(2, &["z1", "z3"]));
    world.commit(&next);
    let expected = world.inside.clone();
    world.store.close_clean(boot(30), wall(3_000)).unwrap();

    let (_world, restored) =
        World::with(&path, &OpenOptions { boot_id: "boot-2".into(), ..options() });
    assert!(!restored.fresh);
    assert_eq!(restored.next_seq, 4);
    assert_eq!(memberships(&restored.pairs), expected);
    assert_eq!(restored.pairs[0].visit.as_deref(), Some("bcdefghi-1"));
    assert_eq!(restored.assets, [asset(102)]);
    assert_eq!(restored.layers, [layer(2, &["z1", "z3"])]);
    let run = restored.last_run.unwrap();
    assert_eq!((run.boot_id.as_str(), run.clean), ("boot-1", true));
    assert_eq!((run.started_boot, run.last_commit_boot), (boot(10), boot(30)));
    assert_eq!(run.last_commit_wall, wall(3_000));
    assert_eq!(run.software, "geofenced 0.1.0");
}

#[test]
fn sto_4_a_pair_gone_and_a_layer_gone_do_not_come_back() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    let mut group = world.cross(1, 100);
    group.layers.push(layer(1, &["z1"]));
    world.commit(&group);
    let layers_gone = vec![LayerId::new("depots").unwrap()];
    world.commit(&Group { pairs_gone: vec![key(1)], layers_gone, ..Group::default() });
    drop(world);
    let (_world, restored) = World::with(&path, &options());
    assert!(restored.pairs.is_empty() && restored.layers.is_empty());
    assert!(!restored.last_run.unwrap().clean, "dropped is killed");
}

/// A store that is not ours: one clear message, nothing changed.
#[test]
fn sto_4_what_is_not_ours_is_left_as_it_is() {
    let check = |content: &[u8], says: &str| {
        let (dir, path) = dir();
        std::fs::write(&path, content).unwrap();
        let error = Store::start(&path, &options()).err().unwrap();
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no file was made");
    };
    check(b"{\"this\": \"is somebody else's\"}", "is not a geofenced store");
    check(&vec![b'x'; 8192], "is not a geofenced store");
    let (_foreign, other) = dir();
    let conn = Connection::open(&other).unwrap();
    conn.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);").unwrap();
    drop(conn);
    check(&std::fs::read(&other).unwrap(), "is not a geofenced store");
}

#[test]
fn sto_6_a_later_major_is_left_as_it_is_and_a_later_step_is_written() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..2);
    world.store.close_clean(boot(30), wall(30)).unwrap();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("ALTER TABLE pair ADD COLUMN later TEXT; PRAGMA user_version=1999;")
        .unwrap();
    drop(conn);
    let mut world = World::start(&path);
    world.drive(2..4);
    world.store.close_clean(boot(30), wall(30)).unwrap();
    let conn = Connection::open(&path).unwrap();
    assert_eq!(open::pragma(&conn, "user_version").unwrap(), 1999);
    conn.execute_batch("PRAGMA user_version=2001;").unwrap();
    drop(conn);
    let before = std::fs::read(&path).unwrap();
    let error = Store::start(&path, &options()).err().unwrap();
    assert!(matches!(error, StoreError::Newer { found: 2, .. }), "{error}");
    assert!(error.to_string().contains("newer geofenced"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn sto_4_one_process_at_a_time() {
    let (_dir, path) = dir();
    let world = World::start(&path);
    let error = Store::start(&path, &options()).err().unwrap();
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    let error = ReadOnly::open(&path).err().unwrap();
    assert!(error.to_string().contains("geofenced events"), "{error}");
    drop(world);
    World::start(&path);
}

#[test]
fn sto_4_no_directory_and_no_permission_are_said() {
    let (dir, path) = dir();
    let check = |path: &Path, says: &str| {
        let error = Store::start(path, &options()).err().unwrap();
        assert!(error.to_string().contains(says), "{error}");
    };
    check(&dir.path().join("none/geofenced.db"), "there is no such directory");
    std::fs::write(dir.path().join("file"), "").unwrap();
    check(&dir.path().join("file/geofenced.db"), "there is no such directory");
    std::fs::create_dir(&path).unwrap();
    check(&path, path.to_str().unwrap());

    let locked = dir.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, Permissions::from_mode(0o500)).unwrap();
    if std::fs::write(locked.join("probe"), "").is_ok() {
        println!("skipped: this user may write everywhere, so permissions were not tried");
        return;
    }
    check(&locked.join("geofenced.db"), "not allowed");
    std::fs::set_permissions(&locked, Permissions::from_mode(0o700)).unwrap();
    World::start(&locked.join("geofenced.db"));
    std::fs::set_permissions(&locked, Permissions::from_mode(0o500)).unwrap();
    check(&locked.join("geofenced.db"), "not allowed");
    std::fs::set_permissions(&locked, Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn sto_7_another_gateway_id_starts_a_new_stream_and_keeps_the_old_store() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..5);
    world.store.acknowledge(Lane::Events, 2).unwrap();
    world.store.close_clean(boot(30), wall(30)).unwrap();
    let other =
        OpenOptions { gateway: GatewayId::new("gw-2").unwrap(), stream_seed: [9; 8], ..options() };
    let (_world, restored) = World::with(&path, &other);
    assert!(restored.fresh && restored.pairs.is_empty() && restored.next_seq == 1);
    assert_ne!(restored.stream.as_str(), "bcdefghi");
    let aside = restored.set_aside.unwrap();
    assert_eq!((aside.why, aside.waiting), (SetAsideWhy::OtherGateway, Some(3)));
    assert!(aside.path.to_str().unwrap().ends_with("geofenced.db.gateway-1"));
    assert!(aside.detail.contains("belongs to gateway gw-1, not gw-2"), "{}", aside.detail);
}

/// A pipe, a device or a directory in its place is refused at once, and left as it is.
#[test]
fn sto_4_what_is_no_file_is_not_ours() {
    let (dir, path) = dir();
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::create_dir(&path).unwrap();
    for path in [pipe.as_path(), Path::new("/dev/zero"), &path] {
        let error = Store::start(path, &options()).err().unwrap();
        assert!(matches!(error, StoreError::NotOurs(_)), "{error}");
        let error = ReadOnly::open(path).err().unwrap();
        assert!(matches!(error, StoreError::NotOurs(_)), "{error}");
    }
}

/// Reading a stopped daemon's store changes nothing, after a kill or a clean end.
#[test]
fn reading_a_file_leaves_it_as_it_is() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    world.drive(0..5);
    let after_kill = killed(&path, "killed");
    world.store.close_clean(boot(30), wall(30)).unwrap();
    for path in [&after_kill, &path] {
        let files = || -> Vec<_> {
            let mut files: Vec<_> = std::fs::read_dir(path.parent().unwrap())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_file())
                .map(|path| (path.clone(), std::fs::read(path).unwrap()))
                .collect();
            files.sort();
            files
        };
        let before = files();
        let store = ReadOnly::open(path).unwrap();
        let query = EventQuery { max: 2, ..EventQuery::default() };
        let found = store.events(Lane::Events, &query).unwrap();
        assert_eq!(found.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(store.waiting(Lane::Events).unwrap(), 5);
        drop(store);
        assert_eq!(files(), before);
    }
    let error = ReadOnly::open(&path.with_extension("none")).err().unwrap();
    assert!(error.to_string().contains("there is no store here"), "{error}");
}

/// A row that is several starts old is told of the power that was off in one of them; a release
/// that does not count starts wrote all of its rows at each.
#[test]
fn sto_1_starts_are_counted_from_the_last_power_up() {
    let (_dir, path) = dir();
    let start = |boot_id: &str| {
        let options = OpenOptions { boot_id: boot_id.into(), ..options() };
        let (world, restored) = World::with(&path, &options);
        world.store.close_clean(boot(30), wall(3_000)).unwrap();
        (restored.runs.this, restored.runs.powered, restored.runs.unmarked)
    };
    let older = |boot_id: &str| {
        let conn = Connection::open(&path).unwrap();
        conn.execute(
            "INSERT INTO run (boot_id, software, started_boot_ns, last_commit_boot_ns,
             last_commit_wall_ns) VALUES (?1, 'older', 0, 0, 0)",
            [boot_id],
        )
        .unwrap();
    };
    assert_eq!(start("a"), (1, 1, 0));
    assert_eq!(start("a"), (2, 1, 0));
    assert_eq!(start("b"), (3, 3, 0));
    assert_eq!(start("b"), (4, 3, 0));
    older("b");
    assert_eq!(start("b"), (6, 5, 5), "what the older one wrote has seen every power-up");
    assert_eq!(start("c"), (7, 7, 5));
    for run in 8..40 {
        assert_eq!(start("c"), (run, 7, if run < 22 { 5 } else { run - 17 }));
    }
}

/// More than memory holds: those heard last come back, the others are named; each can be read.
#[test]
fn sto_4_a_start_gives_back_those_heard_last() {
    let (_dir, path) = dir();
    let mut world = World::start(&path);
    let mut group = world.cross(1, 100);
    for (name, secs) in [("bus", 300), ("car", 50), ("dog", 200)] {
        let id = AssetId::new(name).unwrap();
        group.assets.push(AssetRow { asset: id, ..asset(secs) });
    }
    world.commit(&group);
    let van = AssetId::new("van").unwrap();
    let rows = world.store.asset(&van).unwrap();
    assert_eq!((rows.asset, rows.pairs), (asset(100), group.pairs.clone()));
    let ids = |after, most| -> Vec<String> {
        let page = world.store.assets(after, most).unwrap();
        page.into_iter().map(|rows| rows.asset.asset.to_string()).collect()
    };
    assert_eq!(ids(None, 2), ["bus", "car"]);
    assert_eq!(ids(Some(&AssetId::new("car").unwrap()), 9), ["dog", "van"]);
    assert!(world.store.asset(&AssetId::new("cat").unwrap()).is_err());
    world.store.close_clean(boot(30), wall(3_000)).unwrap();
    for (keep, here, left) in [
        (4, vec!["bus", "car", "dog", "van"], vec![]),
        (2, vec!["bus", "dog"], vec!["car", "van"]),
        (0, vec![], vec!["bus", "car", "dog", "van"]),
    ] {
        let (world, restored) =
            World::with(&path, &OpenOptions { assets_in_memory: keep, ..options() });
        let found: Vec<&str> = restored.assets.iter().map(|row| row.asset.as_str()).collect();
        assert_eq!(found, here);
        assert_eq!(restored.left.iter().map(AssetId::as_str).collect::<Vec<_>>(), left);
        assert_eq!(restored.pairs.len(), usize::from(here.contains(&"van")));
        world.store.close_clean(boot(30), wall(3_000)).unwrap();
    }
}
