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

/** Finds the account by the slugs of the account and of the board, because the URL contains only these slugs. */
const selectEmbedding = query('select_embedding_by_board', (db, $: Arguments<{ board: string; account: string }>) =>
  db
    .selectFrom('boards as b')
    .innerJoin('accounts as a', 'a.id', 'b.account_id')
    .select(['a.id as account_id', 'a.embedding_origins as origins'])
    .where('b.slug', '=', $.board)
    .where(b => b.or([b('a.slug', '=', $.account), b('b.is_public', '=', true)]))
    .where('a.erasure_began_at', 'is', null)
    // If the account in the URL has a board with this slug, that board comes before a public board of another account.
    .orderBy(a => a('a.slug', '=', $.account), 'desc'),
);

export interface Embedding {
  accountId: number;
  /** The origins of the websites that may embed the board in an HTML frame. */
  origins: string[];
}

/**
 * Finds the board with the slug in the named account. If the account has no such board, finds the public board with the
 * slug.
 */
export async function findEmbedding(
  db: Queryable,
  slugs: { board: string; account: string },
): Promise<Embedding | undefined> {
  const [row] = await db.query(selectEmbedding, slugs);
  return row && row.origins.length > 0 ? { accountId: row.account_id, origins: row.origins } : undefined;
}
