//! STO-3 on the real binary: killed in the middle of a vote, started again.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::drive::{self, Epoch};
use crate::harness::{Daemon, Pty, Site, await_true, count, records};

fn site() -> Site {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    site
}

/// What is shown of the gate's vote.
fn votes(status: &Value) -> Option<u64> {
    status["assets"][0]["votes"][0]["votes"].as_u64()
}

/// Drives until the first of three votes has been cast, and waits until a checkpoint holds it.
/// Gives how many epochs were fed; the last of them is not complete before the next.
fn up_to_the_vote(site: &Site, pty: &mut Pty, epochs: &[Epoch]) -> (Daemon, usize) {
    let daemon = site.start_open();
    // What the start has to tell is committed first: nothing else will be before the entry.
    let mut fed = 10;
    assert!(pty.feed(&drive::bytes(&epochs[..fed])));
    await_true("it is reconciled", || count(&records(&site.server), "asset_reconciled") == 1);
    loop {
        assert!(pty.feed(&epochs[fed].bytes));
        fed += 1;
        let read = drive::sentences(&drive::bytes(&epochs[..fed]));
        let status = site.await_status("all is read", |s| s["sources"][0]["sentences"] == read);
        match votes(&status) {
            Some(1) => break,
            None => {}
            more => panic!("{more:?} votes after {fed} epochs"),
        }
    }
    // As a row of the store has it, in quotes.
    let vote = r#"\"count\":1"#;
    let held = |path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(vote));
    await_true("the checkpoint holds it", || held(site.path("control.checkpoint")));
    (daemon, fed)
}

/// Feeds the rest, and gives the events of the gate in the end.
fn to_the_end(site: &Site, pty: Pty, epochs: &[Epoch]) -> Vec<Value> {
    let daemon = site.start_open();
    site.feed_to_end(pty, &drive::bytes(epochs));
    await_true("all is delivered", || {
        site.status().is_some_and(|status| status["events"]["waiting"] == 0)
    });
    daemon.stop();
    records(&site.server).into_iter().filter(|r| r["kind"] == "fence_entry").collect()
}

/// Killed with one of three votes cast: the crossing is confirmed with it.
#[test]
fn sto_3_a_kill_in_the_middle_of_a_vote_loses_no_vote() {
    let epochs = drive::arriving(1000);
    let site = site();
    let mut pty = Pty::plug(&site.path("gnss"));
    let (daemon, fed) = up_to_the_vote(&site, &mut pty, &epochs);
    let file = site.path("control.checkpoint");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds positions");
    daemon.kill();
    let entries = to_the_end(&site, pty, &epochs[fed - 1..]);
    assert!(site.log().contains("1 assets go on as they were"), "{}", site.log());
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = &entries[0];
    assert_eq!(entry["fixes"], 3, "{entry}");
    // A vote is cast with the fix before the last but one; two more follow.
    let third = epochs[fed - 1].of_day_ms / 1000 % 60;
    let confirmed = entry["confirmed_at"].as_str().unwrap();
    assert!(confirmed.ends_with(&format!(":{third:02}Z")), "{confirmed}, not {third}");
    assert_eq!(
        (&entry["certainty"], &entry["gap"]["cause"]),
        (&json!("inferred"), &json!("restart"))
    );
    assert_eq!(count(&records(&site.server), "asset_reconciled"), 2, "one a start");
    assert!(!file.exists(), "a clean stop leaves none");
}

/// One that was tampered with costs a line in the log and a count; nothing of it is believed.
#[test]
fn sto_3_a_torn_checkpoint_is_said_and_ignored() {
    let epochs = drive::arriving(1000);
    let site = site();
    let mut pty = Pty::plug(&site.path("gnss"));
    let (daemon, _) = up_to_the_vote(&site, &mut pty, &epochs);
    daemon.kill();
    let file = site.path("control.checkpoint");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let daemon = site.start_open();
    let status = site.await_status("it counts", |s| s["counters"]["checkpoints_ignored"] == 1);
    assert_eq!(votes(&status), None);
    let said = site.log().matches("checkpoint ignored: it is not whole").count();
    assert_eq!(said, 1, "{}", site.log());
    daemon.stop();
}
