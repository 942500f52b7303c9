import { statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';

const selectIdea = statement<{ id: number }>(
  'select_idea_of_account',
  'select id from ideas where id = $1 and account_id = $2',
);

/** Refuses an idea that is not one of an account. */
export async function requireIdeaOf(admin: Administration, accountId: number, ideaId: number): Promise<void> {
  const [idea] = await admin.query(selectIdea, [ideaId, accountId]);
  if (!idea) throw new AdministrationError('not_found', `The account has no idea ${ideaId}`);
}
