//! What systemd is told. Without it (no NOTIFY_SOCKET) everything here does nothing.
//!
//! Always holds: a status is one line; the watchdog is pinged only by whoever calls [`ping`],
//! never by a ticker. Does not know: when the loop has made progress. Sole user of `sd-notify`.

use std::io;
use std::time::Duration;

use sd_notify::NotifyState;

use crate::edge::clock;

/// The longest status line in characters: what `systemctl status` shows without wrapping twice.
const STATUS_CHARS_MAX: usize = 200;

/// The daemon is up, and what it would say of itself.
pub fn ready(status: &str) -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(&one_line(status))])
}

/// A reload begins; [`ready`] ends it.
pub fn reloading() -> io::Result<()> {
    // sd-notify's own clock reading overflows on 32-bit ARM after 36 minutes.
    let now = NotifyState::MonotonicUsec(i128::from(clock::monotonic_usec()));
    sd_notify::notify(&[NotifyState::Reloading, now])
}

/// The daemon is about to leave.
pub fn stopping() -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Stopping])
}

/// One line for `systemctl status`.
pub fn status(text: &str) -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Status(&one_line(text))])
}

/// A start or stop that takes long asks for this much more (I6).
pub fn extend_timeout(by: Duration) -> io::Result<()> {
    let usec = u32::try_from(by.as_micros()).unwrap_or(u32::MAX);
    sd_notify::notify(&[NotifyState::ExtendTimeoutUsec(usec)])
}

/// How often at least [`ping`] must be called, where this very process is watched (I6).
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|interval| !interval.is_zero())
}

/// The loop has made progress.
pub fn ping() -> io::Result<()> {
    sd_notify::notify(&[NotifyState::Watchdog])
}

/// A line end would let a zone's name set systemd's fields.
fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).take(STATUS_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;

    use super::*;

    /// Marks the process that the tests below start to have an environment of its own.
    const PART: &str = "GEOFENCED_TEST_PART";

    /// Runs the test named `inner` of this binary under `env`, which must succeed.
    fn under(inner: &str, env: &[(&str, &str)]) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("edge::systemd::tests::{inner}"), "--nocapture"]);
        command.env_remove("WATCHDOG_PID").env_remove("WATCHDOG_USEC").env(PART, "1");
        let output = command.envs(env.iter().copied()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }

    #[test]
    fn what_is_sent_is_what_systemd_expects() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        under("inner_says_everything", &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
        socket.set_nonblocking(true).unwrap();
        let mut said = Vec::new();
        let mut buffer = [0; 1024];
        while let Ok(len) = socket.recv(&mut buffer) {
            said.push(String::from_utf8_lossy(&buffer[..len]).into_owned());
        }
        assert_eq!(said[0], "READY=1\nSTATUS=2 zones READY=0\n");
        let usec = said[1].strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        let usec: i64 = usec.trim().parse().unwrap();
        assert!(usec > 0 && usec <= clock::monotonic_usec());
        assert_eq!(said[2], format!("STATUS={}\n", "ü".repeat(STATUS_CHARS_MAX)));
        assert_eq!(said[3..], ["EXTEND_TIMEOUT_USEC=1500000\n", "WATCHDOG=1\n", "STOPPING=1\n"]);
    }

    #[test]
    fn inner_says_everything() {
        if std::env::var_os(PART).is_none() {
            return;
        }
        ready("2 zones\nREADY=0").unwrap();
        reloading().unwrap();
        status(&"ü".repeat(500)).unwrap();
        extend_timeout(Duration::from_millis(1500)).unwrap();
        ping().unwrap();
        stopping().unwrap();
    }

    #[test]
    fn i_6_the_watchdog_of_another_process_is_not_ours() {
        under("inner_watched", &[("WATCHDOG_USEC", "500000")]);
        under("inner_not_watched", &[("WATCHDOG_USEC", "500000"), ("WATCHDOG_PID", "1")]);
        under("inner_not_watched", &[("WATCHDOG_USEC", "0")]);
        under("inner_not_watched", &[("WATCHDOG_USEC", "often")]);
        under("inner_not_watched", &[]);
    }

    #[test]
    fn inner_watched() {
        if std::env::var_os(PART).is_some() {
            assert_eq!(watchdog_interval(), Some(Duration::from_millis(500)));
        }
    }

    #[test]
    fn inner_not_watched() {
        if std::env::var_os(PART).is_some() {
            assert_eq!(watchdog_interval(), None);
        }
    }

    #[test]
    fn without_systemd_nothing_happens() {
        if std::env::var_os("NOTIFY_SOCKET").is_none() {
            ready("x").unwrap();
            ping().unwrap();
        }
    }
}
