import { type AliasableExpression, type Kysely, sql } from 'kysely';
import type { EventType } from '../../contract/events.ts';
import { addJob } from '../database/add-job.ts';
import type { Transaction } from '../database/database.ts';
import { type Arguments, query, type RowOf } from '../database/query.ts';
import type { Tables } from '../database/tables.ts';
import { chatEventTypes } from '../domain/chat/channels.ts';
import { commentIdInEvent, findAccountOfEvent, targetIdInEvent, textInEvent } from '../domain/events/recorded-event.ts';
import { activeMemberships } from '../domain/members/authority.ts';
import type { NotificationToMail } from '../domain/notifications/notifications.ts';
import { moderatingRoles } from '../entities/membership.ts';
import { chatQueue } from './chat/chat-queues.ts';
import type { TaskDependencies } from './dependencies.ts';

interface TellPeople {
  /** The id of the account. Jobs from an older version of the server have no account id. */
  account_id?: number;
  event_id: string;
  /** The id of the last user in the previous batch. */
  after?: number;
  /** Whether the job is about an edited text. Such a job notifies only mentioned people. */
  is_edit?: boolean;
  /** The users whom the edit has mentioned. Jobs from the previous version of the server have no list. */
  user_ids?: number[];
}

/**
 * The maximum number of users that one job notifies, so that no job takes long. Another job notifies the next users.
 */
const batchSize = 1000;

/** The maximum number of mails that one job sends. */
const mailBatchSize = 100;

interface AccountEvent {
  accountId: number;
  eventId: string;
}

const selectEvent = query('select_event_to_tell', (db, $: Arguments<AccountEvent>) =>
  db
    .selectFrom('events as e')
    .select(e => ['e.type', 'e.actor_id', e.ref('e.board_id').$notNull().as('board_id')])
    .select(e => [e.ref('e.idea_id').$notNull().as('idea_id'), targetIdInEvent.as('target_id')])
    .select(commentIdInEvent.as('comment_id'))
    // Whether the event is about an official reply that the event of a status change already contains.
    .select(e =>
      e
        .case()
        .when(textInEvent('comment', 'official'), '=', 'true')
        .then(
          e.exists(
            e
              .selectFrom('events as s')
              .where('s.account_id', '=', $.accountId)
              .whereRef('s.idea_id', '=', 'e.idea_id')
              .where('s.type', '=', 'idea.status_changed')
              .where(sql<boolean>`s.data #>> '{reply,id}' = ${textInEvent('comment', 'id')}`),
          ),
        )
        .else(false)
        .end()
        .as('is_reported_with_status'),
    )
    .where('e.account_id', '=', $.accountId)
    .where('e.id', '=', $.eventId)
    .where('e.idea_id', 'is not', null),
);

const markTold = query('mark_event_told', (db, $: Arguments<AccountEvent & { now: Date }>) =>
  db
    .updateTable('events as e')
    .set({ told_at: $.now })
    .where('e.account_id', '=', $.accountId)
    .where('e.id', '=', $.eventId)
    .where('e.told_at', 'is', null)
    .returning('e.id'),
);

interface ChatEvent extends AccountEvent {
  boardId: number;
  type: EventType;
  /**
   * The type of another event that contains this event, or null. For example, the event of a status change contains the
   * event of its official reply. A channel that shows the other event does not show this event.
   */
  otherType: EventType | null;
}

/** Adds a job for each of the board's chat channels that show this type of event. */
const addChatJobs = query('add_chat_jobs', (db, $: Arguments<ChatEvent>) =>
  db
    .selectFrom('chat_channels as c')
    .select(
      sql`graphile_worker.add_job(
          'post_to_chat', json_build_object('account_id', c.account_id, 'channel_id', c.id, 'event_id', ${$.eventId}::uuid),
          queue_name => ${chatQueue}
        )`.as('job'),
    )
    .where('c.account_id', '=', $.accountId)
    .where('c.board_id', '=', $.boardId)
    .where('c.disabled_at', 'is', null)
    .where(c => c.or([c('c.event_types', '=', sql<never>`'{}'`), c($.type, '=', c.fn.any('c.event_types'))]))
    .where(c =>
      c.or([
        sql<boolean>`${$.otherType}::text is null`,
        c.and([
          c('c.event_types', '<>', sql<never>`'{}'`),
          c.not(c($.otherType.$castTo<EventType>(), '=', c.fn.any('c.event_types'))),
        ]),
      ]),
    ),
);

/** The arguments of a query that selects the next users to notify, in the order of their ids. */
interface Batch {
  accountId: number;
  /** The id of the event's idea. For a merge, also the id of the target idea. */
  ideaIds: readonly number[];
  /** The id of the comment in the event. Null if the event has no comment. */
  commentId: number | null;
  after: number;
  actorId: number | null;
}

/**
 * Builds a query for the next batch of users to notify. The query skips the user who caused the event, blocked users
 * and users who are no members. It also skips the placeholder user, who stands for all erased users.
 *
 * The query locks the users in the order of their ids, so that nobody's mail frequency changes before the notifications
 * are committed. Otherwise a person who changes to immediate mails would never get the mail of a notification: this
 * transaction would leave it to a summary, and `addLastSummaries` would not see it.
 */
function selectRecipients(
  name: string,
  candidatesOf: (db: Kysely<Tables>, $: Arguments<Batch>) => AliasableExpression<{ user_id: number }>,
) {
  return query(name, (db, $: Arguments<Batch>) =>
    db
      .selectFrom(candidatesOf(db, $).as('c'))
      // The lateral join looks up each member separately. Otherwise PostgreSQL could reuse the plan for a small account
      // and join all members of a large account.
      .innerJoinLateral(
        () =>
          activeMemberships(db, $.accountId)
            .select('m.user_id')
            .where('m.user_id', '=', sql.ref<number>('c.user_id'))
            .limit(1)
            .as('m'),
        join => join.onTrue(),
      )
      .innerJoin('users as u', 'u.id', 'c.user_id')
      .select(u => [
        'u.id',
        u
          .and([u('u.notification_email', 'is not', null), u('u.mail_frequency', '=', 'immediately')])
          .as('is_mailed_now'),
      ])
      .where('u.is_placeholder', '=', false)
      .where('u.id', '>', $.after)
      .where('u.id', 'is distinct from', $.actorId)
      .orderBy('u.id')
      .limit(batchSize)
      .forShare('u'),
  );
}

type Recipient = RowOf<typeof selectFollowers>;

const selectFollowers = selectRecipients('select_followers_to_tell', (db, $) =>
  db
    .selectFrom('followers as f')
    .select('f.user_id')
    .distinct()
    .where('f.account_id', '=', $.accountId)
    .where(f => f('f.idea_id', '=', f.fn.any($.ideaIds)))
    .where('f.user_id', '>', $.after),
);

const selectModerators = selectRecipients('select_moderators_to_tell', (db, $) =>
  db
    .selectFrom('memberships as m')
    .select('m.user_id')
    .where('m.account_id', '=', $.accountId)
    .where('m.role', 'in', moderatingRoles)
    .where('m.user_id', '>', $.after),
);

const selectAuthor = selectRecipients('select_author_to_tell', (db, $) =>
  db
    .selectFrom('ideas as i')
    .select('i.author_id as user_id')
    .where('i.account_id', '=', $.accountId)
    .where(i => i('i.id', '=', i.fn.any($.ideaIds))),
);

/**
 * Selects the users that the comment of the event mentions. If the event has no comment, selects the users that the
 * body of the idea mentions.
 */
const selectMentioned = selectRecipients('select_mentioned_to_tell', (db, $) =>
  db
    .selectFrom('mentions as x')
    .innerJoin('users as w', 'w.id', 'x.user_id')
    .select('x.user_id')
    .where('x.account_id', '=', $.accountId)
    .where(x => x('x.idea_id', '=', x.fn.any($.ideaIds)))
    .where('x.comment_id', 'is not distinct from', $.commentId)
    .where('w.wants_mentions', '=', true),
);

interface Text {
  accountId: number;
  ideaId: number;
  /** The id of a comment. Null for the body of the idea. */
  commentId: number | null;
}

/**
 * Selects the users that a text mentions and that already have a notification of this text. Such a notification can be
 * about another event, for example about an edit of the text.
 */
const selectNotified = query('select_notified_of_text', (db, $: Arguments<Text>) =>
  db
    .selectFrom('mentions as x')
    .innerJoin('notifications as n', join =>
      join.on('n.account_id', '=', $.accountId).onRef('n.user_id', '=', 'x.user_id'),
    )
    .innerJoin('events as e', join => join.on('e.account_id', '=', $.accountId).onRef('e.id', '=', 'n.event_id'))
    .select('x.user_id')
    .where(x => x.and({ 'x.account_id': $.accountId, 'x.idea_id': $.ideaId, 'e.idea_id': $.ideaId }))
    .where('x.comment_id', 'is not distinct from', $.commentId)
    .where(commentIdInEvent, 'is not distinct from', $.commentId)
    .where(e => e.or([e('x.comment_id', 'is not', null), e('e.type', 'in', ['idea.created', 'idea.updated'])])),
);

/**
 * The users to notify, by the type of event. An author is notified when a moderator approves, rejects or deletes the
 * author's idea. Nobody is notified of an idea that needs no approval, because its author caused the event
 * `idea.created`.
 */
const recipientsOfType: Record<string, typeof selectFollowers> = {
  'idea.status_changed': selectFollowers,
  'idea.merged': selectFollowers,
  'idea.unmerged': selectFollowers,
  'comment.created': selectFollowers,
  'idea.pending': selectModerators,
  'idea.created': selectAuthor,
  'idea.rejected': selectAuthor,
  'idea.deleted': selectAuthor,
};

/** Inserts notifications. Returns only the new ones, so that a second run of the job mails nobody a second time. */
const insertNotifications = query(
  'insert_event_notifications',
  (db, $: Arguments<AccountEvent & { userIds: readonly number[]; kind: string; now: Date }>) =>
    db
      .insertInto('notifications')
      .columns(['account_id', 'user_id', 'event_id', 'kind', 'created_at'])
      .expression(from =>
        from
          .selectFrom(sql<{ user_id: number }>`unnest(${$.userIds}::bigint[])`.as<'r'>(sql`r(user_id)`))
          .select([$.accountId.as('account_id'), 'r.user_id', $.eventId.as('event_id')])
          .select([$.kind.as('kind'), $.now.as('created_at')])
          .orderBy('r.user_id'),
      )
      .onConflict(conflict => conflict.columns(['account_id', 'event_id', 'user_id']).doNothing())
      .returning(['id', 'user_id']),
);

/**
 * Builds the task that notifies people of an event. In one transaction it adds the chat jobs, a batch of notifications,
 * the mail jobs for this batch, and the job for the next batch. A second run of the same job adds nothing.
 */
export function tellPeople({ database, queue, clock }: Pick<TaskDependencies, 'database' | 'queue' | 'clock'>) {
  return async (payload: unknown) => {
    const { account_id, event_id: eventId, after = 0, is_edit: isEdit = false, user_ids } = payload as TellPeople;
    const accountId = account_id ?? (await findAccountOfEvent(queue, eventId));
    if (accountId === undefined) return;
    const batch = { after, isEdit, userIds: user_ids, now: clock.now() };
    await database.transaction(transaction => tellBatch(transaction, { accountId, eventId }, batch));
  };
}

interface ToldBatch {
  after: number;
  isEdit: boolean;
  userIds: readonly number[] | undefined;
  now: Date;
}

async function tellBatch(transaction: Transaction, event: AccountEvent, { after, isEdit, userIds, now }: ToldBatch) {
  const { accountId } = event;
  const [found] = await transaction.query(selectEvent, event);
  if (!found) return;
  const { type, board_id: boardId, idea_id: ideaId, target_id: targetId, comment_id: commentId } = found;
  if (after === 0 && !isEdit) {
    const [marked] = await transaction.query(markTold, { ...event, now });
    const chatType = chatEventTypes.find(one => one === type);
    const otherType = found.is_reported_with_status ? 'idea.status_changed' : null;
    if (marked && chatType) await transaction.query(addChatJobs, { ...event, boardId, type: chatType, otherType });
  }

  const ideaIds = type === 'idea.merged' && targetId !== null ? [ideaId, targetId] : [ideaId];
  const people = { accountId, ideaIds, commentId };
  const turn = turnOfMentions(found);
  const text = { accountId, ideaId, commentId };
  const notified = isEdit || turn !== 'none' ? await transaction.query(selectNotified, text) : [];
  const skipped = new Set(notified.map(({ user_id }) => user_id));
  const notify = (recipients: Recipient[], kind: string) => {
    const others = recipients.filter(({ id }) => !skipped.has(id));
    return addNotifications(transaction, event, others, kind, now);
  };
  const notifyMentioned = async () => {
    // The query need not skip the actor here, because the stored mentions of a text never include the text's author.
    const mentioned = await transaction.query(selectMentioned, { ...people, after: 0, actorId: null });
    await notify(mentioned, 'user.mentioned');
  };
  if (isEdit) {
    const mentioned = await transaction.query(selectMentioned, { ...people, after: 0, actorId: found.actor_id });
    const added = userIds ? mentioned.filter(({ id }) => userIds.includes(id)) : mentioned;
    return notify(added, 'user.mentioned');
  }

  const select = recipientsOfType[type];
  if (!select || found.is_reported_with_status) return;
  if (turn === 'first' && after === 0) await notifyMentioned();
  const recipients = await transaction.query(select, { ...people, after, actorId: found.actor_id });
  await notify(recipients, type === 'idea.created' ? 'idea.approved' : type);
  const last = recipients.at(-1);
  if (last && recipients.length === batchSize) {
    const payload: TellPeople = { account_id: accountId, event_id: event.eventId, after: last.id };
    await addJob(transaction, { task: 'tell_people', payload, queueName: `people:${ideaId % 8}` });
  } else if (turn === 'last') {
    await notifyMentioned();
  }
}

/**
 * Returns whether mentioned people are notified before the other people ('first') or after them ('last'). Each person
 * gets only one notification of an event. For a new comment, a mentioned follower gets the notification of the mention.
 * For a status change, a mentioned follower gets the notification of the change, because that notification quotes the
 * official reply.
 */
function turnOfMentions({ type, comment_id }: RowOf<typeof selectEvent>): 'first' | 'last' | 'none' {
  if (type === 'idea.created' || type === 'comment.created') return 'first';
  return type === 'idea.status_changed' && comment_id !== null ? 'last' : 'none';
}

async function addNotifications(
  transaction: Transaction,
  event: AccountEvent,
  recipients: Recipient[],
  kind: string,
  now: Date,
): Promise<void> {
  if (recipients.length === 0) return;
  const userIds = recipients.map(({ id }) => id);
  const notifications = await transaction.query(insertNotifications, { ...event, userIds, kind, now });
  const mailable = new Set(recipients.filter(({ is_mailed_now }) => is_mailed_now).map(({ id }) => id));
  const entries: NotificationToMail[] = notifications
    .filter(({ user_id }) => mailable.has(user_id))
    .map(({ id }) => ({ account_id: event.accountId, id }));
  for (let i = 0; i < entries.length; i += mailBatchSize) {
    await addJob(transaction, { task: 'mail_people', payload: entries.slice(i, i + mailBatchSize) });
  }
}
