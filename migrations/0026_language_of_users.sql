-- The language of the pages and mails for a user.

-- The code of the language, such as 'de'. Null if the user's browser chooses the language of pages. A server ignores
-- the code of a language that it does not know, so that a later version can add a language.
alter table users add column language text;
