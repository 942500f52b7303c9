import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { EventBody } from '../../../contract/events.ts';
import type { Idea } from '../../../contract/idea.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { presentIdea } from '../ideas/present-idea.ts';
import type { IdeaView } from '../ideas/read-idea.ts';
import { presentTime } from '../time.ts';

/** The columns of an event that presentEvent needs. */
export type RecordedEvent = Pick<Selectable<Tables['events']>, 'type' | 'occurred_at' | 'data' | 'body'>;

/** Selects the columns of an event e that presentEvent needs. Reads the body only if there is no data. */
export function recordedEventOf(e: ExpressionBuilder<Tables & { e: Tables['events'] }, 'e'>) {
  const body = e.case().when('e.data', 'is', null).then(e.ref('e.body')).end().as('body');
  return ['e.type', 'e.occurred_at', 'e.data', body] as const;
}

/** The data of an event e. The previous version stored it only in the body. */
const dataOfEvent = "coalesce(e.data, (e.body -> 'data')::jsonb)";

/** A text in the data of an event e, such as `textInEvent('idea', 'title')`. */
export function textInEvent(...path: string[]) {
  return sql<string | null>`${sql.raw(dataOfEvent)} #>> ${sql.lit(`{${path.join(',')}}`)}`;
}

/** The id of the target of a merge or unmerge event e. */
export const targetIdInEvent = sql<number | null>`(${textInEvent('target', 'id')})::bigint`;

/** The columns of an idea that idea_columns() stores: those that are the same for all readers. */
type IdeaInEvent = Omit<IdeaView, 'my_vote' | 'author_id' | 'author_name'> & Pick<Idea, 'author'>;

/** The parts of the stored data that presentEvent converts. The other parts have the form of the contract. */
interface EventData {
  idea?: IdeaInEvent;
  target?: IdeaInEvent;
}

/** Builds the body of an event for webhooks, chats and extensions. The test event of an endpoint has no ideas. */
export function presentEvent({ type, occurred_at, data, body }: RecordedEvent): EventBody {
  // The previous version stored only the body.
  if (data === null) return body as EventBody;
  const { idea, target, ...others } = data as EventData;
  return {
    type,
    timestamp: presentTime(occurred_at),
    data: {
      ...others,
      ...(idea && { idea: presentIdeaInEvent(idea) }),
      ...(target && { target: presentIdeaInEvent(target) }),
    },
  } as EventBody;
}

/** The exact text of a delivery's body, which the server signs and sends. */
export function writeEvent(event: RecordedEvent): string {
  return JSON.stringify(presentEvent(event));
}

function presentIdeaInEvent({ author, ...columns }: IdeaInEvent): Omit<Idea, 'my_vote'> {
  const { my_vote: _, ...idea } = presentIdea({
    ...columns,
    author_id: author.id,
    author_name: author.name,
    my_vote: null,
  });
  return idea;
}

/** Has no filter on the account, because the job does not name it. */
const selectAccount = query('select_account_of_event', (db, $: Arguments<{ eventId: string }>) =>
  db.selectFrom('events as e').select('e.account_id').where('e.id', '=', $.eventId),
);

/** Finds the account of an event, for a job of the previous version. Returns undefined for a deleted event. */
export async function findAccountOfEvent(queryable: Queryable, eventId: string): Promise<number | undefined> {
  const [event] = await queryable.query(selectAccount, { eventId });
  return event?.account_id;
}
