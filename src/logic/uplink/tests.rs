//! Timelines: a store and a server in a few lines each around the machine, the clock a number.

use std::collections::VecDeque;

use super::*;
use crate::units::StreamId;

/// What a server answers to a batch that is the so-manieth.
type Server = fn(&BatchSummary, usize) -> Outcome;

/// A driver with a scripted server. Times are seconds of boot time.
struct Bench {
    uplink: Uplink,
    now: BootTime,
    events: VecDeque<u64>,
    telemetry: VecDeque<u64>,
    /// What the server has been sent, in order: (first, last).
    sent: Vec<(Lane, u64, u64)>,
    dead: Vec<u64>,
    answer: Server,
    jitter: f64,
}

fn at(secs: f64) -> BootTime {
    BootTime::from_nanos(0) + Span::from_secs_f64(secs)
}

fn always_ok(_: &BatchSummary, _: usize) -> Outcome {
    Outcome::status(200)
}

fn unreachable(_: &BatchSummary, _: usize) -> Outcome {
    Outcome::Failed { failure: Failure::Connect, text: "no route".into() }
}

fn wait_for(status: u16, secs: i64) -> Outcome {
    let retry_after = Some(Span::from_secs(secs));
    Outcome::Answered { status, retry_after, ack: AckBody::default(), text: String::new() }
}

fn acknowledging(acknowledged: u64) -> Outcome {
    let ack = AckBody { acknowledged: Some(acknowledged), highest_seq: Some(acknowledged) };
    Outcome::Answered { status: 200, retry_after: None, ack, text: String::new() }
}

impl Bench {
    fn new(events: u64, answer: Server) -> Self {
        Self {
            uplink: Uplink::new(UplinkRules::default()),
            now: at(0.0),
            events: (1..=events).collect(),
            telemetry: VecDeque::new(),
            sent: Vec::new(),
            dead: Vec::new(),
            answer,
            jitter: 1.0,
        }
    }

    fn lane(&mut self, lane: Lane) -> &mut VecDeque<u64> {
        match lane {
            Lane::Events => &mut self.events,
            Lane::Telemetry => &mut self.telemetry,
        }
    }

    /// Gives one input and performs whatever follows until the machine waits.
    fn input(&mut self, input: UplinkInput) -> UplinkAction {
        let mut action = self.uplink.handle(self.now, input);
        for _ in 0..10_000 {
            let next = match action {
                UplinkAction::ReadBatch { lane, max_events, .. } => {
                    let run: Vec<u64> =
                        self.lane(lane).iter().copied().take(max_events as usize).collect();
                    UplinkInput::BatchRead(run.first().map(|&first_seq| BatchSummary {
                        lane,
                        first_seq,
                        last_seq: *run.last().unwrap(),
                        count: run.len() as u32,
                        more: self.lane(lane).len() > run.len(),
                    }))
                }
                UplinkAction::Send(batch) => {
                    let outcome = (self.answer)(&batch, self.sent.len());
                    self.sent.push((batch.lane, batch.first_seq, batch.last_seq));
                    UplinkInput::Answer { outcome, jitter: self.jitter }
                }
                UplinkAction::Acknowledge { lane, up_to } => {
                    self.lane(lane).retain(|&seq| seq > up_to);
                    UplinkInput::Settled
                }
                UplinkAction::DeadLetter { lane, seq, .. } => {
                    self.lane(lane).retain(|&s| s != seq);
                    self.dead.push(seq);
                    UplinkInput::Settled
                }
                waits => return waits,
            };
            action = self.uplink.handle(self.now, next);
        }
        panic!("never came to rest");
    }

    fn start(&mut self) -> UplinkAction {
        let waiting = self.events.len() as u64;
        self.input(UplinkInput::Start { waiting })
    }

    fn commit(&mut self, lane: Lane, seq: u64, membership_changes: bool) -> UplinkAction {
        self.lane(lane).push_back(seq);
        let waiting = self.lane(lane).len() as u64;
        self.input(UplinkInput::Committed { lane, membership_changes, waiting })
    }

    fn wake_at(&mut self, secs: f64) -> UplinkAction {
        self.now = at(secs);
        self.input(UplinkInput::Wake)
    }

    fn sent_events(&self) -> Vec<(u64, u64)> {
        self.sent.iter().map(|&(_, first, last)| (first, last)).collect()
    }
}

#[test]
fn del_1_a_backlog_goes_in_full_batches_in_order_and_is_forgotten() {
    let mut bench = Bench::new(250, always_ok);
    assert_eq!(bench.start(), UplinkAction::Idle);
    assert_eq!(bench.sent_events(), [(1, 100), (101, 200), (201, 250)]);
    assert!(bench.events.is_empty());
    let state = bench.uplink.state();
    assert_eq!((state.acknowledged, state.waiting_events), (250, 0));
    assert_eq!((state.waiting_since, state.last_ok), (None, Some(at(0.0))));
}

#[test]
fn del_1_telemetry_goes_only_when_no_event_waits() {
    let mut bench = Bench::new(2, always_ok);
    bench.telemetry = (1..=3).collect();
    assert_eq!(bench.start(), UplinkAction::Idle);
    assert_eq!(bench.sent, [(Lane::Events, 1, 2), (Lane::Telemetry, 1, 3)]);

    let mut bench = Bench::new(2, unreachable);
    bench.telemetry = (1..=3).collect();
    assert_eq!(bench.start(), UplinkAction::SleepUntil(at(1.0)));
    assert!(bench.sent.iter().all(|sent| sent.0 == Lane::Events));
}

#[test]
fn membership_changes_do_not_linger_and_others_do() {
    let mut bench = Bench::new(0, always_ok);
    assert_eq!(bench.start(), UplinkAction::Idle);
    bench.now = at(10.0);
    assert_eq!(bench.commit(Lane::Events, 1, false), UplinkAction::SleepUntil(at(12.0)));
    bench.now = at(11.0);
    // Company does not prolong the wait, and waking early is harmless.
    assert_eq!(bench.commit(Lane::Telemetry, 1, false), UplinkAction::SleepUntil(at(12.0)));
    assert_eq!(bench.wake_at(11.9), UplinkAction::SleepUntil(at(12.0)));
    assert!(bench.sent.is_empty());
    assert_eq!(bench.wake_at(12.0), UplinkAction::Idle);
    assert_eq!(bench.sent, [(Lane::Events, 1, 1), (Lane::Telemetry, 1, 1)]);

    assert_eq!(bench.commit(Lane::Events, 2, false), UplinkAction::SleepUntil(at(14.0)));
    assert_eq!(bench.commit(Lane::Events, 3, true), UplinkAction::Idle);
    assert_eq!(bench.sent_events()[2..], [(2, 3)]);

    // A full batch has nothing to wait for.
    for seq in 4..=102 {
        assert_eq!(bench.commit(Lane::Events, seq, false), UplinkAction::SleepUntil(at(14.0)));
    }
    assert_eq!(bench.commit(Lane::Events, 103, false), UplinkAction::Idle);
    assert_eq!(bench.sent_events()[3..], [(4, 103)]);
}

#[test]
fn what_is_committed_while_a_batch_is_under_way_is_not_forgotten() {
    let mut bench = Bench::new(0, always_ok);
    let urgent =
        UplinkInput::Committed { lane: Lane::Events, membership_changes: true, waiting: 1 };
    let uplink = &mut bench.uplink;
    assert!(matches!(uplink.handle(at(1.0), urgent.clone()), UplinkAction::ReadBatch { .. }));
    // The commit came after the store had looked.
    assert_eq!(uplink.handle(at(1.0), urgent), UplinkAction::Idle);
    let action = uplink.handle(at(1.0), UplinkInput::BatchRead(None));
    assert!(matches!(action, UplinkAction::ReadBatch { lane: Lane::Events, .. }), "{action:?}");
}

#[test]
fn news_that_may_linger_does_not_hold_up_a_backlog() {
    let mut uplink = Uplink::new(UplinkRules::default());
    let news =
        UplinkInput::Committed { lane: Lane::Events, membership_changes: false, waiting: 60 };
    let _ = uplink.handle(at(0.0), UplinkInput::Start { waiting: 59 });
    let batch = BatchSummary { more: true, ..BATCH };
    let _ = uplink.handle(at(0.0), UplinkInput::BatchRead(Some(batch)));
    assert_eq!(uplink.handle(at(0.1), news.clone()), UplinkAction::Idle);
    let outcome = Outcome::status(200);
    let answer = UplinkInput::Answer { outcome, jitter: 0.0 };
    let _ = uplink.handle(at(0.2), answer.clone());
    let action = uplink.handle(at(0.2), UplinkInput::Settled);
    assert!(matches!(action, UplinkAction::ReadBatch { .. }), "{action:?}");
    // Where nothing is behind the batch the news has its time.
    let _ = uplink.handle(at(0.3), UplinkInput::BatchRead(Some(BATCH)));
    let _ = uplink.handle(at(0.4), news);
    let _ = uplink.handle(at(0.5), answer);
    let linger_until = UplinkAction::SleepUntil(at(0.4) + Span::from_secs(2));
    assert_eq!(uplink.handle(at(0.5), UplinkInput::Settled), linger_until);
}

#[test]
fn back_off_doubles_to_its_bound_and_is_spread_by_chance() {
    for (jitter, share) in [(1.0, 1.0), (0.0, 0.5), (0.5, 0.75)] {
        let mut bench = Bench::new(3, unreachable);
        bench.jitter = jitter;
        let mut action = bench.start();
        for whole in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 600.0, 600.0] {
            let until = bench.now + Span::from_secs_f64(whole * share);
            assert_eq!(action, UplinkAction::SleepUntil(until), "{whole} × {share}");
            bench.now = until;
            action = bench.input(UplinkInput::Wake);
        }
        assert_eq!(bench.events.len(), 3);
        assert_eq!(bench.uplink.state().failing_since, Some(at(0.0)));
    }
}

#[test]
fn h_1_a_lost_answer_is_followed_by_the_same_batch_again() {
    // The server stores and drops the connection: a timeout as we see it.
    let mut bench = Bench::new(2, |_, nth| match nth {
        0 => Outcome::Failed { failure: Failure::Timeout, text: "no answer".into() },
        _ => Outcome::status(200),
    });
    let _ = bench.start();
    // More was decided in the meantime; urgent or not, it does not cut the wait short.
    assert_eq!(bench.commit(Lane::Events, 3, true), UplinkAction::SleepUntil(at(1.0)));
    assert_eq!(bench.wake_at(1.0), UplinkAction::Idle);
    assert_eq!(bench.sent_events(), [(1, 2), (1, 2), (3, 3)]);

    let stream = StreamId::new("k7q2").unwrap();
    let (lane, first_seq, last_seq) = (Lane::Events, 1, 2);
    let batch = BatchSummary { lane, first_seq, last_seq, count: 2, more: false };
    assert_eq!(batch.key(&stream), "k7q2-1-2");
    let telemetry = BatchSummary { lane: Lane::Telemetry, ..batch };
    assert_ne!(telemetry.key(&stream), batch.key(&stream));
}

#[test]
fn h_13_a_poison_event_is_found_alone_dead_lettered_and_passed() {
    for poison in [1, 37, 50, 51, 100] {
        for status in [400, 413] {
            let mut bench = Bench::new(120, always_ok);
            bench.answer = match (poison, status) {
                (1, 400) => |b, _| refuse(b, 1, 400),
                (1, _) => |b, _| refuse(b, 1, 413),
                (37, 400) => |b, _| refuse(b, 37, 400),
                (37, _) => |b, _| refuse(b, 37, 413),
                (50, 400) => |b, _| refuse(b, 50, 400),
                (50, _) => |b, _| refuse(b, 50, 413),
                (51, 400) => |b, _| refuse(b, 51, 400),
                (51, _) => |b, _| refuse(b, 51, 413),
                (_, 400) => |b, _| refuse(b, 100, 400),
                (_, _) => |b, _| refuse(b, 100, 413),
            };
            assert_eq!(bench.start(), UplinkAction::Idle, "poison {poison}, {status}");
            assert_eq!(bench.dead, [poison]);
            assert!(bench.events.is_empty());
            assert!(bench.sent.len() < 30, "{} requests", bench.sent.len());
            assert_eq!(bench.uplink.state().acknowledged, 119);
            assert_eq!(bench.uplink.state().dead_lettered, 1);
        }
    }
}

fn refuse(batch: &BatchSummary, poison: u64, status: u16) -> Outcome {
    let inside = (batch.first_seq..=batch.last_seq).contains(&poison);
    Outcome::status(if inside { status } else { 200 })
}

#[test]
fn h_13_poison_between_good_events_is_not_the_servers_fault() {
    let mut bench = Bench::new(600, |batch, _| {
        let poisoned = (batch.first_seq..=batch.last_seq).any(|seq| seq % 100 == 42);
        Outcome::status(if poisoned { 400 } else { 200 })
    });
    assert_eq!(bench.start(), UplinkAction::Idle, "no pause");
    assert_eq!(bench.dead, [42, 142, 242, 342, 442, 542]);
    assert!(bench.events.is_empty());
}

#[test]
fn h_13_too_big_batches_shrink_lose_nothing_and_grow_again() {
    let mut bench = Bench::new(1000, |batch, nth| {
        Outcome::status(if batch.count > 30 && nth < 20 { 413 } else { 200 })
    });
    assert_eq!(bench.start(), UplinkAction::Idle);
    assert!(bench.dead.is_empty() && bench.events.is_empty());
    assert_eq!(bench.sent_events()[..4], [(1, 100), (1, 50), (1, 25), (26, 50)]);
    assert!(bench.sent.iter().any(|&(_, first, last)| first > 400 && last - first == 49));
}

#[test]
fn h_13_a_server_that_refuses_everything_is_suspected_itself() {
    let mut bench = Bench::new(100, |_, _| Outcome::status(400));
    bench.jitter = 0.0;
    assert_eq!(bench.start(), UplinkAction::SleepUntil(at(600.0)));
    assert_eq!(bench.dead, [1, 2, 3]);
    assert_eq!(bench.uplink.state().trouble.as_ref().unwrap().cause, Cause::RefusesAll);
    // A day of it costs at most one event each ten minutes, not the whole spool.
    for tens in 1..=5 {
        assert_eq!(bench.input(UplinkInput::LinkUp), bench.wake_at(600.0 * f64::from(tens) - 1.0));
        let _ = bench.wake_at(600.0 * f64::from(tens));
    }
    assert_eq!(bench.dead, [1, 2, 3, 4, 5, 6, 7, 8]);
    bench.answer = always_ok;
    assert_eq!(bench.input(UplinkInput::Kick), UplinkAction::Idle);
    assert!(bench.events.is_empty());
}

#[test]
fn h_13_not_allowed_pauses_and_keeps_everything() {
    for status in [401, 403] {
        let mut bench = Bench::new(5, always_ok);
        bench.answer = if status == 401 {
            |_, nth| Outcome::status(if nth == 0 { 401 } else { 200 })
        } else {
            |_, nth| Outcome::status(if nth == 0 { 403 } else { 200 })
        };
        bench.jitter = 0.0;
        assert_eq!(bench.start(), UplinkAction::SleepUntil(at(600.0)));
        assert_eq!(bench.uplink.state().trouble.as_ref().unwrap().cause, Cause::NotAllowed);
        assert_eq!(bench.uplink.state().next_try, Some(at(600.0)));
        // A link that comes up changes no token; a person who asks is obeyed.
        assert_eq!(bench.input(UplinkInput::LinkUp), UplinkAction::SleepUntil(at(600.0)));
        assert_eq!(bench.events.len(), 5);
        assert_eq!(bench.input(UplinkInput::Kick), UplinkAction::Idle);
        assert!(bench.events.is_empty() && bench.uplink.state().trouble.is_none());
    }
}

#[test]
fn h_13_retry_after_is_obeyed_within_bounds() {
    // (status, asked, waited without chance)
    let table: [(Server, f64); 5] = [
        (|_, _| wait_for(429, 30), 30.0),
        (|_, _| wait_for(503, 45), 45.0),
        (|_, _| wait_for(503, 0), 1.0),
        (|_, _| wait_for(429, 999_999), 3600.0),
        (|_, _| Outcome::status(503), 0.5),
    ];
    for (answer, waited) in table {
        let mut bench = Bench::new(1, answer);
        bench.jitter = 0.0;
        assert_eq!(bench.start(), UplinkAction::SleepUntil(at(waited)));
    }
    let mut bench = Bench::new(1, |_, _| wait_for(429, 30));
    assert_eq!(bench.start(), UplinkAction::SleepUntil(at(33.0)), "chance only adds");
    assert_eq!(bench.input(UplinkInput::LinkUp), UplinkAction::SleepUntil(at(33.0)));
}

#[test]
fn every_other_status_waits_and_drops_nothing() {
    for status in (300..600).filter(|s| ![400, 401, 403, 413].contains(s)) {
        let mut uplink = Uplink::new(UplinkRules::default());
        let batch =
            BatchSummary { lane: Lane::Events, first_seq: 1, last_seq: 1, count: 1, more: false };
        for _ in 0..50 {
            let _ = uplink.handle(at(0.0), UplinkInput::Kick);
            let _ = uplink.handle(at(0.0), UplinkInput::BatchRead(Some(batch)));
            let outcome = Outcome::status(status);
            let action = uplink.handle(at(0.0), UplinkInput::Answer { outcome, jitter: 0.3 });
            assert!(matches!(action, UplinkAction::SleepUntil(_)), "{status}: {action:?}");
        }
    }
}

#[test]
fn a_link_that_comes_up_ends_the_wait_and_resets_it() {
    let mut bench = Bench::new(1, |_, nth| match nth {
        0..=9 => unreachable(&BATCH, 0),
        _ => Outcome::status(200),
    });
    let _ = bench.start();
    for _ in 0..8 {
        bench.now = bench.uplink.state().next_try.unwrap();
        let _ = bench.input(UplinkInput::Wake);
    }
    let before = bench.now;
    assert_eq!(
        bench.input(UplinkInput::LinkUp),
        UplinkAction::SleepUntil(before + Span::from_secs(1))
    );
    assert_eq!(bench.input(UplinkInput::LinkUp), UplinkAction::Idle);
    assert!(bench.events.is_empty());
}

const BATCH: BatchSummary =
    BatchSummary { lane: Lane::Events, first_seq: 1, last_seq: 1, count: 1, more: false };

#[test]
fn inv_5_no_more_is_acknowledged_than_was_sent() {
    // A server that claims more, one that takes the batch in parts, one that takes none of it.
    let mut bench = Bench::new(150, |_, _| acknowledging(1_000_000));
    assert_eq!(bench.start(), UplinkAction::Idle);
    assert_eq!(bench.sent_events(), [(1, 100), (101, 150)]);
    assert_eq!(bench.uplink.state().server_highest, Some(1_000_000));

    let mut bench = Bench::new(50, |batch, _| acknowledging(batch.first_seq + 9));
    assert_eq!(bench.start(), UplinkAction::Idle);
    assert_eq!(bench.sent_events(), [(1, 50), (11, 50), (21, 50), (31, 50), (41, 50)]);
    assert_eq!(bench.uplink.state().acknowledged, 50);

    let mut bench = Bench::new(50, |_, _| acknowledging(0));
    assert_eq!(bench.start(), UplinkAction::SleepUntil(at(1.0)));
    assert_eq!(bench.events.len(), 50);
}

#[test]
fn del_2_stop_tries_once_more_and_leaves_in_time() {
    let deadline = at(103.0);
    // What lingers, or waits out a failure, goes now; telemetry does not.
    let mut bench = Bench::new(1, |_, nth| match nth {
        0 => Outcome::status(401),
        _ => Outcome::status(200),
    });
    bench.telemetry.push_back(1);
    let _ = bench.start();
    bench.now = at(100.0);
    assert_eq!(bench.input(UplinkInput::Stop { deadline }), UplinkAction::Done);
    assert_eq!(bench.sent_events(), [(1, 1), (1, 1)]);
    assert!(bench.events.is_empty());

    // One failure is enough.
    let mut bench = Bench::new(1, unreachable);
    bench.now = at(100.0);
    assert_eq!(bench.input(UplinkInput::Stop { deadline }), UplinkAction::Done);
    assert_eq!(bench.sent.len(), 1);
    assert_eq!(bench.input(UplinkInput::Kick), UplinkAction::Done);

    // A try under way is awaited, but not beyond the deadline.
    let mut uplink = Uplink::new(UplinkRules::default());
    let _ = uplink.handle(at(99.0), UplinkInput::Start { waiting: 1 });
    let _ = uplink.handle(at(99.0), UplinkInput::BatchRead(Some(BATCH)));
    let stop = UplinkInput::Stop { deadline };
    assert_eq!(uplink.handle(at(100.0), stop), UplinkAction::SleepUntil(deadline));
    assert_eq!(uplink.handle(at(102.0), UplinkInput::Wake), UplinkAction::SleepUntil(deadline));
    assert_eq!(uplink.handle(deadline, UplinkInput::Wake), UplinkAction::Done);
}

#[test]
fn a_stop_while_telemetry_is_read_still_tries_events() {
    let mut uplink = Uplink::new(UplinkRules::default());
    let _ = uplink.handle(at(1.0), UplinkInput::Start { waiting: 0 });
    let action = uplink.handle(at(1.0), UplinkInput::BatchRead(None));
    assert!(matches!(action, UplinkAction::ReadBatch { lane: Lane::Telemetry, .. }));
    let stop = UplinkInput::Stop { deadline: at(4.0) };
    assert_eq!(uplink.handle(at(1.0), stop), UplinkAction::SleepUntil(at(4.0)));
    let telemetry = BatchSummary { lane: Lane::Telemetry, ..BATCH };
    let action = uplink.handle(at(1.0), UplinkInput::BatchRead(Some(telemetry)));
    assert!(matches!(action, UplinkAction::ReadBatch { lane: Lane::Events, .. }), "{action:?}");
    assert_eq!(uplink.handle(at(1.0), UplinkInput::BatchRead(None)), UplinkAction::Done);
}

#[test]
fn a_store_that_fails_is_waited_for_and_nothing_is_taken_as_done() {
    let failed = || UplinkInput::StoreFailed { text: "disk I/O error".into(), jitter: 1.0 };
    let mut uplink = Uplink::new(UplinkRules::default());
    let _ = uplink.handle(at(0.0), UplinkInput::Start { waiting: 1 });
    assert_eq!(uplink.handle(at(0.0), failed()), UplinkAction::SleepUntil(at(1.0)));
    assert_eq!(uplink.state().waiting_events, 1);
    assert_eq!(uplink.state().trouble.as_ref().unwrap().cause, Cause::Store);
    let _ = uplink.handle(at(1.0), UplinkInput::Wake);
    let _ = uplink.handle(at(1.0), UplinkInput::BatchRead(Some(BATCH)));
    // It is on its way: the store has no part in that.
    assert_eq!(uplink.handle(at(1.0), failed()), UplinkAction::Idle);
    let outcome = Outcome::status(200);
    let _ = uplink.handle(at(1.0), UplinkInput::Answer { outcome, jitter: 1.0 });
    assert_eq!(uplink.handle(at(1.0), failed()), UplinkAction::SleepUntil(at(2.0)));
}

#[test]
fn inputs_out_of_turn_change_nothing() {
    let mut uplink = Uplink::new(UplinkRules::default());
    let answer = UplinkInput::Answer { outcome: Outcome::status(200), jitter: 0.0 };
    for stray in [answer, UplinkInput::Settled, UplinkInput::BatchRead(Some(BATCH))] {
        assert_eq!(uplink.handle(at(0.0), stray), UplinkAction::Idle);
    }
    assert_eq!(uplink.state(), &UplinkState::default());
}

#[test]
fn bodies_are_the_same_for_the_same_events() {
    let events = [serde_json::json!({"id": "a-1"}), serde_json::json!({"id": "a-2"})];
    let text = |format: WireFormat| String::from_utf8(format.body(&events)).unwrap();
    assert_eq!(text(WireFormat::Batch), r#"[{"id":"a-1"},{"id":"a-2"}]"#);
    assert_eq!(text(WireFormat::Jsonl), "{\"id\":\"a-1\"}\n{\"id\":\"a-2\"}\n");
    assert_eq!(text(WireFormat::Single), r#"{"id":"a-1"}"#);
    assert_eq!(WireFormat::Single.batch_max(100), 1);
    assert_eq!(AckBody::parse(b"<html>"), AckBody::default());
    assert_eq!(AckBody::parse(br#"{"acknowledged":7,"x":1}"#).acknowledged, Some(7));
}
