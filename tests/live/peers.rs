//! Real peers: gpsd on a pty, servers that stop without closing, trackers on sockets; killed,
//! frozen and restarted under us.
//!
//! What a machine does not have is skipped, said aloud; GEOFENCED_REQUIRE_PEERS makes it a failure.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use geofenced::edge::clock;
use geofenced::units::{BootTime, Span};
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::drive::{self, Epoch};
use crate::harness::{Daemon, Pty, Site, await_some, await_true, count, pause, records};
use crate::port::{lines, story};

/// Ten epochs a second: as fast as gpsd still tells them apart by their times.
const STEP: Span = Span::from_millis(100);

/// Over an outage of this length nothing may run hot.
const OUTAGE: Span = Span::from_secs(5);

/// A port that nobody has for the moment.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A gpsd; killed when dropped.
struct Gpsd {
    child: Child,
}

impl Gpsd {
    /// On `port` for these devices, once it answers; `None`, said aloud, where there is none.
    fn start(port: u16, devices: &[PathBuf]) -> Option<Self> {
        let mut command = Command::new("gpsd");
        command.args(["-N", "-n", "-S", &port.to_string()]).args(devices);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                assert!(std::env::var_os("GEOFENCED_REQUIRE_PEERS").is_none(), "no gpsd");
                println!("skipped: no gpsd");
                return None;
            }
            Err(error) => panic!("gpsd: {error}"),
        };
        let gpsd = Self { child };
        await_true("gpsd listens", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        Some(gpsd)
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }
}

impl Drop for Gpsd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The device behind a link.
fn device(site: &Site, link: &str) -> PathBuf {
    fs::read_link(site.path(link)).unwrap()
}

/// A site with the gate whose first source is this.
fn site(source: &str) -> Site {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    site.write("conf.d/peer.toml", &format!("[[source]]\n{source}\n"));
    site
}

/// Feeds at a pace until `done`; epochs that end are begun again later in the day.
fn feed(pty: &mut Pty, epochs: &[Epoch]) {
    for epoch in epochs {
        assert!(pty.feed(&epoch.bytes));
        pause(STEP);
    }
}

fn counter(status: &Value, name: &str) -> u64 {
    status["counters"][name].as_u64().unwrap()
}

/// What a process has cost so far: wake-ups of all its threads, and clock ticks of 10 ms.
fn cost(daemon: &Daemon) -> (u64, u64) {
    let proc = PathBuf::from(format!("/proc/{}", daemon.pid()));
    let switches = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let of = |line: &str| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap();
        status.lines().filter(|line| line.contains("ctxt_switches")).map(of).sum::<u64>()
    };
    let tasks = fs::read_dir(proc.join("task")).unwrap().flatten();
    let stat = fs::read_to_string(proc.join("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // utime and stime are the 14th and 15th of proc(5), of which two stand before the bracket.
    let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
    (tasks.map(switches).sum(), ticks(11) + ticks(12))
}

/// Nothing runs hot while it lasts: some tries, some commits, no more.
fn rests(what: &str, daemon: &Daemon) {
    let before = cost(daemon);
    pause(OUTAGE);
    let after = cost(daemon);
    let (switches, ticks) = (after.0 - before.0, after.1 - before.1);
    println!("{what}: {switches} context switches, {ticks} ticks of CPU in {OUTAGE:?}");
    assert!(switches < 400, "{what}: {switches} context switches in {OUTAGE:?}");
    assert!(ticks < 25, "{what}: {ticks} ticks of CPU in {OUTAGE:?}");
}

/// E7: gpsd is killed and comes back; we ask again, and nothing old is taken for new.
#[test]
fn e7_gpsd_is_killed_and_restarted() {
    let port = free_port();
    let site = site(&format!("kind = \"gpsd\"\naddress = \"127.0.0.1:{port}\""));
    let mut pty = Pty::plug(&site.path("receiver"));
    let devices = [device(&site, "receiver")];
    let Some(gpsd) = Gpsd::start(port, &devices) else { return };
    let daemon = site.start_open();
    // gpsd finds out what the receiver speaks first.
    feed(&mut pty, &drive::made_up(900, std::iter::repeat_n(-600.0, 30)));
    feed(&mut pty, &drive::arriving(1000));
    await_true("the entry arrives", || count(&records(&site.server), "fence_entry") == 1);
    drop(gpsd);
    let before = site.await_status("it is down", |s| s["sources"][0]["up"] == false);
    rests("gpsd is gone", &daemon);
    let _gpsd = Gpsd::start(port, &devices).unwrap();
    site.await_status("it is up again", |s| s["sources"][0]["up"] == true);
    let status = site.status().unwrap();
    assert_eq!(counter(&status, "fixes"), counter(&before, "fixes"), "nothing was told again");
    feed(&mut pty, &drive::made_up(1031, std::iter::repeat_n(0.0, 30)));
    feed(&mut pty, &drive::leaving(1061));
    await_true("the exit arrives", || count(&records(&site.server), "fence_exit") == 1);
    let status = site.status().unwrap();
    println!("{}", status["counters"]);
    assert!(counter(&status, "fixes") <= 30 + 31 + 30 + 31);
    assert_eq!(count(&records(&site.server), "fence_entry"), 1);
    daemon.stop();
}

/// E6 for gpsd: one that hangs is left when it does not answer, and met again.
#[test]
fn gpsd_is_frozen_and_thawed() {
    let port = free_port();
    let site = site(&format!("kind = \"gpsd\"\naddress = \"127.0.0.1:{port}\""));
    let mut pty = Pty::plug(&site.path("receiver"));
    let Some(gpsd) = Gpsd::start(port, &[device(&site, "receiver")]) else { return };
    let daemon = site.start_open();
    gpsd.signal(Signal::SIGSTOP);
    site.await_status("it is left", |s| s["problems"].to_string().contains("nothing came for"));
    rests("gpsd is frozen", &daemon);
    gpsd.signal(Signal::SIGCONT);
    site.await_open();
    feed(&mut pty, &drive::made_up(1000, std::iter::repeat_n(0.0, 30)));
    site.await_status("fixes come", |s| counter(s, "fixes") > 10);
    daemon.stop();
}

/// Two receivers on one gpsd: only the chosen one counts, and one that is not there is said.
#[test]
fn gpsd_has_two_devices() {
    let port = free_port();
    let site = site("kind = \"gpsd\"");
    let mut near = Pty::plug(&site.path("near"));
    let mut far = Pty::plug(&site.path("far"));
    let devices = [device(&site, "near"), device(&site, "far")];
    let Some(_gpsd) = Gpsd::start(port, &devices) else { return };
    let choose = |device: &str| {
        let text = format!(
            "address = \"127.0.0.1:{port}\"\nsilence_after = \"1s\"\ndevice = \"{device}\""
        );
        site.write("conf.d/peer.toml", &format!("[[source]]\nkind = \"gpsd\"\n{text}\n"));
    };
    choose("/dev/none");
    let daemon = site.start();
    let wanted = format!("gpsd has no device /dev/none; it has {}", devices[0].display());
    site.await_status("it is said", |s| s["problems"].to_string().contains(&wanted));
    choose(devices[1].to_str().unwrap());
    daemon.signal(Signal::SIGHUP);
    site.await_open();
    let at_gate = drive::made_up(1000, std::iter::repeat_n(0.0, 40));
    let away = drive::made_up(1000, std::iter::repeat_n(3000.0, 40));
    for (one, other) in at_gate.iter().zip(&away) {
        assert!(near.feed(&one.bytes));
        assert!(far.feed(&other.bytes));
        pause(STEP);
    }
    let status = site.await_status("fixes come", |s| counter(s, "fixes") > 10);
    let lat = status["assets"][0]["position"]["lat"].as_f64().unwrap();
    assert!((lat - drive::north_m(3000.0).0).abs() < 1e-5, "{lat}");
    // gpsd 3.22 says nothing of its own when a receiver is gone: it is asked when it is silent.
    // While somebody holds the other end, nobody else on this machine gets the pty's number, which
    // gpsd would open as ours.
    let _number = fs::File::options()
        .read(true)
        .custom_flags(OFlag::O_NOCTTY.bits())
        .open(&devices[1])
        .unwrap();
    drop(far);
    // That it has gone, or that gpsd keeps it: which one, and when, is gpsd's to say.
    let wanted = devices[1].display().to_string();
    site.await_status("unplugging is said", |s| {
        let problems = s["problems"].to_string();
        problems.contains(&wanted) || problems.contains("open but silent")
    });
    daemon.stop();
}

/// E6: a server that stays open and sends nothing is left after ten seconds, and met again.
#[test]
fn e6_half_open_tcp() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let site =
        site(&format!("kind = \"tcp\"\naddress = \"127.0.0.1:{port}\"\nsilence_after = \"1s\""));
    let daemon = site.start();
    let (mut first, _) = listener.accept().unwrap();
    let arriving = drive::arriving(1000);
    // Half of it, and half a sentence.
    let bytes = drive::bytes(&arriving);
    first.write_all(&bytes[..bytes.len() / 2]).unwrap();
    let start = clock::boot_now();
    rests("a server is silent", &daemon);
    let (mut second, _) = listener.accept().unwrap();
    let took = (clock::boot_now() - start).secs_f64();
    println!("left and met again after {took:.1} s");
    assert!((9.0..15.0).contains(&took), "{took} s");
    site.await_open();
    second.write_all(&bytes[bytes.len() / 2..]).unwrap();
    second.write_all(&drive::bytes(&drive::leaving(1031))).unwrap();
    drop((first, second, listener));
    await_true("the exit arrives", || count(&records(&site.server), "fence_exit") == 1);
    let status = site
        .await_status("refused now", |s| s["problems"].to_string().contains("Connection refused"));
    // Two halves of a sentence that came over two connections are none; its epoch may have another.
    let fixes = counter(&status, "fixes");
    assert!((60..=62).contains(&fixes), "{status:#}");
    rests("a server is gone", &daemon);
    daemon.stop();
    assert_eq!(count(&records(&site.server), "fence_entry"), 1);
}

/// A line of a tracker.
fn line(asset: &str, n: i64) -> String {
    let time = BootTime::from_nanos(1_780_000_000_000_000_000 + n * 1_000_000_000).nanos();
    // To and fro through the gate.
    let lat = 48.0 + (n % 1000 - 500).abs() as f64 * 1e-5;
    format!("{{\"asset\":\"{asset}\",\"time\":{time},\"lat\":{lat},\"lon\":11,\"accuracy_m\":3}}\n")
}

/// A hundred thousand lines of two trackers, as fast as they are taken: none is dropped.
#[test]
fn trackers_over_tcp_and_unix_lose_nothing() {
    let port = free_port();
    let site = Site::trusted();
    let socket = site.path("trackers.sock");
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let unix = socket.display();
    site.write(
        "conf.d/peer.toml",
        &format!(
            "[[source]]\nname = \"t\"\nkind = \"jsonl\"\nasset = \"x\"\ntrust = \"fixes\"\n\
             address = \"127.0.0.1:{port}\"\n\
             [[source]]\nname = \"u\"\nkind = \"jsonl\"\nasset = \"y\"\ntrust = \"fixes\"\n\
             path = \"{unix}\"\n"
        ),
    );
    let daemon = site.start();
    let up = |s: &Value| s["sources"][1]["up"] == true && s["sources"][2]["up"] == true;
    site.await_status("both listen", up);
    let each = 50_000;
    let start = clock::boot_now();
    let over_tcp = std::thread::spawn(move || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        (0..each).for_each(|n| stream.write_all(line("one", n).as_bytes()).unwrap());
    });
    let mut stream = UnixStream::connect(&socket).unwrap();
    (0..each).for_each(|n| stream.write_all(line("two", n).as_bytes()).unwrap());
    over_tcp.join().unwrap();
    let all = 2 * each as u64;
    let status = site.await_status("all are read", |s| counter(s, "epochs") == all);
    println!("{all} lines in {:.1} s", (clock::boot_now() - start).secs_f64());
    assert_eq!(counter(&status, "sentences"), all);
    assert_eq!(counter(&status, "chunks_lost"), 0);
    assert_eq!(status["counters"]["rejects"].as_object().unwrap().len(), 0, "{status:#}");
    let assets = status["assets"].as_array().unwrap();
    assert_eq!(assets.iter().filter(|a| a["asset"] == "one" || a["asset"] == "two").count(), 2);
    // A reload closes and opens again at once, also while somebody is connected.
    let mut held = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    daemon.signal(Signal::SIGHUP);
    assert_eq!(held.read(&mut [0; 1]).unwrap_or(0), 0, "hung up on");
    site.await_status("both listen again", |s| up(s) && counter(s, "epochs") == 0);
    assert!(!site.log().contains("cannot be listened on"), "{}", site.log());
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(line("two", each).as_bytes()).unwrap();
    site.await_status("it is read", |s| counter(s, "epochs") == 1);
    daemon.stop();
}

/// Floods everybody who connects.
fn flood(garbage: &'static [u8]) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            while stream.write_all(garbage).is_ok() {}
        }
    });
    port
}

/// One bad source never disturbs another.
#[test]
fn bad_peers_beside_a_good_receiver() {
    let (tcp, gpsd, trackers) =
        (flood(b"no sentence at all\r\n"), flood(b"{\"class\":\r\n"), free_port());
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let bad = |name: &str, kind: &str, port: u16| {
        format!(
            "[[source]]\nname = \"{name}\"\nkind = \"{kind}\"\nasset = \"{name}\"\n\
             address = \"127.0.0.1:{port}\"\n"
        )
    };
    let sources = [bad("b", "tcp", tcp), bad("c", "gpsd", gpsd), bad("d", "jsonl", trackers)];
    site.write("conf.d/peer.toml", &sources.concat());
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    let mut endless = await_some("trackers are listened for", || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, trackers)).ok()
    });
    std::thread::spawn(move || while endless.write_all(&[b'x'; 4096]).is_ok() {});
    let (arriving, leaving) = (drive::arriving(1000), drive::leaving(1031));
    let epochs: Vec<Epoch> = arriving.into_iter().chain(leaving).collect();
    feed(&mut pty, &epochs);
    let sentences = drive::sentences(&drive::bytes(&epochs));
    let status = site.await_status("all is read", |s| s["sources"][0]["sentences"] == sentences);
    assert_eq!(counter(&status, "chunks_lost"), 0, "{status:#}");
    let problems = status["problems"].to_string();
    for words in ["what it sends is no NMEA", "what answers there is no gpsd"] {
        assert!(problems.contains(words), "{words}: {problems}");
    }
    assert!(site.log().contains("a tracker sent"), "{}", site.log());
    drop(pty);
    await_true("the exit arrives", || count(&records(&site.server), "fence_exit") == 1);
    assert_eq!(count(&records(&site.server), "fence_entry"), 1);
    println!("{}", site.status().unwrap()["counters"]);
    let lines = site.log().lines().count();
    assert!(lines < 40, "{lines} lines of log:\n{}", site.log());
    daemon.stop();
}

/// UDP: sentences of several datagrams and several of one, from two senders.
#[test]
fn datagrams() {
    let port = free_port();
    let site = site(&format!("kind = \"udp\"\naddress = \"127.0.0.1:{port}\""));
    let daemon = site.start_open();
    let sender = || std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let senders = [sender(), sender()];
    let epochs: Vec<Epoch> =
        drive::arriving(1000).into_iter().chain(drive::leaving(1031)).collect();
    for (epoch, sender) in epochs.iter().zip(senders.iter().cycle()) {
        sender.send_to(&epoch.bytes, ("127.0.0.1", port)).unwrap();
        pause(Span::from_millis(2));
    }
    let sentences = drive::sentences(&drive::bytes(&epochs));
    site.await_status("all is read", |s| s["sources"][0]["sentences"] == sentences);
    await_true("the entry arrives", || count(&records(&site.server), "fence_entry") == 1);
    daemon.stop();
}

/// INV-7: what `record` wrote of this feed is decided by `replay` as the daemon decided it.
fn replays(what: &str, site: &Site, daemon: Daemon) {
    await_true("it has left", || count(&records(&site.server), "fence_exit") == 1);
    let out = site.command(&["record", "--socket", "control.sock", "-o", "feed.record"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    daemon.stop();
    let out = site.command(&["replay", "feed.record", "--zones", "zones/a.geojson"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let live = story(&records(&site.server));
    assert!(live.len() >= 2, "{what}: {live:?}");
    assert_eq!(live, story(&lines(&out.stdout)), "{what}");
    println!("{what}: {} events equal", live.len());
}

/// Trackers' records, cut anywhere.
#[test]
fn inv_7_a_record_of_trackers_replays() {
    let port = free_port();
    let source = format!(
        "name = \"t\"\nkind = \"jsonl\"\ntrust = \"fixes\"\nasset = \"x\"\naddress = \"127.0.0.1:{port}\""
    );
    let site = site(&source);
    let daemon = site.start();
    site.await_status("it listens", |s| s["sources"][1]["up"] == true);
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let text: String = (0..1000).map(|n| line("one", n)).collect();
    for piece in text.as_bytes().chunks(1000) {
        stream.write_all(piece).unwrap();
    }
    replays("trackers", &site, daemon);
}

/// Datagrams.
#[test]
fn inv_7_a_record_of_datagrams_replays() {
    let port = free_port();
    let site = site(&format!("kind = \"udp\"\naddress = \"127.0.0.1:{port}\""));
    let daemon = site.start_open();
    let sender = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for epoch in drive::arriving(1000).iter().chain(&drive::leaving(1031)) {
        sender.send_to(&epoch.bytes, ("127.0.0.1", port)).unwrap();
        pause(Span::from_millis(2));
    }
    replays("datagrams", &site, daemon);
}

/// gpsd's reports.
#[test]
fn inv_7_a_record_of_gpsd_replays() {
    let port = free_port();
    let site = site(&format!("kind = \"gpsd\"\naddress = \"127.0.0.1:{port}\""));
    let mut pty = Pty::plug(&site.path("receiver"));
    let Some(_gpsd) = Gpsd::start(port, &[device(&site, "receiver")]) else { return };
    let daemon = site.start_open();
    // gpsd finds out what the receiver speaks first.
    feed(&mut pty, &drive::made_up(900, std::iter::repeat_n(-600.0, 30)));
    feed(&mut pty, &drive::arriving(1000));
    feed(&mut pty, &drive::leaving(1031));
    replays("gpsd", &site, daemon);
}
