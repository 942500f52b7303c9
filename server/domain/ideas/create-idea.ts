import { type Kysely, sql } from 'kysely';
import { nearDuplicateSimilarity } from '../../../contract/limits.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import type { ModerationState } from '../../entities/idea.ts';
import { checkSubmissions } from '../boards/read-board.ts';
import { DomainError } from '../domain-error.ts';
import { recordMentions } from '../mentions/record-mentions.ts';
import type { WriteOperation } from '../operation.ts';
import { selectSimilarIdeas } from './find-similar.ts';
import type { LinkToIdea } from './present-idea.ts';
import { type IdeaView, requireIdea } from './read-idea.ts';

interface OneBoard {
  accountId: number;
  boardId: number;
}

function boardForSubmission(db: Kysely<Tables>, $: Arguments<OneBoard>) {
  return db
    .selectFrom('boards as b')
    .select(['b.is_frozen', 'b.pre_moderation', 'b.submissions_open_at', 'b.submissions_close_at'])
    .select(b =>
      b
        .selectFrom('statuses as s')
        .select('s.id')
        .where('s.account_id', '=', $.accountId)
        .whereRef('s.board_id', '=', 'b.id')
        .where('s.category', '=', 'inbox')
        .orderBy('s.position')
        .orderBy('s.id')
        .limit(1)
        .forKeyShare('s')
        .$asScalar()
        .$notNull()
        .as('initial_status_id'),
    )
    .where(b => b.and({ 'b.account_id': $.accountId, 'b.id': $.boardId }));
}

/**
 * Locks the board for a submission. A freeze of the board waits for submissions in progress, and later submissions see
 * the freeze.
 */
const lockBoardForSubmission = query('lock_board_for_submission', (db, $: Arguments<OneBoard>) =>
  boardForSubmission(db, $).forShare('b'),
);

/**
 * Locks the board so that only one submission runs at a time. If two clients submit the same idea at the same time, the
 * second submission sees the first idea.
 */
const lockBoardForSoleSubmission = query('lock_board_for_sole_submission', (db, $: Arguments<OneBoard>) =>
  boardForSubmission(db, $).forNoKeyUpdate('b'),
);

interface NewIdea {
  accountId: number;
  boardId: number;
  authorId: number;
  tokenId: number | null;
  statusId: number;
  title: string;
  body: string;
  moderationState: ModerationState;
  event: 'idea.created' | 'idea.pending';
  now: Date;
}

/**
 * Creates an idea with its first follower and its event in one round trip to the database. Three round trips would take
 * a quarter more CPU time. record_event is a volatile function, so it sees the idea that the same statement creates.
 */
const insertIdea = query('insert_idea', (db, $: Arguments<NewIdea>) =>
  db
    .with('created', cte =>
      cte
        .insertInto('ideas')
        .values({
          account_id: $.accountId,
          board_id: $.boardId,
          author_id: $.authorId,
          status_id: $.statusId,
          title: $.title,
          body: $.body,
          moderation_state: $.moderationState,
          created_at: $.now,
          updated_at: $.now,
        })
        .returning('id'),
    )
    .with('followed', cte =>
      cte
        .insertInto('followers')
        .columns(['idea_id', 'user_id', 'account_id', 'created_at'])
        .expression(from =>
          from
            .selectFrom('created')
            .select(['created.id', $.authorId.as('user_id'), $.accountId.as('account_id'), $.now.as('created_at')]),
        ),
    )
    .selectFrom('created')
    .select([
      'created.id',
      sql`record_event(${$.accountId}, ${$.event}, created.id, null, ${$.authorId}, ${$.tokenId}, '{}', ${$.now})`.as(
        'recorded',
      ),
    ]),
);

/**
 * Creates an idea (POST /api/v1/ideas). The acting user is its author and follows it. On a board with pre-moderation,
 * the idea awaits approval unless the actor is a moderator. If the argument `unless` is given, the function refuses to
 * create a near-duplicate of a published idea.
 */
export async function createIdea(
  op: WriteOperation,
  input: { title: string; body: string },
  unless?: { isSimilar: LinkToIdea },
): Promise<IdeaView> {
  const { accountId, boardId, userId, tokenId, isModerator } = op.actor;
  const lock = unless ? lockBoardForSoleSubmission : lockBoardForSubmission;
  const [board] = await op.query(lock, { accountId, boardId });
  if (!board) throw new DomainError('not_found');
  checkSubmissions(board, op.now);
  if (unless) await refuseNearDuplicate(op, input, unless.isSimilar);

  const isPending = board.pre_moderation && !isModerator;
  const [idea] = await op.query(insertIdea, {
    accountId,
    boardId,
    authorId: userId,
    tokenId,
    statusId: board.initial_status_id,
    title: input.title,
    body: input.body,
    moderationState: isPending ? 'pending' : 'published',
    event: isPending ? 'idea.pending' : 'idea.created',
    now: op.now,
  });
  if (!idea) throw new Error('An insert returned no row');
  await recordMentions(op, { ideaId: idea.id, commentId: null }, input.body);
  return requireIdea(op, idea.id);
}

async function refuseNearDuplicate(op: WriteOperation, text: { title: string; body: string }, linkTo: LinkToIdea) {
  const similar = await selectSimilarIdeas(op, text);
  const ideas = similar
    .filter(({ similarity }) => similarity >= nearDuplicateSimilarity)
    .map(({ id, title, similarity }) => ({ id, title, url: linkTo(id), similarity }));
  if (ideas.length > 0) throw new DomainError('similar_ideas', { details: { ideas } });
}
