-- Searches for similar ideas faster on boards of some thousand ideas. With 10,000 ideas, a search takes a third of the time.
--
-- The function returns about 60 ideas. Without this estimate, PostgreSQL expected 1,000 ideas, and therefore read all ideas
-- of such a board.
--
-- The previous version runs on the new schema.

alter function similar_ideas(bigint, bigint, text, text) rows 60;
