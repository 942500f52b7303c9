import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { listBoardNames, type NamedBoard } from '../../domain/boards/list-boards.ts';
import {
  chatEventTypes,
  createChannel,
  deleteChannel,
  disableChannel,
  enableChannel,
  type PostTest,
  testChannel,
} from '../../domain/chat/channels.ts';
import { type ChannelListing, listChannelPage, readChannel } from '../../domain/chat/list-channels.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import { shownReason } from '../../domain/webhooks/disabled-reason.ts';
import { type ChatKind, chatKinds } from '../../entities/chat-channel.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import { newFormId, type Problem, requireFirst } from '../../pages/shell/form.ts';
import { showStored, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { boardOptions, chosenBoard, eventChoices, readEventChoices } from '../shell/choices.ts';

/** The number of channels on a page, so that the page loads quickly on a phone. */
const channelsPerPage = 20;

const notices = textKeysIn('chat.notices');

const kindNames: Record<ChatKind, string> = {
  slack: 'Slack',
  discord: 'Discord',
  mattermost: 'Mattermost',
  teams: 'Microsoft Teams',
};

/**
 * The pages for the chat channels of an account. The webhook URL of a channel is a secret, so pages show only the URL's
 * origin.
 */
export function chatRoutes(server: ServerDependencies, postTest: PostTest): Route[] {
  const secretBox = buildSecretBox(server.appKey);
  const guard = buildAddressGuard(server.config.WEBHOOK_ALLOWED_CIDRS);

  return [
    { path: '/admin/chat', show: showList, run: addChannel },
    { path: '/admin/chat/:id/test', run: sendTest },
    { path: '/admin/chat/:id/enable', run: change(enableChannel, 'enabled') },
    {
      path: '/admin/chat/:id/disable',
      ask: async visit => ({
        heading: t('shell.questions.disable_html', { name: await readName(visit) }),
        explanation: t('chat.disable.explanation'),
        button: t('chat.disable.button'),
        back: { label: t('chat.disable.keep'), href: visit.path('/admin/chat') },
      }),
      run: change(disableChannel, 'disabled'),
    },
    {
      path: '/admin/chat/:id/delete',
      ask: async visit => ({
        heading: t('shell.questions.delete_html', { name: await readName(visit) }),
        explanation: t('chat.delete.explanation'),
        button: t('chat.delete.button'),
        back: { label: t('chat.delete.keep'), href: visit.path('/admin/chat') },
      }),
      run: change(deleteChannel, 'deleted'),
    },
  ];

  async function addChannel(visit: Visit) {
    const given = readForm(visit);
    await visit.administer(async admin => {
      await requireFirst(admin, visit.request.body);
      const kind = chatKinds.find(one => one === given.kind);
      if (!kind) throw new AdministrationError('invalid', t('chat.new.choose_chat'));
      const { id: boardId } = chosenBoard(await listBoardNames(admin, visit.account.id), given.board);
      const { name, eventTypes } = given;
      const named = name.trim() === '' ? {} : { name };
      const channel = { accountId: visit.account.id, boardId, kind, url: visit.field('url'), eventTypes, ...named };
      await createChannel(admin, secretBox, channel, guard);
    });
    return listPath(visit, 'created');
  }

  async function sendTest(visit: Visit) {
    const post = await visit.administer(admin => testChannel(admin, secretBox, channelOf(visit)));
    const failure = await post(postTest);
    return failure === undefined ? listPath(visit, 'tested') : showList(visit, undefined, failure);
  }

  async function readName(visit: Visit): Promise<string> {
    return nameOf(await visit.administer(admin => readChannel(admin, secretBox, visit.account.id, visit.id())));
  }

  async function showList(visit: Visit, problem?: Problem, testFailure?: string) {
    const before = visit.number('before');
    const { channels, boards } = await visit.administer(async admin => ({
      channels: await listChannelPage(admin, secretBox, visit.account.id, { before, limit: channelsPerPage }),
      boards: await listBoardNames(admin, visit.account.id),
    }));
    const data = {
      channels: channels.rows.map(presentChannel),
      ...visit.pageLinks('/admin/chat', 'before', channels.hasMore && channels.rows.at(-1)?.id),
      form: shownForm(problem ? readForm(visit) : emptyForm, boards),
      formId: newFormId(),
      failure: testFailure,
    };
    return visit.page('chat/list', t('shell.admin.chat'), data, {
      notices,
      problem,
      ...(testFailure ? { status: 409 } : {}),
    });
  }
}

function change(operation: typeof disableChannel, notice: keyof typeof notices) {
  return async (visit: Visit) => {
    await visit.administer(admin => operation(admin, channelOf(visit)));
    return listPath(visit, notice);
  };
}

function channelOf(visit: Visit) {
  return { accountId: visit.account.id, id: visit.id() };
}

function listPath(visit: Visit, notice: keyof typeof notices): string {
  return visit.path('/admin/chat', { notice });
}

/** The empty form for a new channel. Forms never contain a channel's webhook URL, because it is a secret. */
const emptyForm = { kind: '', board: '', name: '', eventTypes: [] as string[] };

function readForm(visit: Visit): typeof emptyForm {
  return {
    kind: visit.field('kind'),
    board: visit.field('board'),
    name: visit.field('name'),
    eventTypes: readEventChoices(visit.request.body, chatEventTypes),
  };
}

function shownForm({ kind, board, name, eventTypes }: typeof emptyForm, boards: NamedBoard[]) {
  return {
    kinds: optionsOf(Object.entries(kindNames), kind),
    boards: boardOptions(boards, board),
    name,
    events: eventChoices(chatEventTypes, eventTypes),
  };
}

function presentChannel(channel: ChannelListing) {
  return {
    id: channel.id,
    name: nameOf(channel),
    kind: kindNames[channel.kind],
    board: channel.board,
    url: channel.url ?? t('chat.list.unreadable'),
    events: channel.event_types,
    disabledAt: showStored(channel.disabled_at),
    disabledReason: shortLine(shownReason(channel.disabled_reason ?? ''), 300, ''),
    created: showTime(new Date(channel.created_at)),
  };
}

function nameOf({ id, name, kind }: ChannelListing): string {
  return shortLine(name, 100, t('chat.list.unnamed', { kind: kindNames[kind], id }));
}
