import type { TaskList } from 'graphile-worker';
import { sql } from 'kysely';
import { query } from '../database/query.ts';
import { postToChat } from '../delivery/chat/post-to-chat.ts';
import type { TaskDependencies } from '../delivery/dependencies.ts';
import { buildAccountMailTasks } from '../delivery/mail/account-mails.ts';
import { mailNotifications } from '../delivery/mail/mail-notifications.ts';
import { mailSummary } from '../delivery/mail/mail-summary.ts';
import { tellPeople } from '../delivery/tell-people.ts';
import { deliverWebhooks } from '../delivery/webhooks/deliver-webhooks.ts';
import { replaceCopiesOfIdea } from '../domain/ideas/replace-copies.ts';
import { addSummaries, type SummaryFrequency } from '../domain/notifications/summaries.ts';
import { touchIdeas } from '../domain/tags/touch-ideas.ts';
import { addExpiryNotices } from '../domain/tokens/expiry-notices.ts';
import { fillCanonicalAddresses } from '../domain/users/fill-canonical-addresses.ts';
import { wakeOverdueLanes } from '../domain/webhooks/wake-lanes.ts';
import type { Extension } from '../extensions/extension.ts';
import { buildExtensionTasks, extensionCrontab } from '../extensions/extension-tasks.ts';
import { recordAuditEntries } from './audit-outbox.ts';
import { clearExpired, clearOld } from './clear-expired.ts';
import { sweepEvents } from './sweep-events.ts';

const recordHeartbeat = query('record_heartbeat', db =>
  db
    .insertInto('heartbeats')
    .values({ name: 'cron', recorded_at: sql`now()` })
    .onConflict(conflict =>
      conflict.column('name').doUpdateSet({ recorded_at: sql`greatest(heartbeats.recorded_at, excluded.recorded_at)` }),
    ),
);

/** Builds the tasks of the worker. Each task must be safe to run twice, because a job runs again after a crash. */
export function buildTasks(deps: TaskDependencies): TaskList {
  return {
    /** Records the time, so that the readiness probe can see that cron is running. */
    heartbeat: async () => {
      await deps.queue.query(recordHeartbeat, {});
    },

    clear_expired: () => clearExpired(deps.queue, deps.stopping),
    fill_canonical_addresses: () => fillCanonicalAddresses(deps.database),
    record_audit_event: recordAuditEntries(deps.audit),
    deliver_webhooks: deliverWebhooks(deps),
    add_summaries: payload => addSummaries(deps.queue, (payload as { frequency: SummaryFrequency }).frequency),
    announce_token_expiry: () => addExpiryNotices(deps.queue),
    wake_overdue_webhooks: () => wakeOverdueLanes(deps.queue),
    sweep_events: () => sweepEvents(deps),
    clear_old_events: () => clearOld(deps.queue, deps.stopping),
    ...buildAccountMailTasks(deps),
    ...mailNotifications(deps),
    mail_summary: mailSummary(deps),
    tell_people: tellPeople(deps),
    replace_copies_of_idea: payload => {
      const { account_id: accountId, idea_id: ideaId } = payload as { account_id: number; idea_id: number };
      return replaceCopiesOfIdea(deps.database, { accountId, ideaId });
    },
    touch_ideas: payload => {
      const { account_id: accountId, idea_ids: ideaIds } = payload as { account_id: number; idea_ids: number[] };
      return touchIdeas(deps.database, { accountId, ideaIds }, deps.clock.now());
    },
    post_to_chat: postToChat(deps),
    ...buildExtensionTasks(deps),
  };
}

const coreCrontab = `
* * * * * heartbeat ?max=1
*/10 * * * * clear_expired ?max=1
*/10 * * * * fill_canonical_addresses ?max=1
*/10 * * * * announce_token_expiry ?max=1
*/5 * * * * wake_overdue_webhooks ?max=1
5,15,25,35,45,55 * * * * sweep_events ?max=1
17 * * * * clear_old_events ?max=1
0 7 * * * add_summaries ?id=daily&fill=12h {frequency:"daily"}
0 7 * * 1 add_summaries ?id=weekly&fill=2d {frequency:"weekly"}
`;

/** Returns the crontab of the periodic tasks, in UTC. */
export function buildCrontab(extensions: readonly Extension[]): string {
  return `${coreCrontab}${extensionCrontab(extensions)}`;
}
