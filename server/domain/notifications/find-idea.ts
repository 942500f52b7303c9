import { type Administration, AdministrationError } from '../administration.ts';

/** Refuses an idea of another account. */
export async function requireIdeaOf(admin: Administration, accountId: number, ideaId: number): Promise<void> {
  const idea = await admin.db
    .selectFrom('ideas')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', ideaId)
    .executeTakeFirst();
  if (!idea) throw new AdministrationError('not_found', `The account has no idea ${ideaId}`);
}
