import type { OpenedChannel } from '../../domain/chat/find-channel.ts';
import type { ChatKind } from '../../entities/chat-channel.ts';
import type { OutgoingRequests } from '../../outgoing/outgoing-request.ts';
import { type Outcome, post } from '../channel.ts';
import { renderForDiscord } from './discord.ts';
import { renderForMattermost } from './mattermost.ts';
import type { ChatMessage } from './message.ts';
import { renderForSlack } from './slack.ts';
import { renderForTeams } from './teams.ts';

const renderers = {
  slack: renderForSlack,
  discord: renderForDiscord,
  mattermost: renderForMattermost,
  teams: renderForTeams,
} satisfies Record<ChatKind, (message: ChatMessage) => unknown>;

/** Posts one message to the incoming webhook of a chat. Refused: the incoming webhook is gone for good. */
export function postMessage(
  requests: OutgoingRequests,
  { kind, url }: Pick<OpenedChannel, 'kind' | 'url'>,
  message: ChatMessage,
  { now, signal }: { now: Date; signal?: AbortSignal | undefined },
): Promise<Outcome> {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const body = JSON.stringify(renderers[kind](message));
  return post(requests, { url, headers, body, receiver: 'The chat', goneStatuses: [404, 410], now }, signal);
}
