//! The only reader of clocks and chance: everything else is told the time.
//!
//! Always holds: each reader gives its own type, so one clock cannot pass for another (DESIGN §2).
//! Does not know: what any of them is used for.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use nix::time::ClockId;

use crate::units::{BootTime, NANOS_PER_SEC, WallTime};

/// Linux gives every boot its own id here.
const BOOT_ID_FILE: &str = "/proc/sys/kernel/random/boot_id";
/// systemd-timesyncd (and what stands in for it) creates this once the clock has been set.
const SYNCHRONISED_FILE: &str = "/run/systemd/timesync/synchronized";

/// CLOCK_BOOTTIME: goes on in suspend, never jumps. `std`'s `Instant` stops in suspend.
pub fn boot_now() -> BootTime {
    BootTime::from_nanos(kernel_clock_nanos(ClockId::CLOCK_BOOTTIME))
}

/// CLOCK_MONOTONIC in microseconds, which systemd asks for and nothing else uses.
pub(super) fn monotonic_usec() -> i64 {
    kernel_clock_nanos(ClockId::CLOCK_MONOTONIC) / 1_000
}

#[expect(clippy::disallowed_methods, reason = "this file is where clocks are read")]
fn kernel_clock_nanos(clock: ClockId) -> i64 {
    let spec = nix::time::clock_gettime(clock).expect("Linux has had this clock since 2.6.39");
    // 32-bit ARM has 4-byte fields: widen before multiplying.
    (spec.tv_sec() as i64).saturating_mul(NANOS_PER_SEC).saturating_add(spec.tv_nsec() as i64)
}

/// The system clock. Through `std`, which outlives 2038 where nix's `time_t` is 4 bytes (armv7).
#[expect(clippy::disallowed_methods, reason = "this file is where clocks are read")]
pub fn wall_now() -> WallTime {
    let since = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
    let nanos = match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    };
    WallTime::from_nanos(nanos)
}

/// Whether something has set the system clock since boot (TIME-5).
///
/// The kernel's own answer needs `adjtimex`, which nothing offers without unsafe code; this reads
/// systemd's marker instead. A box that keeps time with chrony alone has no marker and is taken
/// for not synchronised, which costs a source without dates its shortcut and nothing else.
pub fn wall_synchronised() -> bool {
    Path::new(SYNCHRONISED_FILE).exists()
}

/// Which boot this is: boot times of different boots do not compare.
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string(BOOT_ID_FILE)?.trim().to_owned())
}

/// Bytes nobody can foresee, from the kernel.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A fraction in 0..1 for jitter; the middle where the kernel gives no chance.
pub fn random_fraction() -> f64 {
    random_bytes().map_or(0.5, |b| f64::from(u32::from_le_bytes(b)) / 4_294_967_296.0)
}

/// How long from now until `deadline`; nothing where it has passed.
///
/// Timers of `std` and tokio stop in suspend: whoever sleeps this long looks at [`boot_now`] again
/// and finds the deadline passed, late but never missed.
pub fn until(deadline: BootTime) -> Duration {
    (deadline - boot_now()).to_std()
}

/// Memory of this process that is in RAM now, in bytes; 0 where /proc does not tell.
pub fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    #[test]
    fn clocks_move_and_stay_in_range() {
        let first = boot_now();
        assert!(boot_now() >= first && first.nanos() > 0);
        assert!(monotonic_usec() > 0 && monotonic_usec() * 1_000 <= boot_now().nanos());
        assert!(wall_now().nanos() > 0);
        assert_eq!(until(first), Duration::ZERO);
        let soon = until(boot_now() + Span::from_secs(60));
        assert!(soon > Duration::from_secs(50) && soon <= Duration::from_mins(1));
    }

    #[test]
    fn boot_has_an_id_and_chance_differs() {
        assert_eq!(boot_id().unwrap().len(), 36);
        assert_ne!(random_bytes::<16>().unwrap(), random_bytes::<16>().unwrap());
        assert!((0.0..1.0).contains(&random_fraction()));
    }
}
