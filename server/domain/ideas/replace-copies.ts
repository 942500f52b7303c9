import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { rewriteAnswers } from '../erasure/redact-answers.ts';
import { rewriteEvents } from '../erasure/redact-events.ts';
import { deletedText } from './change-idea.ts';

/**
 * The maximum number of events to change in one transaction. An idea with an event for each vote can have many
 * thousands of events.
 */
const batchSize = 500;

interface OneIdea {
  accountId: number;
  ideaId: number;
}

const selectTexts = query('select_texts_of_idea', (db, $: Arguments<OneIdea>) =>
  db
    .selectFrom('ideas')
    .select(['title', 'body'])
    .select(i => i('moderation_state', '=', 'deleted').$castTo<boolean>().as('isDeleted'))
    .where(i => i.and({ account_id: $.accountId, id: $.ideaId })),
);

/** Selects the events of an idea and of the ideas that were merged into it, but no event of the type `idea.deleted`. */
const selectEvents = query(
  'select_events_about_idea',
  (db, $: Arguments<OneIdea & { after: string; limit: number }>) =>
    db
      .selectFrom('events')
      .select('id')
      .where('account_id', '=', $.accountId)
      .where(
        'idea_id',
        'in',
        db
          .selectFrom('merges as m')
          .select('m.source_id')
          .where(m => m.and({ 'm.account_id': $.accountId, 'm.target_id': $.ideaId }))
          .union(db.selectNoFrom($.ideaId.as('source_id'))),
      )
      .where('id', '>', $.after)
      .where('type', '<>', 'idea.deleted')
      .orderBy('id')
      .limit($.limit),
  { isPrepared: false },
);

/**
 * Replaces the texts of an edited or deleted idea wherever they were copied: in events and in stored responses. For a
 * deleted idea, also replaces the texts of its comments, official replies and notes. Pages, mails, chat messages,
 * extensions and webhooks read an event only when they show or send it. So they then use the new texts. A job calls this
 * function after the change, because an idea can have very many events.
 */
export async function replaceCopiesOfIdea(database: Database, { accountId, ideaId }: OneIdea): Promise<void> {
  /**
   * Reads the present texts. Call this only after a copy was read. If somebody edits the idea while this job runs, the
   * copies in the new event are then not replaced by older texts.
   */
  const readTexts = async ({ query }: Queryable): Promise<NewTexts | undefined> => {
    const [texts] = await query(selectTexts, { accountId, ideaId });
    return texts && { ideaId, ...texts };
  };
  for (let after: string | undefined = '00000000-0000-0000-0000-000000000000'; after !== undefined; ) {
    const events: { id: string }[] = await database.query(selectEvents, { accountId, ideaId, after, limit: batchSize });
    const texts = await readTexts(database);
    // The account may have been erased together with the idea.
    if (!texts) return;
    const eventIds = events.map(({ id }) => id);
    await rewriteEvents(database, { accountId, eventIds, rewrite: json => withTexts(json, texts) });
    after = events.at(-1)?.id;
  }
  const rewriteAnswer = async (json: string, transaction: Queryable) => {
    const texts = await readTexts(transaction);
    return texts && withTexts(json, texts);
  };
  // Finds the ids of ideas, and the idea ids of comments and notes.
  const answers = { mention: `id":${ideaId},`, rewrite: rewriteAnswer, batchSize };
  await rewriteAnswers(database, { first: accountId, last: accountId }, answers);
}

interface NewTexts {
  ideaId: number;
  title: string;
  body: string;
  isDeleted: boolean;
}

/**
 * Replaces the texts of an idea in a JSON document. An object counts as the idea if it has the fields id, title and
 * body. If the idea is deleted, also replaces the bodies of objects with its id in `idea_id`: comments, official
 * replies and notes.
 */
function withTexts(json: string, { ideaId, title, body, isDeleted }: NewTexts): string {
  return JSON.stringify(
    JSON.parse(json, (_key, value) => {
      if (typeof value?.body !== 'string') return value;
      if (value.id === ideaId && typeof value.title === 'string') return { ...value, title, body };
      return isDeleted && value.idea_id === ideaId ? { ...value, body: deletedText } : value;
    }),
  );
}
