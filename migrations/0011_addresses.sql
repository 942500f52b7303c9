-- The canonical form of e-mail addresses, by which they are compared (server/domain/users/canonical-address.ts).
--
-- PostgreSQL has no IDNA, and another Unicode than the server. So the server fills these columns when it has migrated. No
-- address finds a row without the form: the server has not come to it yet, or an older user has the address in another
-- spelling.
alter table users add column canonical_email text;
alter table invitations add column canonical_email text;

-- Where people reach the server that started last. The command line prints links to it.
alter table heartbeats add column address text;
