import { statement } from '../../database/statement.ts';
import { DomainError } from '../domain-error.ts';
import { checkPublished, lockIdea } from '../ideas/lock-ideas.ts';
import { type IdeaView, requireIdea } from '../ideas/read-idea.ts';
import type { WriteOperation } from '../operation.ts';

/** The tag is locked, so that one which is being removed is waited for and is then none, instead of a failing insert. */
const insertIdeaTag = statement<{ is_tag: boolean; is_added: boolean }>(
  'insert_idea_tag',
  `with tag as (
    select id from tags where id = $2 and board_id = $3 for key share
  ),
  added as (
    insert into idea_tags (idea_id, tag_id, account_id) select $1, id, $4 from tag
    on conflict do nothing
    returning idea_id
  ),
  touched as (
    update ideas set updated_at = $5 where id in (select idea_id from added)
  )
  select exists (select from tag) as is_tag, exists (select from added) as is_added`,
);

/** Assigns a tag of the board to an idea (Idea actions, rule 5). One that it has already changes nothing. */
export async function addIdeaTag(op: WriteOperation, ideaId: number, tagId: number): Promise<IdeaView> {
  checkPublished(await lockIdea(op, ideaId));
  const { accountId, boardId } = op.actor;
  const [result] = await op.query(insertIdeaTag, [ideaId, tagId, boardId, accountId, op.now]);
  if (!result?.is_tag) throw new DomainError('invalid_tag');
  if (result.is_added) {
    op.audit?.record('idea.tag_added', { account_id: accountId, idea_id: ideaId, tag_id: tagId });
  }
  return requireIdea(op, ideaId);
}

const deleteIdeaTag = statement<{ id: number }>(
  'delete_idea_tag',
  `with removed as (
    delete from idea_tags where idea_id = $1 and tag_id = $2 returning idea_id
  )
  update ideas set updated_at = $3 where id in (select idea_id from removed)
  returning id`,
);

/** Removes a tag from an idea (Idea actions, rule 5). One that is not assigned changes nothing. */
export async function removeIdeaTag(op: WriteOperation, ideaId: number, tagId: number): Promise<IdeaView> {
  checkPublished(await lockIdea(op, ideaId));
  const removed = await op.query(deleteIdeaTag, [ideaId, tagId, op.now]);
  if (removed.length > 0) {
    op.audit?.record('idea.tag_removed', { account_id: op.actor.accountId, idea_id: ideaId, tag_id: tagId });
  }
  return requireIdea(op, ideaId);
}
