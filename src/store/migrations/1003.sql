-- Step 1003: which commit a checkpoint goes on from.

-- How many commits a run has made.
ALTER TABLE run ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
