import { type Expression, expressionBuilder, type Kysely, sql } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { activeMemberships } from './authority.ts';

/**
 * Selects what the page of an idea shows of an author besides the name: the path of the picture, and whether members
 * can mention the author. Only active members can be mentioned. The SQL alias of the author is `u`.
 */
export function shownAuthor(db: Kysely<Tables>, accountId: Expression<number>) {
  const membership = activeMemberships(db, accountId).where('m.user_id', '=', sql.ref<number>('u.id'));
  const isMentionable = expressionBuilder<Tables>().exists(membership).$castTo<boolean>();
  return ['u.avatar_url as author_picture', isMentionable.as('is_mentionable')] as const;
}

/** An author, as a query with shownAuthor() selects them. */
export interface ShownAuthor {
  author_id: number;
  author_name: string;
  author_picture: string | null;
  is_mentionable: boolean;
}
