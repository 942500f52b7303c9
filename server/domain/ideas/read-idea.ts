import { type Expression, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import type { ModerationState } from '../../entities/idea.ts';
import { shownAuthor } from '../members/shown-author.ts';
import { isPublicReader, type ReadOperation, type WriteOperation } from '../operation.ts';

type Visible = { moderation_state: Exclude<ModerationState, 'rejected' | 'deleted'> };

/**
 * Selects ideas with their status, their tags, their author and the vote of one voter, but without the body. The SQL
 * aliases are `i`, `s`, `u` and `v`. The caller must exclude rejected and deleted ideas.
 */
export function ideaViews(db: Kysely<Tables>, accountId: Expression<number>, voterId: Expression<number | null>) {
  return ideaViewsWithoutTags(db, accountId, voterId).select(jsonArrayFrom(tagsOf(db, accountId)).as('tags'));
}

/** Selects the same as ideaViews, but without the tags. */
export function ideaViewsWithoutTags(
  db: Kysely<Tables>,
  accountId: Expression<number>,
  voterId: Expression<number | null>,
) {
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
    .select(['i.id', 'i.title', 'i.moderation_state', 'i.merged_into_id', 'i.created_at', 'i.updated_at'])
    .select(['s.key as status_key', 's.category as status_category', 's.label as status_label'])
    .select(['i.score', 'i.up_count', 'i.down_count', 'i.comment_count', 'v.value as my_vote'])
    .select(['i.author_id', 'u.name as author_name'])
    .$narrowType<Visible>();
}

/** Selects the tags of an idea, sorted by name. The idea has the SQL alias `i`. */
export function tagsOf(db: Kysely<Tables>, accountId: Expression<number>) {
  return tagIdsOf(db, accountId)
    .innerJoin('tags as t', join => join.onRef('t.id', '=', 'it.tag_id').on('t.account_id', '=', accountId))
    .clearSelect()
    .select(['t.id', 't.name', 't.color'])
    .orderBy(tag => tag.fn('lower', ['t.name']))
    .orderBy('t.id');
}

/** Selects the ids of the tags of an idea. The idea has the SQL alias `i`. */
export function tagIdsOf(db: Kysely<Tables>, accountId: Expression<number>) {
  return db
    .selectFrom('idea_tags as it')
    .select('it.tag_id')
    .where('it.idea_id', '=', sql.ref<number>('i.id'))
    .where('it.account_id', '=', accountId);
}

/**
 * Selects the beginning of an idea's body, or the whole body if the maximum length is null. The idea has the SQL alias
 * `i`. Compares the lengths in bytes, because PostgreSQL knows the length of a long body in bytes without reading the
 * body.
 */
export function excerptOf(maxLength: Expression<number | null>) {
  const excerpt = sql<string>`left(i.body, ${maxLength}::int)`;
  return [
    sql<string>`coalesce(${excerpt}, i.body)`.as('body'),
    sql<boolean>`coalesce(octet_length(i.body) > octet_length(${excerpt}), false)`.as('body_truncated'),
  ] as const;
}

/**
 * The condition that the state of an idea lets a reader see the idea. Every reader may see published ideas, and only
 * moderators may see pending ideas. Nobody may see rejected or deleted ideas. Moderators read rejected ideas with other
 * queries. Another condition, isShownTo(), hides ideas in hidden statuses from visitors of a public board.
 */
export function isVisible(
  i: ExpressionBuilder<Tables & { i: Tables['ideas'] }, 'i'>,
  isModerator: Expression<boolean>,
) {
  return i.or([
    i('i.moderation_state', '=', 'published'),
    i.and([isModerator, i('i.moderation_state', '=', 'pending')]),
  ]);
}

/** The condition that the status of an idea is shown to a reader. Visitors of a public board see no hidden statuses. */
export function isShownTo(
  s: ExpressionBuilder<Tables & { s: Tables['statuses'] }, 's'>,
  isPublic: Expression<boolean>,
) {
  return s.or([s('s.is_hidden', '=', false), s.not(isPublic)]);
}

/**
 * The condition that a vote counts. A merge copies votes from the source to the target. A copied vote counts only while
 * the source is merged into the target.
 */
export function countsAsVote(vote: string, accountId: Expression<number>): Expression<boolean> {
  const [carriedFrom, ideaId] = [sql.ref(`${vote}.carried_from_id`), sql.ref(`${vote}.idea_id`)];
  return sql<boolean>`(${carriedFrom} is null or exists (
    select from ideas origin
    where origin.account_id = ${accountId} and origin.id = ${carriedFrom} and origin.merged_into_id = ${ideaId}
  ))`;
}

export type IdeaView = RowOf<typeof selectIdea>;

interface OneIdea {
  accountId: number;
  boardId: number;
  ideaId: number;
  voterId: number | null;
  isModerator: boolean;
  isPublic: boolean;
}

const selectIdea = query('select_idea', (db, $: Arguments<OneIdea>) => oneIdea(db, $));

function oneIdea(db: Kysely<Tables>, $: Arguments<OneIdea>) {
  return ideaViews(db, $.accountId, $.voterId)
    .select('i.body')
    .where(i => i.and({ 'i.id': $.ideaId, 'i.board_id': $.boardId }))
    .where(i => isVisible(i, $.isModerator))
    .where(s => isShownTo(s, $.isPublic));
}

/** Reads an idea. Returns undefined if the reader may not see the idea. */
export async function readIdea(op: ReadOperation, ideaId: number): Promise<IdeaView | undefined> {
  const [idea] = await op.query(selectIdea, argumentsFor(op, ideaId));
  return idea;
}

function argumentsFor({ actor }: ReadOperation, ideaId: number): OneIdea {
  const { accountId, boardId, voterId, isModerator } = actor;
  return { accountId, boardId, ideaId, voterId, isModerator, isPublic: isPublicReader(actor) };
}

/** An idea with what its page shows of the author, and whether the reader follows the idea. */
export type ShownIdea = RowOf<typeof selectShownIdea>;

const selectShownIdea = query('select_shown_idea', (db, $: Arguments<OneIdea & { readerId: number | null }>) =>
  oneIdea(db, $)
    .select(shownAuthor(db, $.accountId))
    .select(i =>
      i
        .exists(
          i
            .selectFrom('followers as f')
            .whereRef('f.idea_id', '=', 'i.id')
            .where('f.account_id', '=', $.accountId)
            .where('f.user_id', '=', $.readerId),
        )
        .$castTo<boolean>()
        .as('is_followed'),
    ),
);

/** Reads an idea for its page. Returns undefined if the reader may not see the idea. */
export async function readShownIdea(op: ReadOperation, ideaId: number): Promise<ShownIdea | undefined> {
  const readerId = isPublicReader(op.actor) ? null : op.actor.userId;
  const [idea] = await op.query(selectShownIdea, { ...argumentsFor(op, ideaId), readerId });
  return idea;
}

const selectIdeas = query(
  'select_ideas',
  (db, $: Arguments<{ accountId: number; voterId: number; ideaIds: readonly number[] }>) =>
    ideaViews(db, $.accountId, $.voterId)
      .select('i.body')
      .where(i => i('i.id', '=', i.fn.any($.ideaIds))),
);

/**
 * Reads ideas in the order of the given ids. The calling operation has locked or created the ideas, so all of them
 * exist.
 */
export async function requireIdeas(op: WriteOperation, ideaIds: readonly number[]): Promise<IdeaView[]> {
  const { accountId, voterId } = op.actor;
  const rows = await op.query(selectIdeas, { accountId, voterId, ideaIds });
  return ideaIds.map(id => {
    const idea = rows.find(row => row.id === id);
    if (!idea) throw new Error(`Idea ${id} vanished during an operation on it`);
    return idea;
  });
}

export async function requireIdea(op: WriteOperation, ideaId: number): Promise<IdeaView> {
  const [idea] = await requireIdeas(op, [ideaId]);
  if (!idea) throw new Error(`Idea ${ideaId} vanished during an operation on it`);
  return idea;
}
