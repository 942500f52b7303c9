import type { TaskList } from 'graphile-worker';
import type { Queryable } from '../database/database.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { UnsubscribeTokens } from '../domain/notifications/unsubscribe-token.ts';
import type { SecretBox } from '../domain/secret-box.ts';
import type { OutgoingRequests } from '../outgoing/outgoing-request.ts';
import { postToChat } from './chat/post-to-chat.ts';
import { mailNotifications } from './mail/mail-notifications.ts';
import type { Mailer } from './mail/mailer.ts';
import { tellPeople } from './tell-people.ts';

export interface PeopleDependencies
  extends Pick<ServerDependencies, 'config' | 'database' | 'clock' | 'logger' | 'audit' | 'metrics'> {
  requests: OutgoingRequests;
  secretBox: SecretBox;
  unsubscribeTokens: UnsubscribeTokens;
  /** For statements of every job, which the job's end commits after. */
  queue: Queryable;
  /** Aborted when the worker stops. */
  stopping: AbortSignal;
  /** Undefined: no mail is sent. */
  mailer: Mailer | undefined;
}

/** The jobs that tell people, in the app, by mail and in their chats. */
export function buildPeopleTasks(deps: PeopleDependencies) {
  return {
    tell_people: tellPeople(deps),
    ...mailNotifications(deps),
    post_to_chat: postToChat(deps),
  } satisfies TaskList;
}
