//! A seeded life with a moody server: whatever it does, INV-5 holds.

use super::*;

/// splitmix64: small, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

#[derive(Default)]
struct Side {
    spool: Vec<u64>,
    given: u64,
    stored: Vec<u64>,
    dead: Vec<u64>,
}

struct Life {
    seed: u64,
    chance: Chance,
    uplink: Uplink,
    now: BootTime,
    sides: [Side; 2],
    moody: bool,
}

fn index(lane: Lane) -> usize {
    usize::from(lane == Lane::Telemetry)
}

impl Life {
    fn new(seed: u64) -> Self {
        let rules = UplinkRules { batch_max: 8, ..UplinkRules::default() };
        Self {
            seed,
            chance: Chance(seed),
            uplink: Uplink::new(rules),
            now: BootTime::from_nanos(0),
            sides: [Side::default(), Side::default()],
            moody: true,
        }
    }

    fn poison(lane: Lane, seq: u64) -> bool {
        lane == Lane::Events && seq.is_multiple_of(31)
    }

    /// What the server does with the batch, and says.
    fn serve(&mut self, batch: &BatchSummary) -> Outcome {
        let side = &mut self.sides[index(batch.lane)];
        let sent: Vec<u64> = side.spool.iter().copied().take(batch.count as usize).collect();
        assert_eq!((sent[0], sent[sent.len() - 1]), (batch.first_seq, batch.last_seq));
        if sent.iter().any(|&seq| Self::poison(batch.lane, seq)) {
            return Outcome::status(400);
        }
        let mood = if self.moody { self.chance.below(10) } else { 9 };
        let keep = match mood {
            0 => return Outcome::status(500),
            1 if sent.len() > 2 => return Outcome::status(413),
            2 => return Outcome::status(401),
            3 => 1 + self.chance.below(sent.len() as u64) as usize,
            _ => sent.len(),
        };
        for &seq in &sent[..keep] {
            if !side.stored.contains(&seq) {
                assert!(side.stored.last() < Some(&seq), "seed {}: out of order", self.seed);
                side.stored.push(seq);
            }
        }
        match mood {
            4 => Outcome::Failed { failure: Failure::Timeout, text: "lost answer".into() },
            3 => {
                let ack = AckBody { acknowledged: Some(sent[keep - 1]), highest_seq: None };
                Outcome::Answered { status: 200, retry_after: None, ack, text: String::new() }
            }
            _ => Outcome::status(200),
        }
    }

    fn perform(&mut self, action: &UplinkAction) -> Option<UplinkInput> {
        let seed = self.seed;
        Some(match *action {
            UplinkAction::ReadBatch { lane, max_events, .. } => {
                if lane == Lane::Telemetry {
                    assert!(self.sides[0].spool.is_empty(), "seed {seed}: events wait");
                }
                let spool = &self.sides[index(lane)].spool;
                let count = spool.len().min(max_events as usize);
                UplinkInput::BatchRead((count > 0).then(|| BatchSummary {
                    lane,
                    first_seq: spool[0],
                    last_seq: spool[count - 1],
                    count: count as u32,
                    more: count < spool.len(),
                }))
            }
            UplinkAction::Send(batch) => {
                let outcome = self.serve(&batch);
                UplinkInput::Answer { outcome, jitter: self.chance.below(100) as f64 / 100.0 }
            }
            UplinkAction::Acknowledge { lane, up_to } => {
                let side = &mut self.sides[index(lane)];
                let gone = side.spool.iter().take_while(|&&seq| seq <= up_to);
                assert!(gone.clone().all(|seq| side.stored.contains(seq)), "seed {seed}: lost");
                let gone = gone.count();
                side.spool.drain(..gone);
                UplinkInput::Settled
            }
            UplinkAction::DeadLetter { lane, seq, .. } => {
                assert!(Self::poison(lane, seq), "seed {seed}: {seq} was good");
                let side = &mut self.sides[index(lane)];
                assert_eq!(side.spool.remove(0), seq, "seed {seed}");
                side.dead.push(seq);
                UplinkInput::Settled
            }
            UplinkAction::SleepUntil(_) | UplinkAction::Idle | UplinkAction::Done => return None,
        })
    }

    fn input(&mut self, input: UplinkInput) -> UplinkAction {
        let mut action = self.uplink.handle(self.now, input);
        for _ in 0..10_000 {
            let Some(next) = self.perform(&action) else { return action };
            action = self.uplink.handle(self.now, next);
        }
        panic!("seed {}: never came to rest", self.seed);
    }

    fn commit(&mut self) -> UplinkInput {
        let lane = if self.chance.below(4) == 0 { Lane::Telemetry } else { Lane::Events };
        let membership_changes = lane == Lane::Events && self.chance.below(2) == 0;
        let more = 1 + self.chance.below(12);
        let side = &mut self.sides[index(lane)];
        side.spool.extend(side.given + 1..=side.given + more);
        side.given += more;
        let waiting = side.spool.len() as u64;
        UplinkInput::Committed { lane, membership_changes, waiting }
    }

    fn live(&mut self) {
        let mut action = self.input(UplinkInput::Start { waiting: 0 });
        for _ in 0..200 {
            action = match self.chance.below(8) {
                0..=2 => {
                    let committed = self.commit();
                    self.input(committed)
                }
                3 => self.input(UplinkInput::LinkUp),
                4 => self.input(UplinkInput::Kick),
                _ => {
                    if let UplinkAction::SleepUntil(then) = action
                        && self.chance.below(3) > 0
                    {
                        self.now = then;
                    }
                    self.input(UplinkInput::Wake)
                }
            };
        }
        // The server recovers: from here the machine needs nothing but its own deadlines.
        self.moody = false;
        while let UplinkAction::SleepUntil(then) = action {
            self.now = then;
            action = self.input(UplinkInput::Wake);
        }
        assert_eq!(action, UplinkAction::Idle, "seed {}", self.seed);
    }
}

#[test]
fn inv_5_everything_arrives_once_in_order_or_is_named() {
    for seed in 0..150 {
        let mut life = Life::new(seed);
        life.live();
        for side in &life.sides {
            assert!(side.spool.is_empty(), "seed {seed}: {} left", side.spool.len());
            let mut all: Vec<u64> = side.stored.iter().chain(&side.dead).copied().collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(1..=side.given), "seed {seed}");
        }
        let state = life.uplink.state();
        assert_eq!((state.waiting_events, state.waiting_telemetry), (0, 0), "seed {seed}");
        assert_eq!(state.dead_lettered, life.sides[0].dead.len() as u64, "seed {seed}");
    }
}
