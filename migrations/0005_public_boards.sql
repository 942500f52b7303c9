-- Boards that everybody may read, at /b/<slug>.

alter table boards add column is_public boolean not null default false;

-- The page of a board is found by its slug, which is unique in an account only: so of the public boards of all accounts
-- one alone has a slug.
create unique index boards_public_slug_key on boards (slug) where is_public;
