import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { rewriteAnswers } from '../erasure/redact-answers.ts';
import { rewriteEvents } from '../erasure/redact-events.ts';

/** The number of events in one transaction. An idea with an event for each vote may have many thousands. */
const batchSize = 500;

interface OneIdea {
  accountId: number;
  ideaId: number;
}

const selectTexts = query('select_texts_of_idea', (db, $: Arguments<OneIdea>) =>
  db
    .selectFrom('ideas')
    .select(['title', 'body'])
    .where(i => i.and({ account_id: $.accountId, id: $.ideaId })),
);

/** Selects the events of an idea, and of the ideas that were merged into it. The event of its deletion stays as it is. */
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
 * Replaces the texts of an edited or deleted idea in its copies: events and stored responses. Pages, mails, chat messages,
 * extensions and webhook deliveries read the event only when they are shown or sent. So later ones have the new texts.
 * Receivers keep what they received before.
 *
 * A job does this after the change, because an idea may have very many events.
 */
export async function replaceCopiesOfIdea(database: Database, { accountId, ideaId }: OneIdea): Promise<void> {
  const [texts] = await database.query(selectTexts, { accountId, ideaId });
  // The idea may be gone with its account.
  if (!texts) return;
  const rewrite = (json: string) => withTexts(json, ideaId, texts);
  for (let after: string | undefined = '00000000-0000-0000-0000-000000000000'; after !== undefined; ) {
    const events: { id: string }[] = await database.query(selectEvents, { accountId, ideaId, after, limit: batchSize });
    const eventIds = events.map(({ id }) => id);
    await rewriteEvents(database, { accountId, eventIds, rewrite });
    after = events.at(-1)?.id;
  }
  const answers = { mention: `"id":${ideaId},"title":`, rewrite, batchSize };
  await rewriteAnswers(database, { first: accountId, last: accountId }, answers);
}

/** Replaces the texts of an idea in a JSON text. Only ideas have an id, a title and a body. */
function withTexts(json: string, ideaId: number, texts: { title: string; body: string }): string {
  return JSON.stringify(
    JSON.parse(json, (_key, value) =>
      value?.id === ideaId && typeof value.title === 'string' && typeof value.body === 'string'
        ? { ...value, ...texts }
        : value,
    ),
  );
}
