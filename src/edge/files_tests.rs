//! Real files and pipes in a temporary directory.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::mpsc;

use super::*;
use crate::edge::source::SourceEvent;

fn outlet(room: usize) -> (Outlet, mpsc::Receiver<SourceEvent>) {
    let (sender, receiver) = mpsc::channel(room);
    (Outlet::new(0, sender, Arc::new(AtomicUsize::new(0))), receiver)
}

/// All that the source says: its bytes joined, and the rest in order.
fn collect(mut events: mpsc::Receiver<SourceEvent>) -> (Vec<u8>, Vec<Happened>) {
    let (mut bytes, mut rest) = (Vec::new(), Vec::new());
    let mut last = None;
    while let Some(event) = events.blocking_recv() {
        assert!(last <= Some(event.at), "stamps go forward");
        last = Some(event.at);
        match event.what {
            Happened::Bytes(more) => bytes.extend(more),
            other => rest.push(other),
        }
    }
    (bytes, rest)
}

#[test]
fn a_file_comes_whole_and_ends_however_small_the_channel() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.nmea");
    let content: Vec<u8> = (0..100_000_u32).map(|i| i as u8).collect();
    fs::write(&path, &content).unwrap();
    let (outlet, events) = outlet(1);
    let thread = spawn(FileInput::Path(path), false, outlet).unwrap();
    let (bytes, rest) = collect(events);
    assert_eq!(bytes, content);
    assert_eq!(rest, [Happened::Up, Happened::End]);
    thread.join().unwrap();
}

#[test]
fn a_pipe_is_waited_for_and_ends_with_its_writer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (outlet, events) = outlet(4);
    let thread = spawn(FileInput::Path(path.clone()), false, outlet).unwrap();
    let mut writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all(b"$GP").unwrap();
    drop(writer);
    assert_eq!(collect(events), (b"$GP".to_vec(), vec![Happened::Up, Happened::End]));
    thread.join().unwrap();
}

#[test]
fn a_reader_leaves_when_nobody_listens_and_says_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let (first, events) = outlet(1);
    drop(events);
    let path = dir.path().join("long");
    fs::write(&path, vec![b'x'; 100_000]).unwrap();
    spawn(FileInput::Path(path), false, first).unwrap().join().unwrap();

    for (path, part) in
        [(dir.path().join("no"), "does not exist"), (dir.path().into(), "directory")]
    {
        let (outlet, events) = outlet(4);
        spawn(FileInput::Path(path), false, outlet).unwrap().join().unwrap();
        let (_, rest) = collect(events);
        let down = rest.iter().find_map(|what| match what {
            Happened::Down { why } => Some(why.clone()),
            _ => None,
        });
        assert!(down.is_some_and(|why| why.contains(part)), "{rest:?}");
        assert_eq!(rest.last(), Some(&Happened::End));
    }
}

#[test]
fn whole_files_are_read_up_to_their_cap() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.toml");
    fs::write(&path, "abcd").unwrap();
    assert_eq!(read_text(&path, 4).unwrap(), "abcd");
    let text = read_text(&path, 3).unwrap_err().to_string();
    assert!(text.contains("longer than 3 bytes"), "{text}");
    fs::write(&path, b"ab\xff").unwrap();
    let text = read_text(&path, 9).unwrap_err().to_string();
    assert!(text.contains("byte 2"), "{text}");
    assert!(matches!(read_text(dir.path(), 9), Err(FileError::Directory(_))));
    assert!(matches!(read_bytes(&dir.path().join("no"), 9), Err(FileError::Missing(_))));
    // Neither a device without an end nor a pipe without a writer is waited for.
    let pipe = dir.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in [&pipe, Path::new("/dev/zero")] {
        assert!(matches!(read_bytes(path, 9), Err(FileError::NotAFile(_))));
    }
}

#[test]
fn patterns_name_files_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["b.geojson", "a.geojson", ".c.geojson", "a.geojson~", "ab.json", "ä.json"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    fs::create_dir(dir.path().join("d.geojson")).unwrap();
    let table: [(&str, &[&str]); 7] = [
        ("*.geojson", &["a.geojson", "b.geojson"]),
        (".*.geojson", &[".c.geojson"]),
        ("?.json", &["ä.json"]),
        ("a*o*n*", &["a.geojson", "a.geojson~", "ab.json"]),
        ("*.toml", &[]),
        ("*", &["a.geojson", "a.geojson~", "ab.json", "b.geojson", "ä.json"]),
        ("named.geojson", &["named.geojson"]),
    ];
    for (pattern, wanted) in table {
        let wanted: Vec<PathBuf> = wanted.iter().map(|name| dir.path().join(name)).collect();
        assert_eq!(glob(&dir.path().join(pattern)).unwrap(), wanted, "{pattern}");
    }
    assert!(matches!(glob(&dir.path().join("no/*.x")), Err(FileError::Missing(_))));
    assert!(matches!(glob(Path::new("/etc/*/x")), Err(FileError::Pattern(_))));
}
