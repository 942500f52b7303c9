import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { rewriteAnswers } from '../erasure/redact-answers.ts';
import { rewriteEvents } from '../erasure/redact-events.ts';

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
 * Replaces the texts of an edited or deleted idea wherever they were copied: in events and in stored responses. Pages,
 * mails, chat messages, extensions and webhooks read an event only when they show or send it. So they then use the new
 * texts. A job calls this function after the change, because an idea can have very many events.
 */
export async function replaceCopiesOfIdea(database: Database, { accountId, ideaId }: OneIdea): Promise<void> {
  const [texts] = await database.query(selectTexts, { accountId, ideaId });
  // The account may have been erased together with the idea.
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

/**
 * Replaces the texts of an idea in a JSON document. An object counts as the idea if it has the fields id, title and
 * body.
 */
function withTexts(json: string, ideaId: number, texts: { title: string; body: string }): string {
  return JSON.stringify(
    JSON.parse(json, (_key, value) =>
      value?.id === ideaId && typeof value.title === 'string' && typeof value.body === 'string'
        ? { ...value, ...texts }
        : value,
    ),
  );
}
