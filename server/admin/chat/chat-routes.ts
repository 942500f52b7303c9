import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { deleteChannel, disableChannel, enableChannel } from '../../domain/chat/change-channels.ts';
import { createChannel } from '../../domain/chat/create-channel.ts';
import { listChannelPage, readChannel } from '../../domain/chat/list-channels.ts';
import { type PostTest, testChannel } from '../../domain/chat/test-channel.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { chatKinds } from '../../entities/chat-channel.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { nameAccount, pathIn, requireAdminAccount } from '../shell/account-choice.ts';
import { administer } from '../shell/administer.ts';
import { chosenBoard } from '../shell/board-choice.ts';
import { requireSession } from '../shell/browser-session.ts';
import { askFor } from '../shell/confirmation.ts';
import { fieldOf } from '../shell/form-fields.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { idIn, noticeIn, numberIn } from '../shell/parameters.ts';
import { problemOf } from '../shell/problem.ts';
import { newFormId, requireFirst } from '../shell/sent-once.ts';
import { shownName } from '../shell/shown-name.ts';
import { type ChannelForm, channelForm, emptyChannel, type GivenChannel, readChannelForm } from './chat-form.ts';
import { presentChannel, type ShownChannel } from './present-channel.ts';

interface Words {
  notice?: string | undefined;
  /** Of the form of a new channel. */
  problem?: string | undefined;
  /** Why a test message was not posted. */
  failure?: string | undefined;
}

interface ListData extends Words {
  accountName: string;
  channels: ShownChannel[];
  first: Link | undefined;
  next: Link | undefined;
  createPath: string;
  form: ChannelForm;
  formToken: string;
  formId: string;
}

const listPage = definePage<ListData>('admin/chat/list');

/** So many fit a page that is quick on a phone. */
const channelsPerPage = 20;

/** The channels of chats that an account's boards post to. The URL of one is a secret, and shown nowhere. */
export function serveChat(app: FastifyInstance, server: ServerDependencies, postTest: PostTest) {
  const secretBox = buildSecretBox(server.appKey);
  const guard = buildAddressGuard(server.config.WEBHOOK_ALLOWED_CIDRS);
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/chat', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const notice = noticeIn(request, {
      created: 'The channel is set up. A test message shows whether it arrives.',
      tested: 'The test message was posted.',
      disabled: 'Nothing more is posted to the channel.',
      enabled: 'Events are posted to the channel again.',
      deleted: 'The channel is deleted here. Remove its incoming webhook in the chat, too.',
    });
    return showList(request, reply, account, { notice });
  });

  app.post('/admin/chat', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const given = readChannelForm(request.body);
    try {
      await administer(server, request, async admin => {
        await requireFirst(admin, request.body);
        const kind = chatKinds.find(one => one === given.kind);
        if (!kind) throw new AdministrationError('invalid', 'Choose a chat');
        const { id: boardId } = chosenBoard(await listBoardNames(admin, account.id), given.board);
        const { name, eventTypes } = given;
        const named = name.trim() === '' ? {} : { name };
        const url = fieldOf(request.body, 'url');
        await createChannel(
          admin,
          secretBox,
          { accountId: account.id, boardId, kind, url, eventTypes, ...named },
          guard,
        );
      });
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showList(request, reply, account, { given, problem }, status);
    }
    return reply.redirect(pathIn(request, account, '/admin/chat', { notice: 'created' }), 303);
  });

  app.post('/admin/chat/:id/test', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const channel = { accountId: account.id, id: idIn(request) };
    const post = await administer(server, request, admin => testChannel(admin, secretBox, channel));
    const failure = await post(postTest);
    if (failure !== undefined) return showList(request, reply, account, { failure }, 409);
    return reply.redirect(pathIn(request, account, '/admin/chat', { notice: 'tested' }), 303);
  });

  app.get('/admin/chat/:id/disable', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const channel = await read(request, account);
    return askFor(request, reply, account, {
      title: 'Disable a channel',
      verb: 'Disable',
      name: channel.name,
      explanation: 'Nothing more is posted to it until it is enabled. What happens in the meantime is not made up for.',
      action: channel.disablePath,
      button: 'Disable the channel',
      isDangerous: true,
      back: { label: 'Leave it', href: pathIn(request, account, '/admin/chat') },
    });
  });

  app.get('/admin/chat/:id/delete', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const channel = await read(request, account);
    return askFor(request, reply, account, {
      title: 'Delete a channel',
      verb: 'Delete',
      name: channel.name,
      explanation: 'Nothing more is posted to it. The chat keeps its incoming webhook until it is removed there.',
      action: channel.deletePath,
      button: 'Delete the channel',
      isDangerous: true,
      back: { label: 'Keep it', href: pathIn(request, account, '/admin/chat') },
    });
  });

  for (const [verb, change, notice] of changes) {
    app.post(`/admin/chat/:id/${verb}`, { onRequest }, async (request, reply) => {
      const account = requireAdminAccount(request);
      const channel = { accountId: account.id, id: idIn(request) };
      await administer(server, request, admin => change(admin, channel));
      return reply.redirect(pathIn(request, account, '/admin/chat', { notice }), 303);
    });
  }

  async function read(request: FastifyRequest, account: AccountOfUser): Promise<ShownChannel> {
    const id = idIn(request);
    const listing = await administer(server, request, admin => readChannel(admin, secretBox, account.id, id));
    return presentChannel(request, account, listing);
  }

  async function showList(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { given = emptyChannel, ...words }: Words & { given?: GivenChannel },
    status = 200,
  ) {
    const before = numberIn(request, 'before');
    const { channels, boards } = await administer(server, request, async admin => ({
      channels: await listChannelPage(admin, secretBox, account.id, { before, limit: channelsPerPage }),
      boards: await listBoardNames(admin, account.id),
    }));
    const list = pathIn(request, account, '/admin/chat');
    const last = channels.rows.at(-1);
    const data: ListData = {
      accountName: shownName(account.name),
      channels: channels.rows.map(channel => presentChannel(request, account, channel)),
      first: before === undefined ? undefined : { label: 'Back to the newest', href: list },
      next:
        channels.hasMore && last
          ? { label: 'More channels', href: pathIn(request, account, '/admin/chat', { before: String(last.id) }) }
          : undefined,
      createPath: list,
      form: channelForm(given, boards),
      formToken: formTokenOf(request),
      formId: newFormId(),
      ...words,
    };
    return sendPage(reply, listPage(frameOf(request, account, 'Chat'), data), status);
  }
}

/** What is done to a channel, and the notice of it. */
const changes = [
  ['disable', disableChannel, 'disabled'],
  ['enable', enableChannel, 'enabled'],
  ['delete', deleteChannel, 'deleted'],
] as const;
