import { maxTagsOfIdea } from '../../../contract/limits.ts';
import { type Arguments, query } from '../../database/query.ts';
import { readBoard } from '../boards/read-board.ts';
import { DomainError } from '../domain-error.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkPublished, lockIdea } from '../ideas/lock-ideas.ts';
import { type IdeaView, requireIdea } from '../ideas/read-idea.ts';
import type { WriteOperation } from '../operation.ts';

interface TagOnIdea {
  accountId: number;
  ideaId: number;
  tagId: number;
  now: Date;
}

/**
 * Adds a tag to an idea, unless the idea has the maximum number of tags. Locks the tag. If another transaction removes
 * the tag at the same time, the statement finds no tag, and so does not violate a foreign key. The caller must lock the
 * idea first, so that the statement counts all tags of the idea.
 */
const insertIdeaTag = query('insert_idea_tag', (db, $: Arguments<TagOnIdea & { boardId: number }>) =>
  db
    .with('tag', cte =>
      cte
        .selectFrom('tags')
        .select('id')
        .where(row => row.and({ account_id: $.accountId, board_id: $.boardId, id: $.tagId }))
        .forKeyShare(),
    )
    .with('assigned', cte =>
      cte
        .selectFrom('idea_tags')
        .select('tag_id')
        .where(row => row.and({ account_id: $.accountId, idea_id: $.ideaId })),
    )
    .with('added', cte =>
      cte
        .insertInto('idea_tags')
        .columns(['idea_id', 'tag_id', 'account_id'])
        .expression(from =>
          from
            .selectFrom('tag')
            .select([$.ideaId.as('idea_id'), 'tag.id as tag_id', $.accountId.as('account_id')])
            .where(tag =>
              tag(
                tag.selectFrom('assigned').select(one => one.fn.countAll<number>().as('count')),
                '<',
                maxTagsOfIdea,
              ),
            ),
        )
        .onConflict(conflict => conflict.doNothing())
        .returning('idea_id'),
    )
    .with('touched', cte =>
      cte
        .updateTable('ideas')
        .set({ updated_at: $.now })
        .where('account_id', '=', $.accountId)
        .where('id', 'in', added => added.selectFrom('added').select('added.idea_id')),
    )
    .selectNoFrom(eb => [
      eb.exists(eb.selectFrom('tag').select('tag.id')).as('is_tag'),
      eb.exists(eb.selectFrom('added').select('added.idea_id')).as('is_added'),
      eb
        .exists(eb.selectFrom('assigned').select('assigned.tag_id').where('assigned.tag_id', '=', $.tagId))
        .as('had_tag'),
    ]),
);

/** Adds a tag of the board to an idea (specification: Idea actions, rule 5), unless the idea already has the tag. */
export async function addIdeaTag(op: WriteOperation, ideaId: number, tagId: number): Promise<IdeaView> {
  checkPublished(await lockIdea(op, ideaId));
  const { accountId, boardId } = op.actor;
  const [result] = await op.query(insertIdeaTag, { accountId, boardId, ideaId, tagId, now: op.now });
  if (!result?.is_tag) {
    const { tags } = await readBoard(op);
    throw new DomainError('invalid_tag', { details: { tags } });
  }
  if (!result.is_added && !result.had_tag) throw new DomainError('too_many_tags');
  if (result.is_added) {
    await recordEvent(op, 'idea.tagged', ideaId, { changes: [{ field: 'tags', from: null, to: tagId }] });
    op.audit?.record('idea.tag_added', { account_id: accountId, idea_id: ideaId, tag_id: tagId });
  }
  return requireIdea(op, ideaId);
}

const deleteIdeaTag = query('delete_idea_tag', (db, $: Arguments<TagOnIdea>) =>
  db
    .with('removed', cte =>
      cte
        .deleteFrom('idea_tags')
        .where(row => row.and({ account_id: $.accountId, idea_id: $.ideaId, tag_id: $.tagId }))
        .returning('idea_id'),
    )
    .updateTable('ideas')
    .set({ updated_at: $.now })
    .where('account_id', '=', $.accountId)
    .where('id', 'in', removed => removed.selectFrom('removed').select('removed.idea_id'))
    .returning('id'),
);

/** Removes a tag from an idea (specification: Idea actions, rule 5), unless the idea does not have the tag. */
export async function removeIdeaTag(op: WriteOperation, ideaId: number, tagId: number): Promise<IdeaView> {
  checkPublished(await lockIdea(op, ideaId));
  const { accountId } = op.actor;
  const removed = await op.query(deleteIdeaTag, { accountId, ideaId, tagId, now: op.now });
  if (removed.length > 0) {
    await recordEvent(op, 'idea.tagged', ideaId, { changes: [{ field: 'tags', from: tagId, to: null }] });
    op.audit?.record('idea.tag_removed', { account_id: accountId, idea_id: ideaId, tag_id: tagId });
  }
  return requireIdea(op, ideaId);
}
