import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

const selectOrigins = query('select_embedding_origins', (db, $: Arguments<{ accountId: number }>) =>
  db
    .selectFrom('accounts')
    .select('embedding_origins as origins')
    .where('id', '=', $.accountId)
    .where('erasure_began_at', 'is', null),
);

/** Returns the origins that may embed the boards of an account. Returns no origins if nobody may. */
export async function readEmbeddingOrigins(db: Queryable, accountId: number): Promise<string[]> {
  const [account] = await db.query(selectOrigins, { accountId });
  return account?.origins ?? [];
}

/** Finds the account without a filter on it, because the slugs of the board and of the account are all that a URL has. */
const selectEmbedding = query('select_embedding_by_board', (db, $: Arguments<{ board: string; account: string }>) =>
  db
    .selectFrom('boards as b')
    .innerJoin('accounts as a', 'a.id', 'b.account_id')
    .select(['a.id as account_id', 'a.embedding_origins as origins'])
    .where('b.slug', '=', $.board)
    .where(b => b.or([b('a.slug', '=', $.account), b('b.is_public', '=', true)]))
    .where('a.erasure_began_at', 'is', null)
    // The named account comes before the account of a public board with the same slug.
    .orderBy(a => a('a.slug', '=', $.account), 'desc'),
);

export interface Embedding {
  accountId: number;
  /** The origins of the pages that may show the board in a frame. */
  origins: string[];
}

/** Finds the board of the named account, or else the public board with the slug. */
export async function findEmbedding(
  db: Queryable,
  slugs: { board: string; account: string },
): Promise<Embedding | undefined> {
  const [row] = await db.query(selectEmbedding, slugs);
  return row && row.origins.length > 0 ? { accountId: row.account_id, origins: row.origins } : undefined;
}
