import type { TaskList } from 'graphile-worker';
import type { Queryable } from '../../database/database.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { postToChat } from '../chat/post-to-chat.ts';
import type { OutgoingRequests } from '../outgoing-request.ts';
import type { SecretBox } from '../secret-box.ts';
import { mailNotifications } from './mail-notifications.ts';
import type { Mailer } from './mailer.ts';
import { tellPeople } from './tell-people.ts';
import type { UnsubscribeTokens } from './unsubscribe-token.ts';

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
