//! A fleet that flaps at fences and falls silent there, as (device, fence) steps with the geometry
//! taken out: seeded, assets interleaved by time.
//!
//! Always holds: one seed, one stream. Devices drive from waypoint to waypoint in a box of fences
//! at 1 Hz with 4 m of noise and 1 % outliers of 30 m; a tenth is parked on a fence; whoever is
//! within 25 m of a boundary falls silent with a chance of 1 in 100 a fix, for one minute to four
//! hours. A fence is asked about within 150 m of its boundary, and for five more fixes.

use super::chance::Chance;

/// How large a stream is.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) fixes: usize,
    pub(crate) devices: usize,
    pub(crate) fences: usize,
    /// Side of the box.
    pub(crate) box_m: f32,
}

/// One fix asked about one fence.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) device: u16,
    pub(crate) fence: u16,
    pub(crate) time_ms: u32,
    /// Signed distance to the boundary, negative inside.
    pub(crate) distance_m: f32,
}

struct Fence {
    x: f32,
    y: f32,
    radius: f32,
}

struct Device {
    x: f32,
    y: f32,
    to: (f32, f32),
    speed: f32,
    parked: bool,
    silent_until: u32,
    /// Fences asked about lately, and for how many more fixes.
    near: Vec<(u16, u8)>,
}

const REACH_M: f32 = 150.0;
const STICKY: u8 = 5;
const CELL_M: f32 = 250.0;

struct Ground {
    fences: Vec<Fence>,
    cells: Vec<Vec<u16>>,
    across: usize,
}

impl Ground {
    fn new(chance: &mut Chance, size: Size) -> Self {
        let across = (size.box_m / CELL_M) as usize + 1;
        let mut cells = vec![Vec::new(); across * across];
        let fences: Vec<Fence> = (0..size.fences)
            .map(|_| Fence {
                x: chance.unit() as f32 * size.box_m,
                y: chance.unit() as f32 * size.box_m,
                radius: 30.0 + 170.0 * chance.unit() as f32,
            })
            .collect();
        for (ix, fence) in fences.iter().enumerate() {
            let reach = fence.radius + REACH_M;
            let cell = |v: f32| ((v / CELL_M).max(0.0) as usize).min(across - 1);
            for y in cell(fence.y - reach)..=cell(fence.y + reach) {
                for x in cell(fence.x - reach)..=cell(fence.x + reach) {
                    cells[y * across + x].push(ix as u16);
                }
            }
        }
        Self { fences, cells, across }
    }

    fn around(&self, x: f32, y: f32) -> &[u16] {
        let cell = |v: f32| ((v / CELL_M).max(0.0) as usize).min(self.across - 1);
        &self.cells[cell(y) * self.across + cell(x)]
    }

    fn distance_m(&self, fence: u16, x: f32, y: f32) -> f32 {
        let fence = &self.fences[fence as usize];
        (x - fence.x).hypot(y - fence.y) - fence.radius
    }
}

impl Device {
    fn new(chance: &mut Chance, ground: &Ground, size: Size) -> Self {
        let parked = chance.below(10) == 0;
        let fence = &ground.fences[chance.below(ground.fences.len() as u64) as usize];
        let turn = chance.unit() as f32 * std::f32::consts::TAU;
        let (x, y) = if parked {
            (fence.x + fence.radius * turn.cos(), fence.y + fence.radius * turn.sin())
        } else {
            (chance.unit() as f32 * size.box_m, chance.unit() as f32 * size.box_m)
        };
        let speed = 8.0 + 17.0 * chance.unit() as f32;
        Self { x, y, to: (x, y), speed, parked, silent_until: 0, near: Vec::new() }
    }

    fn drive(&mut self, chance: &mut Chance, size: Size) {
        if self.parked {
            return;
        }
        let (dx, dy) = (self.to.0 - self.x, self.to.1 - self.y);
        let left = dx.hypot(dy);
        if left <= self.speed {
            self.to = (chance.unit() as f32 * size.box_m, chance.unit() as f32 * size.box_m);
            return;
        }
        self.x += dx / left * self.speed;
        self.y += dy / left * self.speed;
    }

    /// One fix: every fence that it is asked about.
    fn fix(
        &mut self,
        chance: &mut Chance,
        ground: &Ground,
        (device, time_ms): (u16, u32),
        out: &mut Vec<Asked>,
    ) {
        let sigma = if chance.below(100) == 0 { 30.0 } else { 4.0 };
        let x = self.x + sigma * chance.normal() as f32;
        let y = self.y + sigma * chance.normal() as f32;
        for &fence in ground.around(x, y) {
            if ground.distance_m(fence, x, y) < REACH_M {
                match self.near.iter_mut().find(|near| near.0 == fence) {
                    Some(near) => near.1 = STICKY + 1,
                    None => self.near.push((fence, STICKY + 1)),
                }
            }
        }
        self.near.retain_mut(|near| {
            near.1 -= 1;
            near.1 > 0
        });
        self.near.sort_unstable();
        let mut nearest = f32::MAX;
        for &(fence, _) in &self.near {
            let distance_m = ground.distance_m(fence, x, y);
            nearest = nearest.min(distance_m.abs());
            out.push(Asked { device, fence, time_ms, distance_m });
        }
        if nearest < 25.0 && chance.below(100) == 0 {
            let longest = 240.0_f64.ln() * chance.unit();
            self.silent_until = time_ms + (60_000.0 * longest.exp()) as u32;
        }
    }
}

/// The stream of a seed. Times are in milliseconds since its first second.
pub(crate) fn stream(seed: u64, size: Size) -> Vec<Asked> {
    let mut chance = Chance::new(seed);
    let ground = Ground::new(&mut chance, size);
    let mut devices: Vec<Device> =
        (0..size.devices).map(|_| Device::new(&mut chance, &ground, size)).collect();
    let (mut all, mut fixes, mut second) = (Vec::new(), 0, 1);
    while fixes < size.fixes {
        for (ix, device) in devices.iter_mut().enumerate() {
            device.drive(&mut chance, size);
            if second * 1000 >= device.silent_until {
                fixes += 1;
                device.fix(&mut chance, &ground, (ix as u16, second * 1000), &mut all);
            }
        }
        second += 1;
    }
    all
}
