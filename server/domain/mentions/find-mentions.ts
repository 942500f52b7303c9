import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { mentionEnd, mentionMark } from '../../text/mentions.ts';

/** A member that a text names after @. The name is spelled as in the text. */
export interface Mention {
  userId: number;
  name: string;
}

/**
 * The maximum number of places with an @ that the server searches for names. Later places in the text mention nobody.
 */
export const maxMentions = 20;

/**
 * The maximum number of members with the same name that a text can mention. If more members have the name, the text
 * mentions none of them, because the author most likely means only one person.
 */
export const maxNamesakes = 5;

/** The maximum length of a user's name. */
const maxNameLength = 100;

/**
 * Finds the members that a text mentions as `@Name`, ignoring case. Names may contain spaces, so the longest name that
 * matches the text counts. The text mentions all members with this name, unless there are more than maxNamesakes. The
 * search includes the names of blocked members. Otherwise the text could mention a member whose name is the beginning
 * of a blocked member's name.
 */
export async function findMentions(db: Queryable, accountId: number, text: string): Promise<Mention[]> {
  const places = placesOf(text);
  if (places.length === 0) return [];
  const rows = await db.query(selectNamed, { accountId, names: [...new Set(places.flat())] });
  const named = Map.groupBy(rows, ({ name }) => name);
  const mentions = places.flatMap(names => {
    const people = named.get(names.find(name => named.has(name)) ?? '') ?? [];
    return people.length > maxNamesakes ? [] : people;
  });
  return [...new Map(mentions.map(({ id: userId, name }) => [userId, { userId, name }])).values()];
}

const mark = new RegExp(`${mentionMark}(?=\\S)`, 'gu');
const end = new RegExp(`(?<=\\S)${mentionEnd}`, 'gu');

/** Returns the possible names after each @ of a text, the longest first. */
function placesOf(text: string): string[][] {
  const places = [...text.matchAll(mark)].slice(0, maxMentions);
  return places.map(({ index }) => {
    const [line = ''] = text.slice(index + 1, index + 1 + 2 * maxNameLength).split(/[\r\n]/, 1);
    const ends = [...line.matchAll(end)].map(({ index }) => line.slice(0, index));
    return ends.filter(name => [...name].length <= maxNameLength).reverse();
  });
}

/** Finds the members with the given names. For each name, selects at most one member more than maxNamesakes. */
const selectNamed = query('select_named_members', (db, $: Arguments<{ accountId: number; names: readonly string[] }>) =>
  db
    .selectFrom(sql<{ name: string }>`unnest(${$.names}::text[])`.as<'n'>(sql`n(name)`))
    .innerJoinLateral(
      eb =>
        eb
          .selectFrom('users as u')
          .innerJoin('memberships as m', join =>
            join.on('m.account_id', '=', $.accountId).onRef('m.user_id', '=', 'u.id'),
          )
          .select('u.id')
          .where(u => u(u.fn('lower', ['u.name']), '=', u.fn('lower', ['n.name'])))
          .limit(sql.lit(maxNamesakes + 1))
          .as('u'),
      join => join.onTrue(),
    )
    .select(['n.name', 'u.id']),
);
