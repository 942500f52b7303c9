import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

const selectOrigins = query('select_embedding_origins', (db, $: Arguments<{ accountId: number }>) =>
  db
    .selectFrom('accounts')
    .select('embedding_origins as origins')
    .where('id', '=', $.accountId)
    .where('erasure_began_at', 'is', null),
);

/** Returns the origins of the websites that may embed the boards of an account. The list can be empty. */
export async function readEmbeddingOrigins(db: Queryable, accountId: number): Promise<string[]> {
  const [account] = await db.query(selectOrigins, { accountId });
  return account?.origins ?? [];
}

/**
 * Finds the account by the slugs of the account and of the board, because the URL contains only these slugs. The named
 * account is found even if it has no board with the slug, so that nobody can learn which private boards exist.
 */
const selectEmbedding = query('select_embedding_by_board', (db, $: Arguments<{ board: string; account: string }>) =>
  db
    .selectFrom('accounts as a')
    .select(['a.id as account_id', 'a.embedding_origins as origins'])
    .where(a =>
      a.or([
        a('a.slug', '=', $.account),
        a(
          'a.id',
          '=',
          a
            .selectFrom('boards as b')
            .select('b.account_id')
            .where(b => b.and({ 'b.slug': $.board, 'b.is_public': true })),
        ),
      ]),
    )
    .where('a.erasure_began_at', 'is', null)
    .orderBy(a => a('a.slug', '=', $.account), 'desc'),
);

export interface Embedding {
  accountId: number;
  /** The origins of the websites that may embed the board in an HTML frame. */
  origins: string[];
}

/** Finds the named account. If the name is missing or unknown, finds the account of the public board with the slug. */
export async function findEmbedding(
  db: Queryable,
  slugs: { board: string; account: string },
): Promise<Embedding | undefined> {
  const [row] = await db.query(selectEmbedding, slugs);
  return row && row.origins.length > 0 ? { accountId: row.account_id, origins: row.origins } : undefined;
}
