-- Step 1001: major 1, step 1. Within a major a migration only adds, and what it adds has a
-- default, so that the release before it goes on writing here (STO-6).

-- Whose store this is. One row.
CREATE TABLE store (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    stream  TEXT NOT NULL,
    gateway TEXT NOT NULL
) STRICT;

-- One row a start; times in ns: boot time means something only with its boot id.
CREATE TABLE run (
    run                 INTEGER PRIMARY KEY AUTOINCREMENT,
    boot_id             TEXT    NOT NULL,
    software            TEXT    NOT NULL,
    started_boot_ns     INTEGER NOT NULL,
    last_commit_boot_ns INTEGER NOT NULL,
    last_commit_wall_ns INTEGER NOT NULL,
    clean               INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The two streams. seq is AUTOINCREMENT: SQLite too remembers the last one given (INV-3).
-- age_ns is the store's own time, which only running daemons advance; recorded_ns the system
-- clock, a hint. Neither orders anything.
CREATE TABLE event (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL,
    age_ns      INTEGER NOT NULL,
    recorded_ns INTEGER NOT NULL,
    body        TEXT    NOT NULL
) STRICT;
CREATE TABLE telemetry (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL,
    age_ns      INTEGER NOT NULL,
    recorded_ns INTEGER NOT NULL,
    body        TEXT    NOT NULL
) STRICT;

-- How far each stream is acknowledged, and totals since the store was made.
CREATE TABLE lane (
    lane  TEXT PRIMARY KEY,
    acked INTEGER NOT NULL DEFAULT 0,
    lost  INTEGER NOT NULL DEFAULT 0,
    dead  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO lane (lane) VALUES ('event'), ('telemetry');

-- Ranges that will never be delivered, until the events_lost that names them is acknowledged.
CREATE TABLE loss (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    lane        TEXT    NOT NULL,
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    reason      TEXT    NOT NULL,
    reported_by INTEGER
) STRICT;

-- Events that the server will not have, for a person to look at.
CREATE TABLE dead_letter (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    lane TEXT    NOT NULL,
    seq  INTEGER NOT NULL,
    why  TEXT    NOT NULL,
    body TEXT    NOT NULL
) STRICT;

-- What is believed. state is JSON of the machine that wrote it.
CREATE TABLE asset (
    asset        TEXT PRIMARY KEY,
    step         INTEGER NOT NULL,
    watermark_ns INTEGER,
    state        TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE pair (
    asset  TEXT NOT NULL,
    layer  TEXT NOT NULL,
    zone   TEXT NOT NULL,
    shape  TEXT NOT NULL,
    inside INTEGER,
    visit  TEXT,
    state  TEXT NOT NULL,
    PRIMARY KEY (asset, layer, zone)
) STRICT, WITHOUT ROWID;

-- Layers in force, and which generation brought each zone's shape (PAIR-6).
CREATE TABLE layer (
    layer      TEXT PRIMARY KEY,
    version    INTEGER NOT NULL,
    generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE layer_zone (
    layer      TEXT NOT NULL,
    zone       TEXT NOT NULL,
    shape      TEXT NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (layer, zone)
) STRICT, WITHOUT ROWID;
