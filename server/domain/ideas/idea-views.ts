import { type Expression, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Tables } from '../../database/tables.ts';
import type { ModerationState } from '../../entities/idea.ts';

type Visible = { moderation_state: Exclude<ModerationState, 'rejected'> };

/**
 * Selects ideas i of an account as their readers see them: with the status s, the author u, the tags, and the vote v of
 * a voter. Add a condition that leaves out rejected ideas.
 */
export function ideaViews(db: Kysely<Tables>, accountId: Expression<number>, voterId: Expression<number | null>) {
  return db
    .selectFrom('ideas as i')
    .innerJoin('statuses as s', join => join.onRef('s.id', '=', 'i.status_id').on('s.account_id', '=', accountId))
    .innerJoin('users as u', 'u.id', 'i.author_id')
    .leftJoin('votes as v', join =>
      join
        .onRef('v.idea_id', '=', 'i.id')
        .on('v.account_id', '=', accountId)
        .on('v.voter_id', '=', voterId)
        .on(countsAsVote('v', accountId)),
    )
    .where('i.account_id', '=', accountId)
    .select([
      'i.id',
      'i.title',
      'i.body',
      's.key as status_key',
      's.category as status_category',
      's.label as status_label',
      'i.moderation_state',
      'i.score',
      'i.up_count',
      'i.down_count',
      'i.comment_count',
      'v.value as my_vote',
      'i.author_id',
      'u.name as author_name',
      'i.merged_into_id',
      'i.created_at',
      'i.updated_at',
    ])
    .select(eb =>
      jsonArrayFrom(
        eb
          .selectFrom('idea_tags as it')
          .innerJoin('tags as t', join => join.onRef('t.id', '=', 'it.tag_id').on('t.account_id', '=', accountId))
          .whereRef('it.idea_id', '=', 'i.id')
          .where('it.account_id', '=', accountId)
          .select(['t.id', 't.name', 't.color'])
          .orderBy(tag => tag.fn('lower', ['t.name']))
          .orderBy('t.id'),
      ).as('tags'),
    )
    .$narrowType<Visible>();
}

/** Published ideas are for everybody on a board, pending ones for its moderators, rejected ones for nobody. */
export function isVisible(
  i: ExpressionBuilder<Tables & { i: Tables['ideas'] }, 'i'>,
  isModerator: Expression<boolean>,
) {
  return i.or([
    i('i.moderation_state', '=', 'published'),
    i.and([isModerator, i('i.moderation_state', '=', 'pending')]),
  ]);
}

/** A vote that was copied ahead of a merge counts from the moment of the merge: see copy_votes. */
export function countsAsVote(vote: string, accountId: Expression<number>): Expression<boolean> {
  const [carriedFrom, ideaId] = [sql.ref(`${vote}.carried_from_id`), sql.ref(`${vote}.idea_id`)];
  return sql<boolean>`(${carriedFrom} is null or exists (
    select from ideas origin
    where origin.account_id = ${accountId} and origin.id = ${carriedFrom} and origin.merged_into_id = ${ideaId}
  ))`;
}
