//! The delivery machine, the HTTP client and the loopback server together, over real sockets:
//! whatever the server does, what it has in the end is every event once in effect, in order.

use std::collections::VecDeque;
use std::time::Duration;

use geofenced::edge::http::{Http, HttpOptions};
use geofenced::edge::receiver::{Manner, Receiver};
use geofenced::logic::event::Lane;
use geofenced::logic::uplink::{
    BatchSummary, Uplink, UplinkAction, UplinkInput, UplinkRules, WireFormat,
};
use geofenced::units::{BootTime, Span, StreamId};
use serde_json::{Value, json};

fn event(seq: u64) -> Value {
    json!({"specversion": "1.0", "id": format!("k7-{seq}"), "pad": "x".repeat(200)})
}

/// Runs the machine until nothing waits; the clock jumps, the sockets are real.
fn deliver(receiver: &Receiver, events: u64, format: WireFormat) -> Vec<u64> {
    let stream = StreamId::new("k7").expect("a sound id");
    let batch_max = format.batch_max(100);
    let mut uplink = Uplink::new(UplinkRules { batch_max, ..UplinkRules::default() });
    let http = Http::new(&HttpOptions { url: receiver.url(), format, ..HttpOptions::default() });
    let http = http.expect("a loopback address");
    let mut spool: VecDeque<u64> = (1..=events).collect();
    let mut dead = Vec::new();
    let mut now = BootTime::from_nanos(0);
    let mut action = uplink.handle(now, UplinkInput::Start { waiting: events });
    loop {
        let input = match action {
            UplinkAction::ReadBatch { lane, max_events, .. } => {
                let count = (max_events as usize).min(spool.len());
                let read = (lane == Lane::Events && count > 0).then(|| BatchSummary {
                    lane,
                    first_seq: spool[0],
                    last_seq: spool[count - 1],
                    count: count as u32,
                    more: count < spool.len(),
                });
                UplinkInput::BatchRead(read)
            }
            UplinkAction::Send(batch) => {
                let events: Vec<Value> =
                    spool.iter().take(batch.count as usize).map(|&seq| event(seq)).collect();
                let within = Some(Duration::from_millis(300));
                let outcome = http.post(&format.body(&events), &batch.key(&stream), within);
                UplinkInput::Answer { outcome, jitter: 0.5 }
            }
            UplinkAction::Acknowledge { up_to, .. } => {
                spool.retain(|&seq| seq > up_to);
                UplinkInput::Settled
            }
            UplinkAction::DeadLetter { seq, why, .. } => {
                assert!(why.contains("HTTP 400"), "{why}");
                spool.retain(|&waiting| waiting != seq);
                dead.push(seq);
                UplinkInput::Settled
            }
            UplinkAction::SleepUntil(then) => {
                now = then;
                UplinkInput::Wake
            }
            UplinkAction::Idle | UplinkAction::Done => break,
        };
        now = now + Span::from_millis(1);
        action = uplink.handle(now, input);
    }
    assert!(spool.is_empty());
    dead
}

#[test]
fn h_1_h_13_a_bad_server_gets_everything_in_the_end() {
    let troubles = [
        vec![],
        vec![Manner::DropAnswer, Manner::DropAnswer],
        vec![Manner::Status(500), Manner::Status(404), Manner::Status(302)],
        vec![Manner::RetryAfter(429, 60), Manner::RetryAfter(503, 1)],
        vec![Manner::Status(401), Manner::DropAnswer, Manner::Status(403)],
        vec![Manner::Slow(Duration::from_millis(400))],
        vec![Manner::Status(413), Manner::DropAnswer, Manner::Status(413), Manner::Status(413)],
        vec![Manner::AtMost(30), Manner::DropAnswer],
    ];
    for trouble in troubles {
        let receiver = Receiver::start().unwrap();
        receiver.once(trouble.clone());
        assert!(deliver(&receiver, 250, WireFormat::Batch).is_empty(), "{trouble:?}");
        let wanted: Vec<Value> = (1..=250).map(event).collect();
        assert_eq!(receiver.events(), wanted, "{trouble:?}");
        // What is tried again after no answer is the same request, body and key.
        let seen = receiver.seen();
        for pair in seen.windows(2).filter(|pair| ![200, 413].contains(&pair[0].status)) {
            assert_eq!((&pair[0].key, &pair[0].body), (&pair[1].key, &pair[1].body), "{trouble:?}");
        }
    }
}

#[test]
fn h_13_a_poison_event_costs_only_itself_in_every_format() {
    for format in [WireFormat::Batch, WireFormat::Jsonl, WireFormat::Single] {
        let receiver = Receiver::start().unwrap();
        receiver.set_manner(Manner::RefuseId("k7-17".into()));
        assert_eq!(deliver(&receiver, 40, format), [17], "{format:?}");
        let wanted: Vec<Value> = (1..=40).filter(|&seq| seq != 17).map(event).collect();
        assert_eq!(receiver.events(), wanted, "{format:?}");
        assert!(receiver.received().iter().all(|received| !received.duplicate));
    }
}
