-- Step 1002: an asset that is silent may be left in the store over many starts.

-- The last run, at or before this one, that began with the machine; 0 of a run of a release that
-- wrote every asset's row at each start.
ALTER TABLE run ADD COLUMN powered INTEGER NOT NULL DEFAULT 0;
