//! The one ordinary thread that owns engine and store.
//!
//! Always holds: what was decided is committed within a second, or kept until the disk takes it;
//! nobody is told of an event that is not durable; the watchdog is fed from this loop and from
//! nowhere else. Does not know: how anything is decided or read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tracing::{error, info, warn};

use super::checkpoint::Keeper;
use super::desk::Request;
use super::error::DaemonError;
use super::memory::{self, Snapshot};
use super::prepare::{Prepared, software};
use super::report::Report;
use super::tee::Tee;
use super::uplink::Courier;
use crate::edge::source::{Happened, SourceEvent};
use crate::edge::{clock, systemd};
use crate::logic::config::Config;
use crate::logic::engine::{ASSETS_IN_MEMORY, Engine, Input, Step};
use crate::logic::event::Lane;
use crate::logic::group::Group;
use crate::logic::recorder::{Header, Taken};
use crate::logic::uplink::UplinkInput;
use crate::store::{EventQuery, OpenOptions, Store, StoreError};
use crate::units::{BootTime, Span};

/// The store's file in `[gateway] state_dir`.
pub(super) const STORE_FILE: &str = "geofenced.db";

/// A commit that failed for want of space or of a writable disk is tried again this often.
const RETRY_COMMIT: Span = Span::from_secs(5);

/// The system's date serves a source that sends none within a minute (TIME-5): ten seconds later
/// is soon enough, and asking costs a system call.
const SYSTEM_EVERY: Span = Span::from_secs(10);

/// Inputs that wait at the end are taken for this long: what a serial line can have queued.
const DRAIN_MAX: Span = Span::from_millis(500);

/// Inputs taken between two looks at the clock: a flood must not starve the commit.
const INPUTS_A_TURN: usize = 256;

/// And no more bytes: some 10,000 fixes, which are decided in some 20 ms.
const BYTES_A_TURN: usize = 1024 * 1024;

/// Events kept in memory while the disk takes none. Beyond it the daemon stops rather than lose
/// what it cannot name; a later issue drops by seq (STO-5).
const UNCOMMITTED_MAX: usize = 100_000;

/// While more assets are in memory than should be, their rows become durable this often, so that
/// the silent ones may be forgotten.
const CROWDED: Span = Span::from_secs(60);

/// How a pipeline ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// Asked to, everything committed.
    Clean,
    /// It cannot go on.
    Failed(Box<DaemonError>),
}

/// The thread's connections with the others.
pub(super) struct Lines {
    /// Where the delivery thread asks.
    pub(super) desk: mpsc::Sender<Request>,
    /// What is asked.
    pub(super) requests: mpsc::Receiver<Request>,
    /// What sources say.
    pub(super) inputs: mpsc::Receiver<SourceEvent>,
    /// Changes with every commit.
    pub(super) tell: watch::Sender<u64>,
}

/// What the thread owns.
pub(super) struct Pipeline {
    pub(super) engine: Engine,
    pub(super) store: Store,
    /// Decided, not yet durable.
    pub(super) group: Group,
    inputs: mpsc::Receiver<SourceEvent>,
    requests: mpsc::Receiver<Request>,
    tell: watch::Sender<u64>,
    courier: Option<Courier>,
    news: Option<std_mpsc::Sender<UplinkInput>>,
    report: Report,
    tee: Tee,
    /// The kernel's boot id.
    boot_id: String,
    /// Whether the system clock was synchronised when that was recorded last.
    system: Option<bool>,
    lost_chunks: Arc<AtomicUsize>,
    flush_on_stop: Span,
    watchdog: Option<Duration>,
    pinged: BootTime,
    /// Set while commits fail.
    pub(super) retry_at: Option<BootTime>,
    /// What is due every so often: the membership snapshot and the health record.
    rounds: [Round; 2],
    /// A membership snapshot that is being made.
    pub(super) snapshot_at: Option<Snapshot>,
    /// What a restart goes on with.
    pub(super) keeper: Keeper,
    /// When the kernel is asked next whether the system clock is synchronised (TIME-5).
    system_at: BootTime,
}

/// Something that is due every so often.
struct Round {
    next: BootTime,
    every: Span,
    input: Input<'static>,
}

impl Round {
    fn new(now: BootTime, every: Span, input: Input<'static>) -> Self {
        Self { next: now + every, every, input }
    }
}

/// Why the loop woke.
enum Woken {
    Input(SourceEvent),
    Request(Request),
    Deadline,
}

impl Pipeline {
    /// STO-4 up to memberships; the caller says READY and starts the sources.
    pub(super) fn start(
        config: &Config,
        prepared: Prepared,
        lines: Lines,
        lost_chunks: &Arc<AtomicUsize>,
    ) -> Result<Self, DaemonError> {
        let birth = super::birth(prepared.reload)?;
        let path = Path::new(&config.gateway.state_dir).join(STORE_FILE);
        let options = OpenOptions {
            gateway: prepared.gateway.clone(),
            software: software(),
            boot_id: birth.boot_id.clone(),
            now_boot: birth.boot,
            now_wall: birth.wall,
            stream_seed: clock::random_bytes().map_err(DaemonError::Runtime)?,
            max_bytes: config.spool.max_bytes,
            max_age: config.spool.max_age,
            assets_in_memory: ASSETS_IN_MEMORY,
            clock: clock::boot_now,
        };
        let (store, restored) = Store::start(&path, &options)?;
        if let Some(aside) = &restored.set_aside {
            warn!("store set aside as {}: {}", aside.path.display(), aside.detail);
        }
        let (mut keeper, found) = Keeper::start(config, &prepared.setup, &restored, &birth);
        let (engine, ignored) =
            Engine::start_from(prepared.setup, &prepared.layers, restored, &birth, found);
        keeper.said(ignored.as_ref());
        for (layer, before, version) in engine.layers_not_grown() {
            warn!("layer {layer} was changed but its version went {before} -> {version}");
        }
        let started = engine.started();
        let down = started.down_s.map_or(String::new(), |s| format!(", down {s} s"));
        info!("{} {}: start: {}{down}", prepared.gateway, software(), started.cause);
        let header = Header::new(software(), birth.boot_id.clone(), (birth.boot, birth.wall));
        let tee = Tee::start(&config.record, engine.describe(header));
        let tee = tee.map_err(DaemonError::Runtime)?;
        let (news, told) = std_mpsc::channel();
        let courier = prepared.http.map(|http| {
            let stream = store.stream().clone();
            Courier::new(prepared.uplink, http, prepared.format, stream, lines.desk, told)
        });
        Ok(Self {
            report: Report::new(config, &prepared.gateway, birth.boot, &path)
                .with_refused(prepared.refused),
            news: courier.is_some().then_some(news),
            courier,
            tee,
            boot_id: birth.boot_id,
            system: None,
            engine,
            store,
            group: Group::default(),
            inputs: lines.inputs,
            requests: lines.requests,
            tell: lines.tell,
            lost_chunks: Arc::clone(lost_chunks),
            flush_on_stop: config.uplink.flush_on_stop,
            watchdog: systemd::watchdog_interval(),
            pinged: birth.boot,
            retry_at: None,
            system_at: birth.boot,
            keeper,
            rounds: [
                Round::new(birth.boot, config.events.snapshot_every, Input::Snapshot),
                Round::new(birth.boot, config.events.health_every, Input::Health),
            ],
            snapshot_at: None,
        })
    }

    /// Runs until it is asked to stop or cannot go on.
    pub(super) fn run(mut self, handle: &Handle) -> Ended {
        match self.live(handle) {
            Ok(flush) => self.leave(handle, flush),
            Err(error) => Ended::Failed(Box::new(error)),
        }
    }

    /// Gives whether delivery is to be tried once more at the end.
    fn live(&mut self, handle: &Handle) -> Result<bool, DaemonError> {
        // What the start itself decided.
        self.pass_layers()?;
        let step = self.engine.step(Input::System { wall: None });
        self.take(step);
        self.commit(clock::boot_now())?;
        self.recall()?;
        if let Some(courier) = self.courier.take() {
            let waiting = self.store.counts()?.events.waiting;
            self.tell(UplinkInput::Start { waiting });
            std::thread::Builder::new()
                .name("uplink".into())
                .spawn(move || courier.run())
                .map_err(DaemonError::Runtime)?;
        }
        loop {
            let now = clock::boot_now();
            self.feed_watchdog(now);
            let mut bytes = 0;
            match self.next(handle, now) {
                Woken::Input(input) => bytes += self.input(input)?,
                Woken::Request(Request::Stop { flush }) => return Ok(flush),
                Woken::Request(request) => self.answer(request),
                Woken::Deadline => {}
            }
            for _ in 0..INPUTS_A_TURN {
                if bytes >= BYTES_A_TURN {
                    break;
                }
                let Ok(input) = self.inputs.try_recv() else { break };
                bytes += self.input(input)?;
            }
            // Inputs first, deadlines after: ORD-1.
            let now = clock::boot_now();
            self.ask_the_system(now);
            let step = self.engine.step(Input::Wake { now });
            self.take(step);
            self.make_rounds(now)?;
            self.commit_if_due(now)?;
            self.keep(now);
        }
    }

    fn ask_the_system(&mut self, now: BootTime) {
        if now >= self.system_at {
            self.system_at = now + SYSTEM_EVERY;
            let wall = clock::wall_synchronised().then(clock::wall_now);
            // It runs on: only that it begins or ends to be synchronised is news.
            if self.system.replace(wall.is_some()) != Some(wall.is_some()) {
                self.tee.take(now, 0, Taken::System(wall));
            }
            let step = self.engine.step(Input::System { wall });
            self.take(step);
        }
    }

    fn make_rounds(&mut self, now: BootTime) -> Result<(), DaemonError> {
        for round in &mut self.rounds {
            if round.next <= now {
                round.next = now + round.every;
                match &round.input {
                    Input::Snapshot => self.snapshot_at = Some(Snapshot::default()),
                    other => {
                        let step = self.engine.step(other.clone());
                        self.group.events.extend(step.events);
                    }
                }
            }
        }
        if self.snapshot_at.is_some() && self.group.events.len() < memory::PAGE {
            self.snapshot_page()?;
        }
        Ok(())
    }

    /// Waits for an input, a request or the next deadline.
    fn next(&mut self, handle: &Handle, now: BootTime) -> Woken {
        let deadlines = [
            self.engine.next_deadline(),
            self.commit_due(),
            self.rounds.iter().map(|round| round.next).min(),
            self.keep_due(),
            self.watchdog.map(|interval| self.pinged + Span::from(interval / 3)),
        ];
        let deadline = deadlines.into_iter().flatten().min();
        let (inputs, requests) = (&mut self.inputs, &mut self.requests);
        handle.block_on(async {
            let sleep = async {
                match deadline {
                    // A due deadline still lets waiting inputs go first.
                    Some(deadline) => tokio::time::sleep((deadline - now).to_std()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(request) = requests.recv() => Woken::Request(request),
                Some(input) = inputs.recv() => Woken::Input(input),
                () = sleep => Woken::Deadline,
            }
        })
    }

    /// Gives how many bytes it brought.
    fn input(&mut self, input: SourceEvent) -> Result<usize, DaemonError> {
        let SourceEvent { source, at, what, .. } = input;
        self.report.source(source, at, &what);
        match &what {
            Happened::Bytes(bytes) => self.tee.take(at, source, Taken::Bytes(bytes)),
            Happened::Up => self.tee.take(at, source, Taken::Up),
            Happened::Down { why } => self.tee.take(at, source, Taken::Down(why)),
            Happened::End => self.tee.take(at, source, Taken::Down("its input has ended")),
            Happened::Detail(_) | Happened::Trouble(_) | Happened::Note { .. } => {}
        }
        let (step, len) = match what {
            Happened::Bytes(bytes) => {
                (self.engine.step(Input::Bytes { source, at, bytes: &bytes }), bytes.len())
            }
            Happened::End | Happened::Down { .. } => {
                (self.engine.step(Input::End { source, at }), 0)
            }
            Happened::Up | Happened::Detail(_) | Happened::Trouble(_) | Happened::Note { .. } => {
                return Ok(0);
            }
        };
        self.keeper.heard();
        self.take(step);
        self.recall()?;
        Ok(len)
    }

    pub(super) fn take(&mut self, step: Step) {
        self.engine.decided(clock::boot_now());
        self.group.events.extend(step.events);
        self.report.waits.decided(step.arrived);
    }

    fn commit_due(&self) -> Option<BootTime> {
        let mut due = self.engine.commit_deadline();
        if self.engine.in_memory().0 > ASSETS_IN_MEMORY {
            due = due.map(|due| due.min(self.report.committed + CROWDED));
        }
        match (due, self.group.is_empty()) {
            (None, true) if !self.store.ack_pending() => None,
            (due, _) => self.retry_at.or(due).or(Some(self.report.committed + Span::from_secs(1))),
        }
    }

    fn commit_if_due(&mut self, now: BootTime) -> Result<(), DaemonError> {
        match self.commit_due() {
            Some(due) if due <= now => self.commit(now),
            _ => Ok(()),
        }
    }

    /// One transaction for everything decided since the last (STO-1).
    fn commit(&mut self, now: BootTime) -> Result<(), DaemonError> {
        let wall = clock::wall_now();
        self.engine.take_rows(&mut self.group, now);
        for event in &mut self.group.events {
            event.body.recorded_at.get_or_insert(wall);
        }
        match self.store.commit(&self.group, now, wall) {
            Ok(_) => {
                if self.retry_at.take().is_some() {
                    info!("store: works again");
                    self.report.store_error = None;
                }
                self.report.committed = now;
                self.keeper.committed();
                self.report.waits.committed(clock::boot_now());
                let group = std::mem::take(&mut self.group);
                self.engine.forget(ASSETS_IN_MEMORY);
                if !group.events.is_empty() {
                    self.tee.decided(now);
                }
                self.announce(&group)?;
                self.report_losses()
            }
            Err(failure) if failure.may_recover() && self.group.events.len() < UNCOMMITTED_MAX => {
                if self.retry_at.is_none() {
                    error!("store: {failure}; decided on in memory");
                }
                self.report.store_error = Some(failure.to_string());
                self.retry_at = Some(now + RETRY_COMMIT);
                Ok(())
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Tells the delivery thread what has become durable.
    fn announce(&mut self, group: &Group) -> Result<(), DaemonError> {
        if group.events.is_empty() {
            return Ok(());
        }
        self.tell.send_modify(|commits| *commits += 1);
        let counts = self.store.counts()?;
        for (lane, waiting) in
            [(Lane::Events, counts.events.waiting), (Lane::Telemetry, counts.telemetry.waiting)]
        {
            let mut of_lane = group.events.iter().filter(|event| event.kind.lane() == lane);
            if of_lane.clone().next().is_some() {
                let membership_changes = of_lane.any(|event| event.body.inside.is_some());
                self.tell(UplinkInput::Committed { lane, membership_changes, waiting });
            }
        }
        self.report.last_event = group.events.last().cloned();
        Ok(())
    }

    /// DEL-1: what will never be delivered is said, with exact ranges.
    fn report_losses(&mut self) -> Result<(), DaemonError> {
        let losses = self.store.pending_loss()?;
        if !losses.is_empty() && !self.store.loss_report_waits()? {
            let (step, reported) = self.engine.lost(&losses);
            self.take(step);
            self.group.losses_reported.extend(reported);
            // In the same transaction, all of it: the server may have missed any of them.
            self.snapshot_at = Some(Snapshot::default());
            while self.snapshot_at.is_some() {
                self.snapshot_page()?;
            }
        }
        Ok(())
    }

    fn tell(&self, input: UplinkInput) {
        if let Some(news) = &self.news {
            // A courier that is gone has said so in the log by ending the process.
            let _ = news.send(input);
        }
    }

    fn answer(&mut self, request: Request) {
        let words = |error: StoreError| error.to_string();
        match request {
            Request::ReadBatch { lane, max_events, max_bytes, answer } => {
                let read = self.store.batch(lane, None, max_events as usize, max_bytes);
                let _ = answer.send(read.map_err(words));
            }
            Request::Acknowledge { lane, up_to, answer } => {
                let done = self.store.acknowledge(lane, up_to);
                if lane == Lane::Events && done.is_ok() {
                    self.report.waits.acknowledged(up_to, clock::boot_now());
                }
                let _ = answer.send(done.map(|_| ()).map_err(words));
            }
            Request::DeadLetter { lane, seq, why, answer } => {
                let done = self.store.dead_letter(lane, seq, &why).map(|_| ()).map_err(words);
                let done = done.and_then(|()| self.report_losses().map_err(|e| e.to_string()));
                let _ = answer.send(done);
            }
            Request::Uplink(state) => self.report.uplink = *state,
            Request::MayReload(answer) => {
                let may = match &self.report.store_error {
                    Some(error) => Err(format!("the store takes nothing: {error}")),
                    None => Ok(()),
                };
                let _ = answer.send(may);
            }
            Request::ReloadRefused(why) => self.report.reload_refused = Some(why),
            Request::UplinkDone | Request::Stop { .. } => {}
            Request::Status(answer) => {
                let now = clock::boot_now();
                let lost_chunks = self.lost_chunks.load(Ordering::Relaxed) as u64;
                let record = self.tee.status(now);
                let mut status =
                    self.report.status(now, &self.engine, &self.store, lost_chunks, record);
                status.counters.checkpoints_ignored = self.keeper.ignored;
                let _ = answer.send(Box::new(status));
            }
            Request::Record(answer) => {
                let now = (clock::boot_now(), clock::wall_now());
                let header = Header::new(software(), self.boot_id.clone(), now);
                let header = self.engine.describe(header);
                let _ = answer.send(Box::new((self.tee.ring.clone(), header)));
            }
            Request::Events(query, answer) => {
                let query = EventQuery {
                    max: query.n as usize,
                    after: query.after,
                    since: query.since,
                    zone: query.zone,
                };
                let found = self.store.events(Lane::Events, &query);
                let _ = answer.send(found.map(|found| found.events).map_err(words));
            }
        }
    }

    /// One line for a human, as `systemctl status` shows it.
    pub(super) fn line(&self) -> String {
        self.report.line(clock::boot_now(), &self.engine)
    }

    /// Progress of this loop, and nothing else, feeds the watchdog.
    fn feed_watchdog(&mut self, now: BootTime) {
        let Some(interval) = self.watchdog else { return };
        if now - self.pinged >= Span::from(interval / 3) {
            self.pinged = now;
            let line = self.line();
            if systemd::ping().and_then(|()| systemd::status(&line)).is_err() {
                warn!("systemd does not hear our watchdog");
                self.watchdog = None;
            }
        }
    }

    /// Commits, gives delivery one last try, says goodbye to the store.
    fn leave(mut self, handle: &Handle, flush: bool) -> Ended {
        // What waits is taken, but a source that never ends must not keep us.
        self.inputs.close();
        let until = clock::boot_now() + DRAIN_MAX;
        while clock::boot_now() < until {
            let Ok(input) = self.inputs.try_recv() else { break };
            if let Err(error) = self.input(input) {
                return Ended::Failed(Box::new(error));
            }
        }
        let committed = self.commit(clock::boot_now());
        self.tee.close();
        if let Err(error) = committed {
            return Ended::Failed(Box::new(error));
        }
        if !self.group.events.is_empty() {
            // Not a clean end: the next start must not say so.
            let lost = self.group.events.len();
            error!("store: {lost} decided events could not be stored before the end");
            return Ended::Failed(Box::new(DaemonError::Unsaved(lost)));
        }
        if flush && self.news.is_some() {
            let deadline = clock::boot_now() + self.flush_on_stop;
            self.tell(UplinkInput::Stop { deadline });
            self.serve_last(handle, deadline);
        }
        match self.store.close_clean(clock::boot_now(), clock::wall_now()) {
            Ok(()) => {
                self.keeper.remove();
                Ended::Clean
            }
            Err(error) => Ended::Failed(Box::new(error.into())),
        }
    }

    /// Answers the delivery thread until it is done or its time is up: it may be waiting for a
    /// server that hangs.
    fn serve_last(&mut self, handle: &Handle, deadline: BootTime) {
        loop {
            let requests = &mut self.requests;
            let next = handle.block_on(async {
                tokio::time::timeout(clock::until(deadline), requests.recv()).await
            });
            match next {
                Ok(Some(Request::UplinkDone) | None) | Err(_) => return,
                Ok(Some(request)) => self.answer(request),
            }
        }
    }
}
