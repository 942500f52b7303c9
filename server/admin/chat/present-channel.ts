import type { FastifyRequest } from 'fastify';
import type { ChannelListing } from '../../domain/chat/list-channels.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { shortLine } from '../../text/plain-text.ts';
import { pathIn } from '../shell/account-choice.ts';
import { type ShownTime, showTime } from '../shell/show-time.ts';
import { kindNames } from './chat-form.ts';

/** A channel as the pages show it. */
export interface ShownChannel {
  id: number;
  name: string;
  kind: string;
  board: string;
  /** Without what authorizes posting. */
  url: string;
  /** Empty: every type that a chat can be told of. */
  events: string[];
  disabledAt: ShownTime | undefined;
  disabledReason: string;
  created: ShownTime;
  testPath: string;
  enablePath: string;
  disablePath: string;
  deletePath: string;
}

export function presentChannel(request: FastifyRequest, account: AccountOfUser, channel: ChannelListing): ShownChannel {
  const pathOf = (verb: string) => pathIn(request, account, `/admin/chat/${channel.id}/${verb}`);
  const kind = kindNames[channel.kind];
  return {
    id: channel.id,
    name: shortLine(channel.name, 100, `${kind} channel ${channel.id}`),
    kind,
    board: channel.board,
    url: channel.url ?? 'not readable: it was encrypted with another key of the server',
    events: channel.event_types,
    disabledAt: channel.disabled_at === null ? undefined : showTime(new Date(channel.disabled_at)),
    disabledReason: shortLine(channel.disabled_reason ?? '', 300, ''),
    created: showTime(new Date(channel.created_at)),
    testPath: pathOf('test'),
    enablePath: pathOf('enable'),
    disablePath: pathOf('disable'),
    deletePath: pathOf('delete'),
  };
}
