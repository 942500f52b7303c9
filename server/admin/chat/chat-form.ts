import type { NamedBoard } from '../../domain/boards/list-boards.ts';
import { chatEventTypes } from '../../domain/chat/chat-event-types.ts';
import { type ChatKind, chatKinds } from '../../entities/chat-channel.ts';
import { type BoardChoice, boardChoices } from '../shell/board-choice.ts';
import { type EventChoice, eventChoices, readEventChoices } from '../shell/event-choices.ts';
import { fieldOf } from '../shell/form-fields.ts';

/** What was entered in the form of a channel, but for its URL, which is a secret and in no page. */
export interface GivenChannel {
  kind: string;
  board: string;
  name: string;
  eventTypes: string[];
}

/** The form as it is shown. */
export interface ChannelForm {
  kinds: { value: ChatKind; label: string; isChosen: boolean }[];
  boards: BoardChoice[];
  name: string;
  events: EventChoice[];
}

export const emptyChannel: GivenChannel = { kind: '', board: '', name: '', eventTypes: [] };

export const kindNames: Record<ChatKind, string> = {
  slack: 'Slack',
  discord: 'Discord',
  mattermost: 'Mattermost',
  teams: 'Microsoft Teams',
};

export function readChannelForm(body: unknown): GivenChannel {
  return {
    kind: fieldOf(body, 'kind'),
    board: fieldOf(body, 'board'),
    name: fieldOf(body, 'name'),
    eventTypes: readEventChoices(body, chatEventTypes),
  };
}

export function channelForm({ kind, board, name, eventTypes }: GivenChannel, boards: NamedBoard[]): ChannelForm {
  return {
    kinds: chatKinds.map(value => ({ value, label: kindNames[value], isChosen: value === kind })),
    boards: boardChoices(boards, board),
    name,
    events: eventChoices(chatEventTypes, eventTypes),
  };
}
